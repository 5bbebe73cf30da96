// Voxel pooling backward, native algorithm: the decisions of a call, and its launches. The first checks pos_memo,
// the second gathers the rows of grad_output. The only memory is a tile in NRAM.
#include "ops/voxel_pooling_backward/voxel_pooling_backward.h"

#include <algorithm>
#include <array>

#include "ops/voxel_pooling_backward/voxel_pooling_backward_native_kernels.h"

namespace mluop::voxel_pooling_backward::native {
namespace {

int64_t memo_bytes(const Args& args) { return args.total_points() * 3 * static_cast<int64_t>(sizeof(int32_t)); }

Store choose_store(const Args& args) {
  if (!exceeds_caches(args.output_bytes())) return Store::kCached;
  const bool whole_vectors =
      reinterpret_cast<uintptr_t>(args.grad_input) % kCacheLine == 0 && args.row_bytes % (kCacheLine / 2) == 0;
  return whole_vectors ? Store::kRows : Store::kTiles;
}

void check_memo(const Args& args, const FirstBadItem& bad_point) {
  if (!bad_point.found()) return;
  const int64_t point = bad_point.item();
  const int32_t* memo = args.pos_memo + point * 3;
  const std::array<int64_t, 3> extents = {args.batch_size, args.num_voxel_y, args.num_voxel_x};
  const bool has_cell = memo[0] != kNoCell, has_cells = args.num_voxel_y * args.num_voxel_x > 0;
  const auto fails = [&](size_t i, int64_t lowest, int64_t highest) {
    require(lowest <= memo[i] && memo[i] <= highest, MLUOP_STATUS_BAD_PARAM, "pos_memo[", point / args.num_points,
            ", ", point % args.num_points, ", ", i, "] is ", memo[i], ", expected ",
            lowest == highest ? text(lowest) : text(lowest, " to ", highest));
  };
  fails(0, kNoCell, has_cells ? extents[0] - 1 : kNoCell);
  for (size_t i = 1; i < 3; ++i) fails(i, has_cell ? 0 : kNoCell, has_cell ? extents[i] - 1 : kNoCell);
}

struct Plan {
  int check_task_dim, gather_task_dim;
  Store store;
  int64_t tile_bytes;
};

Plan make_plan(const Context& context, const Args& args) {
  // Measured on rows of 80 half channels: a tile of 16 KiB takes 1.15 times as long.
  constexpr int64_t kMaxTileBytes = 4 << 10;
  const auto nram_bytes = static_cast<int64_t>(context.nram_capacity) / kCacheLine * kCacheLine;
  return {.check_task_dim = choose_task_dim(args.total_points(), memo_bytes(args)),
          .gather_task_dim = choose_task_dim(line_count(args), args.output_bytes() + memo_bytes(args)),
          .store = choose_store(args),
          .tile_bytes = std::min(kMaxTileBytes, nram_bytes)};
}

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  call.log_detail("native, taskDim ", plan.gather_task_dim);
  context.reserve(0);
  FirstBadItem bad_point;
  launch(context, "check", plan.check_task_dim, Evenly{args.total_points()}, check_kernel(), {args, bad_point});
  check_memo(args, bad_point);
  launch(context, "gather", plan.gather_task_dim, Evenly{line_count(args)}, gather_kernel(),
         {args, plan.store, plan.tile_bytes});
}

}  // namespace mluop::voxel_pooling_backward::native
