#include "scenes/setup.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "karakuri/core/random.h"

namespace karakuri::bench {

double Servo::target_at(double time) const {
  return target + swing * std::sin(2 * std::numbers::pi * time) + rate * time;
}

bool Setup::articulated() const {
  return std::any_of(bodies.begin(), bodies.end(), [](const BodyPlan& b) { return !b.hinges.empty(); });
}

int Setup::dofs() const {
  int n = 0;
  for (const BodyPlan& b : bodies) n += b.is_free() ? 6 : static_cast<int>(b.hinges.size());
  return n;
}

int largest_tree(const Setup& setup) {
  std::vector<int> root(setup.bodies.size()), size(setup.bodies.size(), 0);
  for (std::size_t i = 0; i < setup.bodies.size(); ++i) {
    const int parent = setup.bodies[i].parent;
    root[i] = parent < 0 ? static_cast<int>(i) : root[static_cast<std::size_t>(parent)];
    ++size[static_cast<std::size_t>(root[i])];
  }
  return *std::max_element(size.begin(), size.end());
}

bool needs_world_shapes(const Setup& setup) {
  return !setup.fixed.empty() || std::any_of(setup.bodies.begin(), setup.bodies.end(), [](const BodyPlan& b) {
    return b.parent < 0 && !b.hinges.empty();
  });
}

bool has_heightfield(const Setup& setup) {
  return std::any_of(setup.fixed.begin(), setup.fixed.end(),
                     [](const Part& part) { return part.shape.kind() == ShapeKind::kHeightfield; });
}

namespace {

Shape scaled(const Shape& shape, double by) {
  const Vec3 size = by * shape.size();
  switch (shape.kind()) {
    case ShapeKind::kSphere: return Shape::sphere(size.x());
    case ShapeKind::kCapsule: return Shape::capsule(size.x(), size.z());
    case ShapeKind::kCylinder: return Shape::cylinder(size.x(), size.z());
    case ShapeKind::kBox: return Shape::box(size);
    case ShapeKind::kHull: {
      std::vector<Vec3> points;
      for (int v = 0; v < shape.as_hull().vertex_count; ++v) points.push_back(by * shape.as_hull().vertex(v));
      return Shape::hull(make_convex_hull(points).value());
    }
    default: return shape;
  }
}

void scale(Part& part, double by) {
  part.shape = scaled(part.shape, by);
  part.X_BS.p *= by;
  part.mass *= by * by * by;
}

/// What only stands or falls: everything as large by `by`.
void scale(Setup& setup, double by) {
  for (BodyPlan& body : setup.bodies) {
    body.X_PB.p *= by;
    for (Part& part : body.parts) scale(part, by);
  }
  for (Part& part : setup.fixed) scale(part, by);
  setup.loose_by *= by;
}

}  // namespace

Setup varied(Setup setup, std::uint64_t seed) {
  if (seed == 0) return setup;
  // robots have servos and springs that suit their sizes and masses
  const double sizes = setup.articulated() ? 1 : 1.25, masses = setup.articulated() ? 1.05 : 1.25;
  Random random(seed);
  const auto factor = [&](double most) { return std::exp(random.uniform(-1, 1) * std::log(most)); };
  scale(setup, factor(sizes));
  const double friction = factor(1.1);
  setup.floor_friction *= friction;
  setup.body_friction *= friction;
  for (BodyPlan& body : setup.bodies) {
    const double by = factor(masses);
    for (Part& part : body.parts) part.mass *= by;
    if (!body.is_free()) continue;
    const double reach = setup.loose_by;
    body.X_PB.p += Vec3(random.uniform(-reach, reach), random.uniform(-reach, reach), 0);
  }
  return setup;
}

BodyPlan& add_solid(Setup& setup, const Shape& shape, double mass, const Transform& X_WB) {
  BodyPlan body;
  body.name = fmt::format("body{}", setup.bodies.size());
  body.X_PB = X_WB;
  body.parts.push_back({shape, Transform::identity(), mass});
  return setup.bodies.emplace_back(std::move(body));
}

void add_fixed(Setup& setup, const Shape& shape, const Transform& X_WS) {
  setup.fixed.push_back({shape, X_WS, 0});
}

Inertia inertia_of(const BodyPlan& body) {
  Inertia sum;
  for (const Part& part : body.parts) {
    Inertia solid = solid_inertia(part.shape);
    solid.about_com *= part.mass / solid.mass;
    solid.mass = part.mass;
    sum = sum + solid.in_frame(part.X_BS);
  }
  return sum;
}

double total_mass(const Setup& setup) {
  double mass = 0;
  for (const BodyPlan& b : setup.bodies) mass += inertia_of(b).mass;
  return mass;
}

std::set<std::pair<int, int>> pairs_apart(const Setup& setup) {
  std::set<std::pair<int, int>> pairs;
  const auto add = [&](int a, int b) { pairs.insert({std::min(a, b), std::max(a, b)}); };
  for (std::size_t i = 0; i < setup.bodies.size(); ++i) {
    if (setup.bodies[i].parent >= 0) add(setup.bodies[i].parent, static_cast<int>(i));
  }
  for (const auto& [a, b] : setup.apart) add(a, b);
  return pairs;
}

std::vector<LinkPlan> split_into_links(const Setup& setup, const LinkOptions& options) {
  std::vector<LinkPlan> links;
  std::vector<int> link_of(setup.bodies.size());
  for (std::size_t i = 0; i < setup.bodies.size(); ++i) {
    const BodyPlan& body = setup.bodies[i];
    int parent = body.parent < 0 ? -1 : link_of[body.parent];
    const std::size_t count = std::max<std::size_t>(1, body.hinges.size());
    for (std::size_t k = 0; k < count; ++k) {
      LinkPlan link;
      link.body = static_cast<int>(i);
      link.real = k + 1 == count;
      link.parent = parent;
      link.X_PL = k == 0 ? body.X_PB : Transform::identity();
      link.X_WL = parent < 0 ? link.X_PL : links[parent].X_WL * link.X_PL;
      link.hinge = body.hinges.empty() ? nullptr : &body.hinges[k];
      if (link.real) {
        link.inertia = inertia_of(body);
      } else {
        link.inertia = Inertia::solid_sphere(options.small_mass, options.small_radius);
        link.inertia.com = link.hinge->anchor;
      }
      if (options.armature_as_inertia && link.hinge) {
        const Vec3 a = link.hinge->axis.normalized();
        link.inertia.about_com += link.hinge->armature * a * a.transpose();
      }
      parent = static_cast<int>(links.size());
      links.push_back(link);
    }
    link_of[i] = parent;
  }
  return links;
}

Principal principal_of(const Inertia& inertia) {
  const Mat3& I = inertia.about_com;
  if (I.isDiagonal(1e-12)) return {Mat3::Identity(), I.diagonal()};  // as it stands, not sorted
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(I);
  Mat3 axes = eigen.eigenvectors();
  if (axes.determinant() < 0) axes.col(0) = -axes.col(0);
  return {axes, eigen.eigenvalues()};
}

}  // namespace karakuri::bench
