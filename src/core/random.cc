#include "karakuri/core/random.h"

#include <cmath>
#include <numbers>

namespace karakuri {

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));  // 1 - u: never log(0)
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace karakuri
