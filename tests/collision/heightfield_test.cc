// Terrain: searches look at the cells that matter, and miss none.
#include <gtest/gtest.h>

#include "collision/mesh/field_search.h"
#include "collision/mesh/triangle.h"
#include "collision/random_shapes.h"
#include "collision/test_meshes.h"
#include "io/stopwatch.h"
#include "karakuri/collision/narrowphase.h"

namespace karakuri {
namespace {

using namespace testing;

Shape random_field(Random& r, int columns, int rows, double size_x, double size_y, double height) {
  std::vector<double> heights;
  for (int i = 0; i < columns * rows; ++i) heights.push_back(r.uniform(0, height));
  return Shape::heightfield(make_heightfield(columns, rows, size_x, size_y, std::move(heights)).value());
}

/// Distance of a point above the terrain, by every triangle.
double distance_by_all(const Heightfield& f, const Vec3& p) {
  double least = std::numeric_limits<double>::infinity();
  for (int j = 0; j < f.cell_rows(); ++j) {
    for (int i = 0; i < f.cell_columns(); ++i) {
      const Vec3 a = f.vertex(i, j), c = f.vertex(i + 1, j + 1);
      for (const Vec3& b : {f.vertex(i + 1, j), f.vertex(i, j + 1)})
        least = std::min(least, (collision_detail::nearest_on_triangle(p, a, b, c).point - p).norm());
    }
  }
  return least;
}

TEST(Heightfield, DistancesAreThoseByAllCells) {
  Random r(3);
  CollisionWorkspace ws;
  for (int trial = 0; trial < 300; ++trial) {
    const Shape field =
        random_field(r, 2 + r.below(40), 2 + r.below(40), r.uniform(1, 4), r.uniform(1, 4), 0.5);
    const Vec3 p(r.uniform(-3, 3), r.uniform(-3, 3), r.uniform(0.6, 2));
    ClosestPoints found;
    ASSERT_TRUE(closest_points(Shape::sphere(0.05), Transform::translation(p), field, {}, ws, found));
    EXPECT_NEAR(found.separation, distance_by_all(field.as_heightfield(), p) - 0.05, 1e-9) << trial;
  }
}

TEST(Heightfield, NoCellBetweenTwoHeightsIsSkipped) {
  Random r(4);
  for (int trial = 0; trial < 300; ++trial) {
    const Shape field = random_field(r, 2 + r.below(90), 2 + r.below(9), 1, 1, 1);
    const Heightfield& f = field.as_heightfield();
    const double low = r.uniform(-0.2, 1.2), high = low + r.uniform(0, 0.05);
    const int j = r.below(f.cell_rows()), last = f.cell_columns() - 1;
    std::vector<char> visited(static_cast<std::size_t>(f.cell_columns()), 0);
    for (int i = 0; (i = collision_detail::next_cell_between(f, i, j, last, low, high)) <= last; ++i)
      visited[static_cast<std::size_t>(i)] = 1;
    for (int i = 0; i <= last; ++i) {
      const Aabb cell = collision_detail::box_of(f, {-1, i, j});
      if (cell.hi.z() >= low && cell.lo.z() <= high)
        EXPECT_TRUE(visited[static_cast<std::size_t>(i)]) << trial;
    }
  }
}

/// Four million cells: looking at each takes a hundredth of a second, for each shape and instant.
TEST(Heightfield, DistancesOfLargeOnesTakeNoTime) {
  constexpr int n = 2000;
  std::vector<double> heights;
  for (int i = 0; i < n * n; ++i)
    heights.push_back(0.5 * std::sin(0.02 * (i % n)) * std::cos(0.02 * (i / n)));  // NOLINT
  const Shape field = Shape::heightfield(make_heightfield(n, n, 40, 40, std::move(heights)).value());
  const Shape box = Shape::box(Vec3(0.1, 0.1, 0.1));
  const Shape solid = Shape::mesh(box_mesh(Vec3(0.1, 0.1, 0.1)));
  Random r(5);
  CollisionWorkspace ws;
  ClosestPoints found;
  const Stopwatch watch;
  for (int k = 0; k < 1000; ++k) {
    const Transform X =
        Transform::translation(Vec3(r.uniform(-15, 15), r.uniform(-15, 15), r.uniform(0.8, 4)));
    ASSERT_TRUE(closest_points(box, X, field, {}, ws, found));
    EXPECT_GT(found.separation, 0);
    if (k % 20 == 0) ASSERT_TRUE(closest_points(solid, X, field, {}, ws, found));
  }
  EXPECT_LT(watch.seconds(), kSecond);
}

}  // namespace
}  // namespace karakuri
