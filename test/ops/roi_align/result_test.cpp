// RoI align: examples of the definition, boxes of every kind, and the rules of descriptor, boxes and argmax.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kForward = "roi_align_forward_v2";
constexpr const char* kBackward = "roi_align_backward_v2";
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// An image of 4 x 4 pixels, 0 to 15, and a box for 1 x 1 bins.
Case make_example(mluOpDataType_t dtype, const std::vector<float>& box, int64_t pool_mode, int64_t aligned) {
  Case made = make_case(kForward, dtype,
                        {{"b", 1},
                         {"c", 1},
                         {"h", 4},
                         {"w", 4},
                         {"r", 1},
                         {"ph", 1},
                         {"pw", 1},
                         {"pool_mode", pool_mode},
                         {"aligned", aligned},
                         {"sampling_ratio", 2}});
  std::vector<float> pixels(16);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i);
  made.parameters.set_real("spatial_scale", 1);
  set_values(made, "input", pixels);
  set_values(made, "boxes", box);
  return made;
}

float pooled(const Case& made, const char* output = "output") {
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(output)[0];
}

TEST(OpsRoiAlign, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    // Samples at 1 and 2 of both axes if the box is not aligned, otherwise at 0.5 and 1.5.
    EXPECT_EQ(pooled(make_example(dtype, {0, 0.5F, 0.5F, 2.5F, 2.5F}, 1, 0)), 7.5F);
    EXPECT_EQ(pooled(make_example(dtype, {0, 0.5F, 0.5F, 2.5F, 2.5F}, 1, 1)), 5);
    const Case made = make_example(dtype, {0, 0.5F, 0.5F, 2.5F, 2.5F}, 0, 0);
    EXPECT_EQ(pooled(made), 10);
    EXPECT_EQ(pooled(made, "argmax_x"), 2);
    EXPECT_EQ(pooled(made, "argmax_y"), 2);
  }
}

// Samples at -1 and 0, which both are in the first row and column, and samples outside the image.
TEST(OpsRoiAlign, Borders) {
  EXPECT_EQ(pooled(make_example(MLUOP_DTYPE_FLOAT, {0, -1.5F, -1.5F, 0.5F, 0.5F}, 1, 0)), 0);
  EXPECT_EQ(pooled(make_example(MLUOP_DTYPE_FLOAT, {0, 3.5F, 0.5F, 5.5F, 2.5F}, 1, 0)), (7 + 11) / 4.0F);
  EXPECT_EQ(pooled(make_example(MLUOP_DTYPE_FLOAT, {0, 7, 7, 9, 9}, 1, 0)), 0);
  EXPECT_EQ(pooled(make_example(MLUOP_DTYPE_FLOAT, {0, 7, 7, 9, 9}, 0, 0), "argmax_x"), 7.5F);
}

TEST(OpsRoiAlign, BoxesWithoutSamples) {
  for (const int64_t pool_mode : {0, 1}) {
    for (const std::vector<float>& box :
         {std::vector<float>{0, 3, 1, 1, 2}, std::vector<float>{0, 1, 2, 3, 1},
          std::vector<float>{0, NAN, 1, 2, 3}, std::vector<float>{0, 1, 1, 2, NAN}}) {
      const Case made = make_example(MLUOP_DTYPE_FLOAT, box, pool_mode, 1);
      EXPECT_EQ(pooled(made), 0);
      if (pool_mode == 0) {
        EXPECT_EQ(pooled(made, "argmax_y"), -1);
      }
    }
  }
}

// Sizes with too many samples to enumerate.
TEST(OpsRoiAlign, HugeBoxes) {
  for (const int64_t pool_mode : {0, 1}) {
    for (const float size : {1e6F, 1e30F, kInfinity}) {
      Case made = make_example(MLUOP_DTYPE_FLOAT, {0, 0, -size, size, size}, pool_mode, 0);
      made.parameters.set("sampling_ratio", 0);
      EXPECT_GE(pooled(made), 0) << size;
    }
  }
}

// Both layouts, both modes, few and many samples.
TEST(OpsRoiAlign, Oracle) {
  MLUOP_LABELS(kNotEmulated);
  for (const char* op : {kForward, kBackward}) {
    for (const auto dtype : kFloatingDtypes) {
      for (const int64_t bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
        for (const int64_t ratio : {0, 5}) {
          expect_oracle(make_case(op, dtype,
                                  {{"pool_mode", bits & 1},
                                   {"nchw", bits >> 1 & 1},
                                   {"aligned", bits >> 2},
                                   {"sampling_ratio", ratio},
                                   {"c", 19},
                                   {"r", 30},
                                   {"h", 20},
                                   {"w", 30}}));
        }
      }
    }
  }
}

// Means of finite pixels are finite for any sums: scaled pixels give scaled means.
TEST(OpsRoiAlign, LargePixels) {
  constexpr float kScale = 0x1p-20F, kLargest = std::numeric_limits<float>::max();
  for (const int64_t nchw : {0, 1}) {
    for (const int64_t r : {1, 40}) {
      for (const int64_t ratio : {0, 1, 2, 3, 7}) {
        Case made = make_case(kForward, MLUOP_DTYPE_FLOAT,
                              {{"pool_mode", 1}, {"nchw", nchw}, {"sampling_ratio", ratio}, {"c", 19}, {"r", r}});
        std::vector<float> large = floats_of(made, "input"), small;
        for (size_t i = 0; i < large.size(); ++i) {
          const float size = i % 5 == 0 ? 0.75F * kLargest : kLargest;
          large[i] = i % 7 == 0 ? -size : size;
          small.push_back(large[i] * kScale);
        }
        const auto means = [&](const std::vector<float>& pixels) {
          set_values(made, "input", pixels);
          const Handle handle;
          const OperatorCall call(handle, made);
          EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
          return call.floats("output");
        };
        const std::vector<float> found = means(large), scaled = means(small);
        for (size_t i = 0; i < found.size(); ++i) {
          const float expected = std::min(std::max(scaled[i] / kScale, -kLargest), kLargest);
          ASSERT_EQ(found[i], expected) << nchw << ' ' << r << ' ' << ratio << ' ' << i;
        }
      }
    }
  }
}

// A sample of an image of one channel, in fp32 in the order of the definition; T: float, or double for the values
// without rounding errors.
template <class T>
T sample_of(const std::vector<float>& image, int64_t H, int64_t W, float y, float x) {
  if (!(y >= -1 && y <= static_cast<float>(H) && x >= -1 && x <= static_cast<float>(W))) return 0;
  const auto low_of = [](float position, int64_t pixels) {
    return std::min(static_cast<int64_t>(std::max(position, 0.0F)), pixels - 1);
  };
  const int64_t top = low_of(y, H), left = low_of(x, W);
  const int64_t bottom = std::min(top + 1, H - 1), right = std::min(left + 1, W - 1);
  const T of_bottom = top == H - 1 ? 0 : std::max(y, 0.0F) - static_cast<float>(top);
  const T of_right = left == W - 1 ? 0 : std::max(x, 0.0F) - static_cast<float>(left);
  const T of_top = 1 - of_bottom, of_left = 1 - of_right;
  const auto term = [&](T weight, int64_t row, int64_t column) {
    return weight * static_cast<T>(image[static_cast<size_t>(row * W + column)]);
  };
  return term(of_top * of_left, top, left) + term(of_top * of_right, top, right) +
         term(of_bottom * of_left, bottom, left) + term(of_bottom * of_right, bottom, right);
}

// The index of the sample that is the maximum of the only bin of a box: the first of equal samples.
template <class T>
std::pair<float, float> argmax_of(const std::vector<float>& image, int64_t H, int64_t W, const float* box,
                                  int ratio) {
  const auto position = [&](float low, float high, int i) {
    return low + (static_cast<float>(i) + 0.5F) * (high - low) / static_cast<float>(ratio);
  };
  T maximum = std::numeric_limits<float>::lowest();
  std::pair<float, float> found = {-1, -1};
  for (int i = 0; i < ratio * ratio; ++i) {
    const float y = position(box[2], box[4], i / ratio), x = position(box[1], box[3], i % ratio);
    const T value = sample_of<T>(image, H, W, y, x);
    if (!(value > maximum)) continue;
    maximum = value;
    found = {y, x};
  }
  return found;
}

// The first of samples that are equal in fp32 is the maximum. In double, others may be the maximum: rounding
// errors make samples equal, and equal samples differ.
TEST(OpsRoiAlign, MaximaAreTheFirstInFp32) {
  MLUOP_LABELS(kNotEmulated);
  constexpr int64_t kBoxes = 100000, kSide = 8;
  constexpr int kRatio = 3;
  Case made = make_case(kForward, MLUOP_DTYPE_FLOAT,
                        {{"b", 1},
                         {"c", 1},
                         {"h", kSide},
                         {"w", kSide},
                         {"r", kBoxes},
                         {"ph", 1},
                         {"pw", 1},
                         {"pool_mode", 0},
                         {"aligned", 0},
                         {"sampling_ratio", kRatio}});
  made.parameters.set_real("spatial_scale", 1);
  auto random = seeded_random();
  const auto below = [&](int count) { return static_cast<float>(random() % static_cast<unsigned>(count)); };
  std::vector<float> image(kSide * kSide), boxes;
  for (float& pixel : image) pixel = below(3) / 10;
  for (int64_t r = 0; r < kBoxes; ++r) {
    const float x = below(100) / 10 - 1, y = below(100) / 10 - 1;
    boxes.insert(boxes.end(), {0, x, y, x + 1 + below(30) / 10, y + 1 + below(30) / 10});
  }
  set_values(made, "input", image);
  set_values(made, "boxes", boxes);
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const std::vector<float> found_x = call.floats("argmax_x"), found_y = call.floats("argmax_y");
  int64_t others_in_double = 0;
  for (size_t r = 0; r < kBoxes; ++r) {
    const std::pair found = {found_y[r], found_x[r]};
    ASSERT_EQ(found, argmax_of<float>(image, kSide, kSide, &boxes[r * 5], kRatio)) << r;
    if (found != argmax_of<double>(image, kSide, kSide, &boxes[r * 5], kRatio)) ++others_in_double;
  }
  EXPECT_GT(others_in_double, 0);
  RecordProperty("others_in_double", static_cast<int>(others_in_double));
}

// NCHW without transposed pixels.
TEST(OpsRoiAlign, FewRoisOnLargeImage) {
  for (const int64_t mode : {0, 1}) {
    expect_oracle(make_case(kForward, MLUOP_DTYPE_FLOAT,
                            {{"pool_mode", mode}, {"nchw", 1}, {"c", 3}, {"r", 1}, {"h", 100}, {"w", 90}}));
  }
}

TEST(OpsRoiAlign, SmallNram) {
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "2");
  for (const char* op : {kForward, kBackward}) {
    expect_oracle(make_case(op, MLUOP_DTYPE_FLOAT, {{"pool_mode", 1}, {"c", 70}, {"w", 20}}));
  }
}

TEST(OpsRoiAlignErrors, Boxes) {
  for (const char* op : {kForward, kBackward}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {{set_element("boxes", 10, 2), "boxes[2, 0] is 2, expected 0 to 1"},
                   {set_element("boxes", 5, -1), "boxes[1, 0] is -1, expected 0 to 1"},
                   {set_element("boxes", 0, NAN), "boxes[0, 0] is nan, expected 0 to 1"}});
  }
}

TEST(OpsRoiAlignErrors, Samples) {
  constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
  constexpr int64_t k2To31 = int64_t{1} << 31;
  for (const char* op : {kForward, kBackward}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {{set("sampling_ratio", 65), "sampling_ratio is 65, expected at most 64", kNotSupported},
                   {with_sizes(op, {{"h", k2To31}}),
                    "the height of images is 2147483648, expected fewer than 2^31", kNotSupported},
                   {with_sizes(op, {{"w", k2To31}}), "the width of images is 2147483648, expected fewer than 2^31",
                    kNotSupported}});
  }
}

TEST(OpsRoiAlignErrors, Parameters) {
  expect_errors(
      make_case(kForward, MLUOP_DTYPE_FLOAT, {}),
      {{with_sizes(kForward, {{"h", 0}}), "input has 2 images of 0 x 11 pixels, expected at least 1 of 1 x 1"},
       {[](OperatorCall& call) { call["argmax_y"].desc = nullptr; }, "argmax_y_desc is null"}});
  expect_errors(make_case(kForward, MLUOP_DTYPE_FLOAT, {{"pool_mode", 1}}),
                {{[](OperatorCall& call) {
                    call.use("argmax_x", std::make_shared<Descriptor>(MLUOP_DTYPE_FLOAT, cases::Dims{3}));
                    call["argmax_x"].data = call["output"].data;
                  },
                  "argmax_x is not null, expected null with pool_mode 1"}});
  expect_errors(make_case(kBackward, MLUOP_DTYPE_FLOAT, {}),
                {{set("pool_mode", 2), "pool_mode is 2, expected 0 or 1"},
                 {[](OperatorCall& call) { call["argmax_x"].desc = nullptr; }, "argmax_x_desc is null"}});
}

TEST(OpsRoiAlignErrors, Descriptor) {
  constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;
  EXPECT_EQ(mluOpCreateRoiAlignForwardDescriptor(nullptr), kBadParam);
  EXPECT_EQ(mluOpDestroyRoiAlignForwardDescriptor(nullptr), kBadParam);
  EXPECT_EQ(mluOpSetRoiAlignForwardDescriptor_v2(nullptr, 7, 7, 0, 1, 1, true), kBadParam);
  const cases::RoiAlignForwardDescriptor desc;
  EXPECT_EQ(mluOpSetRoiAlignForwardDescriptor_v2(desc, 0, 7, 0, 1, 1, true), kBadParam);
  EXPECT_STREQ(mluOpOmpGetLastError(),
               "[mluOpSetRoiAlignForwardDescriptor_v2] pooled_height is 0, expected at least 1");
  EXPECT_EQ(mluOpSetRoiAlignForwardDescriptor_v2(desc, 7, 0, 0, 1, 1, true), kBadParam);
  EXPECT_EQ(mluOpSetRoiAlignForwardDescriptor_v2(desc, 7, 7, 0, 1, 2, true), kBadParam);
  const Handle handle;
  const OperatorCall call(handle, make_case(kForward, MLUOP_DTYPE_FLOAT, {}));
  const auto run = [&](mluOpRoiAlignForwardDescriptor_t used) {
    const auto tensor = [&](const char* id) { return call[id]; };
    return mluOpRoiAlignForward_v2(handle, used, tensor("input").desc, tensor("input").data, tensor("boxes").desc,
                                   tensor("boxes").data, tensor("output").desc, tensor("output").data,
                                   tensor("argmax_x").desc, tensor("argmax_x").data, tensor("argmax_y").desc,
                                   tensor("argmax_y").data);
  };
  EXPECT_EQ(run(nullptr), kBadParam);
  EXPECT_EQ(run(desc), kBadParam);
  // A call that fails does not change the descriptor.
  EXPECT_EQ(mluOpSetRoiAlignForwardDescriptor_v2(desc, 3, 2, 3, 1, 0, true), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpSetRoiAlignForwardDescriptor_v2(desc, 7, 7, 0, 1, 2, true), kBadParam);
  EXPECT_EQ(run(desc), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
