// The split over tasks, and fit_tile(): the largest tile that fits NRAM.
#include "team/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "team/fit_tile.h"

namespace mluop::test {
namespace {

// A task has as many work items as if they were dealt to the tasks in turn, but its work items are contiguous.
TEST(TeamSplit, Shares) {
  constexpr int64_t kLarge = int64_t{1} << 62;
  std::vector<int64_t> totals(41);
  std::iota(totals.begin(), totals.end(), 0);
  // The product of these totals with a taskId exceeds int64_t.
  totals.insert(totals.end(), {kLarge - 1, kLarge, kLarge + 1, INT64_MAX});
  for (const int64_t total : totals) {
    for (const int task_dim : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 64, 1003}) {
      int64_t begin = 0;
      for (int id = 0; id < task_dim; ++id) {
        const Range range = split(total, task_dim, id);
        const int64_t share = id < total ? (total - 1 - id) / task_dim + 1 : 0;
        EXPECT_EQ(range.begin, begin) << total << " over " << task_dim << ", task " << id;
        EXPECT_EQ(range.size(), share) << total << " over " << task_dim << ", task " << id;
        begin = range.end;
      }
      EXPECT_EQ(begin, total);
    }
  }
}

struct Tile {
  Tile(Arena& nram, int64_t count, int64_t channels)
      : points(nram.take<int32_t>("points", {count})), rows(nram.take<float>("rows", {count, channels})) {}

  int32_t* points;
  float* rows;
};

TEST(TeamFitTile, LargestCountThatFits) {
  // The last capacity fits exactly.
  for (const size_t capacity : {size_t{1} << 10, size_t{2} << 10, size_t{3} << 10, size_t{7} << 10,
                                size_t{64} << 10, size_t{640} << 10, bytes_of<Tile>(1, 100)}) {
    Context context;
    context.nram_capacity = capacity;
    for (const int64_t channels : {1, 3, 16, 100}) {
      const auto bytes = [&](int64_t points) { return bytes_of<Tile>(points, channels); };
      for (const int64_t max : {int64_t{1}, int64_t{2}, int64_t{5}, int64_t{1000}, int64_t{1} << 40}) {
        const int64_t count = fit_tile(context, max, bytes);
        EXPECT_GE(count, 1);
        EXPECT_LE(count, max);
        EXPECT_LE(bytes(count), capacity);
        EXPECT_TRUE(count == max || bytes(count + 1) > capacity);
      }
    }
  }
}

TEST(TeamFitTile, SmallestTileThatDoesNotFit) {
  Context context;
  context.nram_capacity = 2048;
  EXPECT_THAT([&] { fit_tile(context, 10, [](int64_t points) { return bytes_of<Tile>(points, 500); }); },
              ::testing::Throws<Failure>(::testing::AllOf(
                  ::testing::Field(&Failure::status, MLUOP_STATUS_ALLOC_FAILED),
                  ::testing::Property(&Failure::what, ::testing::StrEq("MLUOP_OMP_NRAM_KB is 2, expected room for "
                                                                       "the smallest tile: 2112 bytes")))));
}

}  // namespace
}  // namespace mluop::test
