#pragma once

#include <limits>

namespace karakuri {

/// A closed interval; all numbers unless told otherwise.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool bounded() const {
    return low > -std::numeric_limits<double>::infinity() || high < std::numeric_limits<double>::infinity();
  }
};

}  // namespace karakuri
