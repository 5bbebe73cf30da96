// Three interpolate forward, native algorithm: the decisions of a call, and its launches.
#include "ops/three_interpolate_forward/three_interpolate_forward.h"

#include <algorithm>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "ops/three_interpolate_forward/three_interpolate_forward_native_kernels.h"
#include "primitives/indices/check_indices.h"
#include "primitives/indices/neighbor_indices.h"
#include "team/fit_tile.h"

namespace mluop::three_interpolate_forward::native {
namespace {

// Rows of this many points stay in L1 until they are copied. The size is not a power of two, so that rows do not
// compete for the same lines of L1.
constexpr int64_t kMaxChunkPoints = 224;
// Minimum number of chunks of a strip and a task, so that tasks have equal shares.
constexpr int64_t kMinChunksPerTask = 4;

// Costs of transposing a feature of a strip and of interpolating a point from it, relative to interpolating an
// element directly. Measured with AVX-512: 16-bit elements are transposed in pairs, and have no gather.
int64_t pack_cost(mluOpDataType_t dtype) { return is_16_bit(dtype) ? 1 : 2; }
constexpr int64_t kPackedPointCost = 3;

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  return total_bytes({args.index_count() * int64_t{sizeof(int32_t)}, args.index_count() * element,
                      args.B * args.C * args.M * element, args.B * args.C * args.N * element});
}

// `points`: the points of a strip that one task interpolates.
bool packing_pays(const Args& args, int64_t points) {
  const int64_t channels = std::min(args.C, kStrip);
  return args.M / points * pack_cost(args.dtype) + kPackedPointCost < channels;
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  const int64_t bytes = bytes_moved(args);
  const int64_t strips = args.B * strip_count(args);
  plan.task_dim = choose_task_dim(strips * ceil_div(args.N, kStrip), bytes);
  plan.stream = exceeds_caches(bytes);
  // Tasks share a strip if there are fewer strips than tasks.
  const int64_t points = ceil_div(args.N, ceil_div(int64_t{plan.task_dim}, strips));
  const int64_t wanted = plan.task_dim == 1 ? args.N : ceil_div(points, kMinChunksPerTask);
  // Chunks consist of whole parts.
  const auto max_parts = [&](int64_t part_points) {
    return std::min(ceil_div(wanted, part_points), kMaxChunkPoints / part_points);
  };
  const auto packed_bytes = [&](int64_t squares) {
    return dispatch_dtype(args.dtype, [&](auto element) {
      return bytes_of<PackedTile<decltype(element)>>(args.M, squares * kSquarePoints);
    });
  };
  const auto direct_bytes = [&](int64_t parts) {
    return dispatch_dtype(args.dtype,
                          [&](auto element) { return bytes_of<DirectTile<decltype(element)>>(parts * kStrip); });
  };
  // More features would exceed NRAM on their own.
  const bool representable = args.M <= static_cast<int64_t>(context.nram_capacity) / kStrip;
  plan.packed = packing_pays(args, points) && representable && packed_bytes(1) <= context.nram_capacity;
  plan.chunk_points = plan.packed ? kSquarePoints * fit_tile(context, max_parts(kSquarePoints), packed_bytes)
                                  : kStrip * fit_tile(context, max_parts(kStrip), direct_bytes);
  return plan;
}

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  call.log_detail(plan.packed ? "packed" : "direct", ", taskDim ", plan.task_dim, ", chunks of ",
                  plan.chunk_points, " points");
  context.reserve(0);
  check_neighbor_indices(args.indices, args.N, args.M,
                         check_indices(context, {args.indices, args.index_count(), args.M}));
  const InterpolateArgs interpolate{args, plan.chunk_points, plan.stream};
  launch(context, plan.packed ? "interpolate_packed" : "interpolate_direct", plan.task_dim,
         Evenly{args.B * strip_count(args) * interpolate.chunk_count()},
         plan.packed ? packed_kernel(args.dtype) : direct_kernel(args.dtype), interpolate);
}

}  // namespace mluop::three_interpolate_forward::native
