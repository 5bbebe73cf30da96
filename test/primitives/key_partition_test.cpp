// Division of keys among tasks: every item with a key is visited once, by one owner of its key, in order.
#include "primitives/key_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "primitives/key_order_kernel.h"
#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

constexpr int32_t kNoKey = KeyedItems::kNoKey;

struct Problem {
  std::string name;
  int64_t key_count;
  std::vector<int32_t> keys;  // of the items
};

// The steps of key_order.h, in memory that was full of something else before and has guard zones around it.
class Division {
 public:
  Division(Context& context, const Problem& problem, int task_dim)
      : context_(context),
        item_count_(static_cast<int64_t>(problem.keys.size())),
        sample_(item_count_, task_dim),
        order_layout_(workspace_, problem.key_count, sample_),
        items_layout_(workspace_, item_count_),
        memory_(workspace_.bytes()),
        order_(order_layout_, memory_.data()),
        items_(items_layout_.items(memory_.data(), problem.keys.data())) {
    launch<CountArgs>(context, sample_.task_dim, Evenly{sample_.stretches}, count_keys,
                      {sample_, order_, problem.keys.data()});
    order_.decide(context, sample_);
    launch(context, task_dim, Evenly{KeyedItems::block_count(item_count_)}, rank_kernel(), {order_, items_});
  }

  std::vector<std::vector<Visit>> visits(int task_dim, int32_t tile_items, int64_t ahead) const {
    std::vector<std::vector<Visit>> visits(static_cast<size_t>(task_dim));
    launch(context_, task_dim, ByCost{order_}, visit_kernel(), {order_, items_, tile_items, ahead, visits});
    return visits;
  }

  const KeyOrder& order() const { return order_; }
  bool intact() const { return memory_.intact(); }

 private:
  Context& context_;
  int64_t item_count_;
  KeySample sample_;
  WorkspaceLayout workspace_;
  KeyOrderLayout order_layout_;
  KeyedItemsLayout items_layout_;
  GuardedBuffer<std::byte> memory_;
  KeyOrder order_;
  KeyedItems items_;
};

Problem random_problem(std::string name, int64_t items, int32_t keys, int none_of_ten) {
  Problem problem{std::move(name), keys, {}};
  auto random = seeded_random();
  std::uniform_int_distribution<int32_t> key(0, keys - 1), tenth(1, 10);
  for (int64_t i = 0; i < items; ++i) problem.keys.push_back(tenth(random) <= none_of_ten ? kNoKey : key(random));
  return problem;
}

std::vector<Problem> problems() {
  std::vector<Problem> all = {
      {"one item", 1, {0}},
      {"no item has a key", 5, std::vector<int32_t>(300, kNoKey)},
      random_problem("a block", 64, 10, 2),
      random_problem("a block and one", 65, 10, 2),
      random_problem("one key", 1000, 1, 1),
      random_problem("few keys", 5000, 7, 0),
      random_problem("keys without items", 500, 9000, 5),
      random_problem("tiles of several keys", 100000, 50001, 3),
  };
  Problem sorted = random_problem("keys in the order of items", 30000, 6000, 0);
  std::sort(sorted.keys.begin(), sorted.keys.end());
  all.push_back(sorted);
  return all;
}

void expect_divided(const Problem& problem, const std::vector<std::vector<Visit>>& visits) {
  std::vector<int> owner(static_cast<size_t>(problem.key_count), -1);
  int64_t count = 0;
  for (size_t task = 0; task < visits.size(); ++task) {
    int64_t before = -1;
    for (const Visit& visit : visits[task]) {
      EXPECT_GT(visit.item, before);
      before = visit.item;
      ASSERT_EQ(visit.key, problem.keys.at(static_cast<size_t>(visit.item)));
      int& of_key = owner[static_cast<size_t>(visit.key)];
      EXPECT_TRUE(of_key == -1 || of_key == static_cast<int>(task)) << "key " << visit.key;
      of_key = static_cast<int>(task);
      ++count;
    }
  }
  EXPECT_EQ(count, std::count_if(problem.keys.begin(), problem.keys.end(), [](int32_t k) { return k != kNoKey; }));
}

TEST(PrimitivesKeyOrder, EveryItemIsVisitedOnceByTheOwnerOfItsKey) {
  const Handle handle;
  Context& context = *static_cast<mluOpHandle_t>(handle);
  for (const Problem& problem : problems()) {
    SCOPED_TRACE(problem.name);
    for (const int task_dim : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(task_dim);
      const Division division(context, problem, task_dim);
      for (const int32_t tile_items : {64, 1024}) {
        for (const int64_t ahead : {1, 16, 64}) {
          expect_divided(problem, division.visits(task_dim, tile_items, ahead));
        }
      }
      EXPECT_TRUE(division.intact());
    }
  }
}

TEST(PrimitivesKeyOrder, EveryKeyIsInOneTile) {
  const Handle handle;
  Context& context = *static_cast<mluOpHandle_t>(handle);
  for (const Problem& problem : problems()) {
    SCOPED_TRACE(problem.name);
    const Division division(context, problem, 3);
    const KeyOrder& order = division.order();
    std::vector<int> seen(static_cast<size_t>(order.key_count));
    for (int32_t rank = 0; rank < order.tile_count; ++rank) {
      EXPECT_EQ(order.ranks[order.tiles[rank]], rank);
      EXPECT_LT(order.costs_before[rank], order.costs_before[rank + 1]);
      const Range keys = order.keys(order.tiles[rank]);
      for (int64_t key = keys.begin; key < keys.end; ++key) ++seen[static_cast<size_t>(key)];
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), order.key_count);
  }
}

}  // namespace
}  // namespace mluop::test
