// Contact problems made from bodies, for tests and benchmarks of the solvers.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <vector>

#include "karakuri/core/random.h"
#include "karakuri/solver/problem.h"
#include "karakuri/solver/solve.h"

namespace karakuri::test {

struct Body {
  double mass = 1.0;
  Eigen::Vector3d inertia{1, 1, 1};  // diagonal, world axes [kg m²]
  Eigen::Vector3d position{0, 0, 0};
  Eigen::Matrix<double, 6, 1> velocity = Eigen::Matrix<double, 6, 1>::Zero();  // linear, angular
};

inline Body box_body(double mass, const Eigen::Vector3d& size, const Eigen::Vector3d& position) {
  const Eigen::Vector3d s = size.cwiseAbs2();
  Body body;
  body.mass = mass;
  body.inertia = mass / 12.0 * Eigen::Vector3d(s.y() + s.z(), s.x() + s.z(), s.x() + s.y());
  body.position = position;
  return body;
}

/// Bodies and contacts between them as a matrix-free problem. −1 is the ground.
class ContactScene {
 public:
  explicit ContactScene(std::vector<Body> all) : bodies(std::move(all)) {
    problem.clear(solver::OperatorKind::kMatrixFree);
    for (std::size_t i = 0; i < bodies.size(); ++i) problem.add_subsystem(6);
  }

  /// Contact at `point` that pushes `above` along `normal` and `below` against it.
  int contact(int above, int below, const Eigen::Vector3d& point, const Eigen::Vector3d& normal, double mu) {
    const int block = problem.add_cone(mu);
    const Eigen::Vector3d t1 = normal.unitOrthogonal();
    Eigen::Matrix3d frame;
    frame << normal.transpose(), t1.transpose(), normal.cross(t1).transpose();
    act(above, block, frame, point);
    act(below, block, -frame, point);
    return block;
  }

  /// Ball joint at `point`: three equality rows.
  int ball_joint(int a, int b, const Eigen::Vector3d& point) {
    const int block = problem.add_equality(3);
    act(a, block, Eigen::Matrix3d::Identity(), point);
    act(b, block, -Eigen::Matrix3d::Identity(), point);
    return block;
  }

  /// q = J v for the bodies' velocities plus `acceleration` * step.
  void set_free_velocity(const Eigen::Vector3d& acceleration, double step) {
    for (int i = 0; i < problem.block_count(); ++i) {
      const solver::Block& block = problem.blocks[i];
      for (int r = 0; r < block.size; ++r) problem.q[block.row + r] = 0.0;
      for (int t = problem.term_start[i]; t < problem.term_start[i + 1]; ++t) {
        const solver::Term& term = problem.terms[t];
        Eigen::Matrix<double, 6, 1> v = bodies[term.subsystem].velocity;
        v.head<3>() += acceleration * step;
        for (int r = 0; r < block.size; ++r)
          problem.q[block.row + r] +=
              Eigen::Map<const Eigen::Matrix<double, 6, 1>>(problem.jacobian.data() + term.offset + 6 * r)
                  .dot(v);
      }
    }
  }

  std::vector<Body> bodies;
  solver::Problem problem;

 private:
  void act(int body, int block, const Eigen::Matrix3d& frame, const Eigen::Vector3d& point) {
    if (body < 0) return;
    const int size = problem.blocks[block].size;
    const solver::Term term = problem.add_term(body);
    const Eigen::Vector3d arm = point - bodies[body].position;
    for (int r = 0; r < size; ++r) {
      const Eigen::Vector3d axis = frame.row(r);
      Eigen::Map<Eigen::Matrix<double, 6, 1>>(problem.jacobian.data() + term.offset + 6 * r) << axis,
          arm.cross(axis);
    }
    std::array<double, 9> inverse{};
    for (int k = 0; k < 3; ++k) inverse[4 * k] = 1.0 / bodies[body].inertia[k];
    solver::set_rigid_response(problem, term, size, 1.0 / bodies[body].mass, inverse);
  }
};

/// `count` unit cubes in a column, four contacts at each face, at rest, for one step under gravity.
inline ContactScene box_tower(int count, double mu, double heaviest = 1.0) {
  std::vector<Body> bodies;
  for (int i = 0; i < count; ++i) {
    const double mass = std::pow(heaviest, count > 1 ? static_cast<double>(i) / (count - 1) : 0.0);
    bodies.push_back(box_body(mass, {1, 1, 1}, {0, 0, i + 0.5}));
  }
  ContactScene scene(std::move(bodies));
  for (int i = 0; i < count; ++i)
    for (const double x : {-0.5, 0.5})
      for (const double y : {-0.5, 0.5})
        scene.contact(i, i - 1, {x, y, static_cast<double>(i)}, {0, 0, 1}, mu);
  scene.set_free_velocity({0, 0, -9.81}, 0.01);
  return scene;
}

/// Spheres (radius 0.5) in a jittered grid, pushed together and down: contacts with neighbours and the floor.
inline ContactScene sphere_pile(int side, double mu, std::uint64_t seed) {
  Random random(seed);
  std::vector<Body> bodies;
  for (int x = 0; x < side; ++x)
    for (int y = 0; y < side; ++y)
      for (int z = 0; z < side; ++z) {
        Body b = box_body(random.uniform(0.5, 2.0), {0.8, 0.8, 0.8}, {0.97 * x, 0.97 * y, 0.48 + 0.97 * z});
        for (int k = 0; k < 3; ++k) b.position[k] += random.uniform(-0.02, 0.02);
        for (int k = 0; k < 6; ++k) b.velocity[k] = random.uniform(-0.3, 0.3);
        bodies.push_back(b);
      }
  ContactScene scene(std::move(bodies));
  const int n = static_cast<int>(scene.bodies.size());
  for (int i = 0; i < n; ++i) {
    const Eigen::Vector3d a = scene.bodies[i].position;
    if (a.z() < 0.51) scene.contact(i, -1, {a.x(), a.y(), 0}, {0, 0, 1}, mu);
    for (int j = 0; j < i; ++j) {
      const Eigen::Vector3d d = a - scene.bodies[j].position;
      if (d.norm() < 1.0) scene.contact(i, j, a - 0.5 * d, d.normalized(), mu);
    }
  }
  scene.set_free_velocity({0, 0, -9.81}, 0.01);
  return scene;
}

/// The same problem with W written out.
inline solver::Problem as_dense(const solver::Problem& p) {
  solver::Problem dense = p;
  const int n = p.rows();
  dense.storage = solver::OperatorKind::kDense;
  dense.dense.assign(static_cast<std::size_t>(n) * n, 0.0);
  std::vector<double> unit(n), column(n), velocity(p.velocities());
  for (int c = 0; c < n; ++c) {
    unit.assign(n, 0.0);
    unit[c] = 1.0;
    solver::apply_operator(p, unit, velocity, column);
    for (int r = 0; r < n; ++r) dense.dense[static_cast<std::size_t>(r) * n + c] = column[r];
  }
  return dense;
}

/// The same problem with the nonzero blocks of W.
inline solver::Problem as_block_sparse(const solver::Problem& p) {
  const solver::Problem dense = as_dense(p);
  solver::Problem sparse = dense;
  sparse.storage = solver::OperatorKind::kBlockSparse;
  sparse.entry_start.assign(1, 0);
  const std::size_t n = p.q.size();
  for (int i = 0; i < p.block_count(); ++i) {
    sparse.begin_entries(i);
    for (int j = 0; j < p.block_count(); ++j) {
      const solver::Block& row = p.blocks[i];
      const solver::Block& column = p.blocks[j];
      bool zero = i != j;
      for (int r = 0; r < row.size; ++r)
        for (int c = 0; c < column.size; ++c)
          zero = zero && dense.dense[(row.row + r) * n + column.row + c] == 0.0;
      if (zero) continue;
      const std::span<double> w = sparse.add_entry(j);
      for (int c = 0; c < column.size; ++c)
        for (int r = 0; r < row.size; ++r)
          w[c * row.size + r] = dense.dense[(row.row + r) * n + column.row + c];
    }
  }
  return sparse;
}

/// What World asks of the solver in a step.
inline solver::Settings for_a_step() {
  solver::Settings s;
  s.measure = solver::Measure::kScaled;
  s.tolerance = 1e-13;
  s.absolute = 1e-10;
  s.max_sweeps = 100;
  s.max_newton = 12;
  return s;
}

}  // namespace karakuri::test
