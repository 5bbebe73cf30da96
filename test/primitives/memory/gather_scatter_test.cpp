// gather(): the rows at the indices, and zeros for pairs with a negative index. scatter_add(): sums of whole
// numbers, which are exact in every order.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "primitives/memory/gather.h"
#include "primitives/memory/scatter_add.h"
#include "support/guarded_buffer.h"
#include "support/team_context.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

struct PairSizes {
  int64_t count, columns;
  int32_t rows;  // no index names the last two rows
};

void expect_rows(Context& context, const PairSizes& sizes, std::mt19937& random) {
  const auto [count, columns, rows] = sizes;
  SCOPED_TRACE(product_text({count, columns, rows}));
  const auto pair_count = static_cast<size_t>(count), width = static_cast<size_t>(columns);
  const GuardedBuffer<int32_t> indices(pair_count, Placement::kAgainstEnd),
      paired_indices(pair_count, Placement::kAgainstEnd);
  const GuardedBuffer<uint16_t> from(static_cast<size_t>(rows) * width, Placement::kAgainstEnd),
      gathered(pair_count * width, Placement::kMisaligned);
  const GuardedBuffer<float> summands(gathered.size(), Placement::kMisaligned),
      sums(from.size(), Placement::kAgainstEnd);
  std::iota(from.data(), from.data() + from.size(), uint16_t{1});
  for (size_t i = 0; i < summands.size(); ++i) summands[i] = static_cast<float>(random() % 100);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>(i % 7);
  std::vector<uint16_t> expected_rows(gathered.size());
  std::vector<float> expected_sums = sums.values();
  for (size_t i = 0; i < pair_count; ++i) {
    const auto kind = random() % 4;
    // The other index of a skipped pair is out of range: an access to its row would leave the guarded buffer.
    indices[i] = kind == 0 ? -1 : kind == 1 ? INT32_MAX : static_cast<int32_t>(random() % (rows - 2));
    paired_indices[i] = kind == 1 ? INT32_MIN : 0;
    for (size_t j = 0; j < width && kind > 1; ++j) {
      const size_t at = static_cast<size_t>(indices[i]) * width + j;
      expected_rows[i * width + j] = from[at];
      expected_sums[at] += summands[i * width + j];
    }
  }
  gather(context, {count, columns * int64_t{sizeof(uint16_t)}, indices.data(), paired_indices.data(), from.data(),
                   gathered.data()});
  scatter_add(context, {count, columns, indices.data(), paired_indices.data(), summands.data(), sums.data()});
  EXPECT_EQ(gathered.values(), expected_rows);
  EXPECT_EQ(sums.values(), expected_sums);
  EXPECT_TRUE(gathered.intact() && sums.intact());
}

TEST(PrimitivesGatherScatter, RowsByIndex) {
  auto random = seeded_random();
  for (const int threads : {1, 2, 7, 64}) {
    TeamContext context(threads);
    // With 3 rows, all tasks add to one row.
    for (const PairSizes& sizes :
         {PairSizes{0, 5, 3}, PairSizes{1, 1, 3}, PairSizes{3, 16, 50}, PairSizes{300, 17, 100},
          PairSizes{20000, 3, 3}, PairSizes{5000, 33, 50}, PairSizes{5000, 64, 900}}) {
      expect_rows(context, sizes, random);
    }
  }
}

// Rows that exceed NRAM are copied in parts.
TEST(PrimitivesGatherScatter, SmallNram) {
  auto random = seeded_random();
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1");
  TeamContext context(2);
  for (const PairSizes& sizes : {PairSizes{500, 33, 50}, PairSizes{300, 1001, 10}})
    expect_rows(context, sizes, random);
}

// Paired indices are loaded only if they are passed. Each pair has one atomic.
TEST(PrimitivesGatherScatter, Statistics) {
  TeamContext context(2);
  context.statistics.enable(true);
  const std::vector<int32_t> indices = {1, -1, 0, 1, 2}, paired_indices = {0, 0, -1, 0, 0};
  const std::vector<uint16_t> from = {1, 2, 3, 4, 5, 6};
  std::vector<uint16_t> gathered(10, 9);
  gather(context, {5, 4, indices.data(), nullptr, from.data(), gathered.data()});
  EXPECT_EQ(gathered, (std::vector<uint16_t>{3, 4, 0, 0, 1, 2, 3, 4, 5, 6}));
  const std::vector<float> summands(15, 1.0F);
  std::vector<float> sums(9);
  scatter_add(context, {5, 3, indices.data(), paired_indices.data(), summands.data(), sums.data()});
  EXPECT_EQ(sums, (std::vector<float>{0, 0, 0, 2, 2, 2, 1, 1, 1}));
  scatter_add(context, {1, 3, indices.data(), nullptr, summands.data(), sums.data()});
  // Task 0 of each launch has three pairs.
  const auto statistics = [&](size_t launch) { return context.statistics.launches().at(launch).tasks[0]; };
  EXPECT_EQ(statistics(0).bytes_loaded, 3 * 4 + 2 * 4);
  EXPECT_EQ(statistics(0).bytes_stored, 3 * 4);
  EXPECT_EQ(statistics(1).item_count, 3);
  EXPECT_EQ(statistics(1).atomics, 1);
  EXPECT_EQ(statistics(1).atomic_elements, 3);
  EXPECT_EQ(statistics(1).bytes_loaded, 3 * (2 * 4 + 3 * 4));
  EXPECT_EQ(statistics(1).bytes_stored, 0);
  EXPECT_EQ(statistics(2).bytes_loaded, 4 + 3 * 4);
}

}  // namespace
}  // namespace mluop::test
