#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/key_order_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "primitives/key_order-inl.h"
#include "primitives/key_order_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {

void rank_items(const RankArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t block = begin; block < end; ++block) {
    mluop::HWY_NAMESPACE::rank_block(args.order, args.items, block);
  }
}

struct Notes {
  void prefetch(int64_t item, int64_t key) const { fetched.push_back({item, key}); }
  void visit(int64_t item, int64_t key) const { visits.push_back({item, key}); }

  int64_t ahead;
  std::vector<Visit>& fetched;
  std::vector<Visit>& visits;
};

void visit_items(const VisitArgs& args, int64_t begin, int64_t end, Task& task) {
  OwnedList list(task.nram, args.tile_items);
  std::vector<Visit> fetched;
  const Notes notes{args.ahead, fetched, args.visits[static_cast<size_t>(task.taskId)]};
  mluop::HWY_NAMESPACE::visit_owned(args.items, {begin, end}, notes, list);
  // What is fetched is visited later, in that order.
  auto visit = notes.visits.begin();
  for (const Visit& early : fetched) {
    visit = std::find_if(visit, notes.visits.end(),
                         [&](const Visit& v) { return v.item == early.item && v.key == early.key; });
  }
  if (visit == notes.visits.end() && !fetched.empty()) notes.visits.clear();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::test {

void count_keys(const CountArgs& args, int64_t begin, int64_t end, Task& task) {
  args.order.clear(task.taskId);
  for (int64_t stretch = begin; stretch < end; ++stretch) {
    const Range items = args.sample.items(stretch);
    for (int64_t item = items.begin; item < items.end; ++item) {
      if (args.keys[item] != KeyedItems::kNoKey) args.order.count(task.taskId, args.keys[item], stretch);
    }
  }
}

HWY_EXPORT(rank_items);
HWY_EXPORT(visit_items);

RangeKernel<RankArgs> rank_kernel() { return HWY_DYNAMIC_DISPATCH(rank_items); }
RangeKernel<VisitArgs> visit_kernel() { return HWY_DYNAMIC_DISPATCH(visit_items); }

}  // namespace mluop::test
#endif
