// Operators of convolutions with tensors of more than 2^31 elements: every element against the oracle or the
// definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>

#include "large/enlarged_call.h"
#include "support/values.h"

namespace mluop::test {
namespace {

constexpr int64_t kExtent = 103, kSites = kExtent * kExtent * kExtent;
constexpr int64_t kKernel = 10, kOffsets = kKernel * kKernel * kKernel, kPad = kKernel / 2;

// Whether the pairs of offset k of a submanifold convolution are those of the definition, if every cell of the
// space is a site, in ascending order: the row of a site is its cell.
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
  LargeCall call(make_large("get_indice_pairs", MLUOP_DTYPE_INT32,
                            {{"batch", 1},
                             {"depth", kExtent},
                             {"height", kExtent},
                             {"width", kExtent},
                             {"sites", kSites},
                             {"kernel", kKernel},
                             {"sub_m", 1}}),
                 {"indice_pairs"});
  const int32_t *pairs = call.data<int32_t>("indice_pairs"), *num = call.data<int32_t>("indice_num");
  call.expect_each(kOffsets, [&](int64_t k) { return pairs_hold(k, pairs + k * 2 * kSites, num[k]); });
  ASSERT_EQ(call["indices"].count(), kSites * 4);
  EXPECT_EQ(std::memcmp(call["indices"].data, call["out_indices"].data, kSites * 4 * sizeof(int32_t)), 0);
}

struct ConvolutionSizes {
  int64_t num_act_in, num_act_out, ci, co;  // of the small convolution
  int64_t in_rows, out_rows;                // of the large tensors
};

// Values are integers, whose sums are exact.
void expect_convolution(const std::string& op, mluOpDataType_t dtype, const ConvolutionSizes& sizes,
                        const LargeCall::Names& large, const std::vector<mluOpOmpAlgorithm_t>& algorithms) {
  auto random = seeded_random();
  const int64_t L = sizes.num_act_in;
  cases::Case small = make_case("indice_convolution_" + op, dtype,
                                {{"num_act_in", L},
                                 {"num_act_out", sizes.num_act_out},
                                 {"ci", sizes.ci},
                                 {"co", sizes.co},
                                 {"h", 1},
                                 {"w", 3}});
  // A pair that is skipped has a negative index and any other one.
  auto pairs = int32s_of(small, "indice_pairs");
  for (int64_t k = 0; k < 3; ++k) {
    for (int64_t l = 0; l < L; l += 7) {
      pairs[static_cast<size_t>(k * 2 * L + l)] = l % 2 == 0 ? -1 : INT_MAX;
      pairs[static_cast<size_t>((k * 2 + 1) * L + l)] = l % 2 == 0 ? INT_MAX : INT_MIN;
    }
  }
  set_values(small, "indice_pairs", pairs);

  LargeAxis positions{"position", sizes.in_rows, std::vector<int64_t>(static_cast<size_t>(L))};
  std::iota(positions.places.begin(), positions.places.end(), 0);
  EnlargedCall call(with_values(small, Values::kIntegers, 1),
                    {random_axis("input row", L, sizes.in_rows, random),
                     random_axis("output row", sizes.num_act_out, sizes.out_rows, random), positions},
                    {{"indice_pairs", {"input row", "output row"}, L}}, large);
  if (op == "forward") call.parameters.set("num_active_out", sizes.out_rows);
  for (const auto algorithm : algorithms) call.expect_result(algorithm);
}

void expect_forward(mluOpDataType_t dtype, const std::vector<mluOpOmpAlgorithm_t>& algorithms) {
  constexpr int64_t kRows = (int64_t{1} << 25) + 103;
  expect_convolution("forward", dtype, {2000, 1500, 64, 64, kRows, kRows + 1000}, {"features", "features_out"},
                     algorithms);
}

TEST(LargeIndiceConvolutionForward, FeaturesAndOutputInFloat) {
  MLUOP_REQUIRE_MEMORY(9);
  expect_forward(MLUOP_DTYPE_FLOAT, {std::begin(kAlgorithms), std::end(kAlgorithms)});
}

TEST(LargeIndiceConvolutionForward, FeaturesAndOutputInHalf) {
  MLUOP_REQUIRE_MEMORY(5);
  expect_forward(MLUOP_DTYPE_HALF, {MLUOP_OMP_ALGORITHM_NATIVE});
}

// The device algorithm has sums in fp32 beside the output.
TEST(LargeIndiceConvolutionForward, FeaturesAndOutputInHalfOnDevice) {
  MLUOP_REQUIRE_MEMORY(14);
  expect_forward(MLUOP_DTYPE_HALF, {MLUOP_OMP_ALGORITHM_DEVICE});
}

// Features have more rows than MLU-OPS allows.
void expect_backward(const std::string& op, mluOpDataType_t dtype, const char* features) {
  expect_convolution(op, dtype, {300, 200, 1800, 16, 1'200'000, (int64_t{1} << 27) + 103},
                     {features, "output_grad"}, {MLUOP_OMP_ALGORITHM_NATIVE});
}

TEST(LargeIndiceConvolutionBackwardData, Float) {
  MLUOP_REQUIRE_MEMORY(9);
  expect_backward("backward_data", MLUOP_DTYPE_FLOAT, "input_grad");
}

TEST(LargeIndiceConvolutionBackwardData, Half) {
  MLUOP_REQUIRE_MEMORY(5);
  expect_backward("backward_data", MLUOP_DTYPE_HALF, "input_grad");
}

TEST(LargeIndiceConvolutionBackwardFilter, Float) {
  expect_backward("backward_filter", MLUOP_DTYPE_FLOAT, "features");
}

TEST(LargeIndiceConvolutionBackwardFilter, Half) {
  expect_backward("backward_filter", MLUOP_DTYPE_HALF, "features");
}

class LargeMaskedIm2colForward : public ::testing::Test {
 protected:
  // A mask from outside the feature on one side to outside on the other.
  void set_mask(const LargeCall& call, int64_t k) {
    const auto coordinate = [&](int64_t extent) {
      return static_cast<int32_t>(random() % static_cast<uint64_t>(extent + 4)) - 2;
    };
    call.data<int32_t>("mask_h_idx")[k] = coordinate(call["feature"].dim(2));
    call.data<int32_t>("mask_w_idx")[k] = coordinate(call["feature"].dim(3));
  }
  static void expect_channels(LargeCall& call) {
    const int64_t channels = call["feature"].dim(1), offsets = call["data_col"].dim(0) / channels;
    call.expect_each(channels, [&](int64_t c) {
      return call.slices_agree({{{0, c}}, {}, {}, {{c * offsets}, offsets}});
    });
  }

  std::mt19937 random = seeded_random();
};

TEST_F(LargeMaskedIm2colForward, DataColOfManyRows) {
  MLUOP_REQUIRE_MEMORY(10);
  LargeCall call(make_large("masked_im2col_forward", MLUOP_DTYPE_HALF,
                            {{"channels", 256}, {"height", 30}, {"width", 40}, {"mask_cnt", 932'100}}),
                 {"data_col"});
  for (int64_t k = 0; k < call["mask_h_idx"].count(); ++k) set_mask(call, k);
  expect_channels(call);
}

// Almost all masks are (0, 0).
TEST_F(LargeMaskedIm2colForward, DataColOfManyMasks) {
  MLUOP_REQUIRE_MEMORY(10);
  constexpr int64_t kMasks = kLimit + 77, kRun = 1 << 20, kRuns = (kMasks + kRun - 1) / kRun;
  LargeCall call(make_large("masked_im2col_forward", MLUOP_DTYPE_HALF,
                            {{"channels", 1},
                             {"height", 5},
                             {"width", 7},
                             {"mask_cnt", kMasks},
                             {"kernel_h", 1},
                             {"kernel_w", 1},
                             {"pad_h", 0},
                             {"pad_w", 0}}),
                 {"mask_h_idx", "mask_w_idx", "data_col"});
  // The last masks, and others.
  for (int64_t i = 0; i < 1000; ++i) {
    set_mask(call, i < 100 ? kMasks - 1 - i : static_cast<int64_t>(random()) % kMasks);
  }
  call.expect_each(kRuns, [&](int64_t i) {
    const int64_t count = std::min(kRun, kMasks - i * kRun);
    const Slice masks{{i * kRun}, count};
    return call.slices_agree({{}, masks, masks, {{0, i * kRun}, count}});
  });
}

// The feature is zero outside the windows.
TEST_F(LargeMaskedIm2colForward, Feature) {
  MLUOP_REQUIRE_MEMORY(6);
  constexpr int64_t kSide = 26800;
  LargeCall call(make_large("masked_im2col_forward", MLUOP_DTYPE_HALF,
                            {{"channels", 3},
                             {"height", kSide},
                             {"width", kSide},
                             {"mask_cnt", 500},
                             {"kernel_w", 2},
                             {"pad_w", 0}}),
                 {"feature"});
  for (int64_t k = 0; k < 500; ++k) {
    // The last corner, and random places.
    set_mask(call, k);
    int32_t &mask_h = call.data<int32_t>("mask_h_idx")[k], &mask_w = call.data<int32_t>("mask_w_idx")[k];
    if (k < 100) {
      mask_h = static_cast<int32_t>(kSide - 1 - k % 10);
      mask_w = static_cast<int32_t>(kSide - 1 - k / 10);
    }
    for (int64_t i = 0; i < 3 * 3 * 2; ++i) {
      const int64_t h = mask_h - 1 + i / 2 % 3, w = mask_w + i % 2;
      if (h < 0 || w < 0 || h >= kSide || w >= kSide) continue;
      call.data<uint16_t>("feature")[(i / 6 * kSide + h) * kSide + w] = static_cast<uint16_t>(random());
    }
  }
  expect_channels(call);
}

TEST(LargeMaskedCol2imForward, Planes) {
  MLUOP_REQUIRE_MEMORY(6);
  auto random = seeded_random();
  EnlargedCall(make_case("masked_col2im_forward", MLUOP_DTYPE_HALF,
                         {{"channels", 3}, {"height", 100}, {"width", 90}, {"mask_cnt", 5000}}),
               {random_axis("row", 100, 26800, random), random_axis("column", 90, 26800, random)},
               {{"mask_h_idx", {"row"}}, {"mask_w_idx", {"column"}}}, {"im"})
      .expect_result();
}

// Masks in row-major order and in another.
TEST(LargeMaskedCol2imForward, ColumnsOfManyChannels) {
  MLUOP_REQUIRE_MEMORY(10);
  constexpr int64_t kSide = 270, kPixels = kSide * kSide, kMasks = kPixels / 81 * 80, kChannels = 30'000;
  LargeCall call(make_large("masked_col2im_forward", MLUOP_DTYPE_HALF,
                            {{"channels", kChannels}, {"height", kSide}, {"width", kSide}, {"mask_cnt", kMasks}}),
                 {"col", "im"}, {"col"});
  uint16_t* col = call.data<uint16_t>("col");
  for (int64_t i = 0; i < kChannels * kMasks; ++i) col[i] = static_cast<uint16_t>(i % 65521 + 1);
  for (const bool row_major : {true, false}) {
    SCOPED_TRACE(row_major);
    for (int64_t k = 0; k < kMasks; ++k) {
      // 7919 is a prime: the pixels are distinct.
      const int64_t pixel = row_major ? k * 81 / 80 : kPixels - 1 - k * 7919 % kPixels;
      call.data<int32_t>("mask_h_idx")[k] = static_cast<int32_t>(pixel / kSide);
      call.data<int32_t>("mask_w_idx")[k] = static_cast<int32_t>(pixel % kSide);
    }
    call.expect_each(kChannels, [&](int64_t c) { return call.slices_agree({{{c}}, {}, {}, {{0, c}}}); });
  }
}

}  // namespace
}  // namespace mluop::test
