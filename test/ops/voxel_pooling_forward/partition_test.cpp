// The partition of the cells among tasks in the native algorithm of voxel pooling.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "ops/voxel_pooling_forward/voxel_pooling_forward_native_kernels.h"
#include "support/camera_rig.h"
#include "support/team_context.h"

namespace mluop::test {
namespace {

namespace op = voxel_pooling_forward;

// The partition that a call with these points computes.
struct Partition {
  Partition(const reference::VoxelPoolingForwardSizes& s, const std::vector<int32_t>& geometry, int task_dim)
      : args{.batch_size = s.batch_size,
             .num_points = s.num_points,
             .num_channels = s.num_channels,
             .num_voxel_x = s.num_voxel_x,
             .num_voxel_y = s.num_voxel_y,
             .num_voxel_z = s.num_voxel_z,
             .dtype = MLUOP_DTYPE_FLOAT,
             .geom_xyz = geometry.data(),
             .input_features = nullptr,
             .output_features = nullptr,
             .pos_memo = nullptr},
        sample(args.total_points(), task_dim),
        context(task_dim),
        arena(context.reserve(bytes_of<KeyPartition>(args.cell_count(), sample))),
        keys(arena, args.cell_count(), sample) {
    launch(context, "sample", sample.task_dim, Evenly{sample.count}, op::native::sample_kernel(),
           {args, sample, keys});
    keys.assign_ranks(context, sample);
  }

  op::Args args;
  SampledRuns sample;
  TeamContext context;
  Arena arena;
  KeyPartition keys;
};

// The number of points in range that each of task_dim tasks adds.
std::vector<int64_t> points_of_tasks(const Partition& partition, int task_dim) {
  const op::Args& args = partition.args;
  const ByCost divide{partition.keys};
  std::vector<int> owner(static_cast<size_t>(partition.keys.bucket_count));
  for (int task = 0; task < task_dim; ++task) {
    const Range ranks = divide(task_dim, task);
    std::fill(owner.begin() + ranks.begin, owner.begin() + ranks.end, task);
  }
  std::vector<int64_t> points(static_cast<size_t>(task_dim));
  for (int64_t i = 0; i < args.total_points(); ++i) {
    const int32_t* p = args.geom_xyz + i * 3;
    if (p[0] < 0 || p[0] >= args.num_voxel_x || p[1] < 0 || p[1] >= args.num_voxel_y || p[2] < 0 ||
        p[2] >= args.num_voxel_z) {
      continue;
    }
    const int64_t cell = (i / args.num_points * args.num_voxel_y + p[1]) * args.num_voxel_x + p[0];
    const int32_t rank = partition.keys.ranks[cell >> partition.keys.shift];
    ++points[static_cast<size_t>(owner[static_cast<size_t>(rank)])];
  }
  return points;
}

double balance(const std::vector<int64_t>& work) {
  const auto total = std::accumulate(work.begin(), work.end(), int64_t{0});
  return static_cast<double>(total) / static_cast<double>(work.size()) /
         static_cast<double>(*std::max_element(work.begin(), work.end()));
}

// Most points are in the cells near a camera. Tasks still have equal numbers of points.
TEST(OpsVoxelPoolingForwardPartition, BalancedOnCameras) {
  const std::vector<int32_t> geometry = camera_geometry(kBevDepthSizes.batch_size);
  for (const int task_dim : {2, 3, 16, 64}) {
    SCOPED_TRACE(task_dim);
    const Partition partition(kBevDepthSizes, geometry, task_dim);
    EXPECT_GE(balance(points_of_tasks(partition, task_dim)), 0.9);
  }
}

// With two tasks and two batches, each task owns the cells of one batch, and so reads the points of one batch.
TEST(OpsVoxelPoolingForwardPartition, TasksOwnBatches) {
  const std::vector<int32_t> geometry = camera_geometry(2);
  const Partition partition(kBevDepthSizes, geometry, 2);
  const Range first = ByCost{partition.keys}(2, 0);
  int64_t of_other_batch = 0;
  for (int64_t rank = first.begin; rank < first.end; ++rank) {
    const int32_t bucket = partition.keys.ranked_buckets[rank];
    if (partition.keys.keys(bucket).begin < partition.keys.key_count / 2) continue;
    of_other_batch += partition.keys.sample_counts[bucket];
  }
  EXPECT_LE(of_other_batch, partition.sample.count * SampledRuns::kRunPoints / 50);
}

}  // namespace
}  // namespace mluop::test
