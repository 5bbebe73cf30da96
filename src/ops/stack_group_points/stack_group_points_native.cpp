// Stack group points: the launches of the native algorithm. The first ones check the indices of each cloud, the
// last copies, or sums. Memory: two or three numbers for each cloud, and a tile in NRAM; for gradients on many
// tasks, a copy of grad_output and the points by feature.
#include "ops/stack_group_points/stack_group_points.h"

#include <algorithm>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/stack_group_points/stack_group_points_native_kernels.h"
#include "primitives/sort/bucket_sums.h"
#include "team/fit_tile.h"

namespace mluop::stack_group_points::native {
namespace {

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  const int64_t indices = args.M * args.groups.samples;
  return total_bytes({indices * int64_t{sizeof(int32_t)}, args.N * args.C * element, indices * args.C * element});
}

// The first row of each cloud.
struct Starts {
  Starts(Arena& arena, const CloudIndices& groups)
      : of_features(arena, groups.clouds), of_groups(arena, groups.clouds) {}

  // Call it after construction over memory.
  void initialize(const CloudIndices& groups) const {
    of_features.sum([&](int64_t b) { return groups.feature_counts[b]; });
    of_groups.sum([&](int64_t b) { return groups.group_counts[b]; });
  }

  CloudStarts of_features, of_groups;
};

constexpr int64_t kMaxRangeSamples = 128;
// The tile stays in L1 until it is copied.
constexpr int64_t kMaxTileElements = 4096;

// Non-temporal stores pay off only for whole lines.
bool writes_lines(int64_t samples) {
  return samples % GroupTile<float>::kMaxLanes == 0 || samples >= kMaxRangeSamples;
}

int64_t fit_channels(const Context& context, const Args& args, int64_t samples) {
  return fit_tile(context, std::min(args.C, kMaxTileElements / samples), [&](int64_t channels) {
    return dispatch_dtype(args.dtype,
                          [&](auto element) { return bytes_of<GroupTile<decltype(element)>>(channels, samples); });
  });
}

// The memory of the backward operator.
struct Memory {
  Memory(Arena& arena, const CloudIndices& groups) : starts(arena, groups), tile_starts(arena, groups.clouds) {}

  Starts starts;
  CloudStarts tile_starts;
};

// Each tile of features reads all groups of its cloud. More tasks sort the points by feature.
constexpr int kMaxReadingTasks = 4;

struct SortMemory {
  SortMemory(Arena& arena, const Args& args, int most_tasks)
      : starts(arena, args.groups),
        sorted(arena, args.M * args.groups.samples, static_cast<int32_t>(args.N), most_tasks),
        rows(arena.take<std::byte>("gradients of points", {args.M, args.groups.samples, args.C,
                                                           static_cast<int64_t>(size_of(args.dtype))})) {}

  Starts starts;
  BucketSort<int32_t> sorted;
  std::byte* rows;
};

void run_sorted_backward(Call& call, const BackwardArgs& args, int task_dim) {
  Context& context = call.context();
  Arena arena = context.reserve(bytes_of<SortMemory>(args, task_dim));
  SortMemory memory(arena, args, task_dim);
  memory.starts.initialize(args.groups);
  BucketSort<int32_t>& sorted = memory.sorted;
  call.log_detail("taskDim ", sorted.task_dim(), ", sorted points");
  check_cloud_indices(context, args.groups);
  const SortArgs sort{args, memory.starts.of_features, memory.starts.of_groups, sorted, memory.rows};
  const Evenly points{args.M * args.groups.samples};
  launch<SortArgs>(context, "count_points", sorted.task_dim(), points, count_points, sort);
  sorted.ranges.exclusive_scan(context);
  launch(context, "sort_points", sorted.task_dim(), points, sort_kernel(args.dtype), sort);
  sort_ranges(context, sorted);
  sum_buckets<int32_t>(context, {sorted, args.dtype, args.C, memory.rows, args.grad_features});
}

// The largest number of features whose tile fits NRAM.
int64_t max_tile_features(const Context& context, const Args& args) {
  constexpr int64_t kStripBytes = kStripChannels * kStripChannels * int64_t{sizeof(float)};
  // The sums of more strips of features alone would exceed NRAM.
  const int64_t max_strips =
      std::min(ceil_div(args.N, kStripChannels), static_cast<int64_t>(context.nram_capacity) / kStripBytes);
  return kStripChannels * fit_tile(context, std::max<int64_t>(max_strips, 1), [&](int64_t strips) {
           return dispatch_dtype(args.dtype, [&](auto element) {
             return bytes_of<SumTile<decltype(element)>>(strips * kStripChannels);
           });
         });
}

}  // namespace

void run_forward(Call& call, const ForwardArgs& args) {
  Context& context = call.context();
  const int64_t bytes = bytes_moved(args), samples = args.groups.samples;
  const int64_t range_samples = std::min(samples, kMaxRangeSamples);
  const int64_t range_channels = fit_channels(context, args, range_samples);
  Arena arena = context.reserve(bytes_of<Starts>(args.groups));
  const Starts starts(arena, args.groups);
  starts.initialize(args.groups);
  const GroupArgs group{args,          starts.of_features, starts.of_groups,
                        range_samples, range_channels,     exceeds_caches(bytes) && writes_lines(samples)};
  const int64_t items = args.M * group.sample_ranges() * group.channel_ranges();
  const int task_dim = choose_task_dim(items, bytes);
  call.log_detail("taskDim ", task_dim, ", ranges of ", range_samples, " samples and ", range_channels,
                  " channels");
  check_cloud_indices(context, args.groups);
  launch(context, "group", task_dim, Evenly{items}, group_kernel(args.dtype), group);
}

void run_backward(Call& call, const BackwardArgs& args) {
  Context& context = call.context();
  const int64_t bytes = bytes_moved(args);
  const int64_t strips = strip_count(args);
  const int sort_tasks = choose_task_dim(args.N, bytes);
  constexpr int64_t kMaxSorted = int64_t{1} << 31;
  if (sort_tasks > kMaxReadingTasks && args.M * args.groups.samples < kMaxSorted && args.N < kMaxSorted) {
    return run_sorted_backward(call, args, sort_tasks);
  }
  const int task_dim = choose_task_dim(strips * ceil_div(args.N, kStripChannels), bytes);
  const int64_t tile_features = choose_tile_features(args.N, strips, max_tile_features(context, args), task_dim);
  Arena arena = context.reserve(bytes_of<Memory>(args.groups));
  const Memory memory(arena, args.groups);
  memory.starts.initialize(args.groups);
  memory.tile_starts.sum(
      [&](int64_t b) { return ceil_div(int64_t{args.groups.feature_counts[b]}, tile_features); });
  call.log_detail("taskDim ", task_dim, ", tile of ", tile_features, " features");
  check_cloud_indices(context, args.groups);
  const SumArgs sum{args, memory.starts.of_features, memory.starts.of_groups, memory.tile_starts, tile_features};
  launch(context, "sum", task_dim, Evenly{memory.tile_starts.total() * strips}, sum_kernel(args.dtype), sum);
}

}  // namespace mluop::stack_group_points::native
