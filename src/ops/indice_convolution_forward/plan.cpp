#include "ops/indice_convolution_forward/plan.h"

#include <algorithm>

#include "core/boundary.h"
#include "core/dtype.h"
#include "core/text.h"
#include "ops/indice_convolution_forward/buckets.h"
#include "ops/indice_convolution_forward/composition.h"
#include "ops/indice_convolution_forward/tile.h"
#include "primitives/fill.h"

namespace mluop::indice_convolution_forward {
namespace {

// Outputs from here on bypass the caches: half of a server core's share of the last level.
constexpr int64_t kStreamBytes = 8 << 20;

// What is written past the caches has to fill whole lines.
constexpr int64_t kLineBytes = 64;

// Tiles of the output and chunks of features share the second level of the cache with the filters of an offset.
constexpr int64_t kTileBytes = 256 << 10;
constexpr int64_t kMaxTileChannels = 1024;
constexpr int kMaxShift = 12;
constexpr int64_t kChunkBytes = 24 << 10;
constexpr int64_t kMaxChunkChannels = 512;

// Chunks of a multiple of the rows of any microkernel.
constexpr int64_t kMaxPairs = 96;
constexpr int64_t kPairsMultiple = 24;

// Tiles for each task, and batches of tiles: enough to divide the work evenly.
constexpr int64_t kTilesPerTask = 32;
constexpr int kBatchesPerTask = 32;

struct WorkspaceParts {
  WorkspaceParts(WorkspaceLayout& workspace, const Args& args)
      : packed(workspace.add<float>(args.K * args.Ci * round_up(args.Co, kMaxLanes))),
        order(workspace.add<int32_t>(args.pair_count)),
        notes(workspace.add<int32_t>(args.pair_count / Buckets::kPairsPerNote)) {}
  size_t packed, order, notes;  // offsets
};

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  return args.pair_count * (args.Ci * element + 2 * args.Co * int64_t{sizeof(float)}) + args.M * args.Co * element;
}

// Makes the largest of a tile's buffers smaller. Returns false where nothing is left to save.
bool shrink(Tiling& tiling, int64_t panel) {
  const bool more_sums = Tile<float>::sum_count(tiling) > Tile<float>::feature_count(tiling);
  constexpr int kLeastShift = 2;
  if (more_sums && tiling.shift > kLeastShift) {
    --tiling.shift;
  } else if (more_sums && tiling.outputs > panel) {
    tiling.outputs = round_up(tiling.outputs / 2, panel);
  } else if (tiling.pairs > kPairsMultiple) {
    tiling.pairs -= kPairsMultiple;
  } else if (tiling.inputs > kMaxLanes) {
    tiling.inputs = round_up(tiling.inputs / 2, kMaxLanes);
  } else if (tiling.pairs > 1) {
    tiling.pairs /= 2;
  } else if (tiling.shift > 0) {
    tiling.shift = 0;
  } else {
    return false;
  }
  return true;
}

// The largest tiling that fits NRAM.
Tiling choose_tiling(const Context& context, const Args& args, int task_dim) {
  const int64_t panel = panel_columns();
  Tiling tiling{};
  tiling.inputs = std::min(round_up(args.Ci, kMaxLanes), kMaxChunkChannels);
  tiling.outputs = std::min(round_up(args.Co, panel), kMaxTileChannels);
  const int64_t pairs = kChunkBytes / (tiling.inputs * int64_t{sizeof(float)});
  tiling.pairs = std::clamp(pairs / kPairsMultiple * kPairsMultiple, kPairsMultiple, kMaxPairs);
  const int64_t row_bytes = tiling.outputs * int64_t{sizeof(float)};
  while (tiling.shift < kMaxShift && row_bytes << (tiling.shift + 1) <= kTileBytes &&
         args.M >> (tiling.shift + 1) >= kTilesPerTask * task_dim) {
    ++tiling.shift;
  }
  const auto bytes = args.dtype == MLUOP_DTYPE_HALF ? Tile<Half>::bytes : Tile<float>::bytes;
  while (bytes(tiling) > context.nram_capacity) {
    if (shrink(tiling, panel)) continue;
    throw Failure(MLUOP_STATUS_ALLOC_FAILED,
                  text("MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
                       ", expected room for a tile of one row: ", bytes(tiling), " bytes"));
  }
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  const bool whole_lines =
      reinterpret_cast<uintptr_t>(args.features_out) % kLineBytes == 0 && args.Co * element % kLineBytes == 0;
  tiling.stream = whole_lines && args.M * args.Co * element >= kStreamBytes;
  return tiling;
}

void run_deterministic(Context& context, const Plan& plan, const Args& args, std::byte* workspace) {
  WorkspaceLayout workspace_layout;
  const WorkspaceParts parts(workspace_layout, args);
  auto* packed = at<float>(workspace, parts.packed);
  WorkspaceLayout pool;
  const BucketsLayout buckets_layout(pool, args, plan.tiling.shift, plan.task_dim);
  const Buckets buckets = make_buckets(buckets_layout, args, context.reserve_pool(pool.bytes()),
                                       at<int32_t>(workspace, parts.order), at<int32_t>(workspace, parts.notes));
  check_and_count(context, args, buckets);
  sort(context, args, buckets);
  const int64_t panels = ceil_div(args.Co, panel_columns()) * args.K;
  launch(context, static_cast<int>(std::min<int64_t>(plan.task_dim, panels)), Evenly{panels}, pack_kernel(),
         {args, packed});
  // Enough for the last of them not to matter; a single task needs no more than one.
  const int batches = plan.task_dim == 1 ? 1 : plan.task_dim * kBatchesPerTask;
  int64_t next_batch = 0;
  launch(context, plan.task_dim, Evenly{plan.task_dim}, convolve_kernel(args.dtype),
         {args, buckets, packed, plan.tiling, batches, &next_batch});
}

}  // namespace

size_t workspace_bytes(const Context& context, const Args& args) {
  if (args.N == 0 || args.M == 0) return 0;
  WorkspaceLayout workspace;
  if (context.atomics_mode == MLUOP_ATOMICS_ALLOWED) {
    const CompositionLayout layout(workspace, args);
  } else {
    const WorkspaceParts parts(workspace, args);
  }
  return workspace.bytes() + kWorkspaceSlack;
}

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.atomics = context.atomics_mode == MLUOP_ATOMICS_ALLOWED;
  plan.task_dim = choose_task_dim(args.M, bytes_moved(args));
  if (!plan.atomics) plan.tiling = choose_tiling(context, args, plan.task_dim);
  return plan;
}

void run(Context& context, const Plan& plan, const Args& args, std::byte* workspace) {
  context.reserve_nram(plan.task_dim);
  if (args.N == 0 || args.M == 0) {
    fill_zero(context, args.features_out, args.M * args.Co * static_cast<int64_t>(size_of(args.dtype)));
  } else if (plan.atomics) {
    run_composition(context, args, align_workspace(workspace));
  } else {
    run_deterministic(context, plan, args, align_workspace(workspace));
  }
}

}  // namespace mluop::indice_convolution_forward
