// The guard sees every road to the heap that our code could take.
#include "support/no_alloc.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Geometry>

namespace karakuri::test {
namespace {

// The optimiser may drop an allocation whose result nobody sees.
void escape(const void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

long allocations_of(const std::function<void()>& code) {
  NoAllocGuard guard;
  code();
  return guard.allocations();
}

class NoAlloc : public testing::Test {
 protected:
  void SetUp() override {
    if (!NoAllocGuard::available()) GTEST_SKIP() << NoAllocGuard::kUnavailable;
  }
};

TEST_F(NoAlloc, ArithmeticIsFree) {
  Eigen::Vector3d v(1, 2, 3);
  std::vector<double> kept(100);
  const auto code = [&] {
    v = v.cross(Eigen::Vector3d::UnitX()).eval();
    kept.clear();
    kept.resize(100, v.norm());
    escape(kept.data());
  };
  EXPECT_EQ(allocations_of(code), 0);
}

TEST_F(NoAlloc, SeesNew) {
  EXPECT_EQ(allocations_of([] { escape(std::make_unique<double>(1.0).get()); }), 1);
  struct alignas(64) Wide {
    double values[8];
  };
  EXPECT_EQ(allocations_of([] { escape(std::make_unique<Wide>().get()); }), 1);
}

TEST_F(NoAlloc, SeesMalloc) {
  const auto code = [] {
    void* memory = std::malloc(16);
    escape(memory);
    memory = std::realloc(memory, 32);
    escape(memory);
    std::free(memory);
    memory = std::calloc(2, 8);
    escape(memory);
    std::free(memory);
    memory = std::aligned_alloc(64, 128);
    escape(memory);
    std::free(memory);
    if (posix_memalign(&memory, 64, 128) == 0) std::free(memory);
  };
  EXPECT_EQ(allocations_of(code), 5);
}

TEST_F(NoAlloc, SeesEigen) {
  EXPECT_EQ(allocations_of([] { escape(Eigen::VectorXd(100).data()); }), 1);
  const Eigen::MatrixXd a = Eigen::MatrixXd::Identity(20, 20);
  Eigen::MatrixXd b = a;
  EXPECT_GE(allocations_of([&] { b = a * b; }), 1) << "the temporary that avoids aliasing";
}

TEST_F(NoAlloc, SeesContainers) {
  EXPECT_EQ(allocations_of([] { escape(std::vector<double>(10).data()); }), 1);
  EXPECT_EQ(allocations_of([] { escape(std::string(100, 'x').data()); }), 1);
}

TEST_F(NoAlloc, NestsAndEnds) {
  NoAllocGuard outer;
  EXPECT_EQ(allocations_of([] { escape(std::vector<double>(10).data()); }), 1);
  EXPECT_EQ(allocations_of([] {}), 0);
  EXPECT_EQ(outer.allocations(), 1);
}

TEST_F(NoAlloc, EachThreadCountsItsOwn) {
  long in_thread = 0;
  const auto hundred = [] {
    for (int i = 0; i < 100; ++i) escape(std::vector<int>(10).data());
  };
  NoAllocGuard guard;
  std::thread([&] { in_thread = allocations_of(hundred); }).join();
  EXPECT_EQ(in_thread, 100);
  EXPECT_LT(guard.allocations(), 100) << "starting a thread allocates here; what it then does, there";
}

TEST_F(NoAlloc, AGuardOfAllThreadsCountsWhatOthersAllocate) {
  const auto hundred = [] {
    for (int i = 0; i < 100; ++i) escape(std::vector<int>(10).data());
  };
  NoAllocGuard guard(NoAllocGuard::Of::kAllThreads);
  hundred();
  EXPECT_EQ(guard.allocations(), 100);
  std::thread(hundred).join();
  EXPECT_GE(guard.allocations(), 200) << "and what starting a thread takes";
}

TEST_F(NoAlloc, AlignmentIsHonoured) {
  for (std::size_t alignment = sizeof(void*); alignment <= 4096; alignment *= 2) {
    void* memory = nullptr;
    ASSERT_EQ(posix_memalign(&memory, alignment, 100), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u);
    std::free(memory);
  }
  void* untouched = nullptr;
  EXPECT_EQ(posix_memalign(&untouched, 24, 100), EINVAL);
}

}  // namespace
}  // namespace karakuri::test
