#include "ops/stack_group_points_backward/stack_group_points_backward_native.h"

#include <algorithm>

#include "core/checks.h"
#include "core/dtype.h"
#include "ops/stack_group_points_backward/stack_group_points_backward_native_kernels.h"
#include "team/fit_tile.h"

namespace mluop::stack_group_points_backward::native {
namespace {

struct Memory {
  Memory(Arena& arena, int64_t clouds)
      : feature_starts(arena, clouds), group_starts(arena, clouds), tile_starts(arena, clouds) {}

  CloudStarts feature_starts, group_starts, tile_starts;
};

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  const int64_t indices = args.M * args.groups.samples;
  return total_bytes({indices * int64_t{sizeof(int32_t)}, indices * args.C * element, args.N * args.C * element});
}

// The most features whose tile fits NRAM.
int64_t max_tile_features(const Context& context, const Args& args) {
  constexpr int64_t kStripBytes = kStripChannels * kStripChannels * int64_t{sizeof(float)};
  // The sums of more strips of features alone exceed NRAM.
  const int64_t max_strips =
      std::min(ceil_div(args.N, kStripChannels), static_cast<int64_t>(context.nram_capacity) / kStripBytes);
  return kStripChannels * fit_tile(context, std::max<int64_t>(max_strips, 1), [&](int64_t strips) {
           return dispatch_dtype(args.dtype, [&](auto element) {
             return bytes_of<SumTile<decltype(element)>>(strips * kStripChannels);
           });
         });
}

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const CloudIndices& groups = args.groups;
  const int64_t bytes = bytes_moved(args);
  const int64_t strips = strip_count(args);
  const int task_dim = choose_task_dim(strips * ceil_div(args.N, kStripChannels), bytes);
  const int64_t tile_features = choose_tile_features(args.N, strips, max_tile_features(context, args), task_dim);
  Arena arena = context.reserve(bytes_of<Memory>(groups.clouds));
  const Memory memory(arena, groups.clouds);
  memory.feature_starts.sum([&](int64_t b) { return groups.feature_counts[b]; });
  memory.group_starts.sum([&](int64_t b) { return groups.group_counts[b]; });
  memory.tile_starts.sum([&](int64_t b) { return ceil_div(int64_t{groups.feature_counts[b]}, tile_features); });
  call.log_detail("taskDim ", task_dim, ", tile of ", tile_features, " features");
  check_cloud_indices(context, groups);
  const SumArgs sum{args, memory.feature_starts, memory.group_starts, memory.tile_starts, tile_features};
  launch(context, "sum", task_dim, Evenly{memory.tile_starts.total() * strips}, sum_kernel(args.dtype), sum);
}

}  // namespace mluop::stack_group_points_backward::native
