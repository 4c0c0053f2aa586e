// How a body turns that no torque acts on.
#pragma once

#include "karakuri/model/model.h"
#include "karakuri/spatial/types.h"

namespace karakuri {

/// A free body that turns by more than this in a step is followed within it [rad].
inline constexpr double kFarSpin = 0.25;

/// Whether a body is alone in its tree and its inertia turns with it.
bool tumbles(const Model& model, const Body& body, const Vec3& spin);

/// By which vector a body that tumbles is turned in the time h from `turn` on, all in its joint's frame; at
/// most by half a revolution, whatever it does in between.
Vec3 spin_freely(const Model& model, const Body& body, const Quat& turn, const Vec3& spin, double h);

/// The turn next to this one at which the momentum L has this energy, times two.
Quat turn_with_energy(const Model& model, const Body& body, const Quat& turn, const Vec3& L,
                      double twice_energy);

}  // namespace karakuri
