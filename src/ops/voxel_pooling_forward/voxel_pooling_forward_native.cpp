// Voxel pooling forward, native algorithm: locates the points, sorts those in range by cell, and adds up the rows
// of each cell.
#include "ops/voxel_pooling_forward/voxel_pooling_forward.h"

#include "core/caches.h"
#include "ops/voxel_pooling_forward/voxel_pooling_forward_native_kernels.h"
#include "primitives/sort/bucket_sums.h"
#include "team/fit_tile.h"

namespace mluop::voxel_pooling_forward::native {
namespace {

constexpr int64_t kMaxTilePoints = 1024;
// Bytes read and written to locate a point, and to sort it.
constexpr int64_t kLocateBytes = 6 * int64_t{sizeof(int32_t)}, kSortBytes = 3 * int64_t{sizeof(int32_t)};

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const int64_t points = args.total_points();
  const auto cells = static_cast<int32_t>(args.cell_count());
  const int most_tasks = choose_task_dim(points, points * (kLocateBytes + kSortBytes));
  const int64_t tile_points =
      fit_tile(context, kMaxTilePoints, [](int64_t count) { return bytes_of<LocateTile>(count); });
  Arena arena = context.reserve(bytes_of<SortedPoints>(points, cells, most_tasks));
  SortedPoints sorted(arena, points, cells, most_tasks);
  const int task_dim = sorted.sort.task_dim();
  call.log_detail("native, taskDim ", task_dim, ", tile of ", tile_points, " points");
  const bool stream = exceeds_caches(points * kLocateBytes + (points + cells) * args.row_bytes());
  const LocateArgs locate_args{args, sorted, tile_points, stream};
  launch(context, "locate", task_dim, Evenly{points}, locate_kernel(), locate_args);
  sorted.sort.ranges.exclusive_scan(context);
  launch<LocateArgs>(context, "sort_points", task_dim, Evenly{points}, sort_points, locate_args);
  sort_ranges(context, sorted.sort);
  sum_buckets<int32_t>(context,
                       {sorted.sort, args.dtype, args.num_channels, args.input_features, args.output_features});
}

}  // namespace mluop::voxel_pooling_forward::native
