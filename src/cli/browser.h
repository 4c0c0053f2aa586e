// A Chromium without a window, for as long as this lives.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "door.h"
#include "karakuri/core/diagnostic.h"

namespace karakuri::cli {

class Browser {
 public:
  Browser() = default;
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;
  /// Ends it and all that it has started, and removes what it has written.
  ~Browser();

  /// Empty when it was started. The address is in no command line.
  std::vector<Diagnostic> open(const std::string& url, int width, int height);
  bool runs();
  /// From any thread, where the program is about to end without its destructors.
  void abandon() const;
  /// Why it has ended, as far as it said.
  std::vector<Diagnostic> last_words() const;

 private:
  pid_t child_ = 0;
  PrivateFolder folder_;  // profile, log, and the file that leads to the address
};

}  // namespace karakuri::cli
