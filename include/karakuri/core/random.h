// Random numbers that are the same on every platform and can be saved as plain data.
#pragma once

#include <cstdint>

namespace karakuri {

/// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): one word of state, passes BigCrush. The standard library's
/// distributions are not used because their results differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, 1), all 53 bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Standard normal (Box-Muller, one of the pair).
  double normal();
  /// Uniform integer in [0, n). @pre n > 0
  int below(int n) { return static_cast<int>(uniform() * n); }

  std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace karakuri
