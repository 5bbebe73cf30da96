// radix_sort(): a stable sort by the low bits of the keys.
#include "primitives/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

template <class Key>
class PrimitivesRadixSort : public ::testing::Test {};
using Keys = ::testing::Types<uint32_t, int64_t>;
TYPED_TEST_SUITE(PrimitivesRadixSort, Keys);

template <class Key>
void expect_sorted(int64_t count, int bits, int task_dim, bool positions, std::mt19937_64& random) {
  SCOPED_TRACE(::testing::Message() << count << " keys of " << bits << " bits, " << task_dim << " tasks");
  const Handle handle;
  Context& context = *handle;
  context.reserve(0);
  const GuardedBuffer<std::byte> bytes(bytes_of<RadixSortMemory<Key>>(count));
  Arena arena(bytes.data(), bytes.size());
  const RadixSortMemory<Key> memory(arena, count);
  std::vector<std::pair<Key, uint32_t>> expected;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = bits == 0 ? 0 : random() >> (64 - bits);
    const auto value = positions ? static_cast<uint32_t>(i) : static_cast<uint32_t>(random());
    expected.emplace_back(static_cast<Key>(key), value);
    memory.keys[0][i] = expected.back().first;
    if (!positions) memory.values[0][i] = value;
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const size_t in = radix_sort(context, task_dim, count, bits,
                               positions ? SortedValues::kPositions : SortedValues::kGiven, memory);
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(memory.keys[in][i], expected[static_cast<size_t>(i)].first) << i;
    ASSERT_EQ(memory.values[in][i], expected[static_cast<size_t>(i)].second) << i;
  }
  EXPECT_TRUE(bytes.intact());
}

TYPED_TEST(PrimitivesRadixSort, SortsStably) {
  std::mt19937_64 random(7);
  const int max_bits = sizeof(TypeParam) == 4 ? 32 : 63;
  for (const int64_t count : {0, 1, 2, 500, 5000, 70000}) {
    for (const int bits : {0, 1, 11, 12, 27, max_bits}) {
      for (const int task_dim : {1, 3, 100}) {
        const ScopedThreads threads(task_dim);
        expect_sorted<TypeParam>(count, bits, task_dim, bits % 2 == 0, random);
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
