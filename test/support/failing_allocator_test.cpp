// FailingAllocation against every variant of operator new.
#include "support/failing_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace mluop::test {
namespace {

constexpr auto kAlignment = std::align_val_t{256};

// The variants, called as functions: the compiler may omit new expressions, but not these calls.
struct Variant {
  const char* name;
  void* (*allocate)();
  void (*free)(void*);
  bool throws;
};

constexpr Variant kVariants[] = {
    {"new", [] { return ::operator new(3); }, [](void* p) { ::operator delete(p); }, true},
    {"new[]", [] { return ::operator new[](3); }, [](void* p) { ::operator delete[](p); }, true},
    {"new nothrow", [] { return ::operator new(3, std::nothrow); }, [](void* p) { ::operator delete(p); }, false},
    {"new[] nothrow", [] { return ::operator new[](3, std::nothrow); }, [](void* p) { ::operator delete[](p); },
     false},
    {"new aligned", [] { return ::operator new(3, kAlignment); },
     [](void* p) { ::operator delete(p, kAlignment); }, true},
    {"new[] aligned", [] { return ::operator new[](3, kAlignment); },
     [](void* p) { ::operator delete[](p, kAlignment); }, true},
    {"new aligned nothrow", [] { return ::operator new(3, kAlignment, std::nothrow); },
     [](void* p) { ::operator delete(p, kAlignment); }, false},
    {"new[] aligned nothrow", [] { return ::operator new[](3, kAlignment, std::nothrow); },
     [](void* p) { ::operator delete[](p, kAlignment); }, false},
};

enum class Result { kMemory, kNull, kThrows };

Result allocate_and_free(const Variant& variant) {
  try {
    void* memory = variant.allocate();
    if (memory == nullptr) return Result::kNull;
    variant.free(memory);
    return Result::kMemory;
  } catch (const std::bad_alloc&) {
    return Result::kThrows;
  }
}

class SupportFailingAllocator : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FailingAllocation::kSupported) GTEST_SKIP() << "ThreadSanitizer";
  }
};

TEST_F(SupportFailingAllocator, EveryVariantFailsOnce) {
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(variant.name);
    Result results[4];
    bool triggered[4];
    int64_t count = 0;
    {
      const FailingAllocation third(3);
      for (int i = 0; i < 4; ++i) {
        results[i] = allocate_and_free(variant);
        triggered[i] = third.triggered();
      }
      count = third.count();
    }
    const Result failure = variant.throws ? Result::kThrows : Result::kNull;
    const Result expected[] = {Result::kMemory, Result::kMemory, failure, Result::kMemory};
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(results[i], expected[i]) << "allocation " << i + 1;
      EXPECT_EQ(triggered[i], i >= 2) << "allocation " << i + 1;
    }
    EXPECT_EQ(count, 4);
    EXPECT_EQ(allocate_and_free(variant), Result::kMemory);
  }
}

TEST_F(SupportFailingAllocator, ZeroCountsOnly) {
  int64_t count = 0;
  bool triggered = true;
  {
    const FailingAllocation none(0);
    for (const Variant& variant : kVariants) allocate_and_free(variant);
    count = none.count();
    triggered = none.triggered();
  }
  EXPECT_EQ(count, static_cast<int64_t>(std::size(kVariants)));
  EXPECT_FALSE(triggered);
}

// One allocation fails, in one of the threads.
TEST_F(SupportFailingAllocator, CountsOverAllThreads) {
  constexpr int kThreads = 4, kCalls = 1000;
  int failures[kThreads] = {};
  int64_t count = 0;
  {
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    const FailingAllocation late(kThreads * kCalls / 2);
    for (int id = 0; id < kThreads; ++id) {
      threads.emplace_back([&failures, id] {
        for (int i = 0; i < kCalls; ++i) failures[id] += allocate_and_free(kVariants[2]) == Result::kNull;
      });
    }
    for (std::thread& thread : threads) thread.join();
    count = late.count();
  }
  EXPECT_EQ(failures[0] + failures[1] + failures[2] + failures[3], 1);
  // std::thread allocates too.
  EXPECT_GE(count, kThreads * kCalls);
}

TEST_F(SupportFailingAllocator, AlignedMemoryIsAligned) {
  void* memory = ::operator new(3, kAlignment);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % static_cast<size_t>(kAlignment), 0U);
  ::operator delete(memory, kAlignment);
}

TEST_F(SupportFailingAllocator, InvalidUse) {
  EXPECT_THROW(FailingAllocation(-1), std::invalid_argument);
  const FailingAllocation none(0);
  EXPECT_THROW(FailingAllocation(1), std::logic_error);
}

}  // namespace
}  // namespace mluop::test
