// scatter_add(): sums of whole numbers, which are exact in every order.
#include "primitives/scatter_add.h"

#include <gtest/gtest.h>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

// Adds to `sum_rows` rows of sums; no index refers to the last two.
void expect_sums(int64_t count, int64_t columns, int64_t row_stride, int32_t sum_rows, std::mt19937& random) {
  const Handle handle;
  Context& context = *handle;
  context.reserve(0);
  const GuardedBuffer<float> rows(static_cast<size_t>(count * row_stride), Placement::kMisaligned);
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
      expected[static_cast<size_t>(indices[at] * columns + j)] += rows[static_cast<size_t>(i * row_stride + j)];
    }
  }
  scatter_add(context,
              {count, columns, indices.data(), paired_indices.data(), rows.data(), row_stride, sums.data()});
  EXPECT_EQ(sums.values(), expected) << count << " rows of " << columns;
  EXPECT_TRUE(sums.intact());
}

TEST(PrimitivesScatterAdd, Sums) {
  auto random = seeded_random();
  for (const int threads : {1, 2, 7, 64}) {
    const ScopedThreads scoped(threads);
    expect_sums(0, 5, 16, 3, random);
    expect_sums(1, 1, 16, 3, random);
    expect_sums(300, 17, 32, 100, random);
    expect_sums(20000, 3, 16, 3, random);  // all tasks add to one row
    expect_sums(5000, 64, 64, 900, random);
  }
}

}  // namespace
}  // namespace mluop::test
