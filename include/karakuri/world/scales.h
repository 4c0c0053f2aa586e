// How large, heavy and fast the things of a scene are: what settings with a unit are measured by.
//
// Of a scene whose lengths, masses and times are all multiplied, so that gravity stays what it is, the
// settings that follow from these are multiplied too: everything happens as before.
//   length l: the median over bodies that move, of the radius that holds a body's shapes about its origin, or
//             of its radius of gyration where it has none                                                (1)
//   mass m:   their median mass                                                                          (2)
//   speed:    s = sqrt(g l), of what has fallen by half of l;
//             where gravity does nothing in a step, a thousandth of l in each                            (3)
// Medians are numbers of the scene, not sums of them: the order of bodies does not matter to the last digit.
#pragma once

#include "karakuri/world/settings.h"

namespace karakuri {

struct Scales {
  double length = 1;  // [m]
  double mass = 1;    // [kg]
  double speed = 1;   // [m/s]

  double time() const { return length / speed; }
  /// A power of two near the length: Rows::length [m].
  double row_length() const;
};

/// The settings with numbers in place of kFromScene.
WorldSettings resolve(const WorldSettings& settings, const Scales& scales);

}  // namespace karakuri
