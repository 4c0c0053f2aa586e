// How one body moves against another at a point.
#pragma once

#include <span>

#include "karakuri/dynamics/workspace.h"
#include "spatial/simd.h"

namespace karakuri::kernel {

struct RelativeVelocity {
  simd::V3 v, w;  // of `body` against `other`, at the point; in world axes
};

inline RelativeVelocity relative_velocity(int body, int other, simd::V3 point, const Workspace& ws,
                                          std::span<const Workspace::Velocity> velocity) {
  const simd::V3 w_body = simd::load(velocity[body].w), w_other = simd::load(velocity[other].w);
  const simd::V3 of_body =
      simd::load(velocity[body].v) + simd::cross(w_body, point - simd::load(ws.pose[body].p));
  const simd::V3 of_other =
      simd::load(velocity[other].v) + simd::cross(w_other, point - simd::load(ws.pose[other].p));
  return {of_body - of_other, w_body - w_other};
}

}  // namespace karakuri::kernel
