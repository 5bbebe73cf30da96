// FailingAllocation against every variant of operator new.
#include "support/failing_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace mluop::test {
namespace {

using ::testing::ElementsAre, ::testing::StrEq;

constexpr size_t kBytes = 256;
constexpr auto kAlignment = std::align_val_t{kBytes};

// The variants, called as functions: the compiler may omit new expressions, but not these calls.
struct Variant {
  void* (*allocate)();
  bool is_aligned;
  const char* failure;
};

constexpr Variant kVariants[] = {
    {[] { return ::operator new(3); }, false, "bad_alloc"},
    {[] { return ::operator new[](3); }, false, "bad_alloc"},
    {[] { return ::operator new(3, std::nothrow); }, false, "null"},
    {[] { return ::operator new[](3, std::nothrow); }, false, "null"},
    {[] { return ::operator new(3, kAlignment); }, true, "bad_alloc"},
    {[] { return ::operator new[](3, kAlignment); }, true, "bad_alloc"},
    {[] { return ::operator new(3, kAlignment, std::nothrow); }, true, "null"},
    {[] { return ::operator new[](3, kAlignment, std::nothrow); }, true, "null"},
};

const char* outcome_of(const Variant& variant) {
  try {
    void* memory = variant.allocate();
    const bool is_misaligned = variant.is_aligned && reinterpret_cast<uintptr_t>(memory) % kBytes != 0;
    const bool is_null = memory == nullptr;
    std::free(memory);
    return is_null ? "null" : is_misaligned ? "misaligned" : "memory";
  } catch (const std::bad_alloc&) {
    return "bad_alloc";
  }
}

TEST(SupportFailingAllocator, EveryVariantFailsOnce) {
  if (!FailingAllocation::kSupported) GTEST_SKIP() << "ThreadSanitizer";
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(&variant - kVariants);
    const char* outcomes[3];
    int64_t count = 0;
    {
      const FailingAllocation second(2);
      for (const char*& outcome : outcomes) outcome = outcome_of(variant);
      count = second.count();
    }
    EXPECT_THAT(outcomes, ElementsAre(StrEq("memory"), StrEq(variant.failure), StrEq("memory")));
    EXPECT_EQ(count, 3);
  }
}

}  // namespace
}  // namespace mluop::test
