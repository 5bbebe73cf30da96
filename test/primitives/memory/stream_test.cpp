// StreamWriter: every alignment of both sides and every count around the widths of vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/memory/stream_test.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "primitives/memory/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::StreamWriter;

void copy_2(int16_t* to, const int16_t* from, size_t count) { StreamWriter().copy(to, from, count); }
void copy_4(int32_t* to, const int32_t* from, size_t count) { StreamWriter().copy(to, from, count); }
void fill(uint8_t* data, uint8_t value, size_t count) { StreamWriter().fill(data, value, count); }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

HWY_EXPORT(copy_2);
HWY_EXPORT(copy_4);
HWY_EXPORT(fill);

constexpr size_t kLineBytes = 64;

// The count of a line, and counts of up to two of the widest vectors with all possible heads and tails.
template <class T>
constexpr size_t kLine = kLineBytes / sizeof(T);
template <class T>
constexpr size_t kMaxCount = 4 * kLine<T> + 6;

template <class T>
std::vector<T> numbers(size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T{1});
  return values;
}

template <class T>
void expect_copies(void (*copy)(T* to, const T* from, size_t count)) {
  const GuardedBuffer<T> from(numbers<T>(kLine<T> + kMaxCount<T>));
  const GuardedBuffer<T> to(from.size());
  const std::vector<T> untouched(to.size(), T{-7});
  for (size_t to_offset = 0; to_offset < kLine<T>; ++to_offset) {
    for (size_t from_offset = 0; from_offset < kLine<T>; ++from_offset) {
      for (size_t count = 0; count <= kMaxCount<T>; ++count) {
        std::vector<T> expected = untouched;
        std::copy_n(from.data() + from_offset, count, expected.data() + to_offset);
        std::copy_n(untouched.data(), to.size(), to.data());
        copy(to.data() + to_offset, from.data() + from_offset, count);
        ASSERT_EQ(to.values(), expected) << count << " from " << from_offset << " to " << to_offset;
      }
    }
  }
  EXPECT_TRUE(to.intact() && from.intact());
  // Between inaccessible pages: reads and writes do not exceed the count.
  for (size_t count = 0; count <= kMaxCount<T>; ++count) {
    for (const auto placement : kPlacements) {
      const GuardedBuffer<T> end(numbers<T>(count), Placement::kAgainstEnd);
      const GuardedBuffer<T> copied(count, placement);
      copy(copied.data(), end.data(), count);
      EXPECT_EQ(copied.values(), end.values()) << count;
      EXPECT_TRUE(copied.intact()) << count;
    }
  }
}

TEST(PrimitivesStream, Copies) {
  expect_copies<int16_t>(MLUOP_DISPATCH(copy_2));
  expect_copies<int32_t>(MLUOP_DISPATCH(copy_4));
}

TEST(PrimitivesStream, Fills) {
  constexpr size_t kBytes = 4 * kLineBytes;
  const GuardedBuffer<uint8_t> data(kLineBytes + kBytes);
  for (size_t offset = 0; offset < kLineBytes; ++offset) {
    for (size_t count = 0; count <= kBytes; ++count) {
      std::vector<uint8_t> expected(data.size(), 1);
      std::fill_n(data.data(), data.size(), uint8_t{1});
      std::fill_n(expected.data() + offset, count, uint8_t{0xFE});
      MLUOP_DISPATCH(fill)(data.data() + offset, 0xFE, count);
      ASSERT_EQ(data.values(), expected) << count << " at " << offset;
    }
  }
  EXPECT_TRUE(data.intact());
}

}  // namespace
}  // namespace mluop::test
#endif
