// gather(): the rows at the indices, and zeros for pairs with a negative index.
#include "primitives/gather.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

constexpr int32_t kRowCount = 50;

void expect_rows(size_t count, size_t columns, std::mt19937& random) {
  const Handle handle;
  Context& context = *handle;
  context.reserve(0);
  const GuardedBuffer<uint16_t> from(kRowCount * columns, Placement::kAgainstEnd);
  std::iota(from.data(), from.data() + from.size(), uint16_t{1});
  const GuardedBuffer<int32_t> indices(count, Placement::kAgainstEnd),
      paired_indices(count, Placement::kAgainstEnd);
  std::vector<uint16_t> expected;
  for (size_t i = 0; i < count; ++i) {
    const auto kind = random() % 4;
    indices[i] = kind == 0 ? -1 : kind == 1 ? INT32_MAX : static_cast<int32_t>(random() % kRowCount);
    paired_indices[i] = kind == 1 ? INT32_MIN : 7;
    for (size_t j = 0; j < columns; ++j) {
      expected.push_back(kind < 2 ? uint16_t{0} : from[static_cast<size_t>(indices[i]) * columns + j]);
    }
  }
  const GuardedBuffer<uint16_t> to(count * columns, Placement::kMisaligned);
  gather(context, {static_cast<int64_t>(count), static_cast<int64_t>(columns * sizeof(uint16_t)), indices.data(),
                   paired_indices.data(), from.data(), to.data()});
  EXPECT_EQ(to.values(), expected) << count << " rows of " << columns;
  EXPECT_TRUE(to.intact());
}

// The other index of a skipped pair is out of range: a read of its row would leave the guarded buffer.
TEST(PrimitivesGather, RowsByIndex) {
  auto random = seeded_random();
  for (const int threads : {1, 2, 7}) {
    const ScopedThreads scoped(threads);
    for (const size_t count : {0, 1, 3, 5000}) {
      for (const size_t columns : {1, 3, 16, 33}) {
        expect_rows(count, columns, random);
      }
    }
  }
}

// Rows that exceed NRAM are copied in parts.
TEST(PrimitivesGather, SmallNram) {
  auto random = seeded_random();
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1");
  const ScopedThreads threads(2);
  expect_rows(500, 33, random);
  expect_rows(100, 1001, random);
}

// Without paired indices each index is loaded once.
TEST(PrimitivesGather, Statistics) {
  const Handle handle;
  Context& context = *handle;
  const ScopedThreads threads(2);
  context.reserve(0);
  require(mluOpOmpSetStatistics(handle, 1));
  const std::vector<int32_t> indices = {1, 0, -1};
  const std::vector<uint16_t> from = {1, 2, 3, 4};
  std::vector<uint16_t> to(6, 9);
  gather(context, {3, 4, indices.data(), nullptr, from.data(), to.data()});
  EXPECT_EQ(to, (std::vector<uint16_t>{3, 4, 1, 2, 0, 0}));
  mluOpOmpTaskStatistics_t task;
  require(mluOpOmpGetTaskStatistics(handle, 0, 0, &task));
  EXPECT_EQ(task.bytes_loaded, 2 * (4 + 4));
  EXPECT_EQ(task.bytes_stored, 8);
}

}  // namespace
}  // namespace mluop::test
