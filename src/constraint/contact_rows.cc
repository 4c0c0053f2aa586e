#include "karakuri/constraint/contact_rows.h"

#include <algorithm>
#include <cmath>

#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

int row_count(const Surface& surface, double friction) {
  if (surface.rolling_friction > 0) return 6;
  if (surface.torsional_friction > 0) return 4;
  return friction > 0 ? 3 : 1;
}

}  // namespace

Mat3 contact_frame(const Vec3& normal) { return frame_with_z(normal); }

int add_contact_rows(const ContactGeometry& c, const Surface& surface, double friction, double u,
                     const StabilizationSettings& stabilization, double h, int index, Rows& rows) {
  const int count = row_count(surface, friction);
  const int row = rows.append(count == 1 ? solver::RowKind::kComplementarity : solver::RowKind::kCone,
                              RowSource::kContact, index, count);
  const Vec3 axes[] = {c.frame.col(2), c.frame.col(0), c.frame.col(1)};
  const double coefficients[] = {0,
                                 std::max(friction, kNoFriction),
                                 std::max(friction, kNoFriction),
                                 std::max(surface.torsional_friction / rows.length, kNoFriction),
                                 surface.rolling_friction / rows.length,
                                 surface.rolling_friction / rows.length};
  for (int k = 0; k < count; ++k) {
    const Vec3 none = Vec3::Zero(), &axis = axes[k % 3];
    rows.write(row + k, {c.body_b, c.body_a, c.point, k < 3 ? axis : none, k < 3 ? none : axis});
    if (k >= 3) rows.change_unit(row + k, rows.length);
    rows.friction[row + k] = coefficients[k];
  }
  const bool soft_surface = std::isfinite(surface.stiffness);
  const Softness soft = soft_surface ? soft_gap(surface.stiffness, surface.damping, c.gap, h)
                                     : stabilize_gap(stabilization, c.gap, u, h);
  rows.error[row] = soft_surface ? std::max(c.gap, 0.0) : c.gap;  // a soft surface's depth is no error
  rows.bias[row] = soft.bias;
  rows.compliance[row] = soft.compliance;
  return row;
}

ContactImpulse read_contact_impulse(const Rows& rows, const RowBlock& block, const double* lambda) {
  ContactImpulse sum;
  for (int k = 0; k < block.size; ++k) {
    sum.force += lambda[block.row + k] * rows.impulses[block.row + k].force;
    sum.moment += lambda[block.row + k] * rows.impulses[block.row + k].moment;
  }
  return sum;
}

}  // namespace karakuri
