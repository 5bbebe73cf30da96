// Deformable convolution backward data, native algorithm: the decisions of a call, and its launches.
#include "ops/dcn/dcn.h"

#include <algorithm>

#include "core/checks.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/dcn/dcn_backward_data_native_kernels.h"
#include "primitives/gemm/dot_products.h"

namespace mluop::dcn::backward_data {
namespace {

// Channels of a range. Each range finds the samples and adds their products again; narrower where there would be
// too few ranges for several tasks.
constexpr int64_t kMaxWidth = 64;
constexpr int64_t kMinWidth = 32;
constexpr int64_t kMinItems = 4;

// Bands: kItemsPerTask for each task if there are fewer ranges, unless each task has one. A band has at least
// kMinBandRows rows; all bands together visit at most kMaxVisits times as many tiles as the image has.
constexpr int64_t kItemsPerTask = 2;
constexpr int64_t kMinBandRows = 4;
constexpr int64_t kMaxVisits = 2;

constexpr int64_t kMaxUnitColumns = 1024;

// A multiple of MR for every microkernel.
constexpr int64_t kTilePixels = 24;
constexpr int64_t kMaxOutputs = 512;

Division divide_channels(const Sizes& sizes) {
  Division division{};
  division.width = kMaxWidth;
  while (division.width > kMinWidth && sizes.N * ceil_div(sizes.Ci, division.width) < kMinItems)
    division.width /= 2;
  division.ranges = ceil_div(sizes.Ci, division.width);
  const int64_t offset_ranges = ceil_div(sizes.K(), kMaxUnitColumns / division.width);
  division.offsets = ceil_div(sizes.K(), offset_ranges);
  for_each_unit(sizes, division, [&](int64_t, const Unit& unit) {
    ++division.unit_count;
    division.packed_count = unit.packed + sizes.group_outputs() * round_up(unit.columns(), kMaxLanes);
  });
  for (int64_t d = 0; d < sizes.deformable_groups; ++d) {
    division.partial_count = std::max(division.partial_count, division.range_count(sizes, d));
  }
  return division;
}

struct Workspace {
  Workspace(Arena& arena, const Sizes& sizes, const Division& division)
      : packed_filters(arena.take<float>("packed filters", {division.packed_count})),
        partials(arena.take<SampleGradient>("partial sums", {division.partial_count, sizes.pixels(), sizes.S()})) {
  }

  float* packed_filters;
  SampleGradient* partials;
};

// The memory that the handle keeps.
struct Scratch {
  Scratch(Arena& arena, const BackwardDataArgs& args, const Division& division, int64_t span_count,
          int64_t sum_rows)
      : units(arena, division),
        spans(arena.take<RowSpan>("spans of rows", {span_count})),
        sums(arena.take<float>("sums", {is_16_bit(args.dtype) ? sum_rows : 0, args.W, division.width})) {}

  // Call it after construction over memory.
  void initialize(const Sizes& sizes) const {
    int64_t count = 0;
    for_each_unit(sizes, units.division, [&](int64_t range, const Unit& unit) {
      units.units[count++] = unit;
      units.first_units[range + 1] = count;
    });
    units.first_units[0] = 0;
  }

  Units units;
  RowSpan* spans;
  float* sums;
};

size_t tile_bytes(const BackwardDataArgs& args, const Division& division, const Tiling& tiling) {
  return dispatch_element(
      args.dtype, [&](auto, auto multiplied) { return bytes_of<Tile<decltype(multiplied)>>(division, tiling); });
}

Tiling choose_tiling(const Context& context, const BackwardDataArgs& args, const Division& division) {
  const bool copies =
      has_dot_products(args.dtype) ? args.group_outputs() % kStep<BFloat16> != 0 : is_16_bit(args.dtype);
  Tiling tiling{kTilePixels, std::min(round_up(args.group_outputs(), kStep<BFloat16>), kMaxOutputs), copies};
  while (tile_bytes(args, division, tiling) > context.nram_capacity) {
    require(tiling.pixels > 1, MLUOP_STATUS_ALLOC_FAILED, "MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
            ", expected room for a tile of one pixel: ", tile_bytes(args, division, tiling), " bytes");
    tiling.pixels = ceil_div(tiling.pixels, 2);
  }
  return tiling;
}

int64_t most_bands(const BackwardDataArgs& args, int64_t ranges) {
  const int64_t tasks = choose_task_dim(args.pixels(), args.column_bytes()), wanted = kItemsPerTask * tasks;
  if (ranges == tasks) return 1;
  return std::clamp(ceil_div(wanted, ranges), int64_t{1}, std::max(args.H / kMinBandRows, int64_t{1}));
}

// The largest number of bands that visits few tiles more than once.
Bands choose_bands(const BackwardDataArgs& args, const Tiling& tiling, int64_t most, const RowSpan* spans) {
  for (int64_t count = most; count > 1; count = ceil_div(count, 2)) {
    const int64_t rows = ceil_div(args.H, count);
    const Bands bands{ceil_div(args.H, rows), rows, spans};
    const int64_t tiles = args.N * tiling.count(args);
    int64_t visits = 0;
    for (int64_t i = 0; i < tiles; ++i) visits += bands.last_of(spans[i]) - bands.first_of(spans[i]) + 1;
    if (visits <= kMaxVisits * tiles) return bands;
  }
  return {1, args.H, nullptr};
}

}  // namespace

size_t workspace_bytes(const BackwardDataArgs& args) {
  return workspace_bytes_of<Workspace>(args, divide_channels(args));
}

void run(Call& call, const BackwardDataArgs& args, Arena arena) {
  Context& context = call.context();
  const Division division = divide_channels(args);
  const Workspace workspace(arena, args, division);
  const Tiling tiling = choose_tiling(context, args, division);
  const int64_t ranges = args.N * division.ranges;
  const int64_t most = most_bands(args, ranges);
  const int64_t tiles = args.N * tiling.count(args), span_count = most > 1 ? tiles : 0;
  // All tasks together have no more rows than the image, for any number of bands.
  const int64_t sum_rows =
      most > 1 ? ranges * (args.H + most) : choose_task_dim(ranges, args.column_bytes()) * args.H;
  Arena reserved = context.reserve(bytes_of<Scratch>(args, division, span_count, sum_rows));
  const Scratch scratch(reserved, args, division, span_count, sum_rows);
  scratch.initialize(args);
  if (most > 1) {
    launch(context, "find_rows", choose_task_dim(tiles, args.column_bytes()), Evenly{tiles},
           find_rows_kernel(args.dtype), {args, division, tiling, scratch.spans});
  }
  const Bands bands = choose_bands(args, tiling, most, scratch.spans);
  const int64_t items = ranges * bands.count;
  const int task_dim = choose_task_dim(items, args.column_bytes());
  call.log_detail("native, taskDim ", task_dim, ", ", ranges, " ranges of ", division.width, " channels, ",
                  bands.count, " bands, tile of ", tiling.pixels, " pixels");

  launch(context, "pack", static_cast<int>(std::min<int64_t>(task_dim, division.unit_count)),
         Evenly{division.unit_count}, pack_kernel(args.dtype), {args, scratch.units, workspace.packed_filters});
  launch_dynamic(context, "scatter", task_dim, static_cast<int>(items), Evenly{items}, scatter_kernel(args.dtype),
                 {args, scratch.units, workspace.packed_filters, tiling, bands, scratch.sums, workspace.partials});
  const int64_t partial_bytes =
      saturated_product({args.pixels(), args.S(), division.partial_count, int64_t{sizeof(SampleGradient)}});
  launch(context, "combine", choose_task_dim(args.pixels(), partial_bytes), Evenly{args.pixels()},
         combine_kernel(args.dtype), {args, division, workspace.partials});
}

}  // namespace mluop::dcn::backward_data
