// Deformable convolution forward, native algorithm: the decisions of a call, and its launches.
#include "ops/dcn/dcn.h"

#include <algorithm>

#include "core/checks.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/dcn/dcn_forward_native_kernels.h"
#include "primitives/gemm/dot_products.h"

namespace mluop::dcn::forward {
namespace {

// The sums and samples of a tile share L2 with part of the filters; the columns of a batch stay in L1.
constexpr int64_t kMaxSumBytes = 256 << 10;
constexpr int64_t kMaxSampleBytes = 128 << 10;
constexpr int64_t kMaxOutputs = 1024;
constexpr int64_t kMaxColumns = 256;

// A multiple of MR for every microkernel.
constexpr int64_t kBatchPixels = 24;

// Tiles for each task: enough to divide the work evenly.
constexpr int64_t kTilesPerTask = 8;

struct Workspace {
  Workspace(Arena& arena, const Sizes& sizes)
      : packed_filters(
            arena.take<float>("packed filters", {sizes.groups, padded_outputs(sizes), sizes.group_columns()})) {}

  float* packed_filters;
};

size_t tile_bytes(const ForwardArgs& args, const Tiling& tiling) {
  return dispatch_element(args.dtype, [&](auto element, auto multiplied) {
    return bytes_of<Tile<decltype(element), decltype(multiplied)>>(args, tiling);
  });
}

// Reduces the tile. Returns false if it is the smallest.
bool shrink(Tiling& tiling) {
  if (tiling.pixels > 1) {
    tiling.pixels = ceil_div(tiling.pixels, 2);
    tiling.batch = std::min(tiling.batch, tiling.pixels);
  } else if (tiling.outputs > panel_columns()) {
    tiling.outputs = round_up(tiling.outputs / 2, panel_columns());
  } else if (tiling.columns > kMaxLanes) {
    tiling.columns = round_up(tiling.columns / 2, kMaxLanes);
  } else {
    return false;
  }
  return true;
}

Tiling choose_tiling(const Context& context, const ForwardArgs& args, int task_dim) {
  const int64_t columns = args.group_columns();
  Tiling tiling{};
  tiling.columns = round_up(ceil_div(columns, ceil_div(columns, kMaxColumns)), kMaxLanes);
  tiling.outputs = std::min(padded_outputs(args), kMaxOutputs);
  const auto sample_bytes = static_cast<int64_t>(bytes_of<SampleBuffers>(int64_t{1}, args.S()));
  const int64_t pixels = std::min(kMaxSumBytes / (tiling.outputs * int64_t{sizeof(float)}),
                                  std::max<int64_t>(kMaxSampleBytes / sample_bytes, 1));
  const int64_t share = ceil_div(args.pixels(), kTilesPerTask * task_dim);
  tiling.pixels = std::clamp(round_up(std::min(pixels, share), kBatchPixels), kBatchPixels,
                             round_up(args.pixels(), kBatchPixels));
  tiling.batch = kBatchPixels;
  while (tile_bytes(args, tiling) > context.nram_capacity) {
    require(shrink(tiling), MLUOP_STATUS_ALLOC_FAILED, "MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
            ", expected room for a tile of one pixel: ", tile_bytes(args, tiling), " bytes");
  }
  return tiling;
}

}  // namespace

size_t workspace_bytes(const ForwardArgs& args) { return workspace_bytes_of<Workspace>(args); }

void run(Call& call, const ForwardArgs& args, Arena arena) {
  Context& context = call.context();
  const Workspace workspace(arena, args);
  const int task_dim = choose_task_dim(args.pixels(), args.column_bytes());
  const Tiling tiling = choose_tiling(context, args, task_dim);
  call.log_detail("native, taskDim ", task_dim, ", tile of ", tiling.pixels, " x ", tiling.outputs, ", ",
                  tiling.batch, " x ", tiling.columns, " at once");
  context.reserve(0);

  const int64_t panels = ceil_div(args.group_outputs(), panel_columns()) * args.groups;
  launch(context, "pack", static_cast<int>(std::min<int64_t>(task_dim, panels)), Evenly{panels},
         pack_kernel(args.dtype), {args, workspace.packed_filters});
  const int64_t tiles = ceil_div(args.pixels(), tiling.pixels);
  const auto chunks = static_cast<int>(std::min(tiles, kTilesPerTask * task_dim));
  launch_dynamic(context, "convolve", task_dim, chunks, Evenly{tiles}, convolve_kernel(args.dtype),
                 {args, workspace.packed_filters, tiling});
}

}  // namespace mluop::dcn::forward
