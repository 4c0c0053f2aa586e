// malloc and its relatives are defined here, in the program, where the dynamic linker finds them before the C
// library's; libstdc++'s operator new and Eigen call these. free stays the C library's, since the memory is
// too.
#include "support/no_alloc.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define KARAKURI_HEAP_IS_TAKEN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define KARAKURI_HEAP_IS_TAKEN
#endif

namespace karakuri::test {

namespace {

// constinit: malloc runs before any constructor of ours
constinit thread_local long count = 0;
constinit thread_local int guards = 0;
constinit thread_local bool trap = false;
constinit std::atomic<long> count_of_all = 0;
constinit std::atomic<int> guards_of_all = 0;
constinit std::atomic<bool> trap_all = false;

bool wants_trap() { return std::getenv("KARAKURI_TRAP_ALLOC") != nullptr; }

}  // namespace

NoAllocGuard::NoAllocGuard(Of whose)
    : whose_(whose), before_(whose == Of::kAllThreads ? count_of_all.load() : count) {
  if (whose_ == Of::kAllThreads) {
    trap_all = wants_trap();
    ++guards_of_all;
  } else {
    trap = wants_trap();
    ++guards;
  }
}

NoAllocGuard::~NoAllocGuard() {
  if (whose_ == Of::kAllThreads)
    --guards_of_all;
  else
    --guards;
}

long NoAllocGuard::allocations() const {
  return (whose_ == Of::kAllThreads ? count_of_all.load() : count) - before_;
}

#ifdef KARAKURI_HEAP_IS_TAKEN

bool NoAllocGuard::available() { return false; }

#else

bool NoAllocGuard::available() { return true; }

namespace {

void count_allocation() {
  if (guards_of_all > 0) {
    ++count_of_all;
    if (trap_all) __builtin_trap();
  }
  if (guards == 0) return;
  ++count;
  if (trap) __builtin_trap();
}

}  // namespace

#endif

}  // namespace karakuri::test

#ifndef KARAKURI_HEAP_IS_TAKEN

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): the C library's names
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
  karakuri::test::count_allocation();
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  karakuri::test::count_allocation();
  return __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) noexcept {
  karakuri::test::count_allocation();
  return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  karakuri::test::count_allocation();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }

int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!power_of_two || alignment % sizeof(void*) != 0) return EINVAL;
  void* memory = memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *result = memory;
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)

#endif
