#include <algorithm>
#include <cstdint>

#include "ops/masked_im2col_forward/device/kernels.h"
#include "team/transfer.h"

namespace mluop::masked_im2col_forward::device {
namespace {

int32_t load_coordinate(Task& task, const int32_t* coordinates, int64_t mask) {
  int32_t coordinate;
  load(task, &coordinate, coordinates + mask, sizeof(coordinate));
  return coordinate;
}

// One strided copy from GDRAM to GDRAM: loaded and stored.
void copy_rows(Task& task, std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
               int64_t row_bytes, int64_t rows) {
  load_rows(task, to, to_stride, from, from_stride, row_bytes, rows);
  task.statistics->bytes_stored += row_bytes * rows;
}

}  // namespace

void copy_windows(const CopyArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const int64_t pixel = call.pixel_bytes();
  for (int64_t mask = begin; mask < end; ++mask) {
    const int64_t h = load_coordinate(task, call.mask_h_idx, mask) - call.pad_h;
    const int64_t w = load_coordinate(task, call.mask_w_idx, mask) - call.pad_w;
    const Range rows{std::max<int64_t>(h, 0), std::min(h + call.kernel_h, call.height)};
    const Range columns{std::max<int64_t>(w, 0), std::min(w + call.kernel_w, call.width)};
    if (rows.size() <= 0 || columns.size() <= 0) continue;
    const int64_t offset = mask * call.kernel_size() + (rows.begin - h) * call.kernel_w + (columns.begin - w);
    copy_rows(task, args.data_col + offset * pixel, call.kernel_w * pixel,
              args.feature + (rows.begin * call.width + columns.begin) * pixel, call.width * pixel,
              columns.size() * pixel, rows.size());
  }
}

}  // namespace mluop::masked_im2col_forward::device
