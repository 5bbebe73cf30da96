#include "ops/dcn/dcn_backward_data_native.h"

#include <algorithm>

#include "core/checks.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/dcn/dcn_backward_data_native_kernels.h"

namespace mluop::dcn::backward_data {
namespace {

// Channels of a range: each finds the samples again, and adds their products anew. Fewer where ranges would be too
// few for several tasks.
constexpr int64_t kMaxWidth = 64;
constexpr int64_t kMinWidth = 32;
constexpr int64_t kMinItems = 4;

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

// The memory of the handle.
struct Scratch {
  Scratch(Arena& arena, const BackwardDataArgs& args, const Division& division, int task_dim)
      : units(arena, division),
        sums(arena.take<float>("sums", {is_16_bit(args.dtype) ? task_dim : 0, args.H * args.W, division.width})) {}

  // After construction over memory.
  void initialize(const Sizes& sizes) const {
    int64_t count = 0;
    for_each_unit(sizes, units.division, [&](int64_t range, const Unit& unit) {
      units.units[count++] = unit;
      units.first_units[range + 1] = count;
    });
    units.first_units[0] = 0;
  }

  Units units;
  float* sums;
};

size_t tile_bytes(const BackwardDataArgs& args, const Division& division, const Tiling& tiling) {
  return dispatch_dtype(args.dtype,
                        [&](auto element) { return bytes_of<Tile<decltype(element)>>(division, tiling); });
}

Tiling choose_tiling(const Context& context, const BackwardDataArgs& args, const Division& division) {
  Tiling tiling{kTilePixels, std::min(args.group_outputs(), kMaxOutputs)};
  while (tile_bytes(args, division, tiling) > context.nram_capacity) {
    require(tiling.pixels > 1, MLUOP_STATUS_ALLOC_FAILED, "MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
            ", expected room for a tile of one pixel: ", tile_bytes(args, division, tiling), " bytes");
    tiling.pixels = ceil_div(tiling.pixels, 2);
  }
  return tiling;
}

}  // namespace

size_t workspace_bytes(const BackwardDataArgs& args) {
  return workspace_bytes_of<Workspace>(args, divide_channels(args));
}

void run(Call& call, const BackwardDataArgs& args, Arena arena) {
  Context& context = call.context();
  const Division division = divide_channels(args);
  const Workspace workspace(arena, args, division);
  const int64_t items = args.N * division.ranges;
  const int task_dim = choose_task_dim(items, args.column_bytes());
  const Tiling tiling = choose_tiling(context, args, division);
  call.log_detail("native, taskDim ", task_dim, ", ", items, " ranges of ", division.width, " channels, tile of ",
                  tiling.pixels, " pixels");
  Arena reserved = context.reserve(bytes_of<Scratch>(args, division, task_dim));
  const Scratch scratch(reserved, args, division, task_dim);
  scratch.initialize(args);

  launch(context, "pack", static_cast<int>(std::min<int64_t>(task_dim, division.unit_count)),
         Evenly{division.unit_count}, pack_kernel(args.dtype), {args, scratch.units, workspace.packed_filters});
  launch_dynamic(context, "scatter", task_dim, static_cast<int>(items), Evenly{items}, scatter_kernel(args.dtype),
                 {args, scratch.units, workspace.packed_filters, tiling, scratch.sums, workspace.partials});
  const int64_t partial_bytes =
      saturated_product({args.pixels(), args.S(), division.partial_count, int64_t{sizeof(SampleGradient)}});
  launch(context, "combine", choose_task_dim(args.pixels(), partial_bytes), Evenly{args.pixels()},
         combine_kernel(args.dtype), {args, division, workspace.partials});
}

}  // namespace mluop::dcn::backward_data
