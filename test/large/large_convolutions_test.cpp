// Operators of convolutions with tensors of more than 2^31 elements: every element against the oracle or the
// definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "large/large_call.h"
#include "support/values.h"

namespace mluop::test {
namespace {

constexpr int64_t kExtent = 103, kSites = kExtent * kExtent * kExtent;
constexpr int64_t kKernel = 10, kOffsets = kKernel * kKernel * kKernel, kPad = kKernel / 2;

// Whether the pairs of offset k of a submanifold convolution agree with the definition, if every cell of the space
// is a site, in ascending order: the row of a site is its cell.
bool pairs_hold(int64_t k, const int32_t* pairs, int64_t count) {
  const int64_t shift[] = {kPad - k / (kKernel * kKernel), kPad - k / kKernel % kKernel, kPad - k % kKernel};
  int64_t found = 0;
  for (int64_t row = 0; row < kSites; ++row) {
    const int64_t od = row / (kExtent * kExtent) + shift[0], oh = row / kExtent % kExtent + shift[1];
    const int64_t ow = row % kExtent + shift[2];
    if (std::min({od, oh, ow}) < 0 || std::max({od, oh, ow}) >= kExtent) continue;
    if (pairs[found] != row || pairs[kSites + found] != (od * kExtent + oh) * kExtent + ow) return false;
    ++found;
  }
  const auto unused = [&](const int32_t* rows) {
    return std::all_of(rows + found, rows + kSites, [](int32_t row) { return row == -1; });
  };
  return found == count && unused(pairs) && unused(pairs + kSites);
}

TEST(LargeGetIndicePairs, IndicePairs) {
  MLUOP_REQUIRE_MEMORY(10);
  LargeCall call({.small = make_case("get_indice_pairs", MLUOP_DTYPE_INT32,
                                     {{"batch", 1},
                                      {"depth", kExtent},
                                      {"height", kExtent},
                                      {"width", kExtent},
                                      {"sites", 1},
                                      {"kernel", kKernel},
                                      {"sub_m", 1}}),
                  .axes = {consecutive_axis("site", 1, kSites), consecutive_axis("position", 1, kSites)},
                  .large = {"indice_pairs"}});
  int32_t* indices = call.data<int32_t>("indices");
  for (int64_t row = 0; row < kSites; ++row) {
    const int64_t site[] = {0, row / (kExtent * kExtent), row / kExtent % kExtent, row % kExtent};
    std::copy_n(site, 4, indices + row * 4);
  }
  const int32_t *pairs = call.data<int32_t>("indice_pairs"), *num = call.data<int32_t>("indice_num");
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const auto holds = [&](int64_t k) { return pairs_hold(k, pairs + k * 2 * kSites, num[k]); };
  EXPECT_EQ(first_violation(kOffsets, holds), kOffsets);
  EXPECT_EQ(std::memcmp(indices, call["out_indices"].data, kSites * 4 * sizeof(int32_t)), 0);
}

struct ConvolutionSizes {
  int64_t num_act_in, num_act_out, ci, co;  // of the small convolution
  int64_t in_rows, out_rows;                // of the large tensors
};

// Values are integers, whose sums are exact.
Enlargement large_convolution(const std::string& op, mluOpDataType_t dtype, const ConvolutionSizes& sizes) {
  const int64_t L = sizes.num_act_in;
  cases::Case small = make_case("indice_convolution_" + op, dtype,
                                {{"num_act_in", L},
                                 {"num_act_out", sizes.num_act_out},
                                 {"ci", sizes.ci},
                                 {"co", sizes.co},
                                 {"h", 1},
                                 {"w", 3}});
  // A skipped pair has one negative index and any other index.
  auto pairs = int32s_of(small, "indice_pairs");
  for (int64_t k = 0; k < 3; ++k) {
    for (int64_t l = 0; l < L; l += 7) {
      pairs[static_cast<size_t>(k * 2 * L + l)] = l % 2 == 0 ? -1 : INT_MAX;
      pairs[static_cast<size_t>((k * 2 + 1) * L + l)] = l % 2 == 0 ? INT_MAX : INT_MIN;
    }
  }
  set_values(small, "indice_pairs", pairs);
  return {.small = with_values(small, Values::kIntegers, 1),
          .axes = {random_axis("input row", L, sizes.in_rows),
                   random_axis("output row", sizes.num_act_out, sizes.out_rows),
                   consecutive_axis("position", L, sizes.in_rows)},
          .indices = {{"indice_pairs", {"input row", "output row"}, L}},
          .large = {}};
}

void expect_forward(mluOpDataType_t dtype, const std::vector<mluOpOmpAlgorithm_t>& algorithms) {
  constexpr int64_t kRows = (int64_t{1} << 25) + 103;
  Enlargement enlargement = large_convolution("forward", dtype, {2000, 1500, 64, 64, kRows, kRows + 1000});
  enlargement.large = {"features", "features_out"};
  enlargement.parameters = {{"num_active_out", kRows + 1000}};
  LargeCall call(enlargement);
  for (const auto algorithm : algorithms) call.expect_result(algorithm);
}

TEST(LargeIndiceConvolutionForward, FeaturesAndOutputInFloat) {
  MLUOP_REQUIRE_MEMORY(9);
  expect_forward(MLUOP_DTYPE_FLOAT, {std::begin(kAlgorithms), std::end(kAlgorithms)});
}

TEST(LargeIndiceConvolutionForward, FeaturesAndOutputInHalf) {
  MLUOP_REQUIRE_MEMORY(5);
  expect_forward(MLUOP_DTYPE_HALF, {MLUOP_OMP_ALGORITHM_NATIVE});
}

// The device algorithm stores sums in fp32 beside the output.
TEST(LargeIndiceConvolutionForward, FeaturesAndOutputInHalfOnDevice) {
  MLUOP_REQUIRE_MEMORY(14);
  expect_forward(MLUOP_DTYPE_HALF, {MLUOP_OMP_ALGORITHM_DEVICE});
}

// The features have more rows than MLU-OPS allows.
void expect_backward(const std::string& op, mluOpDataType_t dtype, const char* features) {
  Enlargement enlargement =
      large_convolution(op, dtype, {300, 200, 1800, 16, 1'200'000, (int64_t{1} << 27) + 103});
  enlargement.large = {features, "output_grad"};
  LargeCall(enlargement).expect_result(MLUOP_OMP_ALGORITHM_NATIVE);
}

TEST(LargeIndiceConvolutionBackwardData, Float) {
  MLUOP_REQUIRE_MEMORY(9);
  expect_backward("backward_data", MLUOP_DTYPE_FLOAT, "input_grad");
}

TEST(LargeIndiceConvolutionBackwardData, Half) {
  MLUOP_REQUIRE_MEMORY(5);
  expect_backward("backward_data", MLUOP_DTYPE_HALF, "input_grad");
}

TEST(LargeIndiceConvolutionBackwardFilter, FloatAndHalf) {
  expect_backward("backward_filter", MLUOP_DTYPE_FLOAT, "features");
  expect_backward("backward_filter", MLUOP_DTYPE_HALF, "features");
}

TEST(LargeMaskedIm2colForward, DataColOfManyRows) {
  MLUOP_REQUIRE_MEMORY(10);
  LargeCall(
      {.small = make_case("masked_im2col_forward", MLUOP_DTYPE_HALF,
                          {{"channels", 256}, {"height", 30}, {"width", 40}, {"mask_cnt", 5000}, {"outside", 1}}),
       .axes = {random_axis("mask", 5000, 932'100)},
       .large = {"data_col"},
       .repeated = {"mask_h_idx", "mask_w_idx", "data_col"}})
      .expect_result();
}

// The other masks are (0, 0), next to which the feature is padded.
TEST(LargeMaskedIm2colForward, DataColOfManyMasks) {
  MLUOP_REQUIRE_MEMORY(10);
  LargeCall(
      {.small = make_case("masked_im2col_forward", MLUOP_DTYPE_HALF,
                          {{"channels", 1}, {"mask_cnt", 1000}, {"kernel_h", 1}, {"kernel_w", 1}, {"outside", 1}}),
       .axes = {random_axis("mask", 1000, kLimit + 77)},
       .large = {"mask_h_idx", "mask_w_idx", "data_col"}})
      .expect_result();
}

// The last rows and columns are copied, so that windows are whole.
TEST(LargeMaskedIm2colForward, Feature) {
  constexpr int64_t kSide = 26800;
  LargeCall(
      {.small = make_case(
           "masked_im2col_forward", MLUOP_DTYPE_HALF,
           {{"channels", 3}, {"height", 12}, {"width", 16}, {"mask_cnt", 500}, {"kernel_w", 2}, {"pad_w", 0}}),
       .axes = {consecutive_axis("row", 12, kSide, kSide - 12), consecutive_axis("column", 16, kSide, kSide - 16)},
       .indices = {{"mask_h_idx", {"row"}}, {"mask_w_idx", {"column"}}},
       .large = {"feature"}})
      .expect_result();
}

TEST(LargeMaskedCol2imForward, Planes) {
  MLUOP_REQUIRE_MEMORY(6);
  LargeCall({.small = make_case("masked_col2im_forward", MLUOP_DTYPE_HALF,
                                {{"channels", 3}, {"height", 100}, {"width", 90}, {"mask_cnt", 5000}}),
             .axes = {random_axis("row", 100, 26800), random_axis("column", 90, 26800)},
             .indices = {{"mask_h_idx", {"row"}}, {"mask_w_idx", {"column"}}},
             .large = {"im"}})
      .expect_result();
}

// Masks in row-major order and in another.
TEST(LargeMaskedCol2imForward, ColumnsOfManyChannels) {
  MLUOP_REQUIRE_MEMORY(6);
  for (const int64_t ordered : {1, 0}) {
    SCOPED_TRACE(ordered);
    LargeCall(
        {.small = make_case(
             "masked_col2im_forward", MLUOP_DTYPE_HALF,
             {{"channels", 30}, {"height", 270}, {"width", 270}, {"mask_cnt", 72'000}, {"ordered", ordered}}),
         .axes = {random_axis("channel", 30, 30'000)},
         .large = {"col", "im"}})
        .expect_result();
  }
}

}  // namespace
}  // namespace mluop::test
