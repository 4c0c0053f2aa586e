// The broad phase against testing every pair, and the queries that use it.
#include <gtest/gtest.h>

#include "collision/random_shapes.h"
#include "collision/test_meshes.h"
#include "karakuri/collision/query.h"

namespace karakuri {
namespace {

using namespace testing;

TEST(Broadphase, MatchesBruteForceThroughChanges) {
  Random r(2);
  Broadphase b;
  std::vector<Vec3> at;
  std::vector<bool> alive;
  const auto box = [&](int i) { return Aabb{at[i] - Vec3::Constant(0.5), at[i] + Vec3::Constant(0.5)}; };
  for (int i = 0; i < 300; ++i) {
    at.push_back(10 * Vec3(r.uniform(), r.uniform(), r.uniform()));
    alive.push_back(true);
    CollisionFilter f;
    if (i % 7 == 0) f.group = -1;
    if (i % 5 == 0) f.category = 2, f.mask = ~2u;
    ASSERT_EQ(b.insert(box(i), f, i % 11 == 0), i);
  }
  b.exclude(3, 4);
  for (int step = 0; step < 200; ++step) {
    for (int i = 0; i < 300; ++i) {
      if (!alive[i] || i % 11 == 0) continue;
      at[i] += 0.2 * random_unit(r) * (r.below(20) ? 1 : 10);
      b.move(i, box(i));
    }
    const int k = r.below(300);
    if (alive[k]) {
      b.remove(k), alive[k] = false;
    }
    b.update();
    const auto pairs = b.pairs();
    EXPECT_TRUE(std::is_sorted(pairs.begin(), pairs.end()));
    EXPECT_EQ(std::adjacent_find(pairs.begin(), pairs.end()), pairs.end());
    for (int i = 0; i < 300; ++i) {
      for (int j = i + 1; j < 300; ++j) {
        if (!alive[i] || !alive[j]) continue;
        const bool listed = std::binary_search(pairs.begin(), pairs.end(), ProxyPair{i, j});
        const bool filtered = (i % 7 == 0 && j % 7 == 0) || (i % 5 == 0 && j % 5 == 0) ||
                              (i % 11 == 0 && j % 11 == 0) || (i == 3 && j == 4);
        if (filtered) {
          EXPECT_FALSE(listed) << i << " " << j;
        } else if (box(i).overlaps(box(j))) {
          EXPECT_TRUE(listed) << i << " " << j << " at step " << step;
        } else if (listed) {  // fat and stretched by at most its own half width, and anywhere within: never
                              // far
          EXPECT_LT((at[i] - at[j]).cwiseAbs().maxCoeff(), 1 + 2 * (2 * 0.05 + 0.5) + 1e-6);
        }
      }
    }
  }
  EXPECT_LT(b.height(), 30);
}

TEST(Broadphase, SameCallsSamePairs) {
  const auto run = [] {
    Random r(3);
    Broadphase b;
    for (int i = 0; i < 200; ++i) {
      const Vec3 p = 5 * Vec3(r.uniform(), r.uniform(), r.uniform());
      b.insert({p, p + Vec3::Ones()});
    }
    for (int k = 0; k < 20; ++k) {
      for (int i = 0; i < 200; ++i) {
        const Vec3 p = b.box(i).lo + 0.1 * random_unit(r);
        b.move(i, {p, p + Vec3::Ones()});
      }
      b.update();
    }
    return std::vector<ProxyPair>(b.pairs().begin(), b.pairs().end());
  };
  EXPECT_EQ(run(), run());
}

TEST(Broadphase, PlanesPairWithEverything) {
  Broadphase b;
  const ProxyId plane = b.insert(Aabb::everything(), {}, true);
  for (int i = 0; i < 10; ++i) b.insert({Vec3::Constant(i * 10), Vec3::Constant(i * 10 + 1)});
  b.update();
  EXPECT_EQ(b.pairs().size(), 10u);
  for (const ProxyPair& p : b.pairs()) EXPECT_EQ(p.a, plane);
}

TEST(Broadphase, BoxOfALevelPlaneEndsOnIt) {
  Transform X;
  X.p = {1, 2, 3};
  EXPECT_EQ(bounding_box(Shape::plane(), X).hi.z(), 3);
  EXPECT_TRUE(std::isinf(bounding_box(Shape::plane(), X).lo.z()));
  EXPECT_TRUE(std::isinf(bounding_box(Shape::plane(), X).hi.x()));
  X.R = Vec3(1, -1, -1).asDiagonal();
  EXPECT_EQ(bounding_box(Shape::plane(), X).lo.z(), 3);
  X.R = Eigen::AngleAxisd(0.1, Vec3::UnitX()).toRotationMatrix();
  for (const Vec3& corner : {Vec3(1e9, 0, -1e9), Vec3(0, -1e9, 1e9)})
    EXPECT_TRUE(bounding_box(Shape::plane(), X).contains({corner, corner}));
}

struct Scene {
  std::vector<Shape> shapes;
  std::vector<Collider> colliders;
  Broadphase broadphase;
  explicit Scene(int n) {
    Random r(4);
    for (int i = 0; i < n; ++i) {
      const int k = i % 8;
      shapes.push_back(k < 7 ? random_convex(r, kConvexKinds[k], 0.4)
                             : Shape::mesh(split_box_mesh({0.4, 0.3, 0.5})));
    }
    for (int i = 0; i < n; ++i) {
      colliders.push_back(
          {&shapes[i], {random_rotation(r), 6 * Vec3(r.uniform(-1, 1), r.uniform(-1, 1), r.uniform(-1, 1))}});
      broadphase.insert(bounding_box(shapes[i], colliders[i].pose));
    }
    broadphase.update();
  }
};

TEST(Query, SceneAnswersAreTheBestOfAllShapes) {
  const Scene s(200);
  CollisionWorkspace ws;
  Random r(5);
  int hits = 0, casts = 0;
  for (int k = 0; k < 300; ++k) {
    const Vec3 o = 8 * random_unit(r), d = (2 * random_unit(r) - o) * 2;
    double best = 2;
    for (const Collider& c : s.colliders) {
      if (const auto h = ray_cast(*c.shape, c.pose, o, d, 1.0)) best = std::min(best, h->t);
    }
    const auto hit = ray_cast(s.broadphase, s.colliders, o, d, 1.0);
    ASSERT_EQ(hit.has_value(), best <= 1);
    if (hit) {
      EXPECT_EQ(hit->hit.t, best);
      ++hits;
    }
    if (k % 10) continue;
    const Shape probe = Shape::capsule(0.1, 0.2);
    const Transform X = {random_rotation(r), o};
    double first = 2, nearest = 1e300;
    std::vector<ProxyId> touching, found;
    for (int i = 0; i < 200; ++i) {
      const Collider& c = s.colliders[i];
      if (const auto h = shape_cast(probe, X, d, *c.shape, c.pose, ws)) first = std::min(first, h->t);
      ClosestPoints p;
      closest_points(probe, {X.R, Vec3(0.5 * o)}, *c.shape, c.pose, ws, p);
      nearest = std::min(nearest, p.separation);
      if (p.separation <= 0) touching.push_back(i);
    }
    const auto cast = shape_cast(s.broadphase, s.colliders, probe, X, d, ws);
    ASSERT_EQ(cast.has_value(), first <= 1);
    if (cast) {
      EXPECT_EQ(cast->impact.t, first);
      ++casts;
    }
    const auto near = closest(s.broadphase, s.colliders, probe, {X.R, Vec3(0.5 * o)}, 20, ws);
    ASSERT_TRUE(near);
    EXPECT_EQ(near->nearest.separation, nearest);
    overlaps(s.broadphase, s.colliders, probe, {X.R, Vec3(0.5 * o)}, ws, found);
    EXPECT_EQ(found, touching);
  }
  EXPECT_GT(hits, 50);
  EXPECT_GT(casts, 5);
}

TEST(Query, RaysStopOnTheSurface) {
  // The hit lies on the shape, the normal faces the ray, and nothing of the shape lies before it.
  Random r(6);
  CollisionWorkspace ws;
  int hits = 0;
  for (int k = 0; k < 20000; ++k) {
    const Shape s =
        k % 8 < 7 ? random_convex(r, kConvexKinds[k % 8], 1) : Shape::mesh(split_box_mesh({0.4, 0.6, 0.5}));
    const Transform X{random_rotation(r), random_unit(r)};
    const Vec3 o = X.p + 4 * random_unit(r), d = X.p + 1.2 * random_unit(r) - o;
    const auto hit = ray_cast(s, X, o, d, 3);
    const Shape speck = Shape::sphere(1e-9);
    ClosestPoints c;
    const auto distance = [&](const Vec3& p) {
      closest_points(speck, Transform::translation(p), s, X, ws, c);
      return c.separation + 1e-9;
    };
    if (distance(o) <= 0) {
      EXPECT_TRUE(hit && hit->t == 0);  // starts inside
      continue;
    }
    if (!hit) {
      for (int i = 0; i < 4; ++i) EXPECT_GT(distance(o + r.uniform(0, 3) * d), -1e-7) << to_string(s.kind());
      continue;
    }
    ++hits;
    EXPECT_NEAR(distance(hit->point), 0, 1e-6) << to_string(s.kind());
    EXPECT_LE(hit->normal.dot(d), 1e-9);
    for (int i = 0; i < 3; ++i)
      EXPECT_GT(distance(o + r.uniform(0, hit->t) * d), -1e-7) << to_string(s.kind());
  }
  EXPECT_GT(hits, 5000);
}

TEST(Query, RayOnHeightfieldMatchesItsMesh) {
  Random r(7);
  const int n = 17;
  std::vector<double> z;
  for (int i = 0; i < n * n; ++i) z.push_back(r.uniform(0, 0.8));
  const Shape field = Shape::heightfield(make_heightfield(n, n, 8, 8, z).value());
  const Heightfield& f = field.as_heightfield();
  std::vector<Vec3> v;
  std::vector<Triangle> t;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) v.push_back(f.vertex(i, j));
  }
  for (int j = 0; j + 1 < n; ++j) {
    for (int i = 0; i + 1 < n; ++i) {
      t.push_back({j * n + i, j * n + i + 1, (j + 1) * n + i + 1});
      t.push_back({j * n + i, (j + 1) * n + i + 1, (j + 1) * n + i});
    }
  }
  const Shape mesh = Shape::mesh(make_mesh(v, t, {.use = MeshUse::kSurface}).value());
  int hits = 0;
  for (int k = 0; k < 3000; ++k) {
    const Vec3 o(r.uniform(-3.9, 3.9), r.uniform(-3.9, 3.9), r.uniform(1, 3)),
        d = Vec3(r.uniform(-4, 4), r.uniform(-4, 4), 0.3) - o;  // starts above the terrain
    const auto a = ray_cast(field, {}, o, d, 2), b = ray_cast(mesh, {}, o, d, 2);
    ASSERT_EQ(a.has_value(), b.has_value()) << k;
    if (a) {
      EXPECT_NEAR(a->t, b->t, 1e-9);
      ++hits;
    }
  }
  EXPECT_GT(hits, 1000);
}

}  // namespace
}  // namespace karakuri
