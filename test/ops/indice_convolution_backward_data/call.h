// A call of mluOpIndiceConvolutionBackwardData in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "ops/indice_convolution_forward/call.h"
#include "reference/indice_convolution_backward.h"
#include "support/api.h"
#include "support/guarded_call.h"
#include "support/half.h"

namespace mluop::test {

// The layout and the number of dimensions of filters: of four, D is 1.
struct FilterFormat {
  mluOpTensorLayout_t layout;
  int dim_count;
};

inline constexpr FilterFormat kFilterFormats[] = {
    {MLUOP_LAYOUT_NDHWC, 5}, {MLUOP_LAYOUT_NCDHW, 5}, {MLUOP_LAYOUT_ARRAY, 5}, {MLUOP_LAYOUT_NHWC, 4},
    {MLUOP_LAYOUT_NCHW, 4},  {MLUOP_LAYOUT_HWCN, 4},  {MLUOP_LAYOUT_ARRAY, 4}};

// T: float or Half.
template <class T>
struct IndiceConvolutionBackwardDataInputs {
  IndiceConvolutionSizes sizes;
  FilterFormat format;
  std::vector<T> output_grad;
  std::vector<T> filters;  // [K, Ci, Co], in any format
  std::vector<int32_t> indice_pairs;
  std::vector<int64_t> indice_num;
};

// Integers in [-2, 2], with the pairs of random_indice_convolution().
template <class T>
IndiceConvolutionBackwardDataInputs<T> random_indice_convolution_backward_data(const IndiceConvolutionSizes& sizes,
                                                                               FilterFormat format,
                                                                               std::mt19937& random);

// Replaces the integers by random numbers in [-1, 1).
template <class T>
void make_fractional(IndiceConvolutionBackwardDataInputs<T>& inputs, std::mt19937& random);

// The sums in double.
template <class T>
std::vector<double> indice_convolution_backward_data_sums(const IndiceConvolutionBackwardDataInputs<T>& inputs);

// The sums rounded to T, as fp32.
template <class T>
std::vector<float> indice_convolution_backward_data_reference(
    const IndiceConvolutionBackwardDataInputs<T>& inputs);

template <class T>
struct IndiceConvolutionBackwardDataCall : GuardedCall {
  using Inputs = IndiceConvolutionBackwardDataInputs<T>;

  IndiceConvolutionBackwardDataCall(mluOpHandle_t handle, const Inputs& inputs,
                                    Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  static constexpr ApiFunction<IndiceConvolutionBackwardDataCall> kOperator = {
      "mluOpIndiceConvolutionBackwardData", &IndiceConvolutionBackwardDataCall::run};
  static constexpr ApiFunction<IndiceConvolutionBackwardDataCall> kQuery = {
      "mluOpGetIndiceConvolutionBackwardDataWorkspaceSize", &IndiceConvolutionBackwardDataCall::query};
  // Converted to fp32.
  std::vector<float> output() const;

  GuardedBuffer<T> output_grad_buffer, filters_buffer;
  GuardedBuffer<int32_t> pairs_buffer;
  GuardedBuffer<int64_t> num_buffer;
  GuardedBuffer<T> input_grad_buffer;
  GuardedBuffer<size_t> queried_buffer;
  Descriptor own_output_grad_desc, own_filters_desc, own_pairs_desc, own_input_grad_desc;

  // The arguments of run() and query(), initially the above.
  mluOpTensorDescriptor_t output_grad_desc, filters_desc, indice_pairs_desc, input_grad_desc;
  const void *output_grad, *filters, *indice_pairs;
  const int64_t* indice_num;
  int64_t inverse = 0, sub_m = 0;
  size_t* queried_size;
  GuardedBuffer<std::byte> workspace_buffer;
  void* workspace;
  size_t workspace_size;
  void* input_grad;
};

// The output of a call with a new handle. Throws if the call fails, or changes guard zones or inputs.
template <class T>
std::vector<float> indice_convolution_backward_data_result(const IndiceConvolutionBackwardDataInputs<T>& inputs,
                                                           mluOpOmpAlgorithm_t algorithm,
                                                           Placement placement = Placement::kAligned);

}  // namespace mluop::test
