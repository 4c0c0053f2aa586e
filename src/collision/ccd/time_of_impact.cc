// Conservative advancement. At time t the shapes are s apart along n. No point of A approaches any point of B
// along n faster than
//   u = max(0, (dA - dB) . n + |wA x n| rA + |wB x n| rB)                                                 (1)
// (d: displacement of the centre, w: rotation vector, r: radius about the centre), so that until
//   t + (s - target) / u                                                                                 (2)
// they cannot meet. Mirtich, "Impulse-based dynamic simulation of rigid body systems", Berkeley 1996,
// section 2.3. (1) uses |w x n| rather than |w|: a point's velocity w x r has the component (w x r) . n = r .
// (n x w). (1) needs the plane across n to separate the shapes, as it does when both are convex, and when one
// is a plane. Parts of a compound are taken one by one; between meshes and heightfields the bound is the
// speed in any direction,
//   u = |dA - dB| + |wA| rA + |wB| rB                                                                     (3)
// (1) comes near a touch by a constant factor at a time. Of convex shapes more is known: a point r from the
// centre has, a time x later, n . r + x n . (w x r) + e along n, |e| <= x^2 |w|^2 |r| / 2, so that all of A
// stays below
//   n . cA + x n . dA + hA(n + x n x wA) + x^2 |wA|^2 rA / 2,   hA(y) = max { y . r : r in A }           (4)
// and B above the like. As hA is convex, the gap between the two bounds is a concave function of x: it is at
// least the target up to its one crossing, which chords approach from below. Near a touch the error is of
// second order in x.
#include <algorithm>
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

using namespace collision_detail;

constexpr double kTarget = 1e-3;       // of the inner radius of the thinner shape
constexpr double kLeastTarget = 1e-9;  // of the outer radius of the smaller one: distances are known to 1e-11
constexpr double kTolerance = 0.25;    // of the target
constexpr double kManifoldMargin = 4.0;  // of the target

double radius_about_center(const Shape& shape, const Sweep& sweep) {
  return bounding_radius(shape) + sweep.center.norm();
}

// Radius of a sphere that fits inside, roughly; infinite where there is no thickness to speak of.
double inner_radius(const Shape& shape) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (shape.kind()) {
    case ShapeKind::kCapsule: return shape.size().x();
    case ShapeKind::kCone:
    case ShapeKind::kHull: return 0.5 * shape.size().minCoeff();
    case ShapeKind::kPlane:
    case ShapeKind::kHeightfield: return kInf;
    case ShapeKind::kMesh:
      return shape.as_mesh().use == MeshUse::kSolid ? 0.5 * shape.size().minCoeff() : kInf;
    case ShapeKind::kCompound: {
      double least = kInf;
      for (const Compound::Part& p : shape.as_compound().parts)
        least = std::min(least, inner_radius(p.shape));
      return least;
    }
    default: return shape.size().minCoeff();
  }
}

// A shape on its way, seen as a convex one.
struct Mover {
  const Sweep* sweep;
  double radius;  // about the centre of the sweep
  bool plane;     // else `view`
  ConvexView view;

  Mover(const Shape& shape, const Sweep& s)
      : sweep(&s), radius(radius_about_center(shape, s)), plane(shape.kind() == ShapeKind::kPlane) {
    if (!plane) view = convex_view(shape);
  }
  // How far it reaches along n beyond its centre, however it turns on its way.
  double reach_at_any_turn(const Transform& X, const Vec3& n) const {
    return sweep->rotation.isZero(0) ? reach(X, n, 0) : radius;
  }
  // How far it reaches along n beyond the centre's place at pose X, a time x later (4).
  double reach(const Transform& X, const Vec3& n, double x) const {
    const Vec3& w = sweep->rotation;
    const double w2 = w.squaredNorm();
    if (plane)
      return w2 > 0 ? std::numeric_limits<double>::infinity()
                    : x * n.dot(sweep->displacement) - n.dot(X.R * sweep->center);
    const Vec3 y = n + x * n.cross(w);
    const Vec3 r = X.R * (support(view, X.R.transpose() * y).p - sweep->center);
    return x * n.dot(sweep->displacement) + y.dot(r) + view.radius * y.norm() + 0.5 * x * x * w2 * radius;
  }
};

// What both shapes are at one time.
struct Gap {
  const Mover &a, &b;
  Transform X_WA, X_WB;
  Vec3 n;

  double at(double x) const {
    const double centers = n.dot(X_WB * b.sweep->center - X_WA * a.sweep->center);
    return centers - a.reach(X_WA, n, x) - b.reach(X_WB, -n, x);
  }
  // A time up to which it stays above the target if what turns is a sphere about its centre: for what turns
  // fast.
  double spheres_stay_above(double target) const {
    const double centers = n.dot(X_WB * b.sweep->center - X_WA * a.sweep->center);
    const double now = centers - a.reach_at_any_turn(X_WA, n) - b.reach_at_any_turn(X_WB, -n);
    const double speed = n.dot(a.sweep->displacement - b.sweep->displacement);
    if (!(now > target)) return 0;
    return speed > 0 ? (now - target) / speed : std::numeric_limits<double>::infinity();
  }
  // A time within `most` up to which it stays above the target: chords of a concave function end below it.
  double stays_above(double target, double enough, double most) const {
    double lo = 0, above = at(0), hi = most, below = at(most);
    if (below >= target) return most;
    const auto try_at = [&](double x) {
      const double g = at(x);
      if (g >= target) {
        lo = x, above = g;
      } else {
        hi = x, below = g;
      }
    };
    for (int k = 0; k < 8 && above > enough; ++k) {
      try_at(lo + (hi - lo) * (above - target) / (above - below));
      if (above > enough) try_at(0.5 * (lo + hi));
    }
    return lo;
  }
};

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

ImpactOptions with_lengths(const Shape& a, const Shape& b, ImpactOptions o) {
  if (o.target < 0) o.target = impact_target(a, b);
  if (o.tolerance < 0) o.tolerance = kTolerance * o.target;
  return o;
}

// How the time up to which nothing meets is found for one pair of shapes, none a compound.
class Advance {
 public:
  Advance(const Shape& a, const Sweep& sa, const Shape& b, const Sweep& sb) : a_(a), b_(b), sa_(sa), sb_(sb) {
    const auto convex = [](const Shape& s) { return has_convex_view(s) || s.kind() == ShapeKind::kPlane; };
    if (convex(a) && convex(b)) ma_.emplace(a, sa), mb_.emplace(b, sb);
    directed_ = ma_ || a.kind() == ShapeKind::kPlane || b.kind() == ShapeKind::kPlane;
  }
  // From t on, when the shapes are as near as c tells.
  double step(double t, const ClosestPoints& c, const ImpactOptions& o) const {
    const double speed = approach(a_, sa_, b_, sb_, c.normal, directed_), left = 1 - t;
    const double x = speed > 0 ? std::min((c.separation - o.target) / speed, left) : left;  // (2)
    if (x == left || !ma_) return x;
    const Gap gap{*ma_, *mb_, sa_.at(t), sb_.at(t), c.normal};
    return std::max({x, std::min(gap.spheres_stay_above(o.target), left),
                     gap.stays_above(o.target, o.target + o.tolerance, left)});
  }

 private:
  const Shape &a_, &b_;
  const Sweep &sa_, &sb_;
  std::optional<Mover> ma_, mb_;
  bool directed_;
};

Impact advance(const Shape& a, const Sweep& sa, const Shape& b, const Sweep& sb, const ImpactOptions& options,
               CollisionWorkspace& ws) {
  const Advance way(a, sa, b, sb);
  const ImpactOptions o = with_lengths(a, b, options);
  Impact impact;
  impact.target = o.target;
  double t = 0;
  for (impact.iterations = 1; impact.iterations <= o.max_iterations; ++impact.iterations) {
    if (!closest_points(a, sa.at(t), b, sb.at(t), ws, impact.nearest)) return impact;
    impact.t = t;
    if (impact.nearest.separation <= o.target + o.tolerance) {
      impact.state = t == 0 ? ImpactState::kInitially : ImpactState::kTouching;
      return impact;
    }
    const double x = way.step(t, impact.nearest, o);
    if (x >= 1 - t) {
      impact.t = 1;
      return impact;
    }
    t += x;
  }
  impact.state = ImpactState::kUnresolved;
  return impact;
}

// Visits a shape, or the parts of a compound with their own sweeps: visit(shape, sweep, part).
template <class Visit>
void visit_parts(const Shape& shape, const Sweep& sweep, Visit&& visit) {
  if (shape.kind() != ShapeKind::kCompound) return visit(shape, sweep, 0u);
  std::uint32_t k = 0;
  for (const Compound::Part& part : shape.as_compound().parts) {
    visit(part.shape,
          Sweep{sweep.start * part.pose, part.pose.inverse_apply(sweep.center), sweep.displacement,
                sweep.rotation},
          k++);
  }
}
// The same for every two parts: visit(part of A, its sweep, part of B, its sweep, numbers of the parts).
template <class Visit>
void visit_part_pairs(const Shape& a, const Sweep& sa, const Shape& b, const Sweep& sb, Visit&& visit) {
  visit_parts(a, sa, [&](const Shape& pa, const Sweep& ta, std::uint32_t ka) {
    visit_parts(b, sb,
                [&](const Shape& pb, const Sweep& tb, std::uint32_t kb) { visit(pa, ta, pb, tb, ka, kb); });
  });
}

// Whether spheres about the centres, which move straight, stay further apart than `reach` beyond their radii.
bool stays_clear(const Shape& a, const Sweep& sa, const Shape& b, const Sweep& sb, double reach) {
  const double most = radius_about_center(a, sa) + radius_about_center(b, sb) + reach;
  if (std::isinf(most)) return false;
  const Vec3 d = sb.start * sb.center - sa.start * sa.center, way = sb.displacement - sa.displacement;
  const double w2 = way.squaredNorm();
  const double t = w2 > 0 ? std::clamp(-d.dot(way) / w2, 0.0, 1.0) : 0;
  return (d + t * way).squaredNorm() > most * most;
}

// The first impact of two parts. `past_contacts`: parts that are near from the start count only where no
// others meet.
Impact first_impact(const Shape& a, const Sweep& sa, const Shape& b, const Sweep& sb,
                    const ImpactOptions& options, bool past_contacts, CollisionWorkspace& ws) {
  const auto order = [&](const Impact& i) {
    if (i.state == ImpactState::kNone) return 3.0;
    return i.state == ImpactState::kInitially && past_contacts ? 2.0 : i.t;
  };
  const bool several = a.kind() == ShapeKind::kCompound || b.kind() == ShapeKind::kCompound;
  Impact first;
  bool any = false;
  visit_part_pairs(a, sa, b, sb,
                   [&](const Shape& pa, const Sweep& ta, const Shape& pb, const Sweep& tb, auto, auto) {
                     if (several) {
                       const ImpactOptions o = with_lengths(pa, pb, options);
                       if (stays_clear(pa, ta, pb, tb, o.target + o.tolerance)) return;
                     }
                     const Impact hit = advance(pa, ta, pb, tb, options, ws);
                     if (!any || order(hit) < order(first)) first = hit;
                     any = true;
                   });
  return first;
}

bool starts_near(const Shape& a, const Sweep& sa, const Shape& b, const Sweep& sb, const ImpactOptions& o,
                 CollisionWorkspace& ws) {
  ClosestPoints c;
  return closest_points(a, sa.start, b, sb.start, ws, c) && c.separation <= o.target + o.tolerance;
}

}  // namespace

double impact_target(const Shape& a, const Shape& b) {
  const double outer = std::min(bounding_radius(a), bounding_radius(b));
  if (std::isinf(outer)) return 0;  // two planes, which never meet
  const double inner = std::min({inner_radius(a), inner_radius(b), outer});
  return std::max(kTarget * inner, kLeastTarget * outer);
}

Impact time_of_impact(const Shape& a, const Sweep& sweep_a, const Shape& b, const Sweep& sweep_b,
                      const ImpactOptions& options, CollisionWorkspace& ws) {
  return first_impact(a, sweep_a, b, sweep_b, options, false, ws);
}

Impact impact_manifolds(const Shape& a, const Sweep& sweep_a, const Shape& b, const Sweep& sweep_b,
                        const ImpactOptions& options, CollisionWorkspace& ws, std::vector<Manifold>& out) {
  const Impact impact = first_impact(a, sweep_a, b, sweep_b, options, true, ws);
  if (impact.state == ImpactState::kNone || impact.state == ImpactState::kInitially) return impact;
  const bool several = a.kind() == ShapeKind::kCompound || b.kind() == ShapeKind::kCompound;
  const double beyond = options.margin < 0 ? kManifoldMargin * impact.target : options.margin;
  const CollideOptions reach{.margin = impact.nearest.separation + beyond};
  visit_part_pairs(a, sweep_a, b, sweep_b,
                   [&](const Shape& pa, const Sweep& ta, const Shape& pb, const Sweep& tb, std::uint32_t ka,
                       std::uint32_t kb) {
                     if (several && starts_near(pa, ta, pb, tb, with_lengths(pa, pb, options), ws)) return;
                     const std::size_t first = out.size();
                     collide(pa, ta.at(impact.t), pb, tb.at(impact.t), reach, ws, out);
                     for (std::size_t i = first; i < out.size(); ++i) out[i].part_a = ka, out[i].part_b = kb;
                   });
  return impact;
}

}  // namespace karakuri
