// Sorting single items by group, against std::stable_sort.
#include "primitives/counting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

struct SortArgs {
  const Counting& counting;
  const int32_t* groups;  // of the items; -1: in none
  int32_t* order;
};

void count(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  args.counting.clear(task.taskId);
  for (int64_t i = begin; i < end; ++i) {
    if (args.groups[i] >= 0) ++args.counting.counts_of(task.taskId)[args.groups[i]];
  }
}

void place(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  for (int64_t i = begin; i < end; ++i) {
    if (args.groups[i] >= 0) {
      args.order[args.counting.counts_of(task.taskId)[args.groups[i]]++] = static_cast<int32_t>(i);
    }
  }
}

void expect_sorted(Context& context, const std::vector<int32_t>& groups, int32_t group_count, int task_dim) {
  SCOPED_TRACE(std::to_string(groups.size()) + " items, " + std::to_string(group_count) + " groups, " +
               std::to_string(task_dim) + " tasks");
  WorkspaceLayout workspace;
  const CountingLayout layout(workspace, static_cast<int64_t>(groups.size()), group_count, task_dim);
  const GuardedBuffer<std::byte> memory(workspace.bytes());
  const Counting counting(layout, memory.data());
  std::vector<int32_t> expected;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] >= 0) expected.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(expected.begin(), expected.end(), [&](int32_t a, int32_t b) {
    return groups[static_cast<size_t>(a)] < groups[static_cast<size_t>(b)];
  });
  const GuardedBuffer<int32_t> order(expected.size());
  const SortArgs args{counting, groups.data(), order.data()};
  launch(context, task_dim, Evenly{counting.item_count}, count, args);
  find_places(context, counting);
  launch(context, task_dim, Evenly{counting.item_count}, place, args);
  EXPECT_EQ(order.values(), expected);
  for (int32_t g = 0; g <= group_count; ++g) {
    const auto before = std::count_if(groups.begin(), groups.end(), [=](int32_t at) { return at >= 0 && at < g; });
    ASSERT_EQ(counting.starts[g], before) << "group " << g;
  }
  EXPECT_TRUE(memory.intact() && order.intact());
}

TEST(PrimitivesCounting, SortsLikeStableSort) {
  const Handle handle;
  auto random = seeded_random();
  for (const int task_dim : {1, 2, 3, 7, 64}) {
    for (const size_t items : {0, 1, 2, 17, 3000}) {
      for (const int32_t groups : {1, 5, 1000}) {
        std::vector<int32_t> group_of(items);
        for (int32_t& group : group_of) {
          group = static_cast<int32_t>(random() % static_cast<uint32_t>(groups + 1)) - 1;
        }
        expect_sorted(*handle, group_of, groups, task_dim);
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
