// No algorithm touches the heap once its workspace is made.
#include <gtest/gtest.h>

#include <functional>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/jacobian.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/response.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/model/configuration.h"
#include "support/no_alloc.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

/// All that the algorithms need, made before anything is counted.
struct Scratch {
  explicit Scratch(const Model& model)
      : m(model), ws(m), M(m), buffers(m), f_ext(m.bodies.size()), A(6, m.nv), a(m.nv), tau(m.nv), W(2, 2) {
    Random random(1);
    state = random_state(m, random);
    other = random_state(m, random);
    tau = random_vector(m.nv, random);
    const int last = m.body_count() - 1;
    rows = {{.body = last, .point = {0.1, 0, 0}, .force = {0, 0, 1}},
            {.body = last, .other = 1, .moment = {1, 0, 0}}};
    link = m.links.back().id;
  }

  const Model& m;
  Workspace ws;
  MassMatrix M;
  ResponseBuffers buffers;
  std::vector<Force> f_ext;
  Eigen::MatrixXd A;
  Eigen::VectorXd a, tau;
  Eigen::MatrixXd W;
  State state, other;
  std::vector<ImpulseRow> rows;
  LinkId link;
};

TEST(Allocation, NoneInAnyAlgorithm) {
  if (!NoAllocGuard::available()) GTEST_SKIP() << NoAllocGuard::kUnavailable;
  const std::pair<const char*, std::function<void(Scratch&)>> algorithms[] = {
      {"poses", [](Scratch& s) { update_poses(s.m, s.state, s.ws); }},
      {"velocities", [](Scratch& s) { update_velocities(s.m, s.state, s.ws); }},
      {"accelerations", [](Scratch& s) { update_accelerations(s.m, s.tau, s.ws); }},
      {"rnea", [](Scratch& s) { rnea(s.m, s.state, s.tau, s.f_ext, s.ws, s.a); }},
      {"bias", [](Scratch& s) { bias_effort(s.m, s.state, {}, s.ws, s.a); }},
      {"aba", [](Scratch& s) { aba(s.m, s.state, s.tau, s.f_ext, s.ws, s.a); }},
      {"articulated solve", [](Scratch& s) { solve_articulated(s.m, s.ws, s.a); }},
      {"crba", [](Scratch& s) { crba(s.m, s.state, s.ws, s.M); }},
      {"multiply", [](Scratch& s) { multiply(s.m, s.M, s.tau, s.a); }},
      {"factor", [](Scratch& s) { factor(s.m, s.M); }},
      {"solve", [](Scratch& s) { solve(s.m, s.M, s.a); }},
      {"Jacobian", [](Scratch& s) { frame_jacobian(s.m, s.ws, s.link, {1, 0, 0}, s.A); }},
      {"momentum matrix", [](Scratch& s) { centroidal_momentum_matrix(s.m, s.ws, s.A); }},
      {"momentum", [](Scratch& s) { (void)momentum(s.m, s.ws, {0, 0, 0}); }},
      {"kinetic energy", [](Scratch& s) { (void)kinetic_energy(s.m, s.state, s.ws); }},
      {"potential energy", [](Scratch& s) { (void)potential_energy(s.m, s.state, s.ws); }},
      {"passive efforts", [](Scratch& s) { add_passive_efforts(s.m, s.state, s.a); }},
      {"response by propagation",
       [](Scratch& s) {
         (void)response(s.m, s.rows, ResponseMethod::kPropagation, false, s.ws, s.buffers, s.W);
       }},
      {"response by factor",
       [](Scratch& s) { (void)response(s.m, s.rows, ResponseMethod::kFactor, false, s.ws, s.buffers, s.W); }},
      {"impulses", [](Scratch& s) { apply_impulses(s.m, s.rows, s.W.col(0), s.ws, s.state.v_view()); }},
      {"integrate", [](Scratch& s) { integrate(s.m, s.state.q_view(), s.state.v_view(), 1e-3); }},
      {"difference", [](Scratch& s) { difference(s.m, s.state.q_view(), s.other.q_view(), s.a); }},
  };
  for (const TestModel& test : all_tree_models()) {
    SCOPED_TRACE(test.name);
    Scratch scratch(test.model);
    for (const auto& [name, run] : algorithms) run(scratch);  // buffers of responses grow once
    for (const auto& [name, run] : algorithms) {
      const NoAllocGuard guard;
      run(scratch);
      EXPECT_EQ(guard.allocations(), 0) << name;
    }
  }
}

}  // namespace
}  // namespace karakuri::test
