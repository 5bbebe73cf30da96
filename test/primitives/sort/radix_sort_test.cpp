// radix_sort(): a stable sort by the low bits of the keys.
#include "primitives/sort/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/guarded_buffer.h"
#include "support/labels.h"
#include "support/team_context.h"

namespace mluop::test {
namespace {

// Even numbers of bits also sort the positions as values.
template <class Key>
void expect_sorted(Context& context, int64_t count, int bits, int task_dim, std::mt19937_64& random) {
  SCOPED_TRACE(::testing::Message() << count << " keys of " << bits << " bits, " << task_dim << " tasks");
  const SortedValues values = bits % 2 == 0 ? SortedValues::kPositions : SortedValues::kGiven;
  const GuardedBuffer<std::byte> bytes(bytes_of<RadixSortMemory<Key>>(count));
  Arena arena(bytes.data(), bytes.size());
  const RadixSortMemory<Key> memory(arena, count);
  std::vector<std::pair<Key, uint32_t>> expected;
  for (int64_t i = 0; i < count; ++i) {
    memory.keys[0][i] = static_cast<Key>(bits == 0 ? 0 : random() >> (64 - bits));
    if (values == SortedValues::kGiven) memory.values[0][i] = static_cast<uint32_t>(random());
    expected.emplace_back(memory.keys[0][i],
                          values == SortedValues::kGiven ? memory.values[0][i] : static_cast<uint32_t>(i));
  }
  std::ranges::stable_sort(expected, {}, &std::pair<Key, uint32_t>::first);
  const size_t in = radix_sort(context, task_dim, count, bits, values, memory);
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(std::pair(memory.keys[in][i], memory.values[in][i]), expected[static_cast<size_t>(i)]) << i;
  }
  EXPECT_TRUE(bytes.intact());
}

TEST(PrimitivesRadixSort, SortsStably) {
  MLUOP_LABELS(kNotEmulated);
  std::mt19937_64 random(7);
  for (const int task_dim : {1, 3, 100}) {
    TeamContext context(task_dim);
    for (const int64_t count : {0, 1, 2, 500, 5000, 25000}) {
      for (const int bits : {0, 1, 11, 12, 27, 32})
        expect_sorted<uint32_t>(context, count, bits, task_dim, random);
      for (const int bits : {0, 1, 11, 12, 27, 63}) expect_sorted<int64_t>(context, count, bits, task_dim, random);
    }
  }
}

}  // namespace
}  // namespace mluop::test
