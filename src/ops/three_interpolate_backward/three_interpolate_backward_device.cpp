// Three interpolate backward, device algorithm: the decisions of a call, and its launches.
#include "ops/three_interpolate_backward/three_interpolate_backward.h"

#include <algorithm>
#include <optional>

#include "core/dtype.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_device_kernels.h"
#include "primitives/indices/neighbor_indices.h"

namespace mluop::three_interpolate_backward::device {
namespace {

constexpr int64_t round_down(int64_t a, int64_t multiple) { return a / multiple * multiple; }

// The bytes that a tile needs, at least the bytes that the document states.
template <class T>
int64_t tile_bytes(const Tiling& tiling) {
  return std::max(document_bytes(tiling, sizeof(T)), static_cast<int64_t>(bytes_of<Tile<T>>(tiling)));
}

// Chooses tiles in multiples of `unit` elements; nothing if none fits NRAM. Section 3.3.2 of the document only
// ranks the dimensions; this is the search of MLU-OPS, which ranks M, C, N. `limit` bounds Co * No * Mo and
// decreases until the tile fits.
template <class T>
std::optional<Tiling> find_tiling(const Context& context, const Args& args, int64_t unit, int task_dim) {
  constexpr auto kBytes = int64_t{sizeof(T)};
  const auto nram = static_cast<int64_t>(context.nram_capacity);
  const int64_t square = unit * unit;
  const int64_t spare = nram - kBytes * (2 * square + 6 * unit) + 36 * unit;
  int64_t chosen_for = 0;
  Tiling tiling{};
  for (int64_t limit = square * (spare / (2 * unit)); limit >= square * unit; limit -= square * unit) {
    const int64_t max_features = std::min(round_up(args.M, unit), round_down(limit / square, unit));
    if (max_features != chosen_for) {
      chosen_for = max_features;
      tiling.Mo = choose_features(args.B, args.M, max_features, unit, task_dim);
    }
    tiling.Co = std::min(round_up(args.C, unit), round_down(limit / (tiling.Mo * unit), unit));
    tiling.No = std::min(round_up(args.N, unit), round_down(limit / (tiling.Mo * tiling.Co), unit));
    if (tile_bytes<T>(tiling) <= nram) return tiling;
  }
  return std::nullopt;
}

// Tiles are multiples of 128 bytes, the alignment of the document; of 64 bytes if NRAM is smaller than on any
// device.
template <class T>
Tiling choose_tiling(const Context& context, const Args& args, int task_dim) {
  constexpr int64_t kUnit = 128 / int64_t{sizeof(T)};
  constexpr int64_t kSmallUnit = kUnit / 2;
  if (const auto tiling = find_tiling<T>(context, args, kUnit, task_dim)) return *tiling;
  if (const auto tiling = find_tiling<T>(context, args, kSmallUnit, task_dim)) return *tiling;
  throw Failure(MLUOP_STATUS_ALLOC_FAILED, text("MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
                                                ", expected room for the smallest tile: ",
                                                tile_bytes<T>({kSmallUnit, kSmallUnit, kSmallUnit}), " bytes"));
}

}  // namespace

// MLU-OPS searches downwards from `max` and takes a smaller Mo if its last round is fuller, or if it needs one
// round more and that round is full. Fewer features never need fewer rounds, so the search ends at the largest
// number of work items up to the next multiple of task_dim.
int64_t choose_features(int64_t B, int64_t M, int64_t max, int64_t unit, int task_dim) {
  const int64_t tiles = ceil_div(M, max);
  const int64_t max_tiles = round_up(B * tiles, task_dim) / B;
  if (max_tiles == tiles) return max;
  const int64_t min_features = round_up(ceil_div(M, max_tiles), unit);
  const int64_t chosen_tiles = ceil_div(M, min_features);
  if (chosen_tiles == tiles) return max;
  // The largest Mo with chosen_tiles tiles, which the search finds first.
  return round_down(ceil_div(M, chosen_tiles - 1) - 1, unit);
}

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.task_dim = device_task_dim();
  plan.tiling = dispatch_dtype(
      args.dtype, [&](auto element) { return choose_tiling<decltype(element)>(context, args, plan.task_dim); });
  return plan;
}

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  const auto [Co, No, Mo] = plan.tiling;
  call.log_detail("device, taskDim ", plan.task_dim, ", tile of ", Co, " channels, ", No, " points, ", Mo,
                  " features");
  context.reserve(0);
  FirstBadItem first_bad_index;
  launch(context, "check_indices", plan.task_dim, Evenly{args.index_count()}, check_kernel(),
         {args, first_bad_index});
  check_neighbor_indices(args.indices, args.N, args.M, first_bad_index);
  launch(context, "interpolate", plan.task_dim, Evenly{plan.tiling.work_items(args)},
         interpolate_kernel(args.dtype), {args, plan.tiling});
}

}  // namespace mluop::three_interpolate_backward::device
