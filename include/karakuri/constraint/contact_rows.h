// Rows of one contact point: normal, two tangents, and where asked for torsion and rolling.
#pragma once

#include "karakuri/constraint/rows.h"
#include "karakuri/constraint/softness.h"
#include "karakuri/model/material.h"

namespace karakuri {

struct ContactGeometry {
  std::int32_t body_a = 0, body_b = 0;
  Vec3 point = Vec3::Zero();      // [m]
  Mat3 frame = Mat3::Identity();  // columns: two tangents, normal from A to B
  double gap = 0;                 // negative: depth [m]
};

/// An ellipsoid has no axis of zero width: this stands for "none" where only some of sliding, spinning and
/// rolling are braked. Of a row as it is in Rows.
constexpr double kNoFriction = 1e-9;

/// The frame with that normal; tangents are a fixed function of it.
Mat3 contact_frame(const Vec3& normal);

/// @param u         Present velocity along the normal, positive when parting [m/s].
/// @param friction  Static or kinetic, as the contact's state asks for.
/// @return          The first row. Rows: normal; tangents, where anything is braked; turning about the
///                  normal (torsional); turning about the tangents (rolling).
int add_contact_rows(const ContactGeometry& contact, const Surface& surface, double friction, double u,
                     const StabilizationSettings& stabilization, double h, int index, Rows& rows);

/// An impulse in the rows of a contact, in world axes.
struct ContactImpulse {
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
};
ContactImpulse read_contact_impulse(const Rows& rows, const RowBlock& block, const double* lambda);

}  // namespace karakuri
