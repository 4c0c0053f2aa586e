#include "support/random_solids.h"

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "karakuri/spatial/rotation.h"

namespace karakuri::test {
namespace {

constexpr double kPi = std::numbers::pi;

struct Soup {
  std::vector<Vec3> vertices;
  std::vector<Triangle> faces;
};

/// The octahedron, each face cut into four, every vertex on its own radius.
Soup bumpy_ball(Random& random, double radius) {
  std::array<Vec3, 6> corner;
  for (int k = 0; k < 3; ++k) corner[2 * k] = Vec3::Unit(k), corner[2 * k + 1] = -Vec3::Unit(k);
  Soup soup;
  for (const int x : {0, 1})
    for (const int y : {2, 3})
      for (const int z : {4, 5}) {
        const bool flipped = (x + (y - 2) + (z - 4)) % 2 == 1;
        const Vec3 a = corner[x], b = corner[flipped ? z : y], c = corner[flipped ? y : z];
        const Vec3 ab = (a + b).normalized(), bc = (b + c).normalized(), ca = (c + a).normalized();
        for (const auto& face : {std::array{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}}) {
          const int n = static_cast<int>(soup.vertices.size());
          soup.vertices.insert(soup.vertices.end(), face.begin(), face.end());
          soup.faces.push_back({n, n + 1, n + 2});
        }
      }
  const Vec3 hills(random.uniform(0, 9), random.uniform(0, 9), random.uniform(0, 9));
  for (Vec3& p : soup.vertices)  // the same for equal vertices
    p *= radius * (0.7 + 0.1 * (std::sin(3 * p.x() + hills.x()) + std::sin(3 * p.y() + hills.y()) +
                                std::sin(3 * p.z() + hills.z())));
  return soup;
}

/// A ring about z.
Soup ring(Random& random, double radius) {
  const int around = 6 + random.below(5), across = 4 + random.below(3);
  const double thickness = radius * random.uniform(0.2, 0.4), middle = radius - thickness;
  Soup soup;
  for (int i = 0; i < around; ++i)
    for (int j = 0; j < across; ++j) {
      const double a = 2 * kPi * i / around, b = 2 * kPi * j / across;
      const double out = middle + thickness * std::cos(b);
      soup.vertices.push_back({out * std::cos(a), out * std::sin(a), thickness * std::sin(b)});
    }
  const auto id = [&](int i, int j) { return (i % around) * across + j % across; };
  for (int i = 0; i < around; ++i)
    for (int j = 0; j < across; ++j) {
      soup.faces.push_back({id(i, j), id(i + 1, j), id(i + 1, j + 1)});
      soup.faces.push_back({id(i, j), id(i + 1, j + 1), id(i, j + 1)});
    }
  return soup;
}

}  // namespace

Vec3 random_unit(Random& random) {
  Vec3 v;
  do v = Vec3{random.normal(), random.normal(), random.normal()};  // in this order, whichever the compiler
  while (v.norm() < 1e-6);
  return v.normalized();
}

Mat3 random_turn(Random& random) { return rotation_exp(random_unit(random) * random.uniform(0, kPi)); }

Shape random_hull(Random& random, double radius) {
  std::vector<Vec3> points;
  for (int n = 8 + random.below(17), i = 0; i < n; ++i)
    points.push_back(radius * (i % 3 ? 1.0 : random.uniform(0.3, 1)) * random_unit(random));
  return Shape::hull(make_convex_hull(points).value());
}

Shape random_mesh(Random& random, double radius) {
  const Soup soup = random.below(2) ? bumpy_ball(random, radius) : ring(random, radius);
  // equal vertices are told apart by rounding
  return Shape::mesh(make_mesh(soup.vertices, soup.faces, {.merge_distance = 1e-6 * radius}).value());
}

Shape random_terrain(Random& random, double width, double height) {
  constexpr int n = 12;
  std::vector<double> heights(n * n);
  for (double& z : heights) z = height * random.uniform(-0.5, 0.5);
  return Shape::heightfield(make_heightfield(n, n, width, width, std::move(heights)).value());
}

}  // namespace karakuri::test
