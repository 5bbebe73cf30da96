// A call of mluOpIndiceConvolutionForward in guarded memory, for tests to run, vary and break.
#pragma once

#include <random>
#include <vector>

#include "reference/indice_convolution_forward.h"
#include "support/api.h"
#include "support/guarded_buffer.h"
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

// Features and filters are whole numbers of at most 2 in size: sums are then exact in fp32, in any order. The
// pairs name any rows, in any order, an eighth of them none, so outputs occur several times in an offset and some
// in none; one offset in four has no pairs, one in four all that it has room for. Behind them are indices out of
// range.
template <class T>
IndiceConvolutionInputs<T> random_indice_convolution(const IndiceConvolutionSizes& sizes, FilterLayout layout,
                                                     std::mt19937& random);

// Replaces features and filters by numbers of [-1, 1).
template <class T>
void make_fractional(IndiceConvolutionInputs<T>& inputs, std::mt19937& random);

// The sums in double.
template <class T>
std::vector<double> indice_convolution_sums(const IndiceConvolutionInputs<T>& inputs);

// Rounded to T, and widened to float, which is exact.
template <class T>
std::vector<float> indice_convolution_reference(const IndiceConvolutionInputs<T>& inputs);

// Every argument of the call, open to change before run().
template <class T>
struct IndiceConvolutionCall {
  IndiceConvolutionCall(mluOpHandle_t handle, const IndiceConvolutionInputs<T>& inputs,
                        Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query with what run() passes.
  mluOpStatus_t query(size_t* bytes) const;
  // Widened to float.
  std::vector<float> output() const;
  // Whether all guard zones and inputs are as they were.
  bool intact() const;

  mluOpHandle_t handle;
  GuardedBuffer<T> features_buffer, filters_buffer;
  GuardedBuffer<int32_t> pairs_buffer;
  GuardedBuffer<T> features_out_buffer;
  std::vector<int64_t> num;
  Descriptor own_features_desc, own_filters_desc, own_pairs_desc, own_features_out_desc;

  // What run() passes: the above, until a test replaces one.
  mluOpTensorDescriptor_t features_desc, filters_desc, indice_pairs_desc, features_out_desc;
  const void *features, *filters, *indice_pairs;
  const int64_t* indice_num;
  int64_t num_act_out, inverse = 0, sub_m = 0;
  GuardedBuffer<std::byte> workspace_buffer;
  void* workspace;
  size_t workspace_size;
  void* features_out;

 private:
  IndiceConvolutionInputs<T> inputs_;
};

// A call in a mode, with a handle of its own. Throws unless it succeeds and leaves guard zones and inputs alone.
template <class T>
std::vector<float> indice_convolution_result(const IndiceConvolutionInputs<T>& inputs, mluOpAtomicsMode_t mode,
                                             Placement placement = Placement::kAligned);

// The shape and layout of filters.
Descriptor filters_descriptor(mluOpDataType_t dtype, const IndiceConvolutionSizes& sizes, FilterLayout layout);

}  // namespace mluop::test
