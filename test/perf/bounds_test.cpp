// The algorithmic bounds: the results of the bounds with specified results, and all shapes of the others.
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "perf/bounds/indice_convolution_forward.h"
#include "perf/bounds/three_interpolate_backward.h"
#include "perf/support/measures.h"
#include "support/element.h"
#include "support/trace.h"

namespace mluop::perf {
namespace {

constexpr uint32_t kSeed = 1;

// Runs all shapes of chunks, blocks and panels, of filter offsets without pairs, and more threads than tiles.
template <class T>
void expect_convolved(int64_t Co, int threads) {
  const reference::IndiceConvolutionForwardSizes sizes{1000, 900, 16, Co, 1, 1, 3};
  std::vector<int32_t> pairs(static_cast<size_t>(sizes.pairs_count()));
  const std::vector<int64_t> num{900, 0, 7};
  for (size_t k = 0; k < num.size(); ++k) {
    for (size_t l = 0; l < static_cast<size_t>(num[k]); ++l) {
      pairs[2000 * k + l] = static_cast<int32_t>(l);
      pairs[2000 * k + 1000 + l] = static_cast<int32_t>((l * 7 + k) % 900);
    }
  }
  Buffer<T> features(sizes.features_count()), filters(sizes.filters_count()), output(sizes.features_out_count());
  fill_uniform(features, kSeed);
  fill_uniform(filters, kSeed + 1);
  fill_uniform(output, kSeed);  // the previous values do not matter
  indice_convolution_forward_bound(
      {sizes, test::kDtype<T>, features.data(), filters.data(), pairs.data(), num.data(), output.data()},
      threads)();
  std::vector<double> expected(output.values().size());
  reference::indice_convolution_forward(sizes, features.data(), reference::FilterLayout::kArray, filters.data(),
                                        pairs.data(), num.data(), 0, Co, expected.data());
  const double tolerance = sizeof(T) == 4 ? 1e-5 : std::is_same_v<T, test::Half> ? 4e-3 : 3e-2;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(test::to_f32(output.values()[i]), expected[i], tolerance) << Co << ' ' << i;
  }
}

TEST(PerfBounds, IndiceConvolutionAddsEveryPair) {
  for (const int64_t Co : {16, 32, 48, 64, 128}) {
    for (const int threads : {1, 3}) {
      expect_convolved<float>(Co, threads);
      expect_convolved<test::Half>(Co, threads);
      expect_convolved<test::BFloat16>(Co, threads);
    }
  }
}

// Runs at any size, with more threads than work items. The results are unspecified. Problems with few elements
// have no bound.
TEST(PerfBounds, Interpolation) {
  const struct {
    int64_t C, N, M;
    bool exists;
  } cases[] = {{16, 167, 101, true}, {33, 167, 101, true}, {64, 167, 101, true}, {16, 32, 96, true},
               {15, 32, 96, false},  {16, 31, 96, false},  {16, 32, 95, false}};
  for (const auto& [C, N, M, exists] : cases) {
    const reference::ThreeInterpolateBackwardSizes sizes{2, C, N, M};
    std::vector<int32_t> indices(static_cast<size_t>(sizes.index_count()));
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int32_t>(static_cast<int64_t>(i) * 5 % M);
    const std::vector<float> weights(indices.size(), 0.5F);
    const Buffer<float> grad_output(sizes.grad_output_count());
    Buffer<float> grad_features(sizes.grad_features_count());
    for (const auto dtype : test::kFloatingDtypes) {
      const auto bound = three_interpolate_backward_bound(
          {sizes, dtype, grad_output.data(), indices.data(), grad_features.data()}, weights, 5);
      EXPECT_EQ(static_cast<bool>(bound), exists || (dtype == MLUOP_DTYPE_FLOAT && N == 31))
          << C << ' ' << N << ' ' << M;
      if (bound) bound();
    }
  }
}

}  // namespace
}  // namespace mluop::perf
