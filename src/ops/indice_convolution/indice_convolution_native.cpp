// Indice convolution, native algorithm: the decisions of a call, and its launches.
#include "ops/indice_convolution/indice_convolution.h"

#include <algorithm>

#include "core/caches.h"
#include "core/checks.h"
#include "core/sizes.h"
#include "ops/indice_convolution/indice_convolution_native_kernels.h"
#include "primitives/gemm/amx.h"
#include "primitives/gemm/matmul.h"
#include "primitives/memory/fill.h"

namespace mluop::indice_convolution::native {
namespace {

// The tile of the output, the features of a batch and the filters of an offset share the caches. Larger tiles are
// not faster.
constexpr int64_t kMaxTileBytes = 256 << 10;
constexpr int64_t kMaxTileChannels = 1024;
constexpr int kMaxShift = 12;
constexpr int64_t kMaxBatchBytes = 24 << 10;
constexpr int64_t kMaxBatchChannels = 512;

// A multiple of MR for every microkernel.
constexpr int64_t kPairsMultiple = 24;
constexpr int64_t kMaxBatchPairs = 4 * kPairsMultiple;

// Tiles for each task, and chunks of tiles: enough to divide the work evenly. Tiles of fewer than kMinRows rows do
// not fill the blocks of the microkernel. With fewer than kMinPairs pairs of an offset, reading its filters takes
// longer than multiplying by them. In both cases larger tiles are used, kSmallTilesPerTask for each task.
constexpr int64_t kTilesPerTask = 32;
constexpr int64_t kMinRows = 16;
constexpr int64_t kMinPairs = 16;
constexpr int64_t kSmallTilesPerTask = 2;
constexpr int kChunksPerTask = 32;

// Up to this many tiles that read the same filters, each tile packs them itself, so that the packed filters stay
// in L2. Such tiles have few channels, whose filters share L2 with the sums.
constexpr int64_t kMaxPackings = 2;
constexpr int64_t kPackingChannels = 64;  // a multiple of NR of every microkernel

// Writing a row of a tile costs about as much as adding this many input channels of a pair.
constexpr int64_t kRowWriteCost = 6;

struct Workspace {
  Workspace(Arena& workspace, const Args& args)
      : packed_filters(workspace.take<float>("packed filters", {args.K, args.Ci, round_up(args.Co, kMaxLanes)})),
        runs(workspace, args) {}

  float* packed_filters;
  RunBuffers runs;
};

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<double>(args.element_bytes());
  const auto Ci = static_cast<double>(args.Ci), Co = static_cast<double>(args.Co);
  return saturated(static_cast<double>(args.pair_count) * (Ci * element + 2 * Co * double{sizeof(float)}) +
                   (static_cast<double>(args.K) * Ci + static_cast<double>(args.M)) * Co * element);
}

// Reduces the largest buffer of a tile. Returns false if none can be reduced.
bool shrink(Tiling& tiling, int64_t nr) {
  constexpr int kMinShift = 2;
  const bool more_sums = tiling.sum_count() > tiling.feature_count();
  if (more_sums && tiling.shift > kMinShift) {
    --tiling.shift;
  } else if (more_sums && tiling.output_channels > nr) {
    tiling.output_channels = round_up(tiling.output_channels / 2, nr);
  } else if (tiling.batch_pairs > kPairsMultiple) {
    tiling.batch_pairs -= kPairsMultiple;
  } else if (tiling.input_channels > tiling.input_step) {
    tiling.input_channels = round_up(tiling.input_channels / 2, tiling.input_step);
  } else if (tiling.batch_pairs > 1) {
    tiling.batch_pairs /= 2;
  } else if (tiling.shift > 0) {
    tiling.shift = 0;
  } else {
    return false;
  }
  return true;
}

size_t tile_bytes(const Args& args, const Tiling& tiling) {
  if (args.products() != Products::kFloat) return bytes_of<Tile<BFloat16, BFloat16>>(tiling);
  return dispatch_dtype(args.dtype,
                        [&](auto element) { return bytes_of<Tile<decltype(element), float>>(tiling); });
}

// Maximum bytes of the sums of a tile.
int64_t max_tile_bytes() { return std::min(kMaxTileBytes, cache_sizes().l2 / 4); }

// The shift of the tiles with the most rows, among at least `min_tiles` tiles of `output_channels` channels that
// fit the caches.
int highest_shift(const Args& args, int64_t output_channels, int64_t min_tiles) {
  const int64_t row_bytes = output_channels * int64_t{sizeof(float)};
  const int64_t channel_tiles = ceil_div(args.Co, output_channels);
  int shift = 0;
  while (shift < kMaxShift && int64_t{1} << shift < args.M && row_bytes << (shift + 1) <= max_tile_bytes() &&
         row_tiles(args, shift + 1) * channel_tiles >= min_tiles) {
    ++shift;
  }
  return shift;
}

// Number of elements that tiles read: the filters once for each tile of rows, the features of all pairs once for
// each tile of channels.
double elements_read(const Args& args, const Tiling& tiling) {
  const auto filters = static_cast<double>(args.K) * static_cast<double>(args.Ci) * static_cast<double>(args.Co);
  const auto features = static_cast<double>(args.pair_count) * static_cast<double>(args.Ci);
  return static_cast<double>(row_tiles(args, tiling.shift)) * filters +
         static_cast<double>(ceil_div(args.Co, tiling.output_channels)) * features;
}

// Chooses shift. Reduces output_channels if tiles of all channels are too small, or if tiles of more rows and
// fewer channels read less.
void divide_output(const Args& args, int task_dim, Tiling& tiling) {
  tiling.shift = highest_shift(args, tiling.output_channels, kTilesPerTask * task_dim);
  const int64_t pairs = args.pair_count / (args.K * row_tiles(args, tiling.shift));
  if (tiling.rows() >= kMinRows && pairs >= kMinPairs) return;
  tiling.shift = highest_shift(args, tiling.output_channels, kSmallTilesPerTask * task_dim);
  Tiling narrower = tiling;
  while (narrower.output_channels > panel_columns()) {
    narrower.output_channels = round_up(narrower.output_channels / 2, panel_columns());
    narrower.shift = highest_shift(args, narrower.output_channels, kSmallTilesPerTask * task_dim);
    if (elements_read(args, narrower) < elements_read(args, tiling)) tiling = narrower;
  }
}

Tiling choose_tiling(const Context& context, const Args& args, int task_dim) {
  const Products products = args.products();
  const bool is_bf16 = products != Products::kFloat;
  const int64_t multiplied_bytes = is_bf16 ? int64_t{sizeof(BFloat16)} : int64_t{sizeof(float)};
  Tiling tiling{};
  tiling.copies_rows = is_bf16 ? products == Products::kDotProducts && args.Ci % 2 != 0 : is_16_bit(args.dtype);
  tiling.input_step = products == Products::kTiles ? kAmxStep : kMaxLanes;
  tiling.input_channels = std::min(round_up(args.Ci, tiling.input_step), kMaxBatchChannels);
  tiling.output_channels = std::min(round_up(args.Co, panel_columns()), kMaxTileChannels);
  const int64_t batch_bytes = std::min(kMaxBatchBytes, cache_sizes().l1 * 3 / 4);
  const int64_t pairs = batch_bytes / (tiling.input_channels * multiplied_bytes);
  tiling.batch_pairs = std::clamp(pairs / kPairsMultiple * kPairsMultiple, kPairsMultiple, kMaxBatchPairs);
  divide_output(args, task_dim, tiling);
  const int64_t row_out_bytes = args.Co * args.element_bytes();
  const bool whole_lines =
      reinterpret_cast<uintptr_t>(args.features_out) % kCacheLine == 0 && row_out_bytes % kCacheLine == 0;
  tiling.stream = whole_lines && exceeds_caches(args.M * row_out_bytes);

  if (row_tiles(args, tiling.shift) <= kMaxPackings) {
    Tiling packing = tiling;
    packing.packs = true;
    packing.input_channels = round_up(args.Ci, tiling.input_step);
    packing.output_channels = std::min(tiling.output_channels, kPackingChannels);
    if (tile_bytes(args, packing) <= context.nram_capacity) return packing;
  }
  while (tile_bytes(args, tiling) > context.nram_capacity) {
    const bool shrunk = shrink(tiling, panel_columns());
    require(shrunk, MLUOP_STATUS_ALLOC_FAILED, "MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
            ", expected room for a tile of one row: ", tile_bytes(args, tiling), " bytes");
  }
  return tiling;
}

}  // namespace

size_t workspace_bytes(const Args& args) { return args.is_empty() ? 0 : workspace_bytes_of<Workspace>(args); }

void run(Call& call, const Args& args, Arena workspace_memory) {
  Context& context = call.context();
  if (args.is_empty()) {
    context.reserve(0);
    fill_zero(context, args.features_out, args.M * args.Co * args.element_bytes());
    return;
  }
  const int task_dim = choose_task_dim(args.M * ceil_div(args.Co, panel_columns()), bytes_moved(args));
  const Tiling tiling = choose_tiling(context, args, task_dim);
  call.log_detail("native, taskDim ", task_dim, ", tile of ", tiling.rows(), " x ", tiling.output_channels, ", ",
                  tiling.batch_pairs, " pairs at once");
  const Workspace workspace(workspace_memory, args);
  Arena arena = context.reserve(bytes_of<PairsByOutputTile>(args, tiling.shift, task_dim, workspace.runs));
  PairsByOutputTile pairs(arena, args, tiling.shift, task_dim, workspace.runs);
  pairs.initialize(args);

  FirstBadItem first_bad;
  launch(context, "count_pairs", pairs.sort.task_dim, Evenly{args.pair_count}, count_kernel(),
         {args, pairs, first_bad});
  if (first_bad.found()) throw bad_index(args, first_bad.item());
  pairs.sort.exclusive_scan(context);
  launch(context, "sort_pairs", pairs.sort.task_dim, Evenly{args.pair_count}, sort_kernel(), {args, pairs});

  if (!tiling.packs) {
    const int64_t panels = ceil_div(args.Co, panel_columns()) * args.K;
    launch(context, "pack_filters", static_cast<int>(std::min<int64_t>(task_dim, panels)), Evenly{panels},
           pack_kernel(args), {args, workspace.packed_filters});
  }
  const int chunks = task_dim == 1 ? 1 : task_dim * kChunksPerTask;
  launch_dynamic(
      context, "convolve", task_dim, chunks,
      ByElements{pairs.sort.starts, pairs.sort.bucket_count, ceil_div(kRowWriteCost << tiling.shift, args.Ci),
                 ceil_div(args.Co, tiling.output_channels)},
      convolve_kernel(args), {args, pairs, workspace.packed_filters, tiling});
}

}  // namespace mluop::indice_convolution::native
