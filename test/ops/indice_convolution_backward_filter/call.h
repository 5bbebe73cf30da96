// A call of mluOpIndiceConvolutionBackwardFilter in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "ops/indice_convolution_forward/call.h"
#include "reference/indice_convolution_backward.h"
#include "support/api.h"
#include "support/guarded_call.h"
#include "support/half.h"

namespace mluop::test {

// T: float or Half.
template <class T>
struct IndiceConvolutionBackwardFilterInputs {
  IndiceConvolutionSizes sizes;
  std::vector<T> features;
  std::vector<T> output_grad;
  std::vector<int32_t> indice_pairs;
  std::vector<int64_t> indice_num;
};

// Integers in [-2, 2], with the pairs of random_indice_convolution().
template <class T>
IndiceConvolutionBackwardFilterInputs<T> random_indice_convolution_backward_filter(
    const IndiceConvolutionSizes& sizes, std::mt19937& random);

// Replaces the integers by random numbers in [-1, 1).
template <class T>
void make_fractional(IndiceConvolutionBackwardFilterInputs<T>& inputs, std::mt19937& random);

// The sums in double.
template <class T>
std::vector<double> indice_convolution_backward_filter_sums(
    const IndiceConvolutionBackwardFilterInputs<T>& inputs);

// The sums rounded to T, as fp32.
template <class T>
std::vector<float> indice_convolution_backward_filter_reference(
    const IndiceConvolutionBackwardFilterInputs<T>& inputs);

template <class T>
struct IndiceConvolutionBackwardFilterCall : GuardedCall {
  using Inputs = IndiceConvolutionBackwardFilterInputs<T>;

  IndiceConvolutionBackwardFilterCall(mluOpHandle_t handle, const Inputs& inputs,
                                      Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  static constexpr ApiFunction<IndiceConvolutionBackwardFilterCall> kOperator = {
      "mluOpIndiceConvolutionBackwardFilter", &IndiceConvolutionBackwardFilterCall::run};
  static constexpr ApiFunction<IndiceConvolutionBackwardFilterCall> kQuery = {
      "mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize", &IndiceConvolutionBackwardFilterCall::query};
  // Converted to fp32.
  std::vector<float> output() const;

  GuardedBuffer<T> features_buffer, output_grad_buffer;
  GuardedBuffer<int32_t> pairs_buffer;
  GuardedBuffer<int64_t> num_buffer;
  GuardedBuffer<T> filters_grad_buffer;
  GuardedBuffer<size_t> queried_buffer;
  Descriptor own_features_desc, own_output_grad_desc, own_pairs_desc, own_filters_grad_desc;

  // The arguments of run() and query(), initially the above.
  mluOpTensorDescriptor_t features_desc, output_grad_desc, indice_pairs_desc, filters_grad_desc;
  const void *features, *output_grad, *indice_pairs;
  const int64_t* indice_num;
  int64_t inverse = 0, sub_m = 0;
  size_t* queried_size;
  GuardedBuffer<std::byte> workspace_buffer;
  void* workspace;
  size_t workspace_size;
  void* filters_grad;
};

// The output of a call with a new handle. Throws if the call fails, or changes guard zones or inputs.
template <class T>
std::vector<float> indice_convolution_backward_filter_result(
    const IndiceConvolutionBackwardFilterInputs<T>& inputs, mluOpOmpAlgorithm_t algorithm,
    Placement placement = Placement::kAligned);

}  // namespace mluop::test
