// Grouping by key against std::stable_sort.
#include "primitives/group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "primitives/group_kernel.h"
#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

constexpr int kTaskDims[] = {1, 2, 3, 7};
constexpr int32_t kTileItems[] = {1, 15, 16, 17, 1000};

// How many of the lowest bits of a key do not tell groups apart.
constexpr int kShifts[] = {0, 3};

struct Problem {
  std::string name;
  int32_t key_count;
  std::vector<int32_t> keys;  // of the items, each in [0, key_count]; key_count: in no group
};

// A grouping in memory that was full of something else before, and has guard zones around it.
class Grouping {
 public:
  Grouping(Context& context, const Problem& problem, int task_dim, int32_t tile_items, int shift = 0)
      : layout_(workspace_, static_cast<int64_t>(problem.keys.size()), group_count(problem, shift), task_dim,
                shift),
        memory_(workspace_.bytes()),
        group_(layout_, memory_.data()) {
    std::vector<int32_t> keys = problem.keys;
    std::replace(keys.begin(), keys.end(), problem.key_count, group_.no_group());
    launch(context, task_dim, Evenly{group_.item_count}, append_kernel(), {group_, keys.data(), tile_items});
    group_by_key(context, group_);
  }

  const Group& group() const { return group_; }
  bool intact() const { return memory_.intact(); }

 private:
  // The last group may have fewer keys than the others.
  static int32_t group_count(const Problem& problem, int shift) {
    return static_cast<int32_t>(ceil_div(problem.key_count, int64_t{1} << shift));
  }

  WorkspaceLayout workspace_;
  GroupLayout layout_;
  GuardedBuffer<std::byte> memory_;
  Group group_;
};

// The items of group g in their order, run by run; empty if a run leaves the group or its key.
std::vector<int32_t> items_of(const Problem& problem, const Group& group, int32_t g) {
  std::vector<int32_t> items;
  for (int32_t place = group.starts[g]; place < group.starts[g + 1];) {
    const Run run = group.runs[place];
    if (run.count < 1 || run.count > group.starts[g + 1] - place || run.first < 0) return {};
    for (int32_t item = run.first; item < run.first + run.count; ++item) {
      if (problem.keys.at(static_cast<size_t>(item)) != run.key) return {};
      items.push_back(item);
    }
    place += run.count;
  }
  return items;
}

void expect_sorted(const Problem& problem, const Group& group) {
  std::vector<int32_t> order(problem.keys.size());
  std::iota(order.begin(), order.end(), 0);
  const auto group_of = [&](int32_t item) {
    const int32_t key = problem.keys[static_cast<size_t>(item)];
    return key == problem.key_count ? group.group_count : key >> group.shift;
  };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return group_of(a) < group_of(b); });
  auto expected = order.begin();
  for (int32_t g = 0; g < group.group_count; ++g) {
    const auto first = expected;
    while (expected != order.end() && group_of(*expected) == g) ++expected;
    ASSERT_EQ(group.starts[g], first - order.begin()) << "group " << g;
    ASSERT_EQ(group.starts[g + 1], expected - order.begin()) << "group " << g;
    ASSERT_EQ(items_of(problem, group, g), std::vector<int32_t>(first, expected)) << "group " << g;
  }
}

void expect_grouped(const Problem& problem) {
  const Handle handle;  // chooses the instruction set
  for (const int task_dim : kTaskDims) {
    for (const int32_t tile_items : kTileItems) {
      for (const int shift : kShifts) {
        SCOPED_TRACE(problem.name + ", " + std::to_string(task_dim) + " tasks, tiles of " +
                     std::to_string(tile_items) + ", shift " + std::to_string(shift));
        const Grouping grouping(*handle, problem, task_dim, tile_items, shift);
        ASSERT_NO_FATAL_FAILURE(expect_sorted(problem, grouping.group()));
        EXPECT_TRUE(grouping.intact());
      }
    }
  }
}

// `items` keys, in runs of up to `longest`; `dropped` of each hundred runs belong to no group.
Problem random_problem(const std::string& name, size_t items, int32_t key_count, int longest, int dropped,
                       std::mt19937& random) {
  Problem problem{name, key_count, {}};
  while (problem.keys.size() < items) {
    const bool drop = static_cast<int>(random() % 100) < dropped;
    const auto key = drop ? key_count : static_cast<int32_t>(random() % static_cast<uint32_t>(key_count));
    const size_t run = 1 + random() % static_cast<uint32_t>(longest);
    problem.keys.insert(problem.keys.end(), std::min(run, items - problem.keys.size()), key);
  }
  return problem;
}

TEST(PrimitivesGroup, HostileSizes) {
  auto random = seeded_random();
  const Problem kProblems[] = {
      {"no item", 5, {}},
      {"one item", 1, {0}},
      {"one item, dropped", 1, {1}},
      {"all dropped", 9, std::vector<int32_t>(100, 9)},
      {"one run for all tiles and tasks", 4, std::vector<int32_t>(333, 2)},
      {"first and last item alone", 3, {0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}},
      random_problem("one key", 200, 1, 3, 30, random),
      random_problem("more keys than items", 60, 1000, 2, 10, random),
      random_problem("more tasks than items", 5, 2, 1, 0, random),
      random_problem("a vector less one", 15, 3, 1, 20, random),
      random_problem("a vector", 16, 3, 1, 20, random),
      random_problem("a vector and one", 17, 3, 1, 20, random),
      random_problem("no runs", 2000, 37, 1, 10, random),
      random_problem("runs across tiles and tasks", 3000, 11, 50, 25, random),
      random_problem("longer than any tile", 5000, 300, 1500, 10, random),
  };
  for (const Problem& problem : kProblems) expect_grouped(problem);
}

// Ascending, descending and alternating: every item a run of its own, keys at both ends.
TEST(PrimitivesGroup, Patterns) {
  constexpr int32_t kKeys = 150;
  Problem ascending{"ascending", kKeys, {}}, descending{"descending", kKeys, {}}, alternating{"ends", kKeys, {}};
  for (int32_t i = 0; i <= kKeys; ++i) {
    ascending.keys.push_back(i);
    descending.keys.push_back(kKeys - i);
    alternating.keys.push_back(i % 2 == 0 ? 0 : kKeys);
  }
  for (const Problem& problem : {ascending, descending, alternating}) expect_grouped(problem);
}

// Neighbours with the same key stay one run, except at the ends of tiles and tasks.
TEST(PrimitivesGroup, KeepsRunsTogether) {
  const Handle handle;
  const Problem problem{"one run", 2, std::vector<int32_t>(96, 1)};
  const Grouping whole(*handle, problem, 1, 1000);
  EXPECT_EQ(whole.group().runs[0].count, 96);
  const Grouping tiles(*handle, problem, 1, 32);
  EXPECT_EQ(tiles.group().runs[0].count, 32);
  const Grouping tasks(*handle, problem, 2, 1000);
  EXPECT_EQ(tasks.group().runs[0].count, 48);
}

void expect_fair(const Group& group, int64_t group_cost, int task_dim) {
  const auto cost = [&](int64_t begin, int64_t end) {
    return group.starts[end] - group.starts[begin] + (end - begin) * group_cost;
  };
  int64_t heaviest = 0;
  for (int32_t g = 0; g < group.group_count; ++g) heaviest = std::max(heaviest, cost(g, g + 1));
  const ByItems divide{group, group_cost};
  int64_t next = 0;
  for (int id = 0; id < task_dim; ++id) {
    const Range groups = divide(task_dim, id);
    ASSERT_EQ(groups.begin, next) << "task " << id << " of " << task_dim;
    ASSERT_GE(groups.end, groups.begin) << "task " << id << " of " << task_dim;
    EXPECT_LE(cost(groups.begin, groups.end), cost(0, group.group_count) / task_dim + heaviest)
        << "task " << id << " of " << task_dim;
    next = groups.end;
  }
  EXPECT_EQ(next, group.group_count);
}

TEST(PrimitivesGroupByItems, CoversAllGroupsFairly) {
  const Handle handle;
  auto random = seeded_random();
  Problem skewed = random_problem("skewed", 300, 64, 2, 10, random);
  skewed.keys.insert(skewed.keys.end(), 2000, 40);
  const Problem kProblems[] = {
      {"all dropped", 20, std::vector<int32_t>(100, 20)},
      {"all in the first", 20, std::vector<int32_t>(100, 0)},
      {"all in the last", 20, std::vector<int32_t>(100, 19)},
      random_problem("fewer keys than tasks", 500, 3, 4, 0, random),
      random_problem("more keys than items", 50, 5000, 2, 10, random),
      random_problem("even", 5000, 500, 3, 10, random),
      skewed,
  };
  for (const Problem& problem : kProblems) {
    SCOPED_TRACE(problem.name);
    const Grouping grouping(*handle, problem, 2, 1000);
    for (const int task_dim : {1, 2, 3, 7, 64}) {
      for (const int64_t group_cost : {1, 64}) expect_fair(grouping.group(), group_cost, task_dim);
    }
  }
}

// Between 1 and what is asked for; the counts of all tasks stay below 16 bytes an item.
TEST(PrimitivesGroupTaskDim, KeepsCountsSmall) {
  for (const int64_t items : {int64_t{1}, int64_t{2}, int64_t{1000}, (int64_t{1} << 31) - 1}) {
    for (const int32_t groups : {1, 2, 999, 1000000, INT32_MAX - 1, INT32_MAX}) {
      for (const int task_dim : {1, 2, 3, 7, 64, 1024}) {
        const int chosen = group_task_dim(items, groups, task_dim);
        EXPECT_GE(chosen, 1);
        EXPECT_LE(chosen, task_dim);
        EXPECT_LE(chosen, items);
        const int64_t count_bytes = int64_t{groups} * chosen * int64_t{sizeof(int32_t)};
        if (chosen > 1) {
          EXPECT_LE(count_bytes, 16 * items) << items << " items, " << groups << " groups";
        }
        // As many as that allows, and as have items.
        if (chosen < std::min<int64_t>(task_dim, items)) {
          EXPECT_GT(count_bytes / chosen * (chosen + 1), 16 * items);
        }
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
