// Proves that a piece of code does not touch the heap:
//
//   if (!NoAllocGuard::available()) GTEST_SKIP() << NoAllocGuard::kUnavailable;
//   NoAllocGuard guard;
//   step(world);
//   EXPECT_EQ(guard.allocations(), 0);
//
// To find the culprit, run the test in a debugger with KARAKURI_TRAP_ALLOC=1: it stops at the allocation.
#pragma once

namespace karakuri::test {

/// Counts allocations while it lives: malloc and its relatives, and so also new, std::vector and Eigen.
/// Guards may be nested.
class NoAllocGuard {
 public:
  enum class Of {
    kThisThread,
    kAllThreads,  // also of those that were there before, and of whatever else the program does meanwhile
  };

  explicit NoAllocGuard(Of whose = Of::kThisThread);
  ~NoAllocGuard();
  NoAllocGuard(const NoAllocGuard&) = delete;
  NoAllocGuard& operator=(const NoAllocGuard&) = delete;

  /// False where the heap belongs to somebody else: under a sanitizer, or without glibc.
  static bool available();
  static constexpr const char* kUnavailable = "allocations cannot be counted in this build";

  /// Since this guard was made.
  long allocations() const;

 private:
  Of whose_;
  long before_;
};

}  // namespace karakuri::test
