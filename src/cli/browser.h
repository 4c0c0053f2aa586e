// A Chromium without a window, for as long as this lives.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "karakuri/core/diagnostic.h"

namespace karakuri::cli {

class Browser {
 public:
  Browser() = default;
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;
  /// Ends it and all that it has started, and removes what it has written.
  ~Browser();

  /// Empty when it was started.
  std::vector<Diagnostic> open(const std::string& url, int width, int height);
  bool runs();
  /// Why it has ended, as far as it said.
  std::vector<Diagnostic> last_words() const;

 private:
  pid_t child_ = 0;
  std::filesystem::path folder_;  // profile and log
};

}  // namespace karakuri::cli
