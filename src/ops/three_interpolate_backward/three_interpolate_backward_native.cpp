// Three interpolate backward, native algorithm: the decisions of a call, and its launches.
#include "ops/three_interpolate_backward/three_interpolate_backward.h"

#include <algorithm>
#include <optional>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_native_kernels.h"
#include "primitives/indices/check_indices.h"
#include "primitives/indices/neighbor_indices.h"
#include "team/fit_tile.h"

namespace mluop::three_interpolate_backward::native {
namespace {

constexpr int64_t kStrip = Tiling::kStrip;

// With fewer channels, grouping costs about as much as it saves.
constexpr int64_t kMinGroupedChannels = 3 * kStrip;
// Grouping avoids additions that wait for the previous addition to the same feature; with more features, such
// waits are rare. Measured on 64 to 4096 points with AVX-512.
constexpr int64_t kMaxGroupedFeatures = 96;
constexpr int64_t kMinPairsPerFeature = 2;

// Strips that share the decoding of a pair, if each task still has kMinItemsPerTask work items.
constexpr int64_t kMaxStrips = 4;
constexpr int64_t kMinItemsPerTask = 8;
// Transposed points stay in L1; larger tiles are not faster.
constexpr int64_t kMaxPointBytes = 32 << 10;

// Cost of grouping a pair, in bytes of memory traffic.
constexpr int64_t kGroupBytes = 32;

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  return total_bytes({args.index_count() * int64_t{sizeof(int32_t)}, args.index_count() * element,
                      args.B * args.C * args.N * element, args.B * args.C * args.M * element});
}

// The tiling for grouping; nothing if grouping does not pay off or its tile does not fit NRAM.
template <class T>
std::optional<Tiling> tile_grouped(const Context& context, const Args& args, int64_t bytes, int task_dim) {
  if (args.C < kMinGroupedChannels || args.M > kMaxGroupedFeatures || args.N * 3 < args.M * kMinPairsPerFeature ||
      exceeds_caches(bytes)) {
    return std::nullopt;
  }
  int64_t strips = kMaxStrips;
  while (strips > 1 && args.B * ceil_div(args.C, strips * kStrip) < kMinItemsPerTask * task_dim) --strips;
  Tiling tiling{};
  tiling.channels = strips * kStrip;
  tiling.features = choose_tile_features(args.M, args.B * tiling.channel_tiles(args), args.M, task_dim);

  constexpr int64_t kUnit = kLineElements<T>;
  const auto tile_bytes = [&](int64_t units) {
    return bytes_of<SumTile<T>>(tiling.channels, units * kUnit, tiling.features);
  };
  if (tile_bytes(1) > context.nram_capacity) return std::nullopt;
  const int64_t row_bytes = tiling.channels * int64_t{sizeof(float)};
  const int64_t max_units = std::min(kMaxPointBytes, cache_sizes().l1) / row_bytes / kUnit;
  tiling.points = kUnit * fit_tile(context, std::min(ceil_div(args.N, kUnit), max_units), tile_bytes);
  return tiling;
}

template <class T>
Tiling tile_direct(const Context& context, const Args& args, int task_dim) {
  // The sums of more strips alone would exceed NRAM.
  const auto max_strips = static_cast<int64_t>(context.nram_capacity) / (kStrip * kStrip * int64_t{sizeof(float)});
  const int64_t max_features =
      kStrip * fit_tile(context, std::min(ceil_div(args.M, kStrip), max_strips),
                        [](int64_t strips) { return bytes_of<DirectTile<T>>(strips * kStrip); });
  Tiling tiling{};
  tiling.channels = kStrip;
  tiling.points = args.N;
  tiling.features = choose_tile_features(args.M, args.B * ceil_div(args.C, kStrip), max_features, task_dim);
  return tiling;
}

void run_grouped(Context& context, const Plan& plan, const Args& args) {
  Arena arena = context.reserve(bytes_of<Scratch>(args, plan.tiling));
  const Scratch scratch(arena, args, plan.tiling);
  FirstBadItem first_bad_index;
  launch(context, "group", plan.group_task_dim, Evenly{args.B * plan.tiling.point_tiles(args)},
         group_kernel(args.dtype), {args, plan.tiling, scratch, first_bad_index});
  check_neighbor_indices(args.indices, args.N, args.M, first_bad_index);
  launch(context, "sum", plan.task_dim, Evenly{plan.tiling.work_items(args)}, sum_kernel(args.dtype),
         {args, plan.tiling, scratch});
}

void run_direct(Context& context, const Plan& plan, const Args& args) {
  context.reserve(0);
  check_neighbor_indices(args.indices, args.N, args.M,
                         check_indices(context, {args.indices, args.index_count(), args.M}));
  launch(context, "direct", plan.task_dim, Evenly{plan.tiling.work_items(args)}, direct_kernel(args.dtype),
         {args, plan.tiling, plan.stream, plan.prefetch});
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  const int64_t bytes = bytes_moved(args);
  const int64_t max_items = args.B * ceil_div(args.C, kStrip) * ceil_div(args.M, kStrip);
  plan.task_dim = choose_task_dim(max_items, bytes);
  const auto grouped_tiling = dispatch_dtype(args.dtype, [&](auto element) {
    return tile_grouped<decltype(element)>(context, args, bytes, plan.task_dim);
  });
  if (grouped_tiling) {
    plan.grouped = true;
    plan.tiling = *grouped_tiling;
    plan.group_task_dim =
        choose_task_dim(args.B * plan.tiling.point_tiles(args), args.index_count() * kGroupBytes);
  } else {
    plan.tiling = dispatch_dtype(
        args.dtype, [&](auto element) { return tile_direct<decltype(element)>(context, args, plan.task_dim); });
  }
  plan.stream = exceeds_caches(bytes);
  // If the points are cached, prefetches cost more than they save. Measured with an LLC of 32 MiB: prefetches slow
  // down a call of 21 MB and speed up a call of 42 MB.
  plan.prefetch = bytes >= cache_sizes().llc;
  return plan;
}

void run(Call& call, const Args& args) {
  const Plan plan = make_plan(call.context(), args);
  call.log_detail("taskDim ", plan.task_dim, ", tile of ", plan.tiling.features, " features");
  if (plan.grouped) {
    run_grouped(call.context(), plan, args);
  } else {
    run_direct(call.context(), plan, args);
  }
}

}  // namespace mluop::three_interpolate_backward::native
