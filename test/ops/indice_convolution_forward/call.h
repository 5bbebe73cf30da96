// A call of mluOpIndiceConvolutionForward in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/indice_convolution_forward.h"
#include "support/api.h"
#include "support/guarded_call.h"
#include "support/half.h"

namespace mluop::test {

using IndiceConvolutionSizes = reference::IndiceConvolutionForwardSizes;
using reference::FilterLayout;

inline constexpr FilterLayout kFilterLayouts[] = {FilterLayout::kNdhwc, FilterLayout::kNcdhw,
                                                  FilterLayout::kArray};

// T: float or Half.
template <class T>
struct IndiceConvolutionInputs {
  IndiceConvolutionSizes sizes;
  FilterLayout layout;
  std::vector<T> features, filters;
  std::vector<int32_t> indice_pairs;
  std::vector<int64_t> indice_num;
};

// Features and filters are integers in [-2, 2]: sums are then exact in fp32, in any order. Pairs name random rows,
// and one pair in eight has a negative index, so an output row occurs several times in a filter offset or not at
// all. One filter offset in four has no pairs, one in four the maximum number. The indices past the last pair are
// out of range.
template <class T>
IndiceConvolutionInputs<T> random_indice_convolution(const IndiceConvolutionSizes& sizes, FilterLayout layout,
                                                     std::mt19937& random);

// Replaces features and filters by random numbers in [-1, 1).
template <class T>
void make_fractional(IndiceConvolutionInputs<T>& inputs, std::mt19937& random);

// Makes the number of pairs of an offset `count`; added pairs have all rows in turn. For the inputs of any
// operator.
template <class Inputs>
void set_pair_count(Inputs& inputs, size_t k, int64_t count) {
  int32_t* const pairs = inputs.indice_pairs.data() + 2 * static_cast<int64_t>(k) * inputs.sizes.num_act_in;
  for (int64_t l = inputs.indice_num[k]; l < count; ++l) {
    pairs[l] = static_cast<int32_t>(l % inputs.sizes.num_act_in);
    pairs[inputs.sizes.num_act_in + l] = static_cast<int32_t>(l % inputs.sizes.num_act_out);
  }
  inputs.indice_num[k] = count;
}

// The sums in double.
template <class T>
std::vector<double> indice_convolution_sums(const IndiceConvolutionInputs<T>& inputs);

// The sums rounded to T, as fp32.
template <class T>
std::vector<float> indice_convolution_reference(const IndiceConvolutionInputs<T>& inputs);

template <class T>
struct IndiceConvolutionCall : GuardedCall {
  using Inputs = IndiceConvolutionInputs<T>;

  IndiceConvolutionCall(mluOpHandle_t handle, const IndiceConvolutionInputs<T>& inputs,
                        Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  static constexpr ApiFunction<IndiceConvolutionCall> kOperator = {"mluOpIndiceConvolutionForward",
                                                                   &IndiceConvolutionCall::run};
  static constexpr ApiFunction<IndiceConvolutionCall> kQuery = {"mluOpGetIndiceConvolutionForwardWorkspaceSize",
                                                                &IndiceConvolutionCall::query};
  // Converted to fp32.
  std::vector<float> output() const;

  GuardedBuffer<T> features_buffer, filters_buffer;
  GuardedBuffer<int32_t> pairs_buffer;
  GuardedBuffer<int64_t> num_buffer;
  GuardedBuffer<T> features_out_buffer;
  GuardedBuffer<size_t> queried_buffer;
  Descriptor own_features_desc, own_filters_desc, own_pairs_desc, own_features_out_desc;

  // The arguments of run() and query(), initially the above.
  mluOpTensorDescriptor_t features_desc, filters_desc, indice_pairs_desc, features_out_desc;
  const void *features, *filters, *indice_pairs;
  const int64_t* indice_num;
  int64_t num_act_out, inverse = 0, sub_m = 0;
  size_t* queried_size;
  GuardedBuffer<std::byte> workspace_buffer;
  void* workspace;
  size_t workspace_size;
  void* features_out;
};

// The output of a call in an algorithm, with a new handle. Throws if the call fails, or changes guard zones or
// inputs.
template <class T>
std::vector<float> indice_convolution_result(const IndiceConvolutionInputs<T>& inputs,
                                             mluOpOmpAlgorithm_t algorithm,
                                             Placement placement = Placement::kAligned);

// The descriptor of filters in a layout.
Descriptor filters_descriptor(mluOpDataType_t dtype, const IndiceConvolutionSizes& sizes, FilterLayout layout);

}  // namespace mluop::test
