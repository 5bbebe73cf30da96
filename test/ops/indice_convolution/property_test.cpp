// Properties of the three indice convolutions that need no oracle. Where results are compared after arithmetic,
// the inputs are integers small enough that fp32 and half represent all sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr int kRounds = 8;
constexpr auto kNative = MLUOP_OMP_ALGORITHM_NATIVE;
// In the order of reference::FilterLayout.
constexpr FilterShape kFilterShapes[] = {{MLUOP_LAYOUT_NDHWC}, {MLUOP_LAYOUT_NCDHW}, {MLUOP_LAYOUT_ARRAY}};

// For half: sums of few products. exact_result() checks that they are small enough.
Case case_with_exact_sums(const IndiceConvolution& convolution, mluOpDataType_t dtype, std::mt19937& random) {
  const bool is_half = dtype == MLUOP_DTYPE_HALF;
  const int rows = is_half ? 20 : 300, channels = is_half ? 4 : 60;
  const IndiceConvolutionSizes sizes = {random_size(random, rows),     random_size(random, rows),
                                        random_size(random, channels), random_size(random, channels),
                                        random_size(random, 3),        random_size(random, 3),
                                        random_size(random, 3)};
  Case made = with_integers(make_convolution(convolution, dtype, sizes, random), random);
  if (convolution != kConvolutionBackwardFilter) set_filter_shape(made, kFilterShapes[random() % 3]);
  return made;
}

std::vector<float> exact_result(const Case& made, mluOpOmpAlgorithm_t algorithm) {
  std::vector<float> result = result_of(made, algorithm);
  const float limit = made.outputs[0].dtype == MLUOP_DTYPE_HALF ? 0x1p11F : 0x1p24F;
  for (const float sum : result) EXPECT_LE(std::abs(sum), limit) << "the sums of this problem may be inexact";
  return result;
}

std::vector<float> difference(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> difference;
  for (size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return difference;
}

// convolution(a) - convolution(b) = convolution(a - b), where a and b differ in one operand.
TEST(OpsIndiceConvolutionProperties, LinearInEachOperand) {
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (int round = 0; round < 4 * kRounds; ++round) {
      const Case a = case_with_exact_sums(convolution, kFloatingDtypes[round % 2], random);
      const std::string operand = a.inputs[static_cast<size_t>(round / 2 % 2)].id;
      const std::vector<float> values = floats_of(a, operand);
      const std::vector<float> others = random_integers<float>(values.size(), random, 2);
      Case b = a, both = a;
      set_values(b, operand, others);
      set_values(both, operand, difference(values, others));
      const RandomTeam team(random);
      for (const auto algorithm : algorithms_of(a)) {
        SCOPED_TRACE(convolution.op + (' ' + operand) + ' ' + std::to_string(round) + ' ' + text_of(algorithm));
        // A difference of equal results is +0, as are rows without pairs; a sum of the library may be -0.
        EXPECT_EQ(exact_result(both, algorithm),
                  difference(exact_result(a, algorithm), exact_result(b, algorithm)));
      }
    }
  }
}

// One filter offset with the identity matrix, and pairs that permute the rows: the output is the permuted input.
TEST(OpsIndiceConvolutionForwardProperties, IdentityFiltersCopy) {
  auto random = seeded_random();
  for (int round = 0; round < 2 * kRounds; ++round) {
    const int rows = random_size(random, 500);
    const int64_t channels = random_size(random, 80);
    Case made = make_convolution(kConvolutionForward, kFloatingDtypes[round % 2],
                                 {rows, rows, channels, channels, 1, 1, 1}, random);
    set_filter_shape(made, kFilterShapes[random() % 3]);
    std::vector<float> filters(static_cast<size_t>(channels * channels));
    for (size_t i = 0; i < filters.size(); i += static_cast<size_t>(channels) + 1) filters[i] = 1;
    set_values(made, "filters", filters);
    const auto inputs = random_permutation(rows, random), outputs = random_permutation(rows, random);
    std::vector<int32_t> pairs = inputs;
    pairs.insert(pairs.end(), outputs.begin(), outputs.end());
    set_values(made, "indice_pairs", pairs);
    made.parameters.set("indice_num", std::vector<int64_t>{rows});
    const std::vector<float> features = floats_of(made, "features");
    std::vector<float> expected(features.size());
    for (size_t l = 0; l < inputs.size(); ++l) {
      std::copy_n(features.begin() + inputs[l] * channels, channels, expected.begin() + outputs[l] * channels);
    }
    const RandomTeam team(random);
    SCOPED_TRACE(round);
    expect_exact(made, expected);
  }
}

// The forward operator with inputs and outputs exchanged and the matrices of the filters transposed, bit for bit.
TEST(OpsIndiceConvolutionBackwardDataProperties, IsTheTransposedForward) {
  auto random = seeded_random();
  for (int round = 0; round < 2 * kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto dtype = kFloatingDtypes[round % 2];
    const int64_t rows = random_size(random, 2000), Ci = random_size(random, 60), Co = random_size(random, 60);
    const IndiceConvolutionSizes sizes{rows, rows, Ci, Co, 1, 3, 2};
    Case made = make_convolution(kConvolutionBackwardData, dtype, sizes, random);
    Case forward = make_convolution(kConvolutionForward, dtype, {rows, rows, Co, Ci, 1, 3, 2}, random);
    const auto layout = random() % 3;
    set_filter_shape(made, kFilterShapes[layout]);
    set_filter_shape(forward, {MLUOP_LAYOUT_ARRAY});
    const std::vector<float> filters = floats_of(made, "filters");
    std::vector<float> transposed;  // [K, Co, Ci]
    for (int64_t k = 0; k < 6; ++k) {
      for (int64_t co = 0; co < Co; ++co) {
        for (int64_t ci = 0; ci < Ci; ++ci) {
          const int64_t index = filter_index(sizes, static_cast<reference::FilterLayout>(layout), k, ci, co);
          transposed.push_back(filters[static_cast<size_t>(index)]);
        }
      }
    }
    std::vector<int32_t> pairs = int32s_of(made, "indice_pairs");
    for (auto side = pairs.begin(); side != pairs.end(); side += 2 * rows) {
      std::swap_ranges(side, side + rows, side + rows);
    }
    set_values(forward, "features", floats_of(made, "output_grad"));
    set_values(forward, "filters", transposed);
    set_values(forward, "indice_pairs", pairs);
    forward.parameters.set("indice_num", made.parameters.list("indice_num"));
    const RandomTeam team(random);
    EXPECT_TRUE(same_bits(result_of(made, kNative), result_of(forward, kNative)));
  }
}

// The three operators on the same features x, filters w, gradient y and pairs. Filters are [D, H, W, Ci, Co].
struct Gradients {
  Case forward, data, filter;
  std::vector<float> x, w, y;
};

Gradients make_gradients(mluOpDataType_t dtype, const IndiceConvolutionSizes& sizes, bool integers,
                         std::mt19937& random) {
  const auto make = [&](const IndiceConvolution& convolution) {
    const Case made = make_convolution(convolution, dtype, sizes, random);
    return integers ? with_integers(made, random) : made;
  };
  Gradients made{
      make(kConvolutionForward), make(kConvolutionBackwardData), make(kConvolutionBackwardFilter), {}, {}, {}};
  set_filter_shape(made.forward, {MLUOP_LAYOUT_ARRAY});
  set_filter_shape(made.data, {MLUOP_LAYOUT_ARRAY});
  made.x = floats_of(made.forward, "features");
  made.w = floats_of(made.forward, "filters");
  made.y = floats_of(made.data, "output_grad");
  set_values(made.data, "filters", made.w);
  set_values(made.filter, "features", made.x);
  set_values(made.filter, "output_grad", made.y);
  for (Case* gradient : {&made.data, &made.filter}) {
    set_values(*gradient, "indice_pairs", int32s_of(made.forward, "indice_pairs"));
    gradient->parameters.set("indice_num", made.forward.parameters.list("indice_num"));
  }
  return made;
}

double inner_product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

// <forward(x, w), y> = <x, data(y, w)> = <w, filter(x, y)>, in integers.
TEST(OpsIndiceConvolutionProperties, GradientsAreAdjoint) {
  auto random = seeded_random();
  for (int round = 0; round < 2 * kRounds; ++round) {
    SCOPED_TRACE(round);
    const int64_t rows = random_size(random, 100), Ci = random_size(random, 9), Co = random_size(random, 9);
    const Gradients made = make_gradients(kFloatingDtypes[round % 2], {rows, rows, Ci, Co, 1, 2, 2}, true, random);
    const RandomTeam team(random);
    const double of_forward = inner_product(exact_result(made.forward, kNative), made.y);
    EXPECT_EQ(inner_product(exact_result(made.data, kNative), made.x), of_forward);
    EXPECT_EQ(inner_product(exact_result(made.filter, kNative), made.w), of_forward);
  }
}

// The central differences of the loss <forward, y> in double by the elements of an operand of fp32. It is linear
// in each of them: the difference is exact but for rounding.
std::vector<float> central_differences(const Case& forward, const std::string& operand,
                                       const std::vector<float>& y) {
  constexpr float kStep = 0x1p-4F;
  const Handle handle;
  OperatorCall call(handle, forward);
  const auto loss = [&] {
    call.expect();
    const std::vector<double>& sums = call["features_out"].sums;
    double sum = 0;
    for (size_t i = 0; i < sums.size(); ++i) sum += sums[i] * y[i];
    return sum;
  };
  std::vector<float> differences;
  float* const elements = call[operand].as<float>();
  for (int64_t i = 0; i < call[operand].count(); ++i) {
    const float at = elements[i];
    elements[i] = at + kStep;
    const double above = loss();
    elements[i] = at - kStep;
    const double below = loss();
    elements[i] = at;
    differences.push_back(static_cast<float>((above - below) / (2 * double{kStep})));
  }
  return differences;
}

void expect_gradient(const Case& gradient, const std::vector<float>& expected) {
  const auto [diff1, diff2] = differences(result_of(gradient, kNative), expected);
  const double tolerance = gradient.outputs[0].dtype == MLUOP_DTYPE_HALF ? 1e-3 : 1e-6;
  EXPECT_LE(diff1, tolerance);
  EXPECT_LE(diff2, tolerance);
}

TEST(OpsIndiceConvolutionProperties, CentralDifferences) {
  auto random = seeded_random();
  for (int round = 0; round < 2 * kRounds; ++round) {
    SCOPED_TRACE(round);
    const IndiceConvolutionSizes sizes{random_size(random, 30),
                                       random_size(random, 30),
                                       random_size(random, 6),
                                       random_size(random, 20),
                                       1,
                                       3,
                                       2};
    const Gradients made = make_gradients(kFloatingDtypes[round % 2], sizes, false, random);
    Case forward = make_convolution(kConvolutionForward, MLUOP_DTYPE_FLOAT, sizes, random);
    set_filter_shape(forward, {MLUOP_LAYOUT_ARRAY});
    set_values(forward, "indice_pairs", int32s_of(made.forward, "indice_pairs"));
    forward.parameters.set("indice_num", made.forward.parameters.list("indice_num"));
    // The steps are exact around integers.
    const std::vector<float> x = random_integers<float>(made.x.size(), random, 2);
    const std::vector<float> w = random_integers<float>(made.w.size(), random, 2);
    const RandomTeam team(random);
    set_values(forward, "features", x);
    set_values(forward, "filters", made.w);
    expect_gradient(made.data, central_differences(forward, "features", made.y));
    set_values(forward, "features", made.x);
    set_values(forward, "filters", w);
    expect_gradient(made.filter, central_differences(forward, "filters", made.y));
  }
}

// With exact sums the order of the pairs of an offset does not matter, in segments of the reduction either.
TEST(OpsIndiceConvolutionBackwardFilterProperties, PairsInAnyOrder) {
  auto random = seeded_random();
  constexpr int kRows = 5000;
  for (const auto dtype : kFloatingDtypes) {
    Case made = with_integers(
        make_convolution(kConvolutionBackwardFilter, dtype, {kRows, 700, 5, 18, 1, 1, 2}, random), random);
    made.parameters.set("indice_num", std::vector<int64_t>{kRows, kRows});
    std::vector<int32_t> pairs(size_t{4} * kRows), moved;
    for (int32_t& index : pairs) index = static_cast<int32_t>(random() % 700);
    set_values(made, "indice_pairs", pairs);
    const std::vector<float> expected = result_of(made, kNative);
    for (int32_t k = 0; k < 2; ++k) {
      const auto order = random_permutation(kRows, random);
      for (int32_t side = 0; side < 2; ++side) {
        for (const int32_t l : order) moved.push_back(pairs[static_cast<size_t>((2 * k + side) * kRows + l)]);
      }
    }
    set_values(made, "indice_pairs", moved);
    EXPECT_TRUE(same_bits(result_of(made, kNative), expected));
  }
}

}  // namespace
}  // namespace mluop::test
