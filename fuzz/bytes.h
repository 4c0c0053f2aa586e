// An input taken as choices and numbers; where it has ended, zeros.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "fuzz/target.h"
#include "karakuri/spatial/rotation.h"
#include "karakuri/spatial/transform.h"

namespace karakuri::fuzz {

class Bytes {
 public:
  explicit Bytes(Input input) : left_(input) {}

  bool done() const { return left_.empty(); }

  /// From 0 to `count` - 1, by one byte.  @pre 0 < count <= 256
  int below(int count) { return static_cast<int>(take<std::uint8_t>()) % count; }
  bool yes() { return below(2) == 1; }

  /// Mostly of the order of one; now and then what nobody means: no number, none that is finite, the largest.
  double number() {
    constexpr double kOdd[] = {0,
                               -0.0,
                               1,
                               -1,
                               1e-300,
                               1e300,
                               -1e300,
                               1e12,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::denorm_min()};
    const int kind = below(16);
    if (kind == 0) return kOdd[below(std::size(kOdd))];
    if (kind == 1) return take<double>();
    if (kind == 2) return take<std::int16_t>();
    return tame();
  }
  /// Of the order of one.
  double tame() { return take<std::int8_t>() / 32.0; }
  double positive() { return take<std::uint8_t>() / 32.0; }

  Vec3 vector() {
    const double x = number(), y = number();
    return {x, y, number()};
  }
  Vec3 tame_vector() {
    const double x = tame(), y = tame();
    return {x, y, tame()};
  }
  Transform pose() {
    if (below(16) == 0) {
      Transform odd = Transform::translation(vector());
      odd.R *= number();
      return odd;
    }
    const Vec3 turn = tame_vector();
    return {rotation_exp(turn), tame_vector()};
  }

 private:
  template <class T>
  T take() {
    T value{};
    const std::size_t size = std::min(sizeof value, left_.size());
    if (size > 0) std::memcpy(&value, left_.data(), size);
    left_ = left_.subspan(size);
    return value;
  }

  Input left_;
};

}  // namespace karakuri::fuzz
