// Once a workspace has seen problems of a size, solving allocates nothing: every method, every storage.
#include <gtest/gtest.h>

#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"
#include "support/no_alloc.h"

namespace karakuri::solver {
namespace {

/// The sphere pile with other rows besides: loops, limits, motors.
Problem mixed(std::uint64_t seed) {
  test::ContactScene scene = test::sphere_pile(3, 0.5, seed);
  scene.ball_joint(0, 1, scene.bodies[0].position);
  scene.ball_joint(26, 25, scene.bodies[25].position);
  for (int k = 0; k < 3; ++k) {
    k == 0 ? scene.problem.add_complementarity()
           : (k == 1 ? scene.problem.add_box(-0.1, 0.1) : scene.problem.add_linear(0.5, -0.2));
    const Term term = scene.problem.add_term(k);
    scene.problem.jacobian_of(term, 1)[2] = scene.problem.response_of(term, 1)[2] = 1.0;
    scene.problem.q.back() = -0.3;
  }
  return scene.problem;
}

TEST(Allocation, NoneAfterWarmUp) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  for (const Method method :
       {Method::kDefault, Method::kBlock, Method::kNewton, Method::kPgs, Method::kPgsIsotropic,
        Method::kSpringhead, Method::kDantzig, Method::kLemke, Method::kQuickstep}) {
    const Problem free = mixed(1);
    for (const Problem& p : {free, test::as_dense(free), test::as_block_sparse(free)}) {
      Workspace ws;
      std::vector<double> lambda(p.rows(), 0.0);
      // a tolerance out of reach makes default use all it has, also the search for contradictions
      const Settings s{.method = method, .tolerance = 1e-30, .max_sweeps = 500, .max_newton = 20};
      ASSERT_TRUE(solve(p, s, ws, lambda).ok());
      std::fill(lambda.begin(), lambda.end(), 0.0);
      const test::NoAllocGuard guard;
      const bool ok = solve(p, s, ws, lambda).ok();
      const long allocations = guard.allocations();
      EXPECT_TRUE(ok);
      EXPECT_EQ(allocations, 0) << name_of(method) << " storage " << static_cast<int>(p.storage);
    }
  }
}

TEST(Allocation, RefillingAProblemAllocatesNothing) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  Problem p;
  const auto fill = [&p] {
    p.clear(OperatorKind::kMatrixFree);
    for (int i = 0; i < 20; ++i) p.add_subsystem(6);
    for (int i = 0; i < 50; ++i) {
      p.add_cone(0.5);
      const Term term = p.add_term(i % 20);
      p.jacobian_of(term, 3)[0] = p.response_of(term, 3)[0] = 1.0;
    }
  };
  fill();
  const test::NoAllocGuard guard;
  fill();
  EXPECT_EQ(guard.allocations(), 0);
}

}  // namespace
}  // namespace karakuri::solver
