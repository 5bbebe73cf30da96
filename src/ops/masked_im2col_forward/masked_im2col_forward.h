// Masked im2col forward: the algorithms and the arguments of a call.
//
// Letters as in the design document: C channels, H rows and W columns of the feature, masks, kernel_h x kernel_w
// kernel offsets (i, j). A plane is one channel of the feature. Elements are copied bit by bit: half and float use
// implementations for 2 and 4 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "team/operator_call.h"

namespace mluop::masked_im2col_forward {

// The arguments of the call, checked.
struct Args {
  int64_t kernel_size() const { return kernel_h * kernel_w; }
  int64_t pixel_bytes() const { return channels * element_size; }  // of a pixel with all channels

  int32_t element_size;             // bytes: 2 or 4
  int64_t channels, height, width;  // sizes of the feature
  int64_t mask_cnt;
  int64_t kernel_h, kernel_w, pad_h, pad_w;  // int32 values; 64 bits, so that no mask coordinate overflows
  const void* feature;                       // [1, C, H, W]
  const int32_t* mask_h_idx;                 // [mask_cnt]
  const int32_t* mask_w_idx;                 // [mask_cnt]
  void* data_col;                            // [C * kernel_h * kernel_w, mask_cnt]
};

namespace native {

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args);

}  // namespace native

namespace device {

// Bytes of the caller's workspace, at any address; 0 without masks. Reads the sizes of the arguments. Throws
// Failure with BAD_PARAM if they exceed int64_t.
size_t workspace_bytes(const Args& args);

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args, Arena arena);

}  // namespace device
}  // namespace mluop::masked_im2col_forward
