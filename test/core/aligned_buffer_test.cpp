// Memory that grows on demand: alignment, growth, and failed allocations.
#include "core/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "support/failing_allocator.h"

// Without this option, AddressSanitizer ends the process at an allocation that fails.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace mluop::test {
namespace {

// Sizes around the alignment, and around the smallest size with huge pages.
TEST(CoreAlignedBuffer, IsAlignedAndLargeEnough) {
  constexpr size_t kHuge = size_t{2} << 20;
  for (const size_t bytes :
       {size_t{1}, size_t{63}, size_t{64}, size_t{65}, kHuge - 1, kHuge, kHuge + 1, 3 * kHuge}) {
    AlignedBuffer buffer;
    buffer.reserve(bytes);
    ASSERT_NE(buffer.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kScratchAlignment, 0U) << bytes;
    EXPECT_GE(buffer.capacity(), bytes);
    std::memset(buffer.data(), 0x5A, buffer.capacity());
  }
}

TEST(CoreAlignedBuffer, GrowsAndNeverShrinks) {
  AlignedBuffer buffer;
  buffer.reserve(0);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.capacity(), 0U);
  buffer.reserve(1000);
  const std::byte* const before = buffer.data();
  const size_t capacity = buffer.capacity();
  buffer.reserve(10);
  buffer.reserve(capacity);
  EXPECT_EQ(buffer.data(), before);
  EXPECT_EQ(buffer.capacity(), capacity);
  buffer.reserve(capacity + 1);
  EXPECT_GT(buffer.capacity(), capacity);
}

TEST(CoreAlignedBuffer, FailureKeepsTheMemory) {
  if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer ends the process when an allocation fails";
  AlignedBuffer buffer;
  buffer.reserve(100);
  std::byte* const before = buffer.data();
  const size_t capacity = buffer.capacity();
  std::memset(before, 0x5A, capacity);
  // More bytes than any machine has; more than can be rounded up.
  for (const size_t bytes : {size_t{1} << 62, static_cast<size_t>(PTRDIFF_MAX), SIZE_MAX}) {
    EXPECT_THROW(buffer.reserve(bytes), std::bad_alloc) << bytes;
    EXPECT_EQ(buffer.data(), before);
    EXPECT_EQ(buffer.capacity(), capacity);
    EXPECT_EQ(before[capacity - 1], std::byte{0x5A});
  }
}

}  // namespace
}  // namespace mluop::test
