// Processor time of what must be over within a second, whatever else the machine does.
#pragma once

#include <ctime>

namespace karakuri {

class Stopwatch {
 public:
  double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

#if defined(__SANITIZE_ADDRESS__)
#define KARAKURI_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KARAKURI_SANITIZED
#endif
#endif

#ifdef KARAKURI_SANITIZED
inline constexpr double kSecond = 12;
#else
inline constexpr double kSecond =
    2;  // what takes 0.7 s alone was seen to take 1.3 s beside another busy thread
#endif

}  // namespace karakuri
