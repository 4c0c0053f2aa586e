// Three doubles in the room of four, so that kernels load a vector with one instruction. The alignment is
// fixed here, not by compiler flags: every user sees the same layout.
#pragma once

#include "karakuri/spatial/types.h"

namespace karakuri {

struct alignas(32) Packed3 {
  double x = 0, y = 0, z = 0;
  double pad = 0;  // read and written by kernels, never meant

  Packed3() = default;
  Packed3(const Vec3& v) : x(v.x()), y(v.y()), z(v.z()) {}  // NOLINT: the same thing in other clothes
  operator Vec3() const { return {x, y, z}; }               // NOLINT
};

/// Four numbers that belong together.
struct alignas(32) Packed4 {
  double lane[4] = {0, 0, 0, 0};
};

/// A matrix by columns.
struct Packed33 {
  Packed3 column[3];

  Packed33() = default;
  Packed33(const Mat3& m) : column{Vec3(m.col(0)), Vec3(m.col(1)), Vec3(m.col(2))} {}  // NOLINT
  operator Mat3() const {                                                              // NOLINT
    Mat3 m;
    m << Vec3(column[0]), Vec3(column[1]), Vec3(column[2]);
    return m;
  }
};

}  // namespace karakuri
