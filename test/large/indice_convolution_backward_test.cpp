// mluOpIndiceConvolutionBackwardData and BackwardFilter with tensors of more than 2^31 elements and few pairs:
// every element against the oracle for the rows that pairs name. Features have more rows than MLU-OPS allows.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "large/large_memory.h"
#include "large/large_pairs.h"
#include "ops/indice_convolution_backward_data/call.h"
#include "ops/indice_convolution_backward_filter/call.h"
#include "support/element.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr int64_t kInRows = 1'200'000, kOutRows = (int64_t{1} << 27) + 103;
constexpr int64_t kInChannels = 1800, kOutChannels = 16;
static_assert(kInRows * kInChannels > kLimit && kOutRows * kOutChannels > kLimit);
constexpr IndiceConvolutionSizes kSmall = {300, 200, kInChannels, kOutChannels, 1, 1, 3};

// T: float or Half.
template <class T>
struct BackwardData {
  explicit BackwardData(std::mt19937& random)
      : inputs(random_indice_convolution_backward_data<T>(kSmall, {MLUOP_LAYOUT_ARRAY, 5}, random)),
        rulebook(kSmall, inputs.indice_pairs, inputs.indice_num, kInRows, kOutRows, random),
        output_grad(kOutRows * kOutChannels, Pages::kSparse),
        input_grad(kInRows * kInChannels, Pages::kDense) {
    copy_rows(inputs.output_grad, kOutChannels, rulebook.out, output_grad);
    input_grad.poison();
  }

  mluOpStatus_t run() const {
    const Handle handle;
    const Descriptor output_grad_desc(kDtype<T>, {kOutRows, kOutChannels});
    const Descriptor filters_desc(kDtype<T>, {1, 1, kSmall.K(), kInChannels, kOutChannels});
    const Descriptor pairs_desc(MLUOP_DTYPE_INT32, {kSmall.K(), 2, kInRows});
    const Descriptor input_grad_desc(kDtype<T>, {kInRows, kInChannels});
    size_t bytes = 0;
    require(mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(
        handle, output_grad_desc, filters_desc, pairs_desc, input_grad_desc, inputs.indice_num.data(), 0, &bytes));
    const LargeMemory workspace(bytes, Pages::kDense);
    return mluOpIndiceConvolutionBackwardData(handle, output_grad_desc, output_grad.data(), filters_desc,
                                              inputs.filters.data(), pairs_desc, rulebook.pairs.data(),
                                              inputs.indice_num.data(), 0, 0, workspace.bytes(), bytes,
                                              input_grad_desc, input_grad.data());
  }

  IndiceConvolutionBackwardDataInputs<T> inputs;
  LargePairs rulebook;
  LargeBuffer<T> output_grad, input_grad;
};

template <class T>
void expect_backward_data() {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const BackwardData<T> call(random);
  const auto expected = indice_convolution_backward_data_reference(call.inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const auto holds = [&](int64_t row) {
    return row_holds(call.input_grad, row, kInChannels, call.rulebook.in, expected);
  };
  EXPECT_EQ(first_violation(kInRows, holds), kInRows);
}

TEST(LargeIndiceConvolutionBackwardData, Float) {
  MLUOP_REQUIRE_MEMORY(9);
  expect_backward_data<float>();
}

TEST(LargeIndiceConvolutionBackwardData, Half) {
  MLUOP_REQUIRE_MEMORY(5);
  expect_backward_data<Half>();
}

template <class T>
void expect_backward_filter() {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const auto inputs = random_indice_convolution_backward_filter<T>(kSmall, random);
  const LargePairs rulebook(kSmall, inputs.indice_pairs, inputs.indice_num, kInRows, kOutRows, random);
  const LargeBuffer<T> features(kInRows * kInChannels, Pages::kSparse);
  const LargeBuffer<T> output_grad(kOutRows * kOutChannels, Pages::kSparse);
  copy_rows(inputs.features, kInChannels, rulebook.in, features);
  copy_rows(inputs.output_grad, kOutChannels, rulebook.out, output_grad);
  std::vector<T> filters_grad(static_cast<size_t>(kSmall.filters_count()));

  const Handle handle;
  const Descriptor features_desc(kDtype<T>, {kInRows, kInChannels});
  const Descriptor output_grad_desc(kDtype<T>, {kOutRows, kOutChannels});
  const Descriptor pairs_desc(MLUOP_DTYPE_INT32, {kSmall.K(), 2, kInRows});
  const Descriptor filters_grad_desc(kDtype<T>, {1, 1, kSmall.K(), kInChannels, kOutChannels});
  size_t bytes = 0;
  require(mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(handle, features_desc, output_grad_desc, pairs_desc,
                                                               filters_grad_desc, inputs.indice_num.data(), 0, 0,
                                                               &bytes));
  std::vector<std::byte> workspace(bytes);
  ASSERT_EQ(mluOpIndiceConvolutionBackwardFilter(handle, features_desc, features.data(), output_grad_desc,
                                                 output_grad.data(), pairs_desc, rulebook.pairs.data(),
                                                 inputs.indice_num.data(), 0, 0, workspace.data(), bytes,
                                                 filters_grad_desc, filters_grad.data()),
            MLUOP_STATUS_SUCCESS)
      << mluOpOmpGetLastError();
  const auto expected = indice_convolution_backward_filter_reference(inputs);
  const auto holds = [&](int64_t i) {
    return to_f32(filters_grad[static_cast<size_t>(i)]) == expected[static_cast<size_t>(i)];
  };
  EXPECT_EQ(first_violation(kSmall.filters_count(), holds), kSmall.filters_count());
}

TEST(LargeIndiceConvolutionBackwardFilter, Float) { expect_backward_filter<float>(); }
TEST(LargeIndiceConvolutionBackwardFilter, Half) { expect_backward_filter<Half>(); }

}  // namespace
}  // namespace mluop::test
