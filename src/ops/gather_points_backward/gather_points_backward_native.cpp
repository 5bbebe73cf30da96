// Gather points backward, native algorithm: the decisions of a call, and its launches. The first checks the
// indices, the second sums. The only memory is a tile in NRAM.
#include "ops/gather_points_backward/gather_points_backward.h"

#include <algorithm>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "ops/gather_points_backward/gather_points_backward_native_kernels.h"
#include "primitives/indices/point_indices.h"
#include "team/fit_tile.h"

namespace mluop::gather_points_backward::native {
namespace {

int64_t bytes_moved(const Args& args) {
  const int64_t row_bytes = args.B * args.C * static_cast<int64_t>(size_of(args.dtype));
  return total_bytes({args.index_count() * int64_t{sizeof(int32_t)}, row_bytes * args.M, row_bytes * args.N});
}

// The largest number of features whose tile fits NRAM.
int64_t max_tile_features(const Context& context, const Args& args) {
  constexpr int64_t kStripBytes = kStripChannels * kStripChannels * int64_t{sizeof(float)};
  // The sums of more strips of features alone would exceed NRAM.
  const int64_t max_strips =
      std::min(ceil_div(args.N, kStripChannels), static_cast<int64_t>(context.nram_capacity) / kStripBytes);
  return kStripChannels * fit_tile(context, max_strips, [&](int64_t strips) {
           return dispatch_dtype(args.dtype, [&](auto element) {
             return bytes_of<SumTile<decltype(element)>>(strips * kStripChannels);
           });
         });
}

struct Plan {
  int task_dim;
  int64_t features;  // of a tile, a multiple of kStripChannels
  bool stream;       // the output bypasses the caches
  bool prefetch;     // points come from memory
};

// Throws Failure: ALLOC_FAILED if the smallest tile does not fit NRAM, BAD_PARAM if the bytes of all tensors
// together exceed int64_t.
Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  const int64_t bytes = bytes_moved(args);
  const int64_t strips = args.B * strip_count(args);
  plan.task_dim = choose_task_dim(strips * ceil_div(args.N, kStripChannels), bytes);
  plan.features = choose_tile_features(args.N, strips, max_tile_features(context, args), plan.task_dim);
  plan.stream = exceeds_caches(bytes);
  // As in three interpolate backward: if the points are cached, prefetches cost more than they save.
  plan.prefetch = bytes >= cache_sizes().llc;
  return plan;
}

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  call.log_detail("taskDim ", plan.task_dim, ", tile of ", plan.features, " features");
  context.reserve(0);
  check_point_indices(context, "indices", {args.indices, args.index_count(), args.N}, args.indices_shape);
  const SumArgs sum{args, plan.features, plan.stream, plan.prefetch};
  launch(context, "sum", plan.task_dim, Evenly{args.B * sum.tile_count() * strip_count(args)},
         sum_kernel(args.dtype), sum);
}

}  // namespace mluop::gather_points_backward::native
