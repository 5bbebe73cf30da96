// Furthest point sampling, native algorithm: the workspaces, and the launches.
#include "ops/furthest_point_sample/furthest_point_sample.h"

#include <algorithm>

#include "ops/furthest_point_sample/furthest_point_sample_native_kernels.h"

namespace mluop::furthest_point_sample::native {
namespace {

// Cost of sorting a point or finding a sample, in bytes of memory traffic.
constexpr int64_t kStepBytes = 2048;

// Many chunks, because clouds with few distinct points take less time than others.
constexpr int64_t kChunksPerTask = 16;

// Work items: clouds. Each step needs the sample of the step before, and takes less time than starting a launch.
template <class KernelArgs>
void launch_clouds(Call& call, const Args& args, int64_t cloud_bytes, RangeKernel<KernelArgs> kernel,
                   const KernelArgs& kernel_args) {
  Context& context = call.context();
  context.reserve(0);
  const int task_dim = choose_task_dim(args.B, saturated_product({args.B, cloud_bytes}));
  call.log_detail("native, taskDim ", task_dim);
  const auto chunks = static_cast<int>(std::min(args.B, kChunksPerTask * task_dim));
  launch_dynamic(context, "sample", task_dim, chunks, Evenly{args.B}, kernel, kernel_args);
}

}  // namespace

size_t workspace_bytes(From from, const Sizes& sizes) {
  if (sizes.is_empty()) return 0;
  return from == From::kPoints ? workspace_bytes_of<Clouds>(sizes) : workspace_bytes_of<Distances>(sizes);
}

void run(Call& call, From from, const Args& args, Arena workspace) {
  if (from == From::kPoints) {
    const Clouds clouds(workspace, args);
    const int64_t cloud_bytes = saturated_product({args.N + args.M, kStepBytes});
    launch_clouds(call, args, cloud_bytes, sample_points_kernel(), SamplePointsArgs{args, clouds});
  } else {
    const Distances distances(workspace, args);
    const int64_t cloud_bytes = saturated_product({args.M, args.N * int64_t{sizeof(float)}});
    launch_clouds(call, args, cloud_bytes, sample_distances_kernel(), SampleDistancesArgs{args, distances});
  }
}

}  // namespace mluop::furthest_point_sample::native
