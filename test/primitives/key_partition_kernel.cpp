#include "primitives/key_partition_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/key_partition_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "primitives/key_partition-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {

void rank_points(const RankArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    mluop::HWY_NAMESPACE::rank_chunk(args.partition, args.points, chunk);
  }
}

struct Recorder {
  void prefetch(int64_t point, int64_t key) const { prefetched.push_back({point, key}); }
  void visit(int64_t point, int64_t key) const { visits.push_back({point, key}); }

  int64_t lookahead;
  std::vector<Visit>& prefetched;
  std::vector<Visit>& visits;
};

void visit_points(const VisitArgs& args, int64_t begin, int64_t end, Task& task) {
  VisitQueue queue(task.nram, args.tile_points);
  std::vector<Visit> prefetched;
  const Recorder recorder{args.lookahead, prefetched, args.visits[static_cast<size_t>(task.taskId)]};
  mluop::HWY_NAMESPACE::visit_owned(args.points, args.points.chunks(), {begin, end}, recorder, queue);
  // Points are prefetched in the order in which they are visited.
  auto visit = recorder.visits.begin();
  for (const Visit& early : prefetched) {
    visit = std::find_if(visit, recorder.visits.end(),
                         [&](const Visit& v) { return v.point == early.point && v.key == early.key; });
  }
  if (visit == recorder.visits.end() && !prefetched.empty()) recorder.visits.clear();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::test {

void count_keys(const CountArgs& args, int64_t begin, int64_t end, Task& task) {
  args.partition.clear_sample(task.taskId);
  for (int64_t run = begin; run < end; ++run) {
    const Range points = args.sample.points(run);
    for (int64_t point = points.begin; point < points.end; ++point) {
      const int32_t key = args.keys[point];
      if (key != KeyedPoints::kNoKey) args.partition.count(task.taskId, key, run);
    }
  }
}

HWY_EXPORT(rank_points);
HWY_EXPORT(visit_points);

RangeKernel<RankArgs> rank_kernel() { return MLUOP_DISPATCH(rank_points); }
RangeKernel<VisitArgs> visit_kernel() { return MLUOP_DISPATCH(visit_points); }

}  // namespace mluop::test
#endif
