// Conservative advancement. At time t the shapes are s apart along n. No point of A approaches any point of B along n
// faster than
//   u = max(0, (dA - dB) . n + |wA x n| rA + |wB x n| rB)                                                 (1)
// (d: displacement of the centre, w: rotation vector, r: radius about the centre), so that until
//   t + (s - target) / u                                                                                 (2)
// they cannot meet. Mirtich, "Impulse-based dynamic simulation of rigid body systems", Berkeley 1996, section 2.3. (1) uses
// |w x n| rather than |w|: a point's velocity w x r has the component (w x r) . n = r . (n x w).
#include <cmath>

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

double turning(const Shape& shape, const Sweep& sweep, const Vec3& n) {
  const double across = sweep.rotation.cross(n).norm();
  return across > 0 ? across * (bounding_radius(shape) + sweep.center.norm()) : 0;
}

}  // namespace

Impact time_of_impact(const Shape& a, const Sweep& sweep_a, const Shape& b, const Sweep& sweep_b,
                      const ImpactOptions& options, CollisionWorkspace& ws) {
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
    const double speed = (sweep_a.displacement - sweep_b.displacement).dot(c.normal) + turning(a, sweep_a, c.normal) +
                         turning(b, sweep_b, c.normal);  // (1)
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
