#include "ops/voxel_pooling_forward/voxel_pooling_forward_native.h"

#include <algorithm>

#include "core/caches.h"
#include "primitives/channel_lines.h"

namespace mluop::voxel_pooling_forward::native {
namespace {

// A pass has few enough sums to stay in the LLC. Smaller passes are slower: each scans all points again and reads
// shorter runs of rows. For 16 bits, whose sums in fp32 are beside the output, all tasks together have at most the
// sums of all cells.
Pass choose_pass(const Args& args, const KeyPartition& partition, int task_dim) {
  const bool has_scratch = is_16_bit(args.dtype);
  const int64_t max_sums = cache_sizes().llc / 4 / int64_t{sizeof(float)};
  const int64_t max_channels = std::max(max_sums >> partition.shift, kLineChannels<Half>);
  const int64_t channels = has_scratch ? std::min<int64_t>(args.num_channels, max_channels) : args.num_channels;
  const int64_t max_ranks = has_scratch ? ceil_div(partition.bucket_count, task_dim) : partition.bucket_count;
  return {std::clamp<int64_t>(max_sums / (channels << partition.shift), 1, max_ranks), channels};
}

struct Scratch {
  Scratch(Arena& arena, const Args& args, const SampledRuns& sample, int task_dim)
      : partition(arena, args.cell_count(), sample),
        cells(arena.take<int32_t>("cells", {args.total_points()})),
        points(arena, args.total_points(), cells),
        initialized(arena.take<uint8_t>("initialized", {args.cell_count()})),
        pass(choose_pass(args, partition, task_dim)),
        sums(is_16_bit(args.dtype)
                 ? arena.take<float>("sums", {task_dim, pass.ranks << partition.shift, pass.channels})
                 : nullptr) {}

  KeyPartition partition;
  int32_t* cells;        // [B, N]
  KeyedPoints points;    // whose keys are `cells`
  uint8_t* initialized;  // [B, Y, X]
  Pass pass;
  float* sums;  // [task_dim, cells of pass.ranks, pass.channels]
};

int64_t bytes_moved(const Args& args) {
  return args.total_points() * (args.row_bytes() + 6 * int64_t{sizeof(int32_t)}) +
         args.cell_count() * args.row_bytes();
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.task_dim = choose_task_dim(args.total_points(), bytes_moved(args));
  plan.stream = exceeds_caches(bytes_moved(args));
  plan.tile_points = fit_chunks(context, [](int64_t points) {
    return std::max(bytes_of<LocateTile>(points), bytes_of<VisitQueue>(points));
  });
  return plan;
}

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  call.log_detail("native, taskDim ", plan.task_dim, ", tile of ", plan.tile_points, " points");
  const SampledRuns sample(args.total_points(), plan.task_dim);
  Arena arena = context.reserve(bytes_of<Scratch>(args, sample, plan.task_dim));
  Scratch scratch(arena, args, sample, plan.task_dim);
  launch(context, "sample", sample.task_dim, Evenly{sample.count}, sample_kernel(),
         {args, sample, scratch.partition});
  const int64_t lines = ceil_div(args.row_bytes(), kCacheLine);
  const auto shares = static_cast<int>(std::min<int64_t>(plan.task_dim, lines));
  scratch.partition.assign_ranks(context, sample, 1.0 / shares);
  launch(context, "locate", plan.task_dim, Evenly{scratch.points.chunk_count()}, locate_kernel(),
         {args, scratch.partition, scratch.points, scratch.cells, plan.tile_points, plan.stream});
  const SumArgs sum_args{args,         scratch.partition, scratch.points,  scratch.initialized,
                         scratch.pass, scratch.sums,      plan.tile_points};
  launch(context, "sum", plan.task_dim, ByCost{scratch.partition}, sum_kernel(args.dtype), sum_args);
  if (scratch.partition.shared_ranks().size() > 0) {
    launch(context, "sum_shared", shares, Evenly{lines}, sum_shared_kernel(args.dtype), sum_args);
  }
}

}  // namespace mluop::voxel_pooling_forward::native
