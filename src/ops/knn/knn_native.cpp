#include "ops/knn/knn_native.h"

#include <algorithm>
#include <limits>

#include "ops/knn/knn_native_kernels.h"
#include "team/fit_tile.h"

namespace mluop::knn::native {
namespace {

// The bytes that are moved in the time of a step: a center with a point, and the choice of the nearest.
constexpr int64_t kCompareBytes = 4;
constexpr int64_t kSelectBytes = 4096;

// Equal distances cost more.
constexpr int64_t kChunksPerTask = 16;

// Groups of points whose distances are kept in L1; more gain nothing.
constexpr int64_t kMaxTileGroups = 32;

}  // namespace

size_t workspace_bytes(const Sizes& sizes) {
  return sizes.is_empty() || sizes.N == 0 ? 0 : workspace_bytes_of<PointPlanes>(sizes.B, sizes.N);
}

void run(Call& call, const Args& args, Arena workspace) {
  Context& context = call.context();
  context.reserve(0);
  const PointPlanes planes(workspace, args.B, args.N);
  const int64_t tile_groups = fit_tile(context, std::clamp<int64_t>(planes.groups, 1, kMaxTileGroups),
                                       [](int64_t groups) { return bytes_of<SearchTile>(groups); });
  const int64_t centers = args.B * args.M;
  const int task_dim = choose_task_dim(
      centers, checked_product(centers, args.N * kCompareBytes + kSelectBytes).value_or(INT64_MAX));
  const auto chunks = static_cast<int>(std::min(centers, kChunksPerTask * task_dim));
  call.log_detail("native, taskDim ", task_dim);

  separate_coordinates(context, planes, MLUOP_DTYPE_FLOAT, args.xyz);
  launch_dynamic(context, "search", task_dim, chunks, Evenly{centers}, search_kernel(),
                 {args, planes, tile_groups});
}

}  // namespace mluop::knn::native
