// Nothing allocates once it has warmed up.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "collision/random_shapes.h"
#include "collision/test_meshes.h"
#include "karakuri/collision/broadphase.h"
#include "karakuri/collision/ccd.h"
#include "karakuri/collision/narrowphase.h"
#include "karakuri/collision/query.h"

namespace {
std::atomic<long> allocations{0};
}
void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace karakuri {
namespace {

using namespace testing;

TEST(Allocation, NoneAfterWarmUp) {
  Random r(1);
  std::vector<Shape> shapes;
  for (ShapeKind k : kConvexKinds) shapes.push_back(random_convex(r, k, 0.5));
  shapes.push_back(Shape::mesh(box_mesh({0.4, 0.5, 0.6})));
  shapes.push_back(Shape::mesh(split_box_mesh({0.4, 0.5, 0.6})));
  shapes.push_back(Shape::mesh(slab_mesh(8, 4, 0.5)));
  shapes.push_back(
      make_compound({{shapes[2], {}}, {shapes[6], Transform::translation({0.5, 0, 0})}}).value());
  shapes.push_back(Shape::heightfield(make_heightfield(9, 9, 4, 4, std::vector<double>(81, 0.1)).value()));
  shapes.push_back(Shape::plane());
  const std::size_t n = shapes.size();
  std::vector<Transform> poses;
  for (int i = 0; i < 60; ++i) poses.push_back({random_rotation(r), 0.8 * random_unit(r)});
  CollisionWorkspace ws;
  std::vector<Manifold> out;
  Broadphase broadphase;
  std::vector<Collider> colliders;
  for (std::size_t i = 0; i < n; ++i) {
    colliders.push_back({&shapes[i], poses[i]});
    broadphase.insert(bounding_box(shapes[i], poses[i]));
  }
  const auto round = [&] {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k + 1 < poses.size(); k += 7) {
          out.clear();
          collide(shapes[i], poses[k], shapes[j], poses[k + 1], {}, ws, out);
          ClosestPoints c;
          closest_points(shapes[i], poses[k], shapes[j], poses[k + 1], ws, c);
        }
      }
    }
    for (std::size_t k = 0; k < poses.size(); ++k) {
      for (std::size_t i = 0; i < n; ++i)
        broadphase.move(static_cast<ProxyId>(i), bounding_box(shapes[i], poses[(i + k) % poses.size()]));
      broadphase.update();
      ray_cast(broadphase, colliders, poses[k].p * 5, -poses[k].p, 10);
    }
    Sweep s = Sweep::still(Transform::translation({0, 0, 5}));
    s.displacement = {0, 0, -10};
    time_of_impact(shapes[2], s, shapes[9], Sweep::still({}), {}, ws);
    for (const Shape& shape : shapes) {
      out.clear();
      impact_manifolds(shapes[2], s, shape, Sweep::still({}), {}, ws, out);
    }
  };
  round(), round();
  const long before = allocations;
  round();
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace karakuri
