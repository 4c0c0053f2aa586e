// No length is built in: a scene whose lengths are all multiplied by a power of two has the same contacts,
// multiplied by it, bit for bit.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "collision/random_surfaces.h"
#include "karakuri/collision/decomposition.h"
#include "karakuri/collision/query.h"

namespace karakuri {
namespace {

using namespace testing;

constexpr int kPowers[] = {-10, -3, 3, 10};

/// Compares a scene with the same one `f` times as large.
struct Scale {
  double f;
  bool same = true;

  void number(double a, double b) { same = same && (a == b || (std::isnan(a) && std::isnan(b))); }
  void length(double a, double b) { number(f * a, b); }
  void lengths(const Vec3& a, const Vec3& b) {
    for (int k = 0; k < 3; ++k) length(a[k], b[k]);
  }
  void numbers(const Vec3& a, const Vec3& b) {
    for (int k = 0; k < 3; ++k) number(a[k], b[k]);
  }
  void boxes(const Aabb& a, const Aabb& b) { lengths(a.lo, b.lo), lengths(a.hi, b.hi); }
  void closest(const ClosestPoints& a, const ClosestPoints& b) {
    length(a.separation, b.separation);
    numbers(a.normal, b.normal), lengths(a.on_a, b.on_a), lengths(a.on_b, b.on_b);
  }
  void impacts(const Impact& a, const Impact& b) {
    same = same && a.state == b.state && a.iterations == b.iterations;
    number(a.t, b.t), length(a.target, b.target), closest(a.nearest, b.nearest);
  }
  void manifolds(const std::vector<Manifold>& a, const std::vector<Manifold>& b) {
    same = same && a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i) {
      same = a[i].count == b[i].count && a[i].part_a == b[i].part_a && a[i].part_b == b[i].part_b;
      numbers(a[i].normal, b[i].normal);
      for (int k = 0; same && k < a[i].count; ++k) {
        const ContactPoint &p = a[i].points[k], &q = b[i].points[k];
        same = p.id() == q.id();
        lengths(p.position, q.position), length(p.separation, q.separation);
      }
    }
  }
  void inertias(const Inertia& a, const Inertia& b) {
    number(f * f * f * a.mass, b.mass), lengths(a.com, b.com);
    const Mat3 large = std::pow(f, 5) * a.about_com;
    same = same && large == b.about_com;
  }
};

Transform scaled(const Transform& X, double f) { return {X.R, f * X.p}; }
std::vector<Vec3> scaled(std::vector<Vec3> points, double f) {
  for (Vec3& p : points) p *= f;
  return points;
}
std::vector<Vec3> vertices_of(const ConvexHull& h) {
  std::vector<Vec3> v;
  for (int i = 0; i < h.vertex_count; ++i) v.push_back(h.vertex(i));
  return v;
}
Sweep scaled(const Sweep& s, double f) {
  return {scaled(s.start, f), f * s.center, f * s.displacement, s.rotation};
}

/// Made anew from its lengths times f.
Shape scaled(const Shape& s, double f) {
  const Vec3 size = f * s.size();
  switch (s.kind()) {
    case ShapeKind::kSphere: return Shape::sphere(size.x());
    case ShapeKind::kCapsule: return Shape::capsule(size.x(), size.z());
    case ShapeKind::kBox: return Shape::box(size);
    case ShapeKind::kCylinder: return Shape::cylinder(size.x(), size.z());
    case ShapeKind::kCone: return Shape::cone(size.x(), size.z());
    case ShapeKind::kEllipsoid: return Shape::ellipsoid(size);
    case ShapeKind::kHull: return Shape::hull(make_convex_hull(scaled(vertices_of(s.as_hull()), f)).value());
    case ShapeKind::kMesh: {
      const Mesh& m = s.as_mesh();
      return Shape::mesh(make_mesh(scaled(m.vertices, f), m.faces, {.use = m.use}).value());
    }
    case ShapeKind::kHeightfield: {
      const Heightfield& h = s.as_heightfield();
      std::vector<double> heights = h.heights;
      for (double& z : heights) z *= f;
      return Shape::heightfield(
          make_heightfield(h.columns, h.rows, -2 * f * h.x0, -2 * f * h.y0, heights).value());
    }
    case ShapeKind::kCompound: {
      std::vector<ShapeAt> parts;
      for (const Compound::Part& p : s.as_compound().parts)
        parts.push_back({scaled(p.shape, f), scaled(p.pose, f)});
      return make_compound(parts).value();
    }
    case ShapeKind::kPlane: break;
  }
  return s;
}

/// What differed, by what was asked and of which shapes.
struct Differences {
  std::map<std::string, int> counts;

  void note(bool same, const char* what, const Shape& a, const Shape& b, double f) {
    if (same) return;
    ++counts[std::string(what) + " of " + to_string(a.kind()) + " and " + to_string(b.kind()) +
             (f < 1 ? ", small" : ", large")];
  }
  void expect_none() const {
    for (const auto& [what, count] : counts) ADD_FAILURE() << what << ": " << count << " differ";
  }
};

struct Pair {
  Shape a, b;
  Transform X_WA, X_WB;
  double margin;
};

Pair scaled(const Pair& p, double f) {
  return {scaled(p.a, f), scaled(p.b, f), scaled(p.X_WA, f), scaled(p.X_WB, f), f * p.margin};
}

void compare_contacts(const Pair& p, const Pair& q, double f, CollisionWorkspace& ws, Differences& found) {
  std::vector<Manifold> small, large;
  collide(p.a, p.X_WA, p.b, p.X_WB, {p.margin}, ws, small);
  collide(q.a, q.X_WA, q.b, q.X_WB, {q.margin}, ws, large);
  Scale contacts{f};
  contacts.manifolds(small, large);
  found.note(contacts.same, "contacts", p.a, p.b, f);
  Scale hinted{f};
  PairHint hint_p, hint_q;
  for (int k = 0; k < 3; ++k) {  // comes apart while it is remembered
    const Vec3 away = 0.3 * k * (p.X_WB.p - p.X_WA.p);
    small.clear(), large.clear();
    collide(p.a, p.X_WA, p.b, {p.X_WB.R, p.X_WB.p + away}, {p.margin}, ws, small, &hint_p);
    collide(q.a, q.X_WA, q.b, {q.X_WB.R, q.X_WB.p + f * away}, {q.margin}, ws, large, &hint_q);
    hinted.manifolds(small, large);
    hinted.numbers(hint_p.axis, hint_q.axis);
  }
  found.note(hinted.same, "contacts with a hint", p.a, p.b, f);
}

void compare_distances(const Pair& p, const Pair& q, double f, CollisionWorkspace& ws, Differences& found) {
  ClosestPoints c, d;
  Scale s{f};
  s.same = closest_points(p.a, p.X_WA, p.b, p.X_WB, ws, c) == closest_points(q.a, q.X_WA, q.b, q.X_WB, ws, d);
  s.closest(c, d);
  found.note(s.same, "distance", p.a, p.b, f);
  s.same = overlap(p.a, p.X_WA, p.b, p.X_WB, ws) == overlap(q.a, q.X_WA, q.b, q.X_WB, ws);
  found.note(s.same, "overlap", p.a, p.b, f);
}

void compare_impacts(Random& r, const Pair& p, const Pair& q, double f, bool own_target,
                     CollisionWorkspace& ws, Differences& found) {
  const auto radius = [](const Shape& s) {
    return std::min(bounding_radius(s), 1e3);
  };  // a plane's is endless
  const double size = std::min(radius(p.a), radius(p.b)), far = size * r.uniform(1, 3);
  const Vec3 u = random_unit(r);
  Sweep a{{p.X_WA.R, p.X_WA.p - far * u}, 0.1 * size * random_unit(r), 3 * far * u, Vec3::Zero()};
  if (r.below(2)) a.rotation = r.uniform(0, 1) * random_unit(r);
  const Sweep b = Sweep::still(p.X_WB), a2 = scaled(a, f), b2 = Sweep::still(q.X_WB);
  ImpactOptions o{.max_iterations = 12}, o2 = o;
  if (own_target) o.target = 1e-3 * size, o.tolerance = 1e-4 * size, o.margin = 0.01 * size;
  if (own_target) o2.target = f * o.target, o2.tolerance = f * o.tolerance, o2.margin = f * o.margin;
  Scale s{f};
  s.impacts(time_of_impact(p.a, a, p.b, b, o, ws), time_of_impact(q.a, a2, q.b, b2, o2, ws));
  found.note(s.same, "time of impact", p.a, p.b, f);
  std::vector<Manifold> small, large;
  s.same = true;
  s.impacts(impact_manifolds(p.a, a, p.b, b, o, ws, small),
            impact_manifolds(q.a, a2, q.b, b2, o2, ws, large));
  s.manifolds(small, large);
  found.note(s.same, "contact of impact", p.a, p.b, f);
}

void compare_shapes(Random& r, const Shape& a, const Transform& X, const Shape& b, const Transform& Y,
                    double f, Differences& found) {
  Scale s{f};
  s.boxes(bounding_box(a, X), bounding_box(b, Y));
  s.length(bounding_radius(a), bounding_radius(b));
  found.note(s.same, "box", a, a, f);
  s.same = true;
  s.inertias(solid_inertia(a), solid_inertia(b));
  found.note(s.same, "inertia", a, a, f);
  const double size = std::min(bounding_radius(a), 1e3);
  for (int k = 0; k < 4; ++k) {
    const Vec3 from = X.p + 2 * size * random_unit(r), d = X.p + 0.3 * size * random_unit(r) - from;
    const auto hit = ray_cast(a, X, from, d, 2), hit2 = ray_cast(b, Y, f * from, f * d, 2);
    s.same = hit.has_value() == hit2.has_value();
    if (s.same && hit) {
      s.same = hit->face == hit2->face && hit->part == hit2->part;
      s.number(hit->t, hit2->t), s.lengths(hit->point, hit2->point), s.numbers(hit->normal, hit2->normal);
    }
    found.note(s.same, "ray", a, a, f);
  }
}

void compare(Random& r, const Pair& given, CollisionWorkspace& ws, Differences& found) {
  const Pair p = scaled(given, 1);
  const double f = std::ldexp(1.0, kPowers[r.below(4)]);
  const Pair q = scaled(p, f);
  compare_shapes(r, p.a, p.X_WA, q.a, q.X_WA, f, found);
  compare_shapes(r, p.b, p.X_WB, q.b, q.X_WB, f, found);
  compare_contacts(p, q, f, ws, found);
  compare_distances(p, q, f, ws, found);
  compare_impacts(r, p, q, f, r.below(2), ws, found);
}

TEST(Scale, ConvexPairs) {
  Random r(3);
  CollisionWorkspace ws;
  Differences found;
  for (int round = 0; round < 60; ++round) {
    for (const ShapeKind ka : kConvexKinds) {
      for (const ShapeKind kb : kConvexKinds) {
        const RandomPair p = random_pair(r, ka, kb);
        const double margin = r.below(4) ? p.small * std::pow(10, r.uniform(-6, 0)) : 0;
        compare(r, {p.a, p.b, p.X_WA, p.X_WB, margin}, ws, found);
      }
    }
  }
  found.expect_none();
}

TEST(Scale, PlanesTerrainsMeshesAndCompounds) {
  constexpr ShapeKind kOthers[] = {ShapeKind::kPlane, ShapeKind::kHeightfield, ShapeKind::kMesh,
                                   ShapeKind::kCompound};
  Random r(4);
  CollisionWorkspace ws;
  Differences found;
  for (int round = 0; round < 24; ++round) {
    for (const ShapeKind kb : kOthers) {
      const double size = std::pow(10, r.uniform(-2, 2));
      const Shape b = kb == ShapeKind::kPlane ? Shape::plane() : pooled_surface(kb, size);
      for (int k = 0; k < 11; ++k) {
        const double other = size * std::pow(10, r.uniform(-1, 0.3));
        const Shape a = k < 7    ? random_convex(r, kConvexKinds[k], other)
                        : k < 8  ? Shape::mesh(sheet_mesh(3, other))
                        : k < 9  ? Shape::mesh(box_mesh(other * Vec3(1, 0.7, 0.4)))
                        : k < 10 ? pooled_surface(ShapeKind::kMesh, other)
                                 : pooled_surface(ShapeKind::kCompound, other);
        const double reach = bounding_radius(a) + (r.below(2) ? 0.5 * size : 0);
        const Transform X{random_rotation(r), r.uniform(0, 1) * reach * random_unit(r)};
        const double margin = r.below(4) ? other * std::pow(10, r.uniform(-6, 0)) : 0;
        const Transform level{r.below(2) ? random_rotation(r) : Mat3(Mat3::Identity()), Vec3::Zero()};
        if (r.below(2))
          compare(r, {a, b, X, level, margin}, ws, found);
        else
          compare(r, {b, a, level, X, margin}, ws, found);
      }
    }
  }
  found.expect_none();
}

// Gaps and depths from those that rounding makes to those that are seen.
TEST(Scale, MeshesThatAllButTouch) {
  Random r(7);
  CollisionWorkspace ws;
  Differences found;
  for (int round = 0; round < 600; ++round) {
    const double size = std::pow(10, r.uniform(-2, 2));
    const Shape floor = Shape::mesh(angle_mesh(size * Vec3(2, 2, 0.5), 1.2));
    const Vec3 half = size * Vec3(r.uniform(0.3, 1), r.uniform(0.3, 1), r.uniform(0.3, 1));
    const Shape shapes[] = {Shape::mesh(angle_mesh(half, 0.5)), Shape::mesh(split_box_mesh(half)),
                            Shape::box(half), box_hull(half)};
    const Shape& a = shapes[r.below(4)];
    const double gap = size * std::pow(10, r.uniform(-16, -3)) * (r.below(2) ? 1 : -1);
    const double lean = r.below(2) ? std::pow(10, r.uniform(-14, -3)) : 0;
    const Vec3 at(2 * size * r.uniform(-1, 1), 2 * size * r.uniform(-1, 1), 0.5 * size + half.z() + gap);
    const Transform X{rotation_exp(Vec3(0, 0, r.uniform(0, 3))) * rotation_exp(lean * random_unit(r)), at};
    const Transform W{r.below(2) ? random_rotation(r) : Mat3(Mat3::Identity()), Vec3::Zero()};
    compare(r, {a, floor, W * X, W, 2 * size * std::pow(10, r.uniform(-12, -2))}, ws, found);
  }
  found.expect_none();
}

TEST(Scale, Decompositions) {
  Random r(5);
  for (int k = 0; k < 6; ++k) {
    const Mesh m =
        angle_mesh(Vec3(r.uniform(0.5, 2), r.uniform(0.5, 2), r.uniform(0.5, 2)), r.uniform(0.3, 1));
    const double f = std::ldexp(1.0, kPowers[r.below(4)]);
    const auto small = decompose(m), large = decompose(make_mesh(scaled(m.vertices, f), m.faces).value());
    ASSERT_EQ(small->parts.size(), large->parts.size());
    for (std::size_t i = 0; i < small->parts.size(); ++i)
      EXPECT_EQ(scaled(vertices_of(small->parts[i]), f), vertices_of(large->parts[i]));
  }
}

TEST(Scale, BroadPhaseFindsTheSamePairs) {
  Random r(6);
  for (const int power : kPowers) {
    const double f = std::ldexp(1.0, power);
    Broadphase small, large;
    std::vector<Aabb> boxes;
    for (int i = 0; i < 400; ++i) {
      const Vec3 c = r.uniform(0, 6) * random_unit(r),
                 h(r.uniform(0.01, 1), r.uniform(0.01, 1), r.uniform(0.01, 1));
      boxes.push_back({c - h, c + h});
      small.insert(boxes.back());
      large.insert({f * boxes.back().lo, f * boxes.back().hi});
    }
    for (int step = 0; step < 20; ++step) {
      small.update(), large.update();
      ASSERT_EQ(small.pairs().size(), large.pairs().size()) << power << " " << step;
      for (std::size_t i = 0; i < small.pairs().size(); ++i) {
        ASSERT_EQ(small.pairs()[i].a, large.pairs()[i].a);
        ASSERT_EQ(small.pairs()[i].b, large.pairs()[i].b);
      }
      for (int i = 0; i < 400; ++i) {
        const Vec3 d = 0.05 * random_unit(r);
        boxes[i].lo += d, boxes[i].hi += d;
        small.move(i, boxes[i]), large.move(i, {f * boxes[i].lo, f * boxes[i].hi});
      }
    }
  }
}

}  // namespace
}  // namespace karakuri
