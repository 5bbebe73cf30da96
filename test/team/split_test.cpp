// The multi-core split against its definition.
#include "team/split.h"

#include <gtest/gtest.h>

#include <vector>

namespace mluop::test {
namespace {

// Dealing the items out in turn gives every task its share, and the first ones what is left over.
std::vector<int64_t> shares_by_dealing(int64_t total, int task_dim) {
  std::vector<int64_t> shares(static_cast<size_t>(task_dim));
  for (int64_t item = 0; item < total; ++item) ++shares[static_cast<size_t>(item % task_dim)];
  return shares;
}

TEST(TeamSplit, SmallTotals) {
  for (int64_t total = 0; total <= 40; ++total) {
    for (int task_dim = 1; task_dim <= 12; ++task_dim) {
      const auto shares = shares_by_dealing(total, task_dim);
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

// Totals whose product with a task number would not fit int64_t.
TEST(TeamSplit, TotalsNearTheEndOfInt64) {
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
