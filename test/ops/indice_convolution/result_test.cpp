// The three indice convolutions against the loops of their definitions, at sizes and with values that their
// kernels treat apart. test/ops/contract_test.cpp has those of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/environment.h"
#include "support/half_sums.h"

namespace mluop::test {
namespace {

using cases::Case;

// The first is that of generated cases.
std::vector<FilterShape> filter_shapes(const IndiceConvolution& convolution) {
  if (convolution == kConvolutionBackwardFilter) return {{MLUOP_LAYOUT_NDHWC}};
  std::vector<FilterShape> shapes = {{MLUOP_LAYOUT_NDHWC}, {MLUOP_LAYOUT_NCDHW}, {MLUOP_LAYOUT_ARRAY}};
  if (convolution == kConvolutionBackwardData) {
    for (const auto layout : {MLUOP_LAYOUT_NHWC, MLUOP_LAYOUT_NCHW, MLUOP_LAYOUT_HWCN, MLUOP_LAYOUT_ARRAY}) {
      shapes.push_back({layout, 4});
    }
  }
  return shapes;
}

// Calls test(case) for integers in both data types and in each shape of the filters.
template <class Test>
void for_each_case(const IndiceConvolution& convolution, const IndiceConvolutionSizes& sizes, std::mt19937& random,
                   const Test& test) {
  SCOPED_TRACE(convolution.op + (' ' + text_of(sizes)));
  for (const FilterShape& shape : filter_shapes(convolution)) {
    SCOPED_TRACE(std::to_string(shape.layout) + " of " + std::to_string(shape.dim_count));
    IndiceConvolutionSizes s = sizes;
    if (shape.dim_count == 4) s.D = 1;
    for (const auto dtype : kFloatingDtypes) {
      Case made = with_integers(make_convolution(convolution, dtype, s, random), random);
      if (convolution != kConvolutionBackwardFilter) set_filter_shape(made, shape);
      test(made);
    }
  }
}

constexpr IndiceConvolutionSizes kHostileSizes[] = {
    {1, 1, 1, 1, 1, 1, 1},          // one of everything
    {2, 3, 1, 1, 3, 3, 3},          // more filter offsets than rows
    {17, 40, 3, 5, 3, 3, 3},        // fewer channels than the smallest vector
    {100, 7, 5, 3, 1, 3, 3},        // outputs with many pairs per filter offset
    {200, 90, 16, 16, 3, 3, 3},     // a vector of channels
    {150, 300, 17, 16, 2, 2, 2},    // a vector of input channels plus one
    {150, 300, 16, 17, 3, 1, 1},    // a vector of output channels plus one
    {64, 64, 15, 33, 1, 1, 3},      // a vector minus one; two plus one
    {65, 63, 128, 128, 3, 1, 1},    // channels of the network
    {129, 63, 65, 129, 3, 1, 1},    // channels of a network plus one
    {70, 80, 64, 112, 3, 3, 1},     // blocks of several vectors, and a tail
    {50, 60, 257, 1, 3, 3, 3},      // many input channels, one output channel
    {50, 60, 1, 300, 3, 3, 3},      // one input channel, many output channels
    {40, 41, 17, 255, 1, 2, 3},     // a long odd row
    {90, 80, 128, 128, 1, 1, 3},    // the longest rows that the gradient of filters reads in place
    {90, 80, 100, 144, 1, 1, 3},    // of which those of one tensor are
    {90, 80, 300, 310, 3, 3, 1},    // few rows, wide filters: several tiles of channels
    {40, 50, 3000, 90, 1, 1, 2},    // filters that no tile packs
    {30, 2000, 4, 31, 3, 3, 3},     // most outputs have no pair
    {3000, 1, 8, 8, 1, 1, 2},       // one output for all pairs
    {1, 500, 64, 64, 5, 5, 5},      // one input for all pairs
    {9, 9, 700, 20, 1, 1, 2},       // long sums
    {5, 6, 20, 1100, 1, 2, 1},      // long rows
    {40000, 30000, 2, 3, 1, 3, 3},  // filter offsets with many pairs
    {20000, 16000, 2, 3, 2, 1, 1},  // short rows, many tiles
};

TEST(OpsIndiceConvolution, HostileSizes) {
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const IndiceConvolutionSizes& sizes : kHostileSizes) {
      for_each_case(convolution, sizes, random, [](const Case& made) {
        const std::vector<float> expected = expected_output(made);
        for (const int count : {1, 3}) {
          const ScopedThreads threads(count);
          expect_exact(made, expected);
        }
      });
    }
  }
}

TEST(OpsIndiceConvolutionForward, Channels) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int64_t Ci : {1, 3, 5, 16, 17, 128, 256}) {
    for (const int64_t Co : {1, 3, 5, 16, 17, 128, 256}) {
      const IndiceConvolutionSizes sizes{45, 50, Ci, Co, 1, 3, 1};
      SCOPED_TRACE(text_of(sizes));
      for (const auto dtype : kFloatingDtypes) {
        expect_exact(with_integers(make_convolution(kConvolutionForward, dtype, sizes, random), random));
      }
    }
  }
}

// Outputs large enough for nontemporal stores, with rows of whole and of partial cache lines.
TEST(OpsIndiceConvolutionForward, StreamedOutputs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int64_t Co : {32, 37}) {
    for (const auto dtype : kFloatingDtypes) {
      Case made = with_integers(
          make_convolution(kConvolutionForward, dtype, {3000, 140000, 4, Co, 1, 1, 2}, random), random);
      set_filter_shape(made, {MLUOP_LAYOUT_ARRAY});
      const std::vector<float> expected = expected_output(made);
      for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
        expect_exact(made, expected, placement);
      }
    }
  }
}

// Numbers of pairs around those of chunks, and of segments of a reduction; channels of one block and of several
// panels with tails.
TEST(OpsIndiceConvolution, NumbersOfPairs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto& [Ci, Co] : {std::pair<int64_t, int64_t>{3, 18}, {64, 64}, {145, 37}, {37, 145}}) {
    for (const int64_t pairs :
         {1, 2, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 1023, 1024, 1025, 2048, 2049, 5000}) {
      const IndiceConvolutionSizes sizes{pairs, pairs, Ci, Co, 1, 1, 3};
      SCOPED_TRACE(text_of(sizes));
      for (const auto& convolution : {kConvolutionBackwardData, kConvolutionBackwardFilter}) {
        Case made = with_integers(make_convolution(convolution, MLUOP_DTYPE_FLOAT, sizes, random), random);
        for (size_t k = 0; k < 3; ++k) set_pair_count(made, k, k == 1 ? pairs / 2 : pairs, sizes);
        expect_exact(made);
      }
    }
  }
}

TEST(OpsIndiceConvolution, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const IndiceConvolutionSizes& sizes : {IndiceConvolutionSizes{900, 2500, 33, 70, 3, 3, 1},
                                                {300, 250, 70, 33, 1, 3, 1},
                                                {60, 50, 256, 256, 1, 1, 3}}) {
      for_each_case(convolution, sizes, random, [](const Case& made) {
        const std::vector<float> expected = expected_output(made);
        for (const char* kib : {"1", "2", "16", "17", "64", "384", "640", "1024"}) {
          SCOPED_TRACE(kib);
          const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
          expect_exact(made, expected);
        }
      });
    }
  }
}

// The native algorithm does not depend on the number of tasks, the size of NRAM, or the addresses. It also runs
// where an operator has no other and the handle requests the device algorithm.
void expect_invariant_bits(const Case& made) {
  const std::vector<float> expected = result_of(made, MLUOP_OMP_ALGORITHM_NATIVE);
  expect_close(expected, expected_output(made, true), made.outputs[0].dtype);
  for (const char* kib : {"1", "16", "100", "640"}) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(std::string(kib) + " KiB, threads: " + std::to_string(count));
      const ScopedThreads threads(count);
      for (const auto placement : {Placement::kAligned, Placement::kMisaligned}) {
        const bool is_other = algorithms_of(made).size() == 1 && placement == Placement::kMisaligned;
        EXPECT_TRUE(same_bits(
            result_of(made, is_other ? MLUOP_OMP_ALGORITHM_DEVICE : MLUOP_OMP_ALGORITHM_NATIVE, placement),
            expected));
      }
    }
  }
}

TEST(OpsIndiceConvolution, InvariantBits) {
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const IndiceConvolutionSizes& sizes : kSizesOfOrders) {
      for (const auto dtype : kFloatingDtypes) {
        SCOPED_TRACE(convolution.op + (' ' + text_of(sizes)));
        Case made = make_convolution(convolution, dtype, sizes, random);
        set_pair_count(made, 1, sizes.num_act_in / 3 * 2, sizes);
        if (convolution == kConvolutionForward && dtype == MLUOP_DTYPE_HALF) {
          set_filter_shape(made, {MLUOP_LAYOUT_ARRAY});
        }
        expect_invariant_bits(made);
      }
    }
  }
}

TEST(OpsIndiceConvolution, AgainstSumsInDouble) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const int64_t outputs : {500, 2500}) {
      for (const auto dtype : kFloatingDtypes) {
        const Case made = make_convolution(convolution, dtype, {2000, outputs, 40, 30, 3, 3, 3}, random);
        const std::vector<float> sums = expected_output(made, true);
        for (const auto algorithm : algorithms_of(made)) {
          SCOPED_TRACE(convolution.op + std::string(" ") + text_of(algorithm));
          expect_close(result_of(made, algorithm), sums, dtype);
        }
      }
    }
  }
}

// More rows than MLU-OPS allows.
TEST(OpsIndiceConvolution, MoreThanAMillionRows) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto& convolution : {kConvolutionBackwardData, kConvolutionBackwardFilter}) {
    expect_exact(with_integers(
        make_convolution(convolution, MLUOP_DTYPE_FLOAT, {1000001, 700, 1, 1, 1, 1, 2}, random), random));
  }
}

// The dimensions of filters_grad are read by their position in each layout.
TEST(OpsIndiceConvolutionBackwardFilter, LayoutsOfTheOutput) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  Case made = with_integers(
      make_convolution(kConvolutionBackwardFilter, MLUOP_DTYPE_FLOAT, {300, 250, 18, 35, 1, 3, 2}, random),
      random);
  const std::vector<float> expected = expected_output(made);
  const auto expect_output = [&](const cases::Dims& dims, mluOpTensorLayout_t layout) {
    SCOPED_TRACE(std::to_string(layout) + " of " + std::to_string(dims.size()));
    made.outputs[0].dims = dims;
    made.outputs[0].layout = layout;
    expect_exact(made, expected);
  };
  for (const auto layout : {MLUOP_LAYOUT_ARRAY, MLUOP_LAYOUT_NDHWC, MLUOP_LAYOUT_NCDHW}) {
    expect_output({1, 3, 2, 18, 35}, layout);
  }
  for (const auto layout : {MLUOP_LAYOUT_ARRAY, MLUOP_LAYOUT_HWCN, MLUOP_LAYOUT_NHWC, MLUOP_LAYOUT_NCHW}) {
    expect_output({3, 2, 18, 35}, layout);
  }
}

TEST(OpsIndiceConvolution, SubmanifoldFlagChangesNothing) {
  auto random = seeded_random();
  const IndiceConvolutionSizes sizes{300, 300, 8, 24, 3, 3, 3};
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op);
    Case made = with_integers(make_convolution(convolution, MLUOP_DTYPE_FLOAT, sizes, random), random);
    set_pair_count(made, 13, 300, sizes);
    const std::vector<float> expected = expected_output(made);
    made.parameters.set("sub_m", 1);
    expect_exact(made, expected);
  }
}

// Padding of registers and tiles does not multiply rows that are in no pair: 0 * NaN would be NaN.
TEST(OpsIndiceConvolution, NanInRowsOfNoPair) {
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op);
    Case made =
        with_integers(make_convolution(convolution, MLUOP_DTYPE_FLOAT, {61, 71, 20, 20, 3, 3, 3}, random), random);
    std::vector<int32_t> pairs = int32s_of(made, "indice_pairs");
    for (int32_t& row : pairs) row &= ~1;
    set_values(made, "indice_pairs", pairs);
    for (const cases::Tensor& tensor : made.inputs) {
      if (tensor.dims.size() != 2) continue;
      std::vector<float> rows = floats_of(made, tensor.id);
      for (size_t i = 0; i < rows.size(); ++i) {
        if (i / 20 % 2 == 1) rows[i] = std::numeric_limits<float>::quiet_NaN();
      }
      set_values(made, tensor.id, rows);
    }
    const std::vector<float> expected = expected_output(made);
    EXPECT_EQ(std::count_if(expected.begin(), expected.end(), [](float x) { return std::isnan(x); }), 0);
    expect_exact(made, expected);
  }
}

// The case whose only output is the sum.
Case sum_of(const IndiceConvolution& convolution, const std::vector<double>& addends, double factor) {
  const auto terms = static_cast<int64_t>(addends.size());
  const std::vector<float> rows(addends.begin(), addends.end());
  std::vector<int32_t> pairs;
  std::vector<int64_t> numbers = {terms};
  IndiceConvolutionSizes sizes{terms, 1, 1, 1, 1, 1, 1};
  std::mt19937 random;
  if (convolution == kConvolutionBackwardData) {
    sizes = {1, terms, 1, 1, 1, 1, terms};
    for (int32_t l = 0; l < terms; ++l) pairs.insert(pairs.end(), {0, l});
    numbers.assign(addends.size(), 1);
  } else {
    for (int32_t l = 0; l < terms; ++l) pairs.push_back(l);
    pairs.resize(addends.size() * 2, 0);
  }
  Case made = make_convolution(convolution, MLUOP_DTYPE_HALF, sizes, random);
  set_values(made, made.inputs[0].id, rows);
  set_values(made, made.inputs[1].id,
             std::vector<float>(static_cast<size_t>(element_count(made.inputs[1])), static_cast<float>(factor)));
  set_values(made, "indice_pairs", pairs);
  made.parameters.set("indice_num", numbers);
  return made;
}

TEST(OpsIndiceConvolution, LimitsOfHalf) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const auto& [addends, factor, sum] : half_sums()) {
      SCOPED_TRACE(convolution.op + (' ' + std::to_string(sum)));
      for (const auto algorithm : kAlgorithms) {
        EXPECT_EQ(result_of(sum_of(convolution, addends, factor), algorithm),
                  std::vector<float>{static_cast<float>(sum)});
      }
    }
  }
}

// Without pairs, the output is 0.
TEST(OpsIndiceConvolution, NoPairs) {
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op);
    Case skipped = make_convolution(convolution, MLUOP_DTYPE_FLOAT, {50, 70, 6, 9, 3, 3, 3}, random),
         none = skipped;
    set_values(skipped, "indice_pairs", std::vector<int32_t>(size_t{27} * 2 * 50, -1));
    none.parameters.set("indice_num", std::vector<int64_t>(27));
    const std::vector<float> zeros(static_cast<size_t>(element_count(skipped.outputs[0])));
    expect_exact(skipped, zeros);
    expect_exact(none, zeros);
  }
}

// The output is 0. Neither data of inputs nor a workspace is needed.
TEST(OpsIndiceConvolution, EmptyTensors) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const char* extent : {"num_act_in", "num_act_out", "ci", "co", "h"}) {
      const bool is_of_filters = std::string(extent).substr(0, 3) != "num";
      if (is_of_filters && convolution == kConvolutionForward) continue;
      for (const int64_t sub_m : {0, 1}) {
        for (const auto algorithm : kAlgorithms) {
          SCOPED_TRACE(convolution.op + (' ' + std::string(extent)));
          Case made = make_case(convolution.op, MLUOP_DTYPE_HALF, {{extent, 0}});
          made.parameters.set("sub_m", sub_m);
          const Handle handle(algorithm);
          OperatorCall call(handle, made);
          EXPECT_EQ(call.arguments.workspace_size, 0U);
          call.arguments.workspace = nullptr;
          for (size_t i = 0; i < 3; ++i) call.arguments[i].data = nullptr;
          EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
          EXPECT_EQ(output_of(call), std::vector<float>(static_cast<size_t>(element_count(made.outputs[0]))));
          EXPECT_TRUE(call.intact());
        }
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
