// scatter_add(): sums of whole numbers, which are exact in every order.
#include "primitives/scatter_add.h"

#include <gtest/gtest.h>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

// Adds to `sum_rows` rows of sums; no index refers to the last two.
void expect_sums(int64_t count, int64_t columns, int32_t sum_rows, std::mt19937& random) {
  const Handle handle;
  Context& context = *handle;
  context.reserve(0);
  const GuardedBuffer<float> rows(static_cast<size_t>(count * columns), Placement::kMisaligned);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(random() % 100);
  const GuardedBuffer<float> sums(static_cast<size_t>(sum_rows * columns), Placement::kAgainstEnd);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>(i % 7);
  std::vector<float> expected = sums.values();
  const GuardedBuffer<int32_t> indices(static_cast<size_t>(count)), paired_indices(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto kind = random() % 4;
    indices[at] = kind == 0   ? -1
                  : kind == 1 ? INT32_MAX
                              : static_cast<int32_t>(random() % static_cast<uint32_t>(sum_rows - 2));
    paired_indices[at] = kind == 1 ? -1 : 0;
    for (int64_t j = 0; j < columns && kind > 1; ++j) {
      expected[static_cast<size_t>(indices[at] * columns + j)] += rows[static_cast<size_t>(i * columns + j)];
    }
  }
  scatter_add(context, {count, columns, indices.data(), paired_indices.data(), rows.data(), sums.data()});
  EXPECT_EQ(sums.values(), expected) << count << " rows of " << columns;
  EXPECT_TRUE(sums.intact());
}

TEST(PrimitivesScatterAdd, Sums) {
  auto random = seeded_random();
  for (const int threads : {1, 2, 7, 64}) {
    const ScopedThreads scoped(threads);
    expect_sums(0, 5, 3, random);
    expect_sums(1, 1, 3, random);
    expect_sums(300, 17, 100, random);
    expect_sums(20000, 3, 3, random);  // all tasks add to one row
    expect_sums(5000, 64, 900, random);
  }
}

// Rows that exceed NRAM are added in parts.
TEST(PrimitivesScatterAdd, SmallNram) {
  auto random = seeded_random();
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1");
  const ScopedThreads threads(2);
  expect_sums(300, 17, 100, random);
  expect_sums(300, 1001, 10, random);
}

// One atomic for each pair; paired indices are loaded only if they are passed.
TEST(PrimitivesScatterAdd, Statistics) {
  const Handle handle;
  Context& context = *handle;
  const ScopedThreads threads(2);
  context.reserve(0);
  require(mluOpOmpSetStatistics(handle, 1));
  const std::vector<int32_t> indices = {1, -1, 0, 1, 2}, paired_indices = {0, 0, -1, 0, 0};
  const std::vector<float> rows(15, 1.0F);
  std::vector<float> sums(9);
  scatter_add(context, {5, 3, indices.data(), paired_indices.data(), rows.data(), sums.data()});
  EXPECT_EQ(sums, (std::vector<float>{0, 0, 0, 2, 2, 2, 1, 1, 1}));
  mluOpOmpTaskStatistics_t task;
  require(mluOpOmpGetTaskStatistics(handle, 0, 0, &task));
  EXPECT_EQ(task.item_count, 3);
  EXPECT_EQ(task.atomics, 1);
  EXPECT_EQ(task.atomic_elements, 3);
  EXPECT_EQ(task.bytes_loaded, 3 * (2 * 4 + 3 * 4));
  EXPECT_EQ(task.bytes_stored, 0);
  scatter_add(context, {1, 3, indices.data(), nullptr, rows.data(), sums.data()});
  require(mluOpOmpGetTaskStatistics(handle, 1, 0, &task));
  EXPECT_EQ(task.bytes_loaded, 4 + 3 * 4);
}

}  // namespace
}  // namespace mluop::test
