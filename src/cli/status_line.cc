#include "status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace karakuri::cli {

StatusLine::StatusLine() : shown_(isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now()) {}

bool StatusLine::due() {
  if (!shown_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + std::chrono::milliseconds(100);
  return true;
}

void StatusLine::show(const std::string& text) {
  if (!shown_) return;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  // a line that is longer than the terminal would not be written over
  fmt::print(stderr, "\r\x1b[K{}", text.substr(0, known ? size.ws_col - 1u : 79u));
  std::fflush(stderr);
  written_ = true;
}

void StatusLine::clear() {
  if (!written_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  written_ = false;
}

std::string bar(double share, int width) {
  share = std::clamp(share, 0.0, 1.0);
  const int full = static_cast<int>(share * width);
  return fmt::format("[{}{}] {:3.0f} %", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(width - full), '-'), std::floor(100 * share));
}

std::string clock_time(double seconds) {
  const auto s = static_cast<long long>(std::clamp(seconds, 0.0, 1e9));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace karakuri::cli
