// How a body turns that no torque acts on.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// A free body that turns by more than this in a step is followed within it [rad].
inline constexpr double kFarSpin = 0.25;

/// Whether a body is alone in its tree and its inertia turns with it.
bool tumbles(const World::Impl& w, const Body& body, const Vec3& spin);

/// By which vector a body that tumbles is turned in the time h from `turn` on, all in its joint's frame; at
/// most by half a revolution, whatever it does in between.
Vec3 spin_freely(const World::Impl& w, const Body& body, const Quat& turn, const Vec3& spin, double h);

/// The turn next to this one at which the momentum L has this energy, times two.
Quat turn_with_energy(const World::Impl& w, const Body& body, const Quat& turn, const Vec3& L,
                      double twice_energy);

}  // namespace karakuri::world_detail
