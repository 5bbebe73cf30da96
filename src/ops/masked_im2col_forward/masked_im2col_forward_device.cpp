// Masked im2col forward, device algorithm: its launches. The feature is transposed to NHWC, the window of each
// mask is copied to its row of a matrix, and the matrix is transposed to data_col. The copies do not use NRAM.
#include "ops/masked_im2col_forward/masked_im2col_forward.h"

#include <algorithm>

#include "ops/masked_im2col_forward/masked_im2col_forward_device_kernels.h"
#include "primitives/memory/fill.h"
#include "team/fit_tile.h"

namespace mluop::masked_im2col_forward::device {
namespace {

struct Workspace {
  Workspace(Arena& arena, const Args& args)
      : pixels(arena.take<std::byte>("feature", {args.height, args.width, args.channels, args.element_size})),
        windows(arena.take<std::byte>(
            "data_col", {args.mask_cnt, args.kernel_h, args.kernel_w, args.channels, args.element_size})) {}

  std::byte* pixels;   // [H, W, C] elements: the feature
  std::byte* windows;  // [mask_cnt, kernel_h * kernel_w, C] elements: data_col
};

// Tiles of this size stay in L2, and the pages of their rows in the TLB. A tile has several cache lines of each
// row, so that one access to the page of the row fetches all of them.
constexpr int64_t kMaxTileRows = 256;
constexpr int64_t kMaxTileColumns = 128;

// Tiles of about equal height, in whole cache lines of the output.
int64_t balanced_tile_rows(int64_t rows, int64_t element_size) {
  const int64_t even = ceil_div(rows, ceil_div(rows, kMaxTileRows));
  return std::min(rows, round_up(even, kCacheLine / element_size));
}

// Chooses the tile and launches.
void launch_transpose(Context& context, TransposeArgs args) {
  const auto tile_bytes = [&](int64_t rows, int64_t columns) {
    return bytes_of<TransposeTile>(rows, columns, args.element_size);
  };
  args.tile_columns = fit_tile(context, std::min(args.columns, kMaxTileColumns),
                               [&](int64_t columns) { return tile_bytes(1, columns); });
  args.tile_rows = fit_tile(context, balanced_tile_rows(args.rows, args.element_size),
                            [&](int64_t rows) { return tile_bytes(rows, args.tile_columns); });
  launch(context, "transpose", device_task_dim(), Evenly{args.item_count()}, transpose_kernel(args.element_size),
         args);
}

// [C, H, W] to [H, W, C]
void transpose_feature(Context& context, const Args& args, void* to) {
  const int64_t pixels = args.height * args.width;
  launch_transpose(context, {
                                .matrices = 1,
                                .rows = args.channels,
                                .columns = pixels,
                                .from_stride = 0,
                                .from_row_stride = pixels,
                                .to_stride = 0,
                                .to_row_stride = args.channels,
                                .element_size = args.element_size,
                                .from = args.feature,
                                .to = to,
                                .stream = false,
                            });
}

// [mask_cnt, kernel_h * kernel_w, C] to [C, kernel_h * kernel_w, mask_cnt]: one matrix for each kernel offset.
void transpose_data_col(Context& context, const Args& args, const void* from) {
  const int64_t offsets = args.kernel_size();
  launch_transpose(context, {
                                .matrices = offsets,
                                .rows = args.mask_cnt,
                                .columns = args.channels,
                                .from_stride = args.channels,
                                .from_row_stride = offsets * args.channels,
                                .to_stride = args.mask_cnt,
                                .to_row_stride = offsets * args.mask_cnt,
                                .element_size = args.element_size,
                                .from = from,
                                .to = args.data_col,
                                .stream = exceeds_caches(args.mask_cnt * offsets * args.pixel_bytes()),
                            });
}

}  // namespace

size_t workspace_bytes(const Args& args) { return args.mask_cnt == 0 ? 0 : workspace_bytes_of<Workspace>(args); }

void run(Call& call, const Args& args, Arena arena) {
  Context& context = call.context();
  const Workspace workspace(arena, args);
  const int task_dim = device_task_dim();
  call.log_detail("device, taskDim ", task_dim);
  context.reserve(0);
  transpose_feature(context, args, workspace.pixels);
  fill_zero(context, workspace.windows, args.mask_cnt * args.kernel_size() * args.pixel_bytes());
  launch(context, "copy_windows", task_dim, Evenly{args.mask_cnt}, copy_windows,
         {args, workspace.pixels, workspace.windows});
  transpose_data_col(context, args, workspace.windows);
}

}  // namespace mluop::masked_im2col_forward::device
