// The partition of the cells among tasks in the native algorithm of voxel pooling.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "ops/voxel_pooling_forward/voxel_pooling_forward_native_kernels.h"
#include "support/camera_rig.h"
#include "support/labels.h"
#include "support/team_context.h"

namespace mluop::test {
namespace {

namespace op = voxel_pooling_forward;

// The partition that a call with these points of two batches computes.
struct Partition {
  Partition(const std::vector<int32_t>& geometry, int task_dim)
      : args{.batch_size = 2,
             .num_points = static_cast<int>(geometry.size() / 6),
             .num_channels = kBevDepthSizes.num_channels,
             .num_voxel_x = kBevDepthSizes.num_voxel_x,
             .num_voxel_y = kBevDepthSizes.num_voxel_y,
             .num_voxel_z = kBevDepthSizes.num_voxel_z,
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

// The number of points in range of each batch that each task adds.
using PointsOfBatches = std::array<int64_t, 2>;
std::vector<PointsOfBatches> points_of_tasks(const std::vector<int32_t>& geometry, int task_dim) {
  const Partition partition(geometry, task_dim);
  const op::Args& args = partition.args;
  std::vector<size_t> owners;  // of the ranks
  for (int task = 0; task < task_dim; ++task) {
    const Range ranks = ByCost{partition.keys}(task_dim, task);
    owners.insert(owners.end(), static_cast<size_t>(ranks.size()), static_cast<size_t>(task));
  }
  const auto in_range = [](int32_t coordinate, int extent) { return 0 <= coordinate && coordinate < extent; };
  std::vector<PointsOfBatches> points(static_cast<size_t>(task_dim));
  for (int64_t i = 0; i < args.total_points(); ++i) {
    const int32_t* p = args.geom_xyz + i * 3;
    if (!in_range(p[0], args.num_voxel_x) || !in_range(p[1], args.num_voxel_y) ||
        !in_range(p[2], args.num_voxel_z)) {
      continue;
    }
    const int64_t batch = i / args.num_points;
    const int64_t cell = (batch * args.num_voxel_y + p[1]) * args.num_voxel_x + p[0];
    const int32_t rank = partition.keys.ranks[cell >> partition.keys.shift];
    ++points[owners[static_cast<size_t>(rank)]][static_cast<size_t>(batch)];
  }
  return points;
}

// Most points are in the cells near a camera. Tasks still have equal numbers of points; with two tasks and two
// batches, each task owns the cells of one batch, and so reads the points of one batch.
TEST(OpsVoxelPoolingForwardPartition, BalancedOnCameras) {
  MLUOP_LABELS(kNotEmulated);
  const std::vector<int32_t> geometry = camera_geometry(2, 28);
  for (const int task_dim : {2, 3, 16, 64}) {
    SCOPED_TRACE(task_dim);
    const std::vector<PointsOfBatches> points = points_of_tasks(geometry, task_dim);
    int64_t all = 0, most = 0;
    for (const auto& [first, second] : points) {
      all += first + second;
      most = std::max(most, first + second);
    }
    EXPECT_LE(static_cast<double>(most), static_cast<double>(all) / task_dim / 0.9);
    if (task_dim == 2) {
      EXPECT_LE(points[0][1] + points[1][0], all / 50);
    }
  }
}

}  // namespace
}  // namespace mluop::test
