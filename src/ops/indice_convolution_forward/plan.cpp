#include "ops/indice_convolution_forward/plan.h"

#include <algorithm>
#include <cstring>

#include "core/boundary.h"
#include "core/dtype.h"
#include "core/text.h"
#include "ops/indice_convolution_forward/tile.h"

namespace mluop::indice_convolution_forward {
namespace {

// Outputs from here on bypass the caches: half of a server core's share of the last level.
constexpr int64_t kStreamBytes = 8 << 20;

// What is written past the caches has to fill whole lines.
constexpr int64_t kLineBytes = 64;

// Tiles of the output and chunks of features share the second level of the cache with the filters of an offset.
constexpr int64_t kTileBytes = 128 << 10;
constexpr int64_t kMaxTileChannels = 1024;
constexpr int kMaxShift = 12;
constexpr int64_t kChunkBytes = 8 << 10;
constexpr int64_t kMaxChunkChannels = 512;

// Chunks of a multiple of the rows of any microkernel.
constexpr int64_t kMaxPairs = 96;
constexpr int64_t kPairsMultiple = 24;

// Tiles for each task: enough to divide the work evenly.
constexpr int64_t kTilesPerTask = 16;

struct WorkspaceParts {
  WorkspaceParts(WorkspaceLayout& workspace, const Args& args)
      : packed(workspace.add<float>(args.K * args.Ci * round_up(args.Co, kMaxLanes))),
        order(workspace.add<int32_t>(args.pair_count)) {}
  size_t packed, order;  // offsets
};

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  return args.pair_count * (args.Ci * element + 2 * args.Co * int64_t{sizeof(float)}) + args.M * args.Co * element;
}

// The largest tiling that fits NRAM: what takes most of it is halved until all fits.
Tiling choose_tiling(const Context& context, const Args& args, int task_dim) {
  const int64_t panel = panel_channels();
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
    const bool more_sums = Tile<float>::sum_count(tiling) > Tile<float>::feature_count(tiling);
    if (more_sums && tiling.shift > 2) {
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
      --tiling.shift;
    } else if (tiling.outputs > panel) {
      tiling.outputs = round_up(tiling.outputs / 2, panel);
    } else {
      throw Failure(MLUOP_STATUS_ALLOC_FAILED,
                    text("MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
                         ", expected room for a tile of one row: ", bytes(tiling), " bytes"));
    }
  }
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  const bool whole_lines =
      reinterpret_cast<uintptr_t>(args.features_out) % kLineBytes == 0 && args.Co * element % kLineBytes == 0;
  tiling.stream = whole_lines && args.M * args.Co * element >= kStreamBytes;
  return tiling;
}

std::byte* align(std::byte* workspace) {
  const auto address = reinterpret_cast<uintptr_t>(workspace);
  return workspace + (kScratchAlignment - address % kScratchAlignment) % kScratchAlignment;
}

// Items: bytes. Zeroes the output.
void zero(const Args& args, int64_t begin, int64_t end, Task&) {
  std::memset(static_cast<std::byte*>(args.features_out) + begin, 0, static_cast<size_t>(end - begin));
}

void require_good_pairs(const Args& args, const Buckets& buckets, int64_t first_bad) {
  if (first_bad == args.pair_count) return;
  const int32_t* firsts = buckets.first_numbers;
  const int64_t k = std::upper_bound(firsts, firsts + args.K, first_bad) - firsts - 1;
  const int64_t l = first_bad - firsts[k];
  const bool bad_input = args.inputs(k)[l] >= args.N;
  throw Failure(MLUOP_STATUS_BAD_PARAM,
                text("indice_pairs[", k, ", ", bad_input ? 0 : 1, ", ", l, "] is ",
                     bad_input ? args.inputs(k)[l] : args.outputs(k)[l], ", expected less than ",
                     bad_input ? args.N : args.M, ", the rows of ", bad_input ? "features" : "features_out"));
}

void run_deterministic(Context& context, const Plan& plan, const Args& args, std::byte* workspace) {
  WorkspaceLayout workspace_layout;
  const WorkspaceParts parts(workspace_layout, args);
  auto* packed = at<float>(workspace, parts.packed);

  const auto tile_count = static_cast<int32_t>(ceil_div(args.M, int64_t{1} << plan.tiling.shift));
  WorkspaceLayout pool_layout;
  const CountingLayout counting_layout(pool_layout, args.pair_count, tile_count,
                                       group_task_dim(args.pair_count, tile_count, plan.task_dim));
  const size_t firsts_offset = pool_layout.add<int32_t>(args.K + 1);
  std::byte* pool = context.reserve_pool(pool_layout.bytes());
  const Counting counting(counting_layout, pool);
  auto* firsts = at<int32_t>(pool, firsts_offset);
  firsts[0] = 0;
  for (int64_t k = 0; k < args.K; ++k) firsts[k + 1] = firsts[k] + static_cast<int32_t>(args.indice_num[k]);
  const Buckets buckets{counting, plan.tiling.shift, firsts, at<int32_t>(workspace, parts.order)};

  const Evenly pairs{args.pair_count};
  auto first_bad = static_cast<int32_t>(args.pair_count);
  launch(context, counting.task_dim, pairs, count_kernel(), {args, buckets, &first_bad});
  require_good_pairs(args, buckets, first_bad);
  find_places(context, counting);
  launch(context, counting.task_dim, pairs, order_kernel(), {args, buckets});
  const int64_t panels = ceil_div(args.Co, panel_channels()) * args.K;
  launch(context, static_cast<int>(std::min<int64_t>(plan.task_dim, panels)), Evenly{panels}, pack_kernel(),
         {args, packed});
  // To write a row costs as much as to add some six channels of a pair.
  const int64_t tile_cost = ceil_div(int64_t{6} << plan.tiling.shift, args.Ci);
  launch(context, plan.task_dim, ByItems{counting, tile_cost}, convolve_kernel(args.dtype),
         {args, buckets, packed, plan.tiling});
}

}  // namespace

size_t workspace_bytes(const Context&, const Args& args) {
  if (args.N == 0 || args.M == 0) return 0;
  WorkspaceLayout workspace;
  const WorkspaceParts parts(workspace, args);
  return workspace.bytes() + kScratchAlignment - 1;
}

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.task_dim = choose_task_dim(args.M, bytes_moved(args));
  plan.tiling = choose_tiling(context, args, plan.task_dim);
  return plan;
}

void run(Context& context, const Plan& plan, const Args& args, std::byte* workspace) {
  context.reserve_nram(plan.task_dim);
  if (args.N == 0 || args.M == 0) {
    const auto bytes = args.M * args.Co * static_cast<int64_t>(size_of(args.dtype));
    launch(context, plan.task_dim, Evenly{bytes}, zero, args);
  } else {
    run_deterministic(context, plan, args, align(workspace));
  }
}

}  // namespace mluop::indice_convolution_forward
