#include "support/failing_allocator.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace mluop::test {
namespace {

constexpr int64_t kNotArmed = -1;

// The number of the allocation that fails, or kNotArmed. The initialization is constant, because the first
// allocations of the program precede dynamic initialization.
constinit std::atomic<int64_t> failing = kNotArmed;
constinit std::atomic<int64_t> allocations = 0;

#ifndef MLUOP_THREAD_SANITIZER
// Returns nullptr if the allocation fails.
void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const int64_t failing_now = failing.load(std::memory_order_acquire);
  if (failing_now != kNotArmed && allocations.fetch_add(1, std::memory_order_relaxed) + 1 == failing_now) {
    return nullptr;
  }
  // aligned_alloc requires a multiple of the alignment.
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  return rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t kDefaultAlignment = alignof(std::max_align_t);
#endif

}  // namespace

FailingAllocation::FailingAllocation(int64_t n) : n_(n) {
  if (failing.load() != kNotArmed) throw std::logic_error("FailingAllocation: another object exists");
  allocations.store(0);
  failing.store(n);
}

FailingAllocation::~FailingAllocation() { failing.store(kNotArmed); }

int64_t FailingAllocation::count() const { return allocations.load(); }

}  // namespace mluop::test

#ifndef MLUOP_THREAD_SANITIZER
using mluop::test::allocate;
using mluop::test::allocate_or_throw;
using mluop::test::kDefaultAlignment;
using Size = std::size_t;
using Align = std::align_val_t;
using Nothrow = std::nothrow_t;

void* operator new(Size bytes) { return allocate_or_throw(bytes, kDefaultAlignment); }
void* operator new[](Size bytes) { return allocate_or_throw(bytes, kDefaultAlignment); }
void* operator new(Size bytes, Align a) { return allocate_or_throw(bytes, static_cast<Size>(a)); }
void* operator new[](Size bytes, Align a) { return allocate_or_throw(bytes, static_cast<Size>(a)); }
void* operator new(Size bytes, const Nothrow&) noexcept { return allocate(bytes, kDefaultAlignment); }
void* operator new[](Size bytes, const Nothrow&) noexcept { return allocate(bytes, kDefaultAlignment); }
void* operator new(Size bytes, Align a, const Nothrow&) noexcept { return allocate(bytes, static_cast<Size>(a)); }
void* operator new[](Size bytes, Align a, const Nothrow&) noexcept {
  return allocate(bytes, static_cast<Size>(a));
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, Size) noexcept { std::free(memory); }
void operator delete[](void* memory, Size) noexcept { std::free(memory); }
void operator delete(void* memory, Align) noexcept { std::free(memory); }
void operator delete[](void* memory, Align) noexcept { std::free(memory); }
void operator delete(void* memory, Size, Align) noexcept { std::free(memory); }
void operator delete[](void* memory, Size, Align) noexcept { std::free(memory); }
void operator delete(void* memory, const Nothrow&) noexcept { std::free(memory); }
void operator delete[](void* memory, const Nothrow&) noexcept { std::free(memory); }
void operator delete(void* memory, Align, const Nothrow&) noexcept { std::free(memory); }
void operator delete[](void* memory, Align, const Nothrow&) noexcept { std::free(memory); }
#endif
