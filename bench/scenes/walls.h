// The sides of a square bin or pit.
#pragma once

#include "scenes/setup.h"

namespace karakuri::bench {

/// Four walls about a square of half width `half`, `height` high and a quarter as thick as it is wide.
inline void add_walls(Setup& setup, double half, double height) {
  const double thick = 0.25 * half;
  for (const double side : {-1.0, 1.0}) {
    add_fixed(setup, Shape::box({thick, half + 2 * thick, 0.5 * height}),
              Transform::translation({side * (half + thick), 0, 0.5 * height}));
    add_fixed(setup, Shape::box({half, thick, 0.5 * height}),
              Transform::translation({0, side * (half + thick), 0.5 * height}));
  }
}

}  // namespace karakuri::bench
