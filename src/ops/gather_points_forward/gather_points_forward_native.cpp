// Gather points forward, native algorithm: the decisions of a call, and its launches. The first checks the
// indices, the second gathers. The only memory is a tile in NRAM.
#include "ops/gather_points_forward/gather_points_forward.h"

#include <algorithm>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "ops/gather_points_forward/gather_points_forward_native_kernels.h"
#include "primitives/indices/point_indices.h"
#include "team/fit_tile.h"

namespace mluop::gather_points_forward::native {
namespace {

// Packed rows of this many points stay in L1 until they are copied. The size is a whole number of cache lines,
// even for halves, but not a power of two, so that rows do not compete for the same lines of L1.
constexpr int64_t kMaxPackedPoints = 224;
// A row of the direct kernel and its indices stay in L1.
constexpr int64_t kMaxDirectPoints = 1024;
// Minimum number of chunks of a strip and a task, so that tasks have equal shares.
constexpr int64_t kMinChunksPerTask = 4;

// Costs of transposing a feature of kMaxLanes lanes and of gathering a point from it, relative to gathering an
// element directly. Both are proportional to the lanes.
constexpr int64_t kPackCost = 4;
constexpr int64_t kPackedPointCost = 5;

int64_t element_bytes(const Args& args) { return static_cast<int64_t>(size_of(args.dtype)); }

int64_t bytes_moved(const Args& args) {
  const int64_t rows = args.B * args.C;
  return total_bytes({args.index_count() * int64_t{sizeof(int32_t)}, rows * args.N * element_bytes(args),
                      rows * args.M * element_bytes(args)});
}

// `points`: the points of a strip that one task gathers.
bool packing_pays(const Args& args, int64_t points) {
  const int64_t lanes = strip_lanes(args);
  const int64_t channels = std::min(args.C, lanes * lane_channels(args));
  return (args.N / points * kPackCost + kPackedPointCost) * lanes < channels * kMaxLanes;
}

// Whether the points of a row read most of its cache lines.
bool reads_most_lines(const Args& args) { return args.M >= args.N * element_bytes(args) / kCacheLine; }

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  const int64_t bytes = bytes_moved(args);
  const int64_t strips = args.B * strip_count(args);
  plan.task_dim = choose_task_dim(strips * ceil_div(args.M, kBlockPoints), bytes);
  // Floats that are not streamed need no tile.
  plan.stream = is_16_bit(args.dtype) ? exceeds_caches(bytes) : bytes >= cache_sizes().llc;
  // Tasks share a strip if there are fewer strips than tasks.
  const int64_t points = ceil_div(args.M, ceil_div(int64_t{plan.task_dim}, strips));
  const int64_t wanted = plan.task_dim == 1 ? args.M : ceil_div(points, kMinChunksPerTask);
  // Chunks are whole blocks of points.
  const auto max_chunk = [&](int64_t max_points) {
    return std::min(ceil_div(wanted, kBlockPoints), max_points / kBlockPoints);
  };
  const auto packed_bytes = [&](int64_t blocks) {
    return dispatch_size(args.dtype, [&](auto element) {
      return bytes_of<PackedTile<decltype(element)>>(args.N, strip_lanes(args), blocks * kBlockPoints);
    });
  };
  const auto direct_bytes = [&](int64_t blocks) {
    return dispatch_size(
        args.dtype, [&](auto element) { return bytes_of<DirectTile<decltype(element)>>(blocks * kBlockPoints); });
  };
  // More features would exceed NRAM on their own.
  const bool representable = args.N <= static_cast<int64_t>(context.nram_capacity);
  plan.packed = representable && packing_pays(args, points) && packed_bytes(1) <= context.nram_capacity;
  plan.chunk_points = kBlockPoints * (plan.packed ? fit_tile(context, max_chunk(kMaxPackedPoints), packed_bytes)
                                                  : fit_tile(context, max_chunk(kMaxDirectPoints), direct_bytes));
  plan.prefetch = bytes >= cache_sizes().llc && reads_most_lines(args);
  return plan;
}

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  call.log_detail(plan.packed ? "packed" : "direct", ", taskDim ", plan.task_dim, ", chunks of ",
                  plan.chunk_points, " points");
  context.reserve(0);
  check_point_indices(context, "indices", {args.indices, args.index_count(), args.N}, args.indices_shape);
  const GatherArgs gather{args, plan.chunk_points, plan.stream, plan.prefetch};
  launch(context, plan.packed ? "gather_packed" : "gather_direct", plan.task_dim,
         Evenly{args.B * (plan.packed ? strip_count(args) : args.C) * gather.chunk_count()},
         plan.packed ? packed_kernel(args.dtype) : direct_kernel(args.dtype), gather);
}

}  // namespace mluop::gather_points_forward::native
