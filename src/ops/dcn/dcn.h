// Deformable convolution: the algorithms and the arguments of the forward operator and of both gradients.
//
// Letters: N images of H x W pixels and Ci channels; Ho x Wo output pixels of Co channels; K offsets of the
// filter. A sample is the value that an output pixel reads for an offset of the filter, interpolated between four
// pixels of the input. An output pixel has S samples, numbered d K + k, because each deformable group d has its
// own positions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/sizes.h"
#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::dcn {

struct Sizes {
  int64_t K() const { return kernel_h * kernel_w; }
  int64_t S() const { return deformable_groups * K(); }
  int64_t image_pixels() const { return Ho * Wo; }
  int64_t pixels() const { return N * Ho * Wo; }
  // Channels of a group, and of a deformable group.
  int64_t group_inputs() const { return Ci / groups; }
  int64_t group_outputs() const { return Co / groups; }
  int64_t deformable_inputs() const { return Ci / deformable_groups; }
  // The number of products that an output element adds: the columns of the matrix that a group multiplies. Column
  // k group_inputs() + c is channel c of the group at offset k.
  int64_t group_columns() const { return K() * group_inputs(); }
  int64_t filter_count() const { return Co * group_columns(); }
  // Bytes of the interpolated channels of all samples.
  int64_t column_bytes() const { return saturated_product({pixels(), K(), Ci, int64_t{sizeof(float)}}); }

  int64_t N, H, W, Ci;
  int64_t kernel_h, kernel_w;
  int64_t Ho, Wo, Co;
  int64_t pad_top, pad_left, stride_h, stride_w, dilation_h, dilation_w;
  int64_t deformable_groups, groups;
};

struct Args : Sizes {
  mluOpDataType_t dtype;
  const void* input;   // [N, H, W, Ci]
  const void* offset;  // [N, Ho, Wo, S, 2], along height and width
  const void* mask;    // [N, Ho, Wo, S], or null: all are 1
};

struct ForwardArgs : Args {
  const void* filter;  // [Co, K, Ci / groups]
  const void* bias;    // [Co], or null: all are 0
  void* output;        // [N, Ho, Wo, Co]
};

struct BackwardDataArgs : Args {
  const void* filter;       // [Co, K, Ci / groups]
  const void* grad_output;  // [N, Ho, Wo, Co]
  void* grad_input;         // [N, H, W, Ci]
  void* grad_offset;        // [N, Ho, Wo, S, 2]
  void* grad_mask;          // [N, Ho, Wo, S], or null without mask
};

struct BackwardWeightArgs : Args {
  const void* grad_output;  // [N, Ho, Wo, Co]
  void* grad_filter;        // [Co, K, Ci / groups]
  void* grad_bias;          // [Co], or null
};

namespace backward_data {

// The filters in fp32, packed, and partial sums of the gradients of offsets and mask. Depends on the sizes only.
// Throws Failure (BAD_PARAM) if it exceeds int64_t.
size_t workspace_bytes(const BackwardDataArgs& args);

// Requires checked arguments, and a workspace of workspace_bytes(). Throws Failure with ALLOC_FAILED if the
// smallest tile does not fit NRAM.
void run(Call& call, const BackwardDataArgs& args, Arena workspace);

}  // namespace backward_data

namespace backward_weight {

// Partial sums of the filters. Depends on the sizes only. Throws Failure (BAD_PARAM) if it
// exceeds int64_t.
size_t workspace_bytes(const BackwardWeightArgs& args);

// Requires checked arguments, and a workspace of workspace_bytes(). Throws Failure with ALLOC_FAILED if the
// smallest tile does not fit NRAM.
void run(Call& call, const BackwardWeightArgs& args, Arena workspace);

}  // namespace backward_weight

namespace forward {

// The filters in fp32, packed. Throws Failure (BAD_PARAM) if the size exceeds int64_t.
size_t workspace_bytes(const ForwardArgs& args);

// Requires checked arguments, and a workspace of workspace_bytes(). Throws Failure with ALLOC_FAILED if the
// smallest tile does not fit NRAM.
void run(Call& call, const ForwardArgs& args, Arena workspace);

}  // namespace forward

}  // namespace mluop::dcn
