// mluOpNmsRotated on boxes whose selection follows from the definition, and against its oracle.
// test/ops/contract_test.cpp has random boxes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/rotated_boxes.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;
using Boxes = std::vector<RotatedBox>;
using Scores = std::vector<float>;
using Indices = std::vector<int32_t>;

Case make(const Boxes& boxes, const Scores& scores, float iou_threshold) {
  Case made = make_case("nms_rotated", MLUOP_DTYPE_FLOAT, {{"n", static_cast<int64_t>(boxes.size())}});
  made.parameters.set_real("iou_threshold", double{iou_threshold});
  set_values(made, "boxes", numbers_of(boxes));
  set_values(made, "scores", scores);
  return made;
}

// The indices that the library and the oracle keep; the others are 0.
void expect_kept(const Case& made, const Indices& expected) {
  const Handle handle;
  OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  Indices output = expected;
  output.resize(static_cast<size_t>(call["output"].count()));
  for (const bool is_oracle : {false, true}) {
    SCOPED_TRACE(is_oracle ? "oracle" : "library");
    if (is_oracle) call.expect();
    EXPECT_EQ(call.int32s("result_num"), Indices{static_cast<int32_t>(expected.size())});
    EXPECT_EQ(call.int32s("output"), output);
  }
}

// IoU of boxes 0 and 1: 0.78, 0 and 2: 0.42, 1 and 2: 0.51; 3 and 4, 0 and 5 are the same rectangles.
TEST(OpsNmsRotated, WorkedExample) {
  const Boxes boxes = {{0, 0, 4, 2, 0},         {0.5F, 0, 4, 2, 0},       {1, 0.5F, 4, 2, 0.2F},
                       {10, 10, 4, 2, kPi / 4}, {10, 10, 2, 4, -kPi / 4}, {0, 0, 2, 4, kPi / 2}};
  const Scores scores = {0.5F, 0.9F, 0.9F, 0.3F, 0.8F, 0.5F};
  expect_kept(make(boxes, scores, 0.3F), {1, 4});
  expect_kept(make(boxes, scores, 0.5F), {1, 4});
  expect_kept(make(boxes, scores, 0.7F), {1, 2, 4});
}

TEST(OpsNmsRotated, Thresholds) {
  const RotatedBox box = {0, 0, 4, 2, 0}, half = {0, 0, 4, 1, 0}, beside = {0, 2, 4, 2, 0},
                   apart = {0, 9, 4, 2, 0}, not_finite = {0, kNan, 4, 2, 0}, without_width = {0, 0, 0, 2, 0},
                   not_a_size = {0, 0, kNan, 2, 0};
  const float below_half = std::nextafter(0.5F, 0.0F), below_one = std::nextafter(1.0F, 0.0F);
  const struct {
    RotatedBox other;
    float iou_threshold;
    bool is_kept;
  } kTable[] = {
      // IoU 1/2, 1 and 0. A box suppresses another if the IoU is greater than the threshold.
      {half, 0.5F, true},
      {half, below_half, false},
      {box, 1, true},
      {box, below_one, false},
      {box, 2, true},
      {box, kInfinity, true},
      {half, 0, false},
      {beside, 0, true},
      {beside, -0.0F, true},
      {apart, 0, true},
      {apart, -0.25F, false},
      {apart, -kInfinity, false},
      {box, kNan, true},
      {apart, kNan, true},
      // Boxes without overlap: the IoU is 0 or NaN.
      {not_finite, 0, true},
      {not_finite, -1, false},
      {without_width, 0, true},
      {without_width, -1, false},
      {not_a_size, 0, true},
      {not_a_size, -1, true},
  };
  for (const auto& [other, iou_threshold, is_kept] : kTable) {
    for (const bool is_first : {false, true}) {
      SCOPED_TRACE(::testing::Message()
                   << iou_threshold << ", " << is_first << ::testing::PrintToString(numbers_of({other})));
      const Boxes boxes = is_first ? Boxes{other, box} : Boxes{box, other};
      expect_kept(make(boxes, {2, 1}, iou_threshold), is_kept ? Indices{0, 1} : Indices{0});
    }
  }
}

Boxes disjoint_boxes(size_t count) {
  Boxes boxes;
  for (size_t i = 0; i < count; ++i) boxes.push_back({static_cast<float>(i) * 5, 0, 4, 2, 0.5F});
  return boxes;
}

// Ties go to the lower index, also between zeros of both signs and between NaN.
TEST(OpsNmsRotated, ScoreOrder) {
  const float negative_nan = -kNan;
  const struct {
    Scores scores;
    Indices order;
  } kTable[] = {
      {{0.25F, 0.5F, 0.125F, 0.5F, 1, 0.25F}, {4, 1, 3, 0, 5, 2}},
      {{1, 1, 1, 1}, {0, 1, 2, 3}},
      {{0.0F, -0.0F, 0.0F, -0.0F, 1e-45F, -1e-45F}, {4, 0, 1, 2, 3, 5}},
      {{-kInfinity, 1, kInfinity, -1, -kInfinity, kInfinity}, {2, 5, 1, 3, 0, 4}},
      {{1, kNan, kInfinity, kNan, -1, negative_nan}, {1, 3, 5, 2, 0, 4}},
      {{-kInfinity, negative_nan}, {1, 0}},
  };
  for (const auto& [scores, order] : kTable) {
    SCOPED_TRACE(::testing::PrintToString(scores));
    expect_kept(make(disjoint_boxes(scores.size()), scores, 0.5F), order);
  }
}

// Numbers of boxes around the size of a block.
TEST(OpsNmsRotated, Arrangements) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const size_t count : {0, 1, 2, 63, 64, 65, 127, 128, 129, 1000}) {
    SCOPED_TRACE(count);
    Indices all(count), every_second;
    std::iota(all.begin(), all.end(), 0);
    // Each box overlaps only the next one.
    Boxes chain;
    for (size_t i = 0; i < count; ++i) {
      chain.push_back({static_cast<float>(i), 0, 1.5F, 1, 0});
      if (i % 2 == 0) every_second.push_back(static_cast<int32_t>(i));
    }
    const Boxes disjoint = disjoint_boxes(count), identical(count, RotatedBox{3, -1, 4, 2, 0.75F});
    const Scores equal(count, 0.5F);
    Scores falling, rising;
    for (size_t i = 0; i < count; ++i) rising.push_back(static_cast<float>(i));
    falling.assign(rising.rbegin(), rising.rend());
    for (const Scores& scores : {equal, falling}) {
      expect_kept(make(disjoint, scores, 0), all);
      expect_kept(make(chain, scores, 0.1F), every_second);
      expect_kept(make(identical, scores, 0.5F), Indices(std::min<size_t>(count, 1)));
    }
    const auto reversed = [&](Indices indices) {
      for (int32_t& i : indices) i = static_cast<int32_t>(count) - 1 - i;
      return indices;
    };
    expect_kept(make(disjoint, rising, 0), reversed(all));
    expect_kept(make(chain, rising, 0.1F), reversed(every_second));
    expect_kept(make(identical, rising, 0.5F), reversed(Indices(std::min<size_t>(count, 1))));
  }
}

// A box suppresses another box with the same rectangle, in any parametrization.
TEST(OpsNmsRotated, SameRectangles) {
  for (const auto& [name, other] : kSameRectangles) {
    SCOPED_TRACE(name);
    Boxes boxes;
    Indices first;
    for (int i = 0; i < 200; ++i) {
      const RotatedBox box = {static_cast<float>(i) * 6, 1000, 4, 2, static_cast<float>(i) * 0.03125F - 3};
      first.push_back(static_cast<int32_t>(boxes.size()));
      boxes.insert(boxes.end(), {box, other(box)});
    }
    expect_kept(make(boxes, Scores(boxes.size(), 1), 0.999F), first);
  }
}

TEST(OpsNmsRotated, LabelsAreNotRead) {
  Case made = make_case("nms_rotated", MLUOP_DTYPE_FLOAT, {{"n", 300}, {"columns", 6}});
  expect_oracle(made);
  const std::vector<float> numbers = floats_of(made, "boxes");
  Boxes boxes;
  for (size_t i = 0; i < numbers.size(); i += 6) {
    boxes.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3], numbers[i + 4]});
  }
  const Handle handle;
  OperatorCall with_labels(handle, made), without(handle, make(boxes, floats_of(made, "scores"), 0.5F));
  require(with_labels.run());
  require(without.run());
  EXPECT_EQ(with_labels.int32s("output"), without.int32s("output"));
}

// Many blocks, in a few clusters and far apart, with thresholds of every kind.
TEST(OpsNmsRotated, Distributions) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const float spread : {0.0F, 0.1F, 1.0F, 100.0F}) {
    for (const int64_t iou_percent : {-10, 0, 1, 25, 70, 100}) {
      SCOPED_TRACE(::testing::Message() << spread << ", " << iou_percent);
      Case made =
          make_case("nms_rotated", MLUOP_DTYPE_FLOAT, {{"n", 700}, {"iou_percent", iou_percent}, {"specials", 1}});
      std::vector<float> numbers = floats_of(made, "boxes");
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= i % 5 < 2 ? spread : 1;
      set_values(made, "boxes", numbers);
      expect_oracle(made);
    }
  }
}

TEST(BigNmsRotated, NetworkSizes) {
  for (const auto& [n, iou_percent] : {std::pair{4096, 0}, {9000, 80}, {30'000, 20}}) {
    expect_oracle_everywhere(
        make_case("nms_rotated", MLUOP_DTYPE_FLOAT, {{"n", n}, {"iou_percent", iou_percent}}));
  }
}

}  // namespace
}  // namespace mluop::test
