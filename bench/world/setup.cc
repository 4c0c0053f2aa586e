#include "setup.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace karakuri::bench {

double Servo::target_at(double time) const { return target + swing * std::sin(2 * std::numbers::pi * time); }

bool Setup::articulated() const {
  return std::any_of(bodies.begin(), bodies.end(), [](const BodyPlan& b) { return !b.hinges.empty(); });
}

int Setup::dofs() const {
  int n = 0;
  for (const BodyPlan& b : bodies) n += b.parent < 0 ? 6 : static_cast<int>(b.hinges.size());
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
