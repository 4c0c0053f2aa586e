// Conservative advancement. At time t the shapes are s apart along n. No point of A approaches any point of B
// along n faster than
//   u = max(0, (dA - dB) . n + |wA x n| rA + |wB x n| rB)                                                 (1)
// (d: displacement of the centre, w: rotation vector, r: radius about the centre), so that until
//   t + (s - target) / u                                                                                 (2)
// they cannot meet. Mirtich, "Impulse-based dynamic simulation of rigid body systems", Berkeley 1996,
// section 2.3. (1) uses |w x n| rather than |w|: a point's velocity w x r has the component (w x r) . n = r .
// (n x w). (1) needs the plane across n to separate the shapes, as it does when both are convex. Parts of a
// compound are taken one by one; against meshes and heightfields the bound is the speed in any direction,
//   u = |dA - dB| + |wA| rA + |wB| rB                                                                     (3)
#include <cmath>

#include "collision/narrowphase/convex.h"
#include "karakuri/collision/ccd.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri {

Transform Sweep::at(double t) const {
  const Mat3 R = rotation_exp(t * rotation) * start.R;
  const Vec3 c = start * center + t * displacement;
  return {R, c - R * center};
}

Sweep Sweep::between(const Transform& from, const Transform& to, const Vec3& center) {
  return {from, center, to * center - from * center, rotation_log(to.R * from.R.transpose())};
}

namespace {

double radius_about_center(const Shape& shape, const Sweep& sweep) {
  return bounding_radius(shape) + sweep.center.norm();
}

// Largest speed of approach along n (1), or in any direction (3).
double approach(const Shape& a, const Sweep& sa, const Shape& b, const Sweep& sb, const Vec3& n,
                bool directed) {
  const auto turning = [&](const Shape& shape, const Sweep& s) {
    const double across = directed ? s.rotation.cross(n).norm() : s.rotation.norm();
    return across > 0 ? across * radius_about_center(shape, s) : 0;
  };
  const Vec3 d = sa.displacement - sb.displacement;
  return (directed ? d.dot(n) : d.norm()) + turning(a, sa) + turning(b, sb);
}

Impact parts_impact(const Shape& a, const Sweep& sweep_a, const Shape& compound, const Sweep& sweep_b,
                    bool flip, const ImpactOptions& options, CollisionWorkspace& ws) {
  Impact first;
  for (const Compound::Part& part : compound.as_compound().parts) {
    const Sweep s{sweep_b.start * part.pose, part.pose.inverse_apply(sweep_b.center), sweep_b.displacement,
                  sweep_b.rotation};
    const Impact hit = flip ? time_of_impact(part.shape, s, a, sweep_a, options, ws)
                            : time_of_impact(a, sweep_a, part.shape, s, options, ws);
    if (first.state == ImpactState::kNone || (hit.state != ImpactState::kNone && hit.t < first.t))
      first = hit;
  }
  return first;
}

}  // namespace

Impact time_of_impact(const Shape& a, const Sweep& sweep_a, const Shape& b, const Sweep& sweep_b,
                      const ImpactOptions& options, CollisionWorkspace& ws) {
  if (b.kind() == ShapeKind::kCompound) return parts_impact(a, sweep_a, b, sweep_b, false, options, ws);
  if (a.kind() == ShapeKind::kCompound) return parts_impact(b, sweep_b, a, sweep_a, true, options, ws);
  const auto directable = [](const Shape& s) {
    return collision_detail::has_convex_view(s) || s.kind() == ShapeKind::kPlane;
  };
  const bool directed = directable(a) && directable(b);
  Impact impact;
  double t = 0;
  for (impact.iterations = 1; impact.iterations <= options.max_iterations; ++impact.iterations) {
    ClosestPoints c;
    if (!closest_points(a, sweep_a.at(t), b, sweep_b.at(t), ws, c)) return impact;
    impact.nearest = c;
    impact.t = t;
    if (c.separation <= options.target + options.tolerance) {
      impact.state = t == 0 ? ImpactState::kInitially : ImpactState::kTouching;
      return impact;
    }
    const double speed = approach(a, sweep_a, b, sweep_b, c.normal, directed);
    if (!(speed > 0) || t + (c.separation - options.target) / speed >= 1) {
      impact.state = ImpactState::kNone;
      impact.t = 1;
      return impact;
    }
    t += (c.separation - options.target) / speed;  // (2)
  }
  impact.state = ImpactState::kUnresolved;
  return impact;
}

}  // namespace karakuri
