// StreamWriter: every alignment of both sides and every count around the widths of vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "primitives/stream_kernel.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

constexpr size_t kLineBytes = 64;
constexpr int kUntouched = -7;

// A line, and counts of up to two of the widest vectors with all that may precede and follow them.
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
class PrimitivesStreamCopy : public ::testing::Test {};

using ElementTypes = ::testing::Types<int16_t, int32_t>;
TYPED_TEST_SUITE(PrimitivesStreamCopy, ElementTypes);

TYPED_TEST(PrimitivesStreamCopy, AlignmentsAndCounts) {
  using T = TypeParam;
  const StreamCopy<T> copy = stream_copy<T>();
  const GuardedBuffer<T> from(numbers<T>(kLine<T> + kMaxCount<T>));
  const GuardedBuffer<T> to(kLine<T> + kMaxCount<T>);
  for (size_t to_offset = 0; to_offset < kLine<T>; ++to_offset) {
    for (size_t from_offset = 0; from_offset < kLine<T>; ++from_offset) {
      for (size_t count = 0; count <= kMaxCount<T>; ++count) {
        std::vector<T> expected(to.size(), T{kUntouched});
        std::fill_n(to.data(), to.size(), T{kUntouched});
        std::copy_n(from.data() + from_offset, count, expected.data() + to_offset);
        copy(to.data() + to_offset, from.data() + from_offset, count);
        ASSERT_EQ(to.values(), expected) << count << " from " << from_offset << " to " << to_offset;
      }
    }
  }
  EXPECT_TRUE(to.intact());
  EXPECT_TRUE(from.intact());
}

// Against inaccessible pages: neither reads nor writes pass the count.
TYPED_TEST(PrimitivesStreamCopy, StaysWithinBothBuffers) {
  using T = TypeParam;
  const StreamCopy<T> copy = stream_copy<T>();
  for (size_t count = 0; count <= kMaxCount<T>; ++count) {
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
      const GuardedBuffer<T> from(numbers<T>(count), Placement::kAgainstEnd);
      const GuardedBuffer<T> to(count, placement);
      copy(to.data(), from.data(), count);
      EXPECT_EQ(to.values(), from.values()) << count;
      EXPECT_TRUE(to.intact()) << count;
    }
  }
}

TEST(PrimitivesStreamStore, WholeVectors) {
  for (const size_t count : {0, 16, 32, 160}) {
    const GuardedBuffer<int32_t> from(numbers<int32_t>(count));
    const GuardedBuffer<int32_t> to(count);
    stream_store()(to.data(), from.data(), count);
    EXPECT_EQ(to.values(), from.values());
    EXPECT_TRUE(to.intact());
  }
}

TEST(PrimitivesStreamZero, AlignmentsAndCounts) {
  constexpr size_t kBytes = 4 * kLineBytes;
  const GuardedBuffer<uint8_t> data(kLineBytes + kBytes);
  for (size_t offset = 0; offset < kLineBytes; ++offset) {
    for (size_t count = 0; count <= kBytes; ++count) {
      std::vector<uint8_t> expected(data.size(), 1);
      std::fill_n(data.data(), data.size(), uint8_t{1});
      std::fill_n(expected.data() + offset, count, uint8_t{0});
      stream_zero()(data.data() + offset, count);
      ASSERT_EQ(data.values(), expected) << count << " at " << offset;
    }
  }
  EXPECT_TRUE(data.intact());
}

}  // namespace
}  // namespace mluop::test
