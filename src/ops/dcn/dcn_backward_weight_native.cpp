// Deformable convolution backward weight, native algorithm: the decisions of a call, and its launches.
#include "ops/dcn/dcn.h"

#include <algorithm>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/dcn/dcn_backward_weight_native_kernels.h"
#include "primitives/gemm/dot_products.h"

namespace mluop::dcn::backward_weight {
namespace {

// Segments: enough for many tasks if the filters have few tiles, and so long that partial sums cost little.
constexpr int64_t kMinItems = 128;
constexpr int64_t kTileElements = 1 << 14;
constexpr int64_t kMinSegmentPixels = 1024;

// The tile of the filters and a batch share L2. A tile has all outputs of a group if possible, because each tile
// interpolates the columns again.
constexpr int64_t kMaxOutputs = 512;
constexpr int64_t kMaxColumns = 256;
constexpr int64_t kMinTileBytes = 64 << 10;
constexpr int64_t kMaxLaneRows = 96;

// Many tasks need smaller tiles, which find the samples more often.
constexpr int64_t kItemsPerTask = 2;
constexpr int64_t kMinColumns = 64;

// Depends only on the sizes, so that the order of additions does not depend on the number of tasks.
int64_t segment_count(const Sizes& sizes) {
  const int64_t wanted = kMinItems / std::min(ceil_div(sizes.filter_count(), kTileElements), kMinItems);
  return std::clamp(sizes.pixels() / kMinSegmentPixels, int64_t{1}, wanted);
}

struct Workspace {
  Workspace(Arena& arena, const Sizes& sizes) : segments{segment_count(sizes), nullptr} {
    const int64_t partials = segments.count > 1 ? segments.count : 0;
    segments.partials = arena.take<float>("partial sums", {partials, sizes.Co, sizes.group_columns()});
  }

  Segments segments;
};

size_t tile_bytes(const BackwardWeightArgs& args, const Tiling& tiling) {
  return dispatch_element(args.dtype, [&](auto element, auto multiplied) {
    return bytes_of<Tile<decltype(element), decltype(multiplied)>>(tiling);
  });
}

// Reduces the tile. Returns false if it is the smallest.
bool shrink(Tiling& tiling) {
  constexpr int64_t kMinLaneRows = 16;
  const bool is_one_vector = tiling.groups == 1 && tiling.outputs == 1 && tiling.columns <= kMaxLanes;
  if (tiling.lane_rows > (is_one_vector ? 1 : kMinLaneRows)) {
    tiling.lane_rows = ceil_div(tiling.lane_rows, 2);
  } else if (tiling.groups > 1) {
    tiling.groups = ceil_div(tiling.groups, 2);
  } else if (tiling.columns > kMaxLanes && (tiling.columns >= tiling.outputs || tiling.outputs == 1)) {
    tiling.columns = round_up(tiling.columns / 2, kMaxLanes);
  } else if (tiling.outputs > 1) {
    tiling.outputs = ceil_div(tiling.outputs, 2);
  } else {
    return false;
  }
  return true;
}

// Sets `samples`.
void count_samples(const Sizes& sizes, Tiling& tiling) {
  tiling.samples = 0;
  for (int64_t number = 0; number < tiling.tiles(sizes); ++number) {
    tiling.samples = std::max(tiling.samples, tiling.tile(sizes, number).samples(sizes).count());
  }
}

// The tiles of all tasks, at most kItemsPerTask for each if the filters allow.
void divide_for_tasks(const BackwardWeightArgs& args, int64_t segments, Tiling& tiling) {
  const int64_t tasks = choose_task_dim(args.filter_count(), args.column_bytes());
  while (tasks > 1 && segments * tiling.tiles(args) < kItemsPerTask * tasks) {
    if (tiling.groups > 1) {
      tiling.groups = ceil_div(tiling.groups, 2);
    } else if (tiling.columns / 2 >= kMinColumns) {
      tiling.columns = round_up(tiling.columns / 2, kMaxLanes);
    } else {
      return;
    }
  }
}

Tiling choose_tiling(const Context& context, const BackwardWeightArgs& args, int64_t segments) {
  const auto share = [](int64_t count, int64_t max) { return ceil_div(count, ceil_div(count, max)); };
  const int64_t max_elements = std::max(cache_sizes().l2 / 4, kMinTileBytes) / static_cast<int64_t>(sizeof(float));
  const int64_t panel = panel_columns();
  Tiling tiling{};
  tiling.outputs = share(args.group_outputs(), kMaxOutputs);
  const int64_t columns = std::clamp(max_elements / tiling.outputs / panel * panel, panel, kMaxColumns);
  tiling.columns =
      round_up(share(args.group_columns(), columns), args.group_columns() > columns ? panel : kMaxLanes);
  tiling.groups = 1;
  if (tiling.tiles(args) == args.groups) {
    tiling.groups = std::clamp(max_elements / (tiling.outputs * tiling.columns), int64_t{1}, args.groups);
  }
  divide_for_tasks(args, segments, tiling);
  tiling.step = has_dot_products(args.dtype) ? kStep<BFloat16> : kStep<float>;
  tiling.lane_rows =
      std::clamp(cache_sizes().l1 * 2 / 3 / (panel * int64_t{sizeof(float)}), int64_t{1}, kMaxLaneRows);
  count_samples(args, tiling);
  while (tile_bytes(args, tiling) > context.nram_capacity) {
    require(shrink(tiling), MLUOP_STATUS_ALLOC_FAILED, "MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
            ", expected room for the smallest tile: ", tile_bytes(args, tiling), " bytes");
    count_samples(args, tiling);
  }
  return tiling;
}

}  // namespace

size_t workspace_bytes(const BackwardWeightArgs& args) { return workspace_bytes_of<Workspace>(args); }

void run(Call& call, const BackwardWeightArgs& args, Arena arena) {
  Context& context = call.context();
  const Workspace workspace(arena, args);
  const Segments& segments = workspace.segments;
  const Tiling tiling = choose_tiling(context, args, segments.count);
  const int64_t items = segments.count * tiling.tiles(args);
  const int task_dim = choose_task_dim(items, args.column_bytes());
  call.log_detail("native, taskDim ", task_dim, ", ", segments.count, " segments, tile of ", tiling.groups, " x ",
                  tiling.outputs, " x ", tiling.columns, ", ", tiling.batch(), " pixels at once");
  context.reserve(0);

  const auto chunks = static_cast<int>(std::min<int64_t>(items, int64_t{task_dim} * 16));
  launch_dynamic(context, "multiply", task_dim, chunks, Evenly{items}, multiply_kernel(args.dtype),
                 {args, tiling, segments});
  if (segments.count > 1) {
    const int64_t runs = ceil_div(args.filter_count(), kCombinedElements);
    launch(context, "combine",
           choose_task_dim(runs, args.filter_count() * segments.count * int64_t{sizeof(float)}), Evenly{runs},
           combine_kernel(args.dtype), {args, segments});
  }
  if (args.grad_bias != nullptr) {
    const int64_t blocks = ceil_div(args.Co, kMaxLanes);
    const int64_t bytes = args.pixels() * args.Co * static_cast<int64_t>(size_of(args.dtype));
    launch(context, "add_bias", choose_task_dim(blocks, bytes), Evenly{blocks}, add_bias_kernel(args.dtype), args);
  }
}

}  // namespace mluop::dcn::backward_weight
