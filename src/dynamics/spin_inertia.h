// What a free body's angular momentum and velocity have to do with each other.
#pragma once

#include "karakuri/model/model.h"
#include "karakuri/spatial/types.h"

namespace karakuri {

/// Inertia of a free body about its centre of mass, in its joint's frame F.
struct SpinInertia {
  const FreeBody& free;
  Mat3 axes;  // principal axes in F

  SpinInertia(const Model& model, const Body& body, const Quat& turn)
      : free(model.free_bodies[body.extra]), axes(turn.toRotationMatrix() * Mat3(free.axes)) {}
  Vec3 momentum(const Vec3& w) const { return axes * Vec3(free.moments).cwiseProduct(axes.transpose() * w); }
  Vec3 velocity(const Vec3& L) const {
    return axes * Vec3(free.inverse_moments).cwiseProduct(axes.transpose() * L);
  }
};

}  // namespace karakuri
