// Cases of the three indice convolutions with pairs and values that their generator does not make, and comparisons
// with their definitions that are stricter than Oracle: bits of exact sums, mean errors of other sums.
#pragma once

#include <climits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "case/values.h"
#include "reference/indice_convolution_forward.h"
#include "support/compare.h"
#include "support/operator_call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {

using IndiceConvolutionSizes = reference::IndiceConvolutionForwardSizes;

// An operator; its tensors with a row for each input site, with a row for each output site, and its filters.
struct IndiceConvolution {
  const char *op, *input_rows, *output_rows, *filters;

  bool operator==(const IndiceConvolution& other) const { return std::string_view(op) == other.op; }
};
inline constexpr IndiceConvolution kConvolutionForward = {"indice_convolution_forward", "features", "features_out",
                                                          "filters"};
inline constexpr IndiceConvolution kConvolutionBackwardData = {"indice_convolution_backward_data", "input_grad",
                                                               "output_grad", "filters"};
inline constexpr IndiceConvolution kConvolutionBackwardFilter = {"indice_convolution_backward_filter", "features",
                                                                 "output_grad", "filters_grad"};
inline constexpr IndiceConvolution kIndiceConvolutions[] = {kConvolutionForward, kConvolutionBackwardData,
                                                            kConvolutionBackwardFilter};

inline std::string text_of(const IndiceConvolutionSizes& s) {
  return product_text({s.num_act_in, s.num_act_out, s.Ci, s.Co, s.D, s.H, s.W});
}

inline void set_pairs(cases::Case& made, const std::vector<int32_t>& pairs, const std::vector<int64_t>& numbers) {
  set_values(made, "indice_pairs", pairs);
  made.parameters.set("indice_num", numbers);
}

// Fractions in [-1, 1), and pairs of random rows: one pair in eight has a negative index, so an output row occurs
// several times in a filter offset or not at all. One filter offset in four has no pairs, one in four the maximum
// number. The indices past the last pair are out of range.
inline cases::Case make_convolution(const IndiceConvolution& convolution, mluOpDataType_t dtype,
                                    const IndiceConvolutionSizes& s, std::mt19937& random) {
  cases::Case made = make_case(convolution.op, dtype,
                               {{"num_act_in", s.num_act_in},
                                {"num_act_out", s.num_act_out},
                                {"ci", s.Ci},
                                {"co", s.Co},
                                {"d", s.D},
                                {"h", s.H},
                                {"w", s.W}},
                               static_cast<int32_t>(random() % 10000));
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
  std::vector<int32_t> pairs(static_cast<size_t>(s.pairs_count()), INT_MAX);
  std::vector<int64_t> numbers;
  int32_t* offset = pairs.data();
  for (int64_t k = 0; k < s.K(); ++k, offset += 2 * s.num_act_in) {
    const int64_t kind = below(4);
    numbers.push_back(kind == 0 ? 0 : kind == 1 ? s.num_act_in : below(s.num_act_in + 1));
    for (int64_t l = 0; l < numbers.back(); ++l) {
      int32_t &input = offset[l], &output = offset[s.num_act_in + l];
      input = static_cast<int32_t>(below(s.num_act_in));
      output = static_cast<int32_t>(below(s.num_act_out));
      const int64_t none = below(16);
      if (none == 0) input = -1, output = INT_MAX;
      if (none == 1) input = INT_MAX, output = INT_MIN;
    }
  }
  set_pairs(made, pairs, numbers);
  return made;
}

// Sets the number of pairs of an offset to `count`; added pairs take all rows in turn.
inline void set_pair_count(cases::Case& made, size_t k, int64_t count, const IndiceConvolutionSizes& s) {
  std::vector<int64_t> numbers = made.parameters.list("indice_num");
  std::vector<int32_t> pairs = int32s_of(made, "indice_pairs");
  int32_t* const offset = pairs.data() + 2 * static_cast<int64_t>(k) * s.num_act_in;
  for (int64_t l = numbers[k]; l < count; ++l) {
    offset[l] = static_cast<int32_t>(l % s.num_act_in);
    offset[s.num_act_in + l] = static_cast<int32_t>(l % s.num_act_out);
  }
  numbers[k] = count;
  set_pairs(made, pairs, numbers);
}

// The layout and the number of dimensions of filters; with four dimensions, D is 1.
struct FilterShape {
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_NDHWC;
  int dim_count = 5;
};

// Changes the shape [Co, D, H, W, Ci] of the filters of a generated case. The order of their values does not
// change. The gradient of filters is [(D,) H, W, Ci, Co] in each layout.
inline void set_filter_shape(cases::Case& made, FilterShape shape) {
  const bool is_output = made.op_name == kConvolutionBackwardFilter.op;
  cases::Tensor& filters = is_output ? made.outputs[0] : made.inputs[1];
  filters.layout = shape.layout;
  if (is_output) {
    filters.dims.erase(filters.dims.begin(), filters.dims.end() - shape.dim_count);
    return;
  }
  const int64_t Co = filters.dims.front(), Ci = filters.dims.back();
  filters.dims = cases::Dims(filters.dims.begin() + 6 - shape.dim_count, filters.dims.end() - 1);
  switch (shape.layout) {
    case MLUOP_LAYOUT_NDHWC:
    case MLUOP_LAYOUT_NHWC:
      filters.dims.insert(filters.dims.begin(), Co);
      filters.dims.push_back(Ci);
      break;
    case MLUOP_LAYOUT_NCDHW:
    case MLUOP_LAYOUT_NCHW: filters.dims.insert(filters.dims.begin(), {Co, Ci}); break;
    default: filters.dims.insert(filters.dims.end(), {Ci, Co});
  }
}

// A case of integers in [-2, 2]: sums are then exact in fp32, in any order.
inline cases::Case make_integers(const IndiceConvolution& convolution, mluOpDataType_t dtype,
                                 const IndiceConvolutionSizes& sizes, std::mt19937& random,
                                 FilterShape shape = {}) {
  cases::Case made = make_convolution(convolution, dtype, sizes, random);
  for (const cases::Tensor& tensor : made.inputs) {
    if (!cases::is_floating(tensor.dtype)) continue;
    set_values(made, tensor.id, random_integers<float>(static_cast<size_t>(element_count(tensor)), random, 2));
  }
  set_filter_shape(made, shape);
  return made;
}

inline std::vector<float> output_of(const OperatorCall& call) { return call.floats(call.op().tensors.back().id); }

// The output of a call.
inline std::vector<float> result_of(const cases::Case& made, mluOpOmpAlgorithm_t algorithm,
                                    Placement placement = Placement::kAligned) {
  const Handle handle(algorithm);
  const OperatorCall call(handle, made, placement);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return output_of(call);
}

// The sums in double, rounded once to the data type of the output or to fp32.
inline std::vector<float> expected_output(const cases::Case& made, bool to_fp32 = false) {
  const Handle handle;
  OperatorCall call(handle, made);
  call.expect();
  const std::vector<double>& sums = call.arguments.tensors.back().sums;
  return to_fp32 ? std::vector<float>(sums.begin(), sums.end()) : output_of(call);
}

inline std::vector<mluOpOmpAlgorithm_t> algorithms_of(const cases::Case& made) {
  if (!cases::operator_of(made.op_name, {}).has_device_algorithm) return {MLUOP_OMP_ALGORITHM_NATIVE};
  return {std::begin(kAlgorithms), std::end(kAlgorithms)};
}

// For sums that are exact in every order.
inline void expect_exact(const cases::Case& made, const std::vector<float>& expected,
                         Placement placement = Placement::kAligned) {
  for (const auto algorithm : algorithms_of(made)) {
    SCOPED_TRACE(text_of(algorithm));
    EXPECT_TRUE(same_bits(result_of(made, algorithm, placement), expected));
  }
}
inline void expect_exact(const cases::Case& made, Placement placement = Placement::kAligned) {
  expect_exact(made, expected_output(made), placement);
}

// Sums in fp32, and their rounding to 16 bits, against sums in double. The acceptance standard allows 1e-5, 3e-3
// for half, 8e-3 for bfloat16.
inline void expect_close(const std::vector<float>& found, const std::vector<float>& sums, mluOpDataType_t dtype) {
  const double tolerance = dtype == MLUOP_DTYPE_FLOAT ? 1e-5 : dtype == MLUOP_DTYPE_HALF ? 1e-3 : 4e-3;
  const auto [diff1, diff2] = cases::differences(found, sums);
  EXPECT_LE(diff1, tolerance);
  EXPECT_LE(diff2, tolerance);
}

}  // namespace mluop::test
