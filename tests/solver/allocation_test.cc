// Once a workspace has seen problems of a size, solving allocates nothing: every method, every storage.
//
// malloc itself is counted, because Eigen does not go through operator new. The sanitizers bring their own
// malloc; there the test is skipped.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define KARAKURI_FOREIGN_MALLOC
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define KARAKURI_FOREIGN_MALLOC
#endif

namespace {
std::atomic<long> allocations{0};
}

#ifndef KARAKURI_FOREIGN_MALLOC
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t n) noexcept {
  ++allocations;
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) noexcept {
  ++allocations;
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) noexcept {
  ++allocations;
  return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
  ++allocations;
  return __libc_memalign(alignment, n);
}
}
#endif

namespace karakuri::solver {
namespace {

/// The sphere pile with other rows besides: loops, limits, motors.
Problem mixed(std::uint64_t seed) {
  testing::ContactScene scene = testing::sphere_pile(3, 0.5, seed);
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
#ifdef KARAKURI_FOREIGN_MALLOC
  GTEST_SKIP() << "malloc is not ours here";
#endif
  const long before_probe = allocations;
  std::free(std::malloc(10));  // NOLINT: the counter counts
  void* volatile probe = std::malloc(10);
  std::free(probe);
  ASSERT_GT(allocations, before_probe);

  for (const Method method : {Method::kDefault, Method::kBlock, Method::kNewton, Method::kPgs,
                              Method::kPgsIsotropic, Method::kSpringhead, Method::kDantzig, Method::kLemke}) {
    const Problem free = mixed(1);
    for (const Problem& p : {free, testing::as_dense(free), testing::as_block_sparse(free)}) {
      Workspace ws;
      std::vector<double> lambda(p.rows(), 0.0);
      // a tolerance out of reach makes default use all it has, also the search for contradictions
      const Settings s{.method = method, .tolerance = 1e-30, .max_sweeps = 500, .max_newton = 20};
      ASSERT_TRUE(solve(p, s, ws, lambda).ok());
      std::fill(lambda.begin(), lambda.end(), 0.0);
      const long before = allocations;
      const bool ok = solve(p, s, ws, lambda).ok();
      const long after = allocations;
      EXPECT_TRUE(ok);
      EXPECT_EQ(after - before, 0) << name_of(method) << " storage " << static_cast<int>(p.storage);
    }
  }
}

TEST(Allocation, RefillingAProblemAllocatesNothing) {
#ifdef KARAKURI_FOREIGN_MALLOC
  GTEST_SKIP() << "malloc is not ours here";
#endif
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
  const long before = allocations;
  fill();
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace karakuri::solver
