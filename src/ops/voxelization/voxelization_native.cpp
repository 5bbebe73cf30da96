// Voxelization, native algorithm: its workspace and its launches. A stable partition divides the points into
// buckets by the hash of their cells; in a bucket, whose points are in ascending order, a hash table finds the
// first point of the cell of each point. Prefix sums over the first points number the voxels.
#include "ops/voxelization/voxelization.h"

#include <algorithm>

#include "ops/voxelization/voxelization_native_kernels.h"
#include "primitives/memory/fill.h"

namespace mluop::voxelization::native {
namespace {

// Cost of each step for a point, in bytes of memory traffic.
constexpr int64_t kLocateBytes = 64;
constexpr int64_t kPartitionBytes = 32;
constexpr int64_t kMatchBytes = 128;
constexpr int64_t kCountBytes = 8;
constexpr int64_t kWriteBytes = 64;

// Exclusive scan of the numbers, in place. Returns the total.
int64_t scan(int64_t* numbers, int64_t count) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = numbers[i];
    numbers[i] = sum;
    sum += number;
  }
  return sum;
}

}  // namespace

size_t workspace_bytes(int64_t N) { return workspace_bytes_of<Workspace>(Sizes(N)); }

void run(Call& call, const Args& args, Arena arena) {
  Context& context = call.context();
  context.reserve(0);
  const Sizes sizes(args.N);
  const Workspace workspace(arena, sizes);
  const KernelArgs kernel_args{args, sizes, workspace};
  const auto over_chunks = [&](const char* name, int64_t point_bytes, RangeKernel<KernelArgs> kernel) {
    launch(context, name, choose_task_dim(sizes.chunks, args.N * point_bytes), Evenly{sizes.chunks}, kernel,
           kernel_args);
  };

  over_chunks("locate", kLocateBytes, locate_kernel());
  int64_t* const starts = workspace.bucket_starts;
  launch(context, "count", choose_task_dim(sizes.buckets, sizes.chunks * sizes.buckets * kCountBytes),
         Evenly{sizes.buckets}, count_points, kernel_args);
  starts[0] = 0;
  for (int64_t bucket = 0; bucket < sizes.buckets; ++bucket) starts[bucket + 1] += starts[bucket];
  over_chunks("partition", kPartitionBytes, partition_points);
  const auto by_points = [&](int task_dim, int task_id) {
    return split_cost(sizes.buckets, task_dim, task_id, [&](int64_t bucket) { return starts[bucket]; });
  };
  const int match_task_dim = choose_task_dim(sizes.buckets, starts[sizes.buckets] * kMatchBytes);
  launch(context, "match", match_task_dim, by_points, match_points, kernel_args);
  over_chunks("count_first", kCountBytes, count_first_points);
  const int64_t voxels = std::min(scan(workspace.first_counts, sizes.chunks), args.max_voxels);
  call.log_detail("native, buckets ", sizes.buckets, ", voxels ", voxels);

  over_chunks("number", kWriteBytes, number_voxels);
  over_chunks("copy", kWriteBytes, copy_points);
  const int64_t unused = args.max_voxels - voxels;
  const auto fill = [&](auto* tensor, int64_t voxel_elements) {
    if (unused == 0) return;
    fill_zero(context, tensor + voxels * voxel_elements,
              unused * voxel_elements * static_cast<int64_t>(sizeof(*tensor)));
  };
  fill(args.voxels, args.max_points * args.F);
  fill(args.coors, 3);
  fill(args.num_points_per_voxel, 1);
  args.voxel_num[0] = static_cast<int32_t>(voxels);
}

}  // namespace mluop::voxelization::native
