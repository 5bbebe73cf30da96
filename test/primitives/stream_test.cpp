// stream_copy(): every alignment of both sides and every count around the widths of vectors.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "primitives/stream_copy.h"
#include "support/api.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

// Elements of a cache line, and of the widest vector.
constexpr size_t kLine = 16;
constexpr size_t kMaxCount = 70;
constexpr int32_t kUntouched = -7;

std::vector<int32_t> numbers(size_t count) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(PrimitivesStreamCopy, AlignmentsAndCounts) {
  const Handle handle;  // chooses the instruction set
  const StreamCopy copy = chosen_stream_copy();
  const GuardedBuffer<int32_t> from(numbers(kLine + kMaxCount));
  const GuardedBuffer<int32_t> to(kLine + kMaxCount);
  for (size_t to_offset = 0; to_offset < kLine; ++to_offset) {
    for (size_t from_offset = 0; from_offset < kLine; ++from_offset) {
      for (size_t count = 0; count <= kMaxCount; ++count) {
        std::vector<int32_t> expected(to.size(), kUntouched);
        std::fill_n(to.data(), to.size(), kUntouched);
        std::copy_n(from.data() + from_offset, count, expected.data() + to_offset);
        copy(to.data() + to_offset, from.data() + from_offset, count);
        ASSERT_EQ(to.values(), expected) << count << " from " << from_offset << " to " << to_offset;
      }
    }
  }
  EXPECT_TRUE(to.intact());
  EXPECT_TRUE(from.intact());
}

// Against inaccessible pages: not even a read goes beyond the count.
TEST(PrimitivesStreamCopy, StaysWithinBothBuffers) {
  const Handle handle;
  const StreamCopy copy = chosen_stream_copy();
  for (size_t count = 0; count <= kMaxCount; ++count) {
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
      const GuardedBuffer<int32_t> from(numbers(count), Placement::kAgainstEnd);
      const GuardedBuffer<int32_t> to(count, placement);
      copy(to.data(), from.data(), count);
      EXPECT_EQ(to.values(), from.values()) << count;
      EXPECT_TRUE(to.intact()) << count;
    }
  }
}

}  // namespace
}  // namespace mluop::test
