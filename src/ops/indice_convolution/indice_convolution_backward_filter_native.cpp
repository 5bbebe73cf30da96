// Indice convolution backward filter, native algorithm: the decisions of a call, and its launches.
#include "ops/indice_convolution/indice_convolution.h"

#include <algorithm>

#include "core/caches.h"
#include "core/checks.h"
#include "core/sizes.h"
#include "ops/indice_convolution/indice_convolution_backward_filter_native_kernels.h"
#include "primitives/memory/fill.h"

namespace mluop::indice_convolution::backward_filter {
namespace {

// Segments of the reduction: enough for many tasks, and so long that partial sums cost little.
constexpr int64_t kMaxSegments = 256;
constexpr int64_t kMinSegments = 8;
constexpr int64_t kPartialElements = 1 << 22;
constexpr int64_t kMinSegmentPairs = 1024;

// The tile of the filters and a batch share L2.
constexpr int64_t kMaxTileChannels = 256;
constexpr int64_t kMinTileBytes = 64 << 10;
constexpr int64_t kMaxBatchPairs = 96;

// Few chunks, because consecutive segments name the same rows.
constexpr int kChunksPerTask = 12;

// All divided offsets have the same number of segments, so that the segments of a group name about the same rows.
int64_t most_segments_of(const Args& args) {
  const int64_t segments =
      std::clamp(kPartialElements / std::max(args.matrix_count(), int64_t{1}), kMinSegments, kMaxSegments);
  const int64_t *first = args.indice_num, *last = first + args.K;
  const int64_t divided = std::count_if(first, last, [](int64_t pairs) { return pairs > kMinSegmentPairs; });
  if (divided == 0) return 1;
  const int64_t of_largest =
      ceil_div(*std::max_element(first, last), std::max(ceil_div(args.pair_count, segments), kMinSegmentPairs));
  return std::clamp(2 * segments / divided, int64_t{1}, of_largest);
}

Division divide_pairs(const Args& args) {
  Division division{kMinSegmentPairs, most_segments_of(args), 0, 0};
  for (int64_t k = 0; k < args.K; ++k) {
    const int64_t segments = division.segments_of(args.indice_num[k]);
    division.segment_count += segments;
    if (segments > 1) division.partial_count += segments;
  }
  return division;
}

void initialize_segments(const Args& args, const Segments& segments) {
  int32_t partial = 0;
  for (int64_t k = 0; k < args.K; ++k) {
    segments.first_partials[k] = partial;
    const auto count = static_cast<int32_t>(segments.division.segments_of(args.indice_num[k]));
    if (count > 1) partial += count;
  }
  Segment* segment = segments.segments;
  int64_t first_pair = 0;
  for (int32_t group = 0; group < segments.division.most; ++group) {
    for (int64_t k = 0; k < args.K; ++k) {
      const auto count = static_cast<int32_t>(segments.division.segments_of(args.indice_num[k]));
      if (group >= count) continue;
      const Range range = split(args.indice_num[k], count, group);
      *segment++ = {k,
                    first_pair,
                    static_cast<int32_t>(range.begin),
                    static_cast<int32_t>(range.end),
                    group,
                    count > 1 ? segments.first_partials[k] + group : kNone};
      first_pair += range.size();
    }
  }
}

struct Workspace {
  Workspace(Arena& workspace, const Args& args, const Division& division)
      : partials(workspace.take<float>("partial sums", {division.partial_count, args.Ci, args.Co})) {}

  float* partials;
};

struct Scratch {
  Scratch(Arena& arena, const Args& args, const Division& division)
      : segments(arena, args, division), first_pairs(arena.take<int64_t>("first pairs", {args.K + 1})) {}

  // Call it after construction over memory.
  void initialize(const Args& args) {
    initialize_segments(args, segments);
    first_pairs[0] = 0;
    for (int64_t k = 0; k < args.K; ++k) first_pairs[k + 1] = first_pairs[k] + args.indice_num[k];
  }

  Segments segments;
  int64_t* first_pairs;  // [K + 1], the number of the first pair of an offset
};

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<double>(args.element_bytes());
  const auto channels = static_cast<double>(args.Ci) + static_cast<double>(args.Co);
  return saturated(static_cast<double>(args.pair_count) * channels * element);
}

// Halves one of the sizes of a tile; gives up tile registers if the smallest tile is too large for them. Returns
// false if the tile is the smallest.
bool shrink(Tiling& tiling) {
  constexpr int64_t kMinPairs = 16;
  const bool is_one_vector = tiling.rows == 1 && tiling.columns <= kMaxLanes;
  if (tiling.batch_pairs > (is_one_vector ? tiling.batch_step() : kMinPairs)) {
    tiling.batch_pairs = round_up(tiling.batch_pairs / 2, tiling.batch_step());
  } else if (is_one_vector) {
    if (tiling.products != Products::kTiles) return false;
    tiling.products = Products::kDotProducts;
  } else if (tiling.columns > kMaxLanes && tiling.columns >= tiling.rows) {
    tiling.columns = round_up(tiling.columns / 2, kMaxLanes);
  } else {
    tiling.rows = ceil_div(tiling.rows, 2);
  }
  return true;
}

Tiling choose_tiling(const Context& context, const Args& args) {
  // Divides the channels into equal shares.
  const auto share = [](int64_t channels) { return ceil_div(channels, ceil_div(channels, kMaxTileChannels)); };
  Tiling tiling{};
  tiling.products = args.products();
  tiling.rows = share(args.Ci);
  tiling.columns = round_up(share(args.Co), panel_columns());
  const int64_t pair_bytes = (args.Ci + args.Co) * args.element_bytes();
  tiling.run_rows = std::clamp(cache_sizes().l2 / 2 / pair_bytes, int64_t{64}, int64_t{1} << 20);
  const int64_t panel_bytes = panel_columns() * int64_t{sizeof(float)};
  tiling.batch_pairs = round_up(std::clamp(cache_sizes().l1 * 2 / 3 / panel_bytes, int64_t{1}, kMaxBatchPairs),
                                tiling.batch_step());
  const int64_t max_bytes = std::max(cache_sizes().l2 / 4, kMinTileBytes);
  while (tiling.rows * tiling.columns * int64_t{sizeof(float)} > max_bytes) {
    if (tiling.columns > tiling.rows) {
      tiling.columns = round_up(tiling.columns / 2, panel_columns());
    } else {
      tiling.rows = ceil_div(tiling.rows, 2);
    }
  }
  while (bytes_of<Tile>(tiling) > context.nram_capacity) {
    const bool shrunk = shrink(tiling);
    require(shrunk, MLUOP_STATUS_ALLOC_FAILED, "MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
            ", expected room for the smallest tile: ", bytes_of<Tile>(tiling), " bytes");
  }
  return tiling;
}

// Divides segments times tiles so that tasks get equal numbers of pairs.
struct ByPairs {
  Range operator()(int task_dim, int task_id) const {
    const Division& division = segments.division;
    return split_cost(division.segment_count * tiles, task_dim, task_id, [&](int64_t item) {
      const int64_t number = item / tiles;
      if (number == division.segment_count) return pair_count * tiles;
      const Segment& segment = segments.segments[number];
      return segment.first_pair * tiles + (segment.end - segment.begin) * (item % tiles);
    });
  }

  const Segments& segments;
  int64_t pair_count, tiles;
};

}  // namespace

size_t workspace_bytes(const Args& args) {
  return args.is_empty() ? 0 : workspace_bytes_of<Workspace>(args, divide_pairs(args));
}

void run(Call& call, const Args& args, Arena workspace_memory) {
  Context& context = call.context();
  if (args.is_empty()) {
    context.reserve(0);
    fill_zero(context, args.filters_grad, args.K * args.matrix_count() * args.element_bytes());
    return;
  }
  const Division division = divide_pairs(args);
  const Tiling tiling = choose_tiling(context, args);
  const int64_t tiles = tiling.tiles(args), items = division.segment_count * tiles;
  const int64_t bytes = bytes_moved(args);
  const int task_dim = choose_task_dim(items, bytes);
  call.log_detail("native, taskDim ", task_dim, ", ", division.segment_count, " segments, tile of ", tiling.rows,
                  " x ", tiling.columns, ", ", tiling.batch_pairs, " pairs at once");
  const Workspace workspace(workspace_memory, args, division);
  Arena arena = context.reserve(bytes_of<Scratch>(args, division));
  Scratch scratch(arena, args, division);
  scratch.initialize(args);
  const Segments& segments = scratch.segments;

  FirstBadItem first_bad;
  launch(context, "check_pairs", choose_task_dim(args.pair_count, bytes), Evenly{args.pair_count}, check_kernel(),
         {args, scratch.first_pairs, first_bad});
  if (first_bad.found()) throw bad_index(args, first_bad.item());

  const auto chunks = static_cast<int>(std::min(items, int64_t{task_dim} * kChunksPerTask));
  launch_dynamic(context, "multiply", task_dim, std::max(chunks, 1), ByPairs{segments, args.pair_count, tiles},
                 multiply_kernel(args.dtype, tiling.products), {args, segments, tiling, workspace.partials});

  const int64_t runs = args.K * ceil_div(args.matrix_count(), kCombinedElements);
  const int64_t combined_bytes = (division.partial_count + args.K) * args.matrix_count() * int64_t{sizeof(float)};
  launch(context, "combine", choose_task_dim(runs, combined_bytes), Evenly{runs}, combine_kernel(args.dtype),
         {args, segments, workspace.partials});
}

}  // namespace mluop::indice_convolution::backward_filter
