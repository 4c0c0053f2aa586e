// One line on a terminal that is written over and over; nothing where stderr is none.
#pragma once

#include <chrono>
#include <string>

namespace karakuri::cli {

class StatusLine {
 public:
  StatusLine();
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool shown() const { return shown_; }
  /// Whether a tenth of a second has passed since the last line; cheap enough for every step.
  bool due();
  void show(const std::string& text);
  void clear();

 private:
  bool shown_;
  bool written_ = false;
  std::chrono::steady_clock::time_point next_;
};

/// "[######----]  60 %" with `width` places.
std::string bar(double share, int width = 24);
/// "0:07", "1:02:03".
std::string clock_time(double seconds);

}  // namespace karakuri::cli
