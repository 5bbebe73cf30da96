// mluOpBoxIouRotated on worked examples, which check the oracle as well, and against the oracle on boxes for which
// algorithms with absolute tolerances fail. test/ops/contract_test.cpp has random boxes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
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

enum Mode { kUnion, kForeground };
constexpr Mode kModes[] = {kUnion, kForeground};

Case aligned_case(const Boxes& bbox1, const Boxes& bbox2, Mode mode = kUnion) {
  Case made = make_case("box_iou_rotated", MLUOP_DTYPE_FLOAT,
                        {{"n", static_cast<int64_t>(bbox1.size())}, {"mode", mode}, {"all_pairs", 0}});
  set_values(made, "bbox1", numbers_of(bbox1));
  set_values(made, "bbox2", numbers_of(bbox2));
  return made;
}

std::vector<float> ious_of(const Case& made) {
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.floats("ious");
}

struct Example {
  RotatedBox a, b;
  double area;  // of the intersection
};

const Example kExamples[] = {
    // An octagon: 8 (sqrt(2) - 1).
    {{0, 0, 2, 2, 0}, {0, 0, 2, 2, kPi / 4}, 3.3137084989847604},
    {{0, 0, 4, 2, 0}, {1, 0.5F, 4, 2, 0}, 4.5},
    {{0, 0, 4, 2, kPi / 6}, {1, 0.5F, 4, 2, -kPi / 6}, 4.0514428415},
    // A cross: no corner is in the other box.
    {{0, 0, 4, 1, 0}, {0, 0, 4, 1, kPi / 2}, 1},
    // A diamond whose corners the other box cuts off, and a diamond that it does not cut.
    {{0, 0, 3, 3, 0}, {0, 0, 0x1.6A09E6p+1F, 0x1.6A09E6p+1F, kPi / 4}, 7},
    {{0, 0, 4, 4, 0}, {0, 0, 0x1.6A09E6p+1F, 0x1.6A09E6p+1F, kPi / 4}, 8},
    // One box inside the other, at its center, at an edge and at a corner.
    {{0, 0, 4, 2, 0}, {0, 0, 4, 1, 0}, 4},
    {{0, 0, 4, 4, 0}, {0.25F, -0.5F, 1, 2, 0.375F}, 2},
    {{0, 0, 4, 2, 0}, {1, 0, 2, 2, 0}, 4},
    {{0, 0, 4, 2, 0}, {-1.5F, 0.5F, 1, 1, 0}, 1},
    // The boxes touch at an edge and at a corner.
    {{0, 0, 2, 2, 0}, {2, 0, 2, 2, 0}, 0},
    {{0, 0, 2, 2, 0}, {2, 2, 2, 2, 0}, 0},
    // The angle turns x to y: with the other direction these two boxes would overlap.
    {{1010.5F, 860.00012207F, 12.20655537F, 48.82622528F, 0.9600703720F},
     {1022, 870.49993896F, 10.81665134F, 43.26660919F, 0.9827936607F},
     0},
    {{1010.5F, 860.00012207F, 12.20655537F, 48.82622528F, -0.9600703720F},
     {1022, 870.49993896F, 10.81665134F, 43.26660919F, -0.9827936607F},
     286.6533},
    // The tolerances of fp32 algorithms are greater than these boxes, or than the thickness of one box.
    {{0, 0, 2e-3F, 1e-3F, 0.3F}, {5e-4F, 2e-4F, 2e-3F, 1e-3F, 0.7F}, 1.2777993e-6},
    {{135.07F, 406.72F, 7.9445e-7F, 1971.1F, 1.7708F},
     {151.008F, 436.2173F, 302.0159F, 313.7347F, 3.1184F},
     2.4603955e-4},
};

// The library and the oracle return the expected area.
TEST(OpsBoxIouRotated, WorkedExamples) {
  Boxes bbox1, bbox2;
  for (const auto& [a, b, area] : kExamples) {
    bbox1.insert(bbox1.end(), {a, b});
    bbox2.insert(bbox2.end(), {b, a});
  }
  for (const Mode mode : kModes) {
    const Handle handle;
    OperatorCall call(handle, aligned_case(bbox1, bbox2, mode));
    require(call.run());
    for (const bool is_oracle : {false, true}) {
      if (is_oracle) call.expect();
      const std::vector<float> ious = call.floats("ious");
      for (size_t i = 0; i < ious.size(); ++i) {
        SCOPED_TRACE(::testing::Message()
                     << "example " << i / 2 << ", mode " << mode << (is_oracle ? ", oracle" : ""));
        const RotatedBox &a = bbox1[i], &b = bbox2[i];
        const double area = kExamples[i / 2].area, area_a = double{a.width} * a.height,
                     area_b = double{b.width} * b.height;
        const double expected = area / (mode == kUnion ? area_a + area_b - area : area_a);
        EXPECT_NEAR(ious[i], expected, 1e-6);
      }
    }
  }
}

// At angles in all quadrants, near the origin and where coordinates of fp32 are 1/16 apart.
TEST(OpsBoxIouRotated, SameRectangles) {
  constexpr RotatedBox kBoxes[] = {{0, 0, 4, 2, 0},         {1, -2, 12, 0.3F, 0},      {0, 0, 5, 1e-3F, 0},
                                   {0, 0, 1e-3F, 5e-4F, 0}, {0, 0, 6e-5F, 3e-5F, 0},   {-7, 3, 300, 200, 0},
                                   {1e6F, -1e6F, 4, 2, 0},  {1e5F, 1e5F, 1e-2F, 10, 0}};
  for (const auto& [name, other] : kSameRectangles) {
    for (const RotatedBox& box : kBoxes) {
      SCOPED_TRACE(::testing::Message() << name << ", " << box.width << " x " << box.height);
      Boxes bbox1, bbox2;
      for (int i = -200; i <= 200; ++i) {
        bbox1.push_back(turned(box, static_cast<float>(i) * 0x1p-6F));
        bbox2.push_back(other(bbox1.back()));
      }
      for (const Mode mode : kModes) {
        const Case made = aligned_case(bbox1, bbox2, mode);
        const std::vector<float> ious = ious_of(made);
        // The angles differ by 10 ulp of 4, or by as much as fp32 rounds.
        const float lowest = 1 - 5e-6F * std::max(box.width, box.height) / std::min(box.width, box.height);
        EXPECT_GE(*std::ranges::min_element(ious), lowest);
        EXPECT_LE(*std::ranges::max_element(ious), 1);
        expect_oracle(made);
      }
    }
  }
}

// A common translation does not change the result: offsets between classes have this magnitude.
TEST(OpsBoxIouRotated, FarFromTheOrigin) {
  Boxes bbox1, bbox2;
  for (int i = 0; i < 300; ++i) {
    const auto number = static_cast<float>(i);
    bbox1.push_back({std::floor(number / 20), 0, 4, 2, 0.1F * number});
    bbox2.push_back(
        {0.5F * static_cast<float>(i % 20), 0.25F * static_cast<float>(i % 7), 3, 1.5F, 0.7F * number});
  }
  const std::vector<float> ious = ious_of(aligned_case(bbox1, bbox2));
  EXPECT_GT(std::ranges::count_if(ious, [](float iou) { return iou > 0; }), 50);
  for (const float offset : {0x1p17F, -0x1p20F}) {
    Boxes far1 = bbox1, far2 = bbox2;
    for (Boxes* boxes : {&far1, &far2}) {
      for (RotatedBox& box : *boxes) {
        box.x += offset;
        box.y -= offset;
      }
    }
    const std::vector<float> far_ious = ious_of(aligned_case(far1, far2));
    for (size_t i = 0; i < ious.size(); ++i) EXPECT_NEAR(far_ious[i], ious[i], 1e-6) << i;
  }
}

// Each box against a square of side 1, in both orders.
TEST(OpsBoxIouRotated, DegenerateAndNotFinite) {
  const struct {
    RotatedBox box;
    float iou;
  } kTable[] = {
      {{0, 0, 0, 1, 0}, 0},
      {{0, 0, 1, 0, 0}, 0},
      {{0, 0, -1, 1, 0}, 0},
      {{0, 0, 1, -1, 0}, 0},
      {{0, 0, -1, -1, 0}, 0},
      // Areas just below and above 1e-14.
      {{0, 0, 9.9e-8F, 1e-7F, 0}, 0},
      {{0, 0, 1.01e-7F, 1e-7F, 0}, 1.01e-14F},
      {{kNan, 0, 1, 1, 0}, 0},
      {{0, kNan, 1, 1, 0}, 0},
      {{0, 0, kNan, 1, 0}, kNan},
      {{0, 0, 1, kNan, 0}, kNan},
      {{0, 0, 1, 1, kNan}, 0},
      {{kNan, 0, kNan, 1, 0}, kNan},
      {{kNan, 0, 0, 1, 0}, 0},
      {{kInfinity, 0, 1, 1, 0}, 0},
      {{0, -kInfinity, 1, 1, 0}, 0},
      {{0, 0, kInfinity, 1, 0}, 0},
      {{0, 0, kInfinity, kInfinity, 0}, 0},
      {{0, 0, kInfinity, 0, 0}, 0},
      {{0, 0, 1, 1, kInfinity}, 0},
      {{0, 0, 3e38F, 3e38F, 0}, 0},
  };
  constexpr RotatedBox kSquare = {0, 0, 1, 1, 0};
  for (const auto& [box, iou] : kTable) {
    SCOPED_TRACE(::testing::PrintToString(numbers_of({box})));
    const Case made = aligned_case({box, kSquare}, {kSquare, box});
    for (const float found : ious_of(made)) {
      if (std::isnan(iou)) {
        EXPECT_TRUE(std::isnan(found)) << found;
      } else {
        EXPECT_FLOAT_EQ(found, iou);
      }
    }
    expect_oracle(made);
  }
}

// Numbers of boxes around the size of a group, with boxes that are not finite among them.
TEST(OpsBoxIouRotated, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const int64_t n : {1, 63, 64, 65, 129}) {
    for (const int64_t m : {1, 15, 17, 63, 64, 65, 127, 128, 129}) {
      for (const Mode mode : kModes) {
        SCOPED_TRACE(product_text({n, m, mode}));
        expect_oracle(
            make_case("box_iou_rotated", MLUOP_DTYPE_FLOAT, {{"n", n}, {"m", m}, {"mode", mode}, {"specials", 1}}),
            Placement::kAgainstEnd);
      }
    }
  }
}

// No pair of boxes overlaps, or each does.
TEST(OpsBoxIouRotated, Distributions) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(2);
  for (const float spread : {0.0F, 0.01F, 100.0F}) {
    SCOPED_TRACE(spread);
    Case made = make_case("box_iou_rotated", MLUOP_DTYPE_FLOAT, {{"n", 200}, {"m", 150}});
    for (const char* id : {"bbox1", "bbox2"}) {
      std::vector<float> numbers = floats_of(made, id);
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= i % 5 < 2 ? spread : 1;
      set_values(made, id, numbers);
    }
    expect_oracle(made);
  }
}

TEST(BigBoxIouRotated, NetworkSizes) {
  for (const std::map<std::string, int64_t>& sizes :
       {std::map<std::string, int64_t>{{"n", 4096}, {"m", 4096}}, {{"n", 200'000}, {"m", 40}}}) {
    expect_oracle(make_case("box_iou_rotated", MLUOP_DTYPE_FLOAT, sizes));
  }
  expect_oracle(make_case("box_iou_rotated", MLUOP_DTYPE_FLOAT, {{"n", 1'000'000}, {"all_pairs", 0}}));
}

}  // namespace
}  // namespace mluop::test
