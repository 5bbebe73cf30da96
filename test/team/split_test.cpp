// The split over tasks against its definition.
#include "team/split.h"

#include <gtest/gtest.h>

#include <vector>

namespace mluop::test {
namespace {

// Assigns the work items to the tasks in turn.
std::vector<int64_t> shares_in_turn(int64_t total, int task_dim) {
  std::vector<int64_t> shares(static_cast<size_t>(task_dim));
  for (int64_t i = 0; i < total; ++i) ++shares[static_cast<size_t>(i % task_dim)];
  return shares;
}

TEST(TeamSplit, SmallTotals) {
  for (int64_t total = 0; total <= 40; ++total) {
    for (int task_dim = 1; task_dim <= 12; ++task_dim) {
      const auto shares = shares_in_turn(total, task_dim);
      int64_t begin = 0;
      for (int id = 0; id < task_dim; ++id) {
        const Range range = split(total, task_dim, id);
        EXPECT_EQ(range.begin, begin) << total << " over " << task_dim << ", task " << id;
        EXPECT_EQ(range.size(), shares[static_cast<size_t>(id)])
            << total << " over " << task_dim << ", task " << id;
        begin = range.end;
      }
      EXPECT_EQ(begin, total);
    }
  }
}

// Totals whose product with a taskId exceeds int64_t.
TEST(TeamSplit, TotalsNearTheLimitOfInt64) {
  constexpr int64_t kLarge = int64_t{1} << 62;
  for (const int64_t total : {kLarge - 1, kLarge, kLarge + 1, INT64_MAX}) {
    for (const int task_dim : {1, 2, 3, 7, 64, 1000003}) {
      const int64_t share = total / task_dim;
      const int64_t larger = total % task_dim;
      int64_t begin = 0;
      for (int id = 0; id < task_dim; ++id) {
        const Range range = split(total, task_dim, id);
        ASSERT_EQ(range.begin, begin) << total << " over " << task_dim << ", task " << id;
        ASSERT_EQ(range.size(), id < larger ? share + 1 : share)
            << total << " over " << task_dim << ", task " << id;
        begin = range.end;
      }
      EXPECT_EQ(begin, total);
    }
  }
}

}  // namespace
}  // namespace mluop::test
