// Shapes' mass properties, hulls, mesh diagnosis and mending, decomposition.
#include <gtest/gtest.h>

#include <numbers>

#include "collision/random_shapes.h"
#include "collision/test_meshes.h"
#include "karakuri/collision/decomposition.h"

namespace karakuri {
namespace {

using namespace testing;

// A surface of revolution as a fine closed mesh: radius(z) at n heights, m corners round.
Mesh revolved(const std::vector<std::pair<double, double>>& radius_at_z, int m) {
  std::vector<Vec3> v;
  std::vector<Triangle> f;
  const int n = static_cast<int>(radius_at_z.size());
  for (const auto& [r, z] : radius_at_z) {
    for (int k = 0; k < m; ++k) {
      const double a = 2 * std::numbers::pi * k / m;
      v.push_back({r * std::cos(a), r * std::sin(a), z});
    }
  }
  for (int i = 0; i + 1 < n; ++i) {
    for (int k = 0; k < m; ++k) {
      const int a = i * m + k, b = i * m + (k + 1) % m;
      f.push_back({a, b, b + m}), f.push_back({a, b + m, a + m});
    }
  }
  const int bottom = static_cast<int>(v.size()), top = bottom + 1;
  v.push_back({0, 0, radius_at_z.front().second}), v.push_back({0, 0, radius_at_z.back().second});
  for (int k = 0; k < m; ++k) {
    f.push_back({bottom, (k + 1) % m, k});
    f.push_back({top, (n - 1) * m + k, (n - 1) * m + (k + 1) % m});
  }
  return make_mesh(v, f).value();
}

void expect_similar(const Inertia& a, const Inertia& b, double relative) {
  const double size = std::cbrt(b.mass);
  EXPECT_NEAR(a.mass, b.mass, relative * b.mass);
  EXPECT_LT((a.com - b.com).norm(), relative * size);
  EXPECT_LT((a.about_com - b.about_com).norm(), relative * b.about_com.norm());
}

TEST(Solid, MeshIntegralsConvergeToClosedForms) {
  // 1e-3: a circle of 256 corners has 1e-4 less area, and its second moments twice that
  const int n = 256;
  std::vector<std::pair<double, double>> ball, capsule;
  for (int i = 1; i < n; ++i) {
    const double a = std::numbers::pi * (static_cast<double>(i) / n - 0.5);
    ball.push_back({0.7 * std::cos(a), 0.7 * std::sin(a)});
    capsule.push_back({0.7 * std::cos(a), 0.7 * std::sin(a) + (a < 0 ? -0.4 : 0.4)});
  }
  expect_similar(revolved(ball, n).solid, solid_inertia(Shape::sphere(0.7)), 1e-3);
  expect_similar(revolved(capsule, n).solid, solid_inertia(Shape::capsule(0.7, 0.4)), 1e-3);
  expect_similar(revolved({{0.3, -0.5}, {0.3, 0.5}}, n).solid, solid_inertia(Shape::cylinder(0.3, 0.5)),
                 1e-3);
  expect_similar(revolved({{0.3, -0.5}, {1e-9, 0.5}}, n).solid, solid_inertia(Shape::cone(0.3, 0.5)), 1e-3);
}

TEST(Solid, ExactForBoxesHullsAndCompounds) {
  const Vec3 h(0.5, 0.2, 0.3);
  const Inertia box = solid_inertia(Shape::box(h), 1000);
  expect_similar(solid_inertia(Shape::mesh(box_mesh(h)), 1000), box, 1e-14);
  expect_similar(solid_inertia(box_hull(h), 1000), box, 1e-14);
  // two halves make the whole
  const Vec3 half(0.25, 0.2, 0.3);
  const Shape two = make_compound({{Shape::box(half), Transform::translation({0.25, 0, 0})},
                                   {box_hull(half), Transform::translation({-0.25, 0, 0})}})
                        .value();
  expect_similar(solid_inertia(two, 1000), box, 1e-14);
  // far from the origin, nothing is lost: 1e-10 of cancellation at 1e3 times the size
  std::vector<Vec3> far;
  for (const Vec3& v : box_corners(h)) far.push_back(v + Vec3(500, -300, 800));
  const Inertia moved = make_mesh(far, box_triangles())->solid;
  EXPECT_NEAR(moved.mass, 8 * h.prod(), 1e-10);
  EXPECT_LT((moved.about_com - box.about_com / 1000).norm(), 1e-9);
  // an ellipsoid by stretching a ball: I_x = m (b^2 + c^2) / 5
  const Inertia e = solid_inertia(Shape::ellipsoid({1, 2, 3}));
  EXPECT_NEAR(e.mass, 8 * std::numbers::pi, 1e-12);
  EXPECT_NEAR(e.about_com(0, 0), e.mass * 13 / 5, 1e-10);
}

TEST(Hull, FacesAreJoinedAndLinked) {
  Random r(1);
  for (int k = 0; k < 300; ++k) {
    const std::vector<Vec3> cloud = random_cloud(r, 5 + r.below(60), 1);
    const auto hull = make_convex_hull(cloud);
    ASSERT_TRUE(hull);
    for (int e = 0; e < static_cast<int>(hull->origin.size()); ++e) {
      EXPECT_EQ(hull->twin[hull->twin[e]], e);
      EXPECT_EQ(hull->origin[hull->twin[e]], hull->origin[hull->next(e)]);
    }
    for (const Vec3& p : cloud) {
      for (const HullFace& f : hull->faces) EXPECT_LE(f.normal.dot(p), f.offset + 1e-9);
    }
  }
  EXPECT_EQ(make_convex_hull(box_corners({1, 2, 3}))->faces.size(), 6u);
  EXPECT_FALSE(make_convex_hull(std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}}));  // flat
  EXPECT_FALSE(make_convex_hull(std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, 1, std::nan("")}, {1, 1, 1}}));
  EXPECT_FALSE(make_convex_hull(std::vector<Vec3>(20, Vec3(1, 2, 3))));  // one point
  EXPECT_FALSE(make_convex_hull({}));
}

TEST(Mesh, AdjacencyOfACube) {
  const Mesh m = box_mesh({1, 1, 1});
  EXPECT_EQ(m.edges.size(), 18u);
  int flat = 0, right = 0;
  for (const MeshEdge& e : m.edges) {
    EXPECT_GE(e.f[0], 0);
    EXPECT_GE(e.f[1], 0);
    flat += std::abs(e.bend) < 1e-12, right += std::abs(e.bend - std::numbers::pi / 2) < 1e-12;
  }
  EXPECT_EQ(flat, 6);
  EXPECT_EQ(right, 12);
  for (std::size_t f = 0; f < m.faces.size(); ++f) {
    for (int k = 0; k < 3; ++k) {
      const auto& v = m.edges[m.face_edges[f][k]].v;
      const int a = m.faces[f][k], b = m.faces[f][(k + 1) % 3];
      EXPECT_EQ(std::minmax(a, b), std::minmax(v[0], v[1]));
    }
  }
  ASSERT_NE(m.hull, nullptr);  // convex
  EXPECT_EQ(split_box_mesh({1, 1, 1}).hull, nullptr);
}

TEST(Mesh, WhatIsWrongIsCounted) {
  const auto v = box_corners({1, 1, 1});
  const auto f = box_triangles();
  EXPECT_TRUE(diagnose_mesh(v, f).closed);

  auto open = f;
  open.erase(open.begin() + 2);
  MeshReport r = diagnose_mesh(v, open);
  EXPECT_FALSE(r.closed);
  EXPECT_EQ(r.open_edge.count, 3);
  const auto refused = make_mesh(v, open);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.errors()[0].what.find("3 open edges"), std::string::npos) << refused.errors()[0].what;
  EXPECT_TRUE(make_mesh(v, open, {.use = MeshUse::kSurface}));

  auto inside_out = f;
  for (Triangle& t : inside_out) std::swap(t[0], t[1]);
  auto mended = make_mesh(v, inside_out, {}, &r);
  ASSERT_TRUE(mended);
  EXPECT_EQ(r.inside_out, 1);
  EXPECT_NEAR(mended->solid.mass, 8, 1e-12);
  EXPECT_FALSE(make_mesh(v, inside_out, {.mend = false}));

  auto one_turned = f;
  std::swap(one_turned[5][0], one_turned[5][1]);
  mended = make_mesh(v, one_turned, {}, &r);
  ASSERT_TRUE(mended);
  EXPECT_EQ(r.misoriented_face.count, 1);
  EXPECT_EQ(r.misoriented_face.first, std::vector<int>{5});
  EXPECT_NEAR(mended->solid.mass, 8, 1e-12);

  auto fin = f;  // a third face at an edge
  auto with_tip = v;
  with_tip.push_back({0, 0, 5});
  fin.push_back({0, 1, 8});
  r = diagnose_mesh(with_tip, fin);
  EXPECT_EQ(r.non_manifold_edge.count, 3);
  EXPECT_FALSE(make_mesh(with_tip, fin));

  auto bad = f;
  bad.push_back({0, 1, 99});
  bad.push_back({0, 0, 3});
  bad.push_back({-1, 2, 3});
  auto bad_v = v;
  bad_v.push_back({0, std::nan(""), 0});
  r = diagnose_mesh(bad_v, bad);
  EXPECT_EQ(r.bad_index.count, 2);
  EXPECT_EQ(r.degenerate_face.count, 1);
  EXPECT_EQ(r.not_finite.count, 1);
  EXPECT_EQ(r.not_finite.first, std::vector<int>{8});
  EXPECT_FALSE(make_mesh({}, {}));
}

TEST(Mesh, CavitiesStayCavities) {
  auto v = box_corners({1, 1, 1});
  auto f = box_triangles();
  for (const Vec3& p : box_corners({0.5, 0.5, 0.5})) v.push_back(p);
  for (const Triangle& t : box_triangles()) f.push_back({t[0] + 8, t[2] + 8, t[1] + 8});  // facing inward
  MeshReport r;
  const auto m = make_mesh(v, f, {}, &r);
  ASSERT_TRUE(m);
  EXPECT_EQ(r.inside_out, 0);
  EXPECT_NEAR(m->solid.mass, 7, 1e-12);
  EXPECT_FALSE(contains(*m, {0, 0, 0}));
  EXPECT_TRUE(contains(*m, {0.75, 0, 0}));
}

TEST(Mesh, RandomSoupIsSurvived) {
  Random r(2);
  for (int k = 0; k < 3000; ++k) {
    std::vector<Vec3> v;
    std::vector<Triangle> f;
    for (int i = r.below(12); i > 0; --i) v.push_back(Vec3(r.below(3), r.below(3), r.below(3)));
    for (int i = r.below(20); i > 0; --i) f.push_back({r.below(13) - 1, r.below(12), r.below(12)});
    const auto m =
        make_mesh(v, f, {.use = k % 2 ? MeshUse::kSurface : MeshUse::kSolid, .merge_distance = k % 3 * 0.4});
    if (m) EXPECT_TRUE(std::isfinite(m->solid.mass));
  }
}

TEST(Mesh, NearestPointMatchesBruteForce) {
  Random r(3);
  const Mesh m = slab_mesh(6, 4, 1);
  for (int k = 0; k < 2000; ++k) {
    const Vec3 p = 3 * Vec3(r.uniform(-1, 1), r.uniform(-1, 1), r.uniform(-1, 1));
    const Vec3 inside = p.cwiseMax(Vec3(-2, -2, -1)).cwiseMin(Vec3(2, 2, 0));
    const bool within = (p - inside).norm() == 0;
    const MeshPoint at = nearest_point(m, p);
    EXPECT_EQ(at.inside, within);
    const Vec3 depth = Vec3(2, 2, 0.5) - Vec3(p.x(), p.y(), p.z() + 0.5).cwiseAbs();
    EXPECT_NEAR(at.distance, within ? depth.minCoeff() : (p - inside).norm(), 1e-12);
  }
}

// An L, a U and a ring of boxes, as closed meshes cut from a grid of cells.
Mesh from_cells(const std::vector<std::string>& rows) {
  std::vector<Vec3> v;
  std::vector<Triangle> f;
  const int n = static_cast<int>(rows.size()), m = static_cast<int>(rows[0].size());
  const auto solid = [&](int i, int j) { return i >= 0 && j >= 0 && i < m && j < n && rows[j][i] == '#'; };
  const auto quad = [&](Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
    const int k = static_cast<int>(v.size());
    for (const Vec3& p : {a, b, c, d}) v.push_back(p);
    f.push_back({k, k + 1, k + 2}), f.push_back({k, k + 2, k + 3});
  };
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      if (!solid(i, j)) continue;
      const double x = i, y = j;
      quad({x, y, 1}, {x + 1, y, 1}, {x + 1, y + 1, 1}, {x, y + 1, 1});
      quad({x, y, 0}, {x, y + 1, 0}, {x + 1, y + 1, 0}, {x + 1, y, 0});
      if (!solid(i - 1, j)) quad({x, y, 0}, {x, y, 1}, {x, y + 1, 1}, {x, y + 1, 0});
      if (!solid(i + 1, j)) quad({x + 1, y, 0}, {x + 1, y + 1, 0}, {x + 1, y + 1, 1}, {x + 1, y, 1});
      if (!solid(i, j - 1)) quad({x, y, 0}, {x + 1, y, 0}, {x + 1, y, 1}, {x, y, 1});
      if (!solid(i, j + 1)) quad({x, y + 1, 0}, {x, y + 1, 1}, {x + 1, y + 1, 1}, {x + 1, y + 1, 0});
    }
  }
  return make_mesh(v, f).value();
}

TEST(Decomposition, BlocksFallIntoBlocks) {
  struct Case {
    std::vector<std::string> rows;
    int parts;
  };
  for (const Case& c : {Case{{"##", "##"}, 1}, Case{{"##", "#."}, 2}, Case{{"###", "#.#"}, 3},
                        Case{{"###", "#.#", "###"}, 4}}) {
    const Mesh m = from_cells(c.rows);
    const auto d = decompose(m);
    ASSERT_TRUE(d);
    EXPECT_LT(std::abs(d->excess), 0.02);  // as asked
    EXPECT_GE(static_cast<int>(d->parts.size()), std::min(c.parts, 2));
    EXPECT_LE(static_cast<int>(d->parts.size()), c.parts + 2);  // greedy: not always the fewest
  }
}

TEST(Decomposition, HullsCoverTheSolidAndLittleMore) {
  std::vector<std::pair<double, double>> waist;  // an hourglass
  for (int i = 0; i <= 16; ++i) waist.push_back({0.2 + 0.3 * std::pow(i / 8.0 - 1, 2), i / 8.0 - 1});
  const Mesh m = revolved(waist, 24);
  const auto d = decompose(m, {.max_parts = 24, .excess = 0.05});
  ASSERT_TRUE(d);
  EXPECT_LE(d->excess, 0.05);
  EXPECT_GT(d->parts.size(), 1u);
  Random r(4);
  for (int k = 0; k < 3000; ++k) {
    const Vec3 p(r.uniform(-0.5, 0.5), r.uniform(-0.5, 0.5), r.uniform(-1, 1));
    if (!contains(m, p)) continue;
    bool covered = false;
    for (const ConvexHull& h : d->parts) {
      covered |= std::all_of(h.faces.begin(), h.faces.end(),
                             [&](const HullFace& f) { return f.normal.dot(p) <= f.offset + 1e-9; });
    }
    EXPECT_TRUE(covered) << p.transpose();
  }
}

TEST(Shape, BadSizesAreTold) {
  EXPECT_TRUE(check(Shape::box({1, 2, 3}), "b").empty());
  EXPECT_TRUE(check(Shape::capsule(1, 0), "b").empty());
  const auto told = check(Shape::box({1, -2, 3}), "left_foot");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].where, "left_foot");
  EXPECT_NE(told[0].what.find("-2"), std::string::npos);
  EXPECT_FALSE(check(Shape::sphere(std::nan("")), "b").empty());
  EXPECT_FALSE(make_compound({}));
  EXPECT_FALSE(make_heightfield(1, 2, 1, 1, {0, 0}));
  EXPECT_FALSE(make_heightfield(2, 2, 1, 1, {0, 0, 0}));
  EXPECT_FALSE(make_heightfield(2, 2, 1, 1, {0, 0, 0, std::nan("")}));
}

TEST(Shape, BoxesHoldTheShapeTightly) {
  Random r(5);
  for (int k = 0; k < 5000; ++k) {
    const Shape s = random_convex(r, kConvexKinds[k % 7], 1);
    const Transform X{random_rotation(r), 3 * random_unit(r)};
    const Aabb box = bounding_box(s, X);
    for (int i = 0; i < 3; ++i) {  // as tight as the support function, for shapes that are not large hulls
      const Vec3 d = X.R.row(i).transpose();
      EXPECT_NEAR(box.hi[i], X.p[i] + support_value(s, d), 1e-12);
      EXPECT_NEAR(box.lo[i], X.p[i] - support_value(s, -d), 1e-12);
    }
    EXPECT_GE(bounding_radius(s) + 1e-12, support_value(s, random_unit(r)));
  }
}

}  // namespace
}  // namespace karakuri
