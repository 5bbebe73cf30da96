#include "ops/stack_group_points_forward/stack_group_points_forward_native.h"

#include <algorithm>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "ops/stack_group_points_forward/stack_group_points_forward_native_kernels.h"
#include "team/fit_tile.h"

namespace mluop::stack_group_points_forward::native {
namespace {

constexpr int64_t kMaxChunkSamples = 128;
// The tile stays in L1 until it is copied.
constexpr int64_t kMaxTileElements = 4096;

// Non-temporal stores pay for whole lines only.
bool writes_lines(int64_t samples) {
  return samples % GroupTile<float>::kMaxLanes == 0 || samples >= kMaxChunkSamples;
}

struct Memory {
  Memory(Arena& arena, int64_t clouds) : feature_starts(arena, clouds), group_starts(arena, clouds) {}

  CloudStarts feature_starts, group_starts;
};

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  const int64_t indices = args.M * args.groups.samples;
  return total_bytes({indices * int64_t{sizeof(int32_t)}, args.N * args.C * element, indices * args.C * element});
}

int64_t fit_channels(const Context& context, const Args& args, int64_t samples) {
  return fit_tile(context, std::min(args.C, kMaxTileElements / samples), [&](int64_t channels) {
    return dispatch_dtype(args.dtype,
                          [&](auto element) { return bytes_of<GroupTile<decltype(element)>>(channels, samples); });
  });
}

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const CloudIndices& groups = args.groups;
  const int64_t bytes = bytes_moved(args);
  const int64_t chunk_samples = std::min(groups.samples, kMaxChunkSamples);
  const int64_t chunk_channels = fit_channels(context, args, chunk_samples);
  Arena arena = context.reserve(bytes_of<Memory>(groups.clouds));
  const Memory memory(arena, groups.clouds);
  memory.feature_starts.sum([&](int64_t b) { return groups.feature_counts[b]; });
  memory.group_starts.sum([&](int64_t b) { return groups.group_counts[b]; });
  const GroupArgs group{
      args,          memory.feature_starts, memory.group_starts,
      chunk_samples, chunk_channels,        exceeds_caches(bytes) && writes_lines(groups.samples)};
  const int64_t items = args.M * group.sample_chunks() * group.channel_chunks();
  const int task_dim = choose_task_dim(items, bytes);
  call.log_detail("taskDim ", task_dim, ", chunks of ", chunk_samples, " samples, ", chunk_channels, " channels");
  check_cloud_indices(context, groups);
  launch(context, "group", task_dim, Evenly{items}, group_kernel(args.dtype), group);
}

}  // namespace mluop::stack_group_points_forward::native
