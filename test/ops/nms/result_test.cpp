// mluOpNms and mluOpOmpNms3dNormal against the serial loops of their definitions: modes, thresholds, scores and
// arrangements of boxes. test/ops/contract_test.cpp has sizes and values of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/boxes_overlap_bev.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;
using Sizes = std::map<std::string, int64_t>;

constexpr float kMax = std::numeric_limits<float>::max();

// A case with a row for each box and room for each box in the output.
Case make_boxes(const std::string& op, Sizes sizes, const std::vector<float>& boxes, size_t columns,
                mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT) {
  const auto N = static_cast<int64_t>(boxes.size() / columns);
  sizes["n"] = N;
  if (op == "nms") sizes["max_output_size"] = N;
  Case made = make_case(op, dtype, sizes);
  set_values(made, "boxes", boxes);
  return made;
}

std::vector<int32_t> outputs_of(const Case& made, const char* output, const char* count) {
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(call.intact());
  std::vector<int32_t> all = call.int32s(output);
  const auto kept = static_cast<size_t>(call.int32s(count)[0]);
  EXPECT_TRUE(
      std::all_of(all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(), [](int i) { return i == 0; }));
  all.resize(kept);
  return all;
}

struct Example {
  const char* name;
  std::vector<float> boxes, confidence;
  double iou_threshold;
  std::vector<int32_t> kept;
  Sizes sizes = {};
  double confidence_threshold = 0;
};

const Example kExamples[] = {
    {"an IoU of exactly the threshold", {0, 0, 4, 2, 0, 0, 4, 1}, {.5F, .25F}, 0.5, {0, 1}},
    {"above the threshold", {0, 0, 4, 2, 0, 0, 4, 1}, {.25F, .5F}, 0.49, {1}},
    {"edges and corners touch", {0, 0, 1, 1, 1, 0, 2, 1, 1, 1, 2, 2}, {.75F, .5F, .25F}, 0, {0, 1, 2}},
    {"pixels that boxes share",
     {0, 0, 1, 1, 1.5F, 0, 2.5F, 1, 2, 0, 3, 1},
     {.75F, .5F, .25F},
     0,
     {0, 2},
     {{"offset", 1}}},
    {"a suppressed box suppresses none", {0, 0, 4, 4, 0, 1, 4, 5, 0, 2, 4, 6}, {.75F, .5F, .25F}, 0.5, {0, 2}},
    {"equal boxes of equal scores", {0, 0, 1, 1, 0, 0, 1, 1, 5, 5, 6, 6}, {.5F, .5F, .5F}, 0.5, {0, 2}},
    {"NaN first, 0 dropped", {0, 0, 1, 1, 2, 0, 3, 1, 4, 0, 5, 1}, {.5F, 0, kNan}, 0.5, {2, 0}},
    {"at the confidence threshold", {0, 0, 1, 1, 2, 0, 3, 1}, {.5F, .25F}, 0.5, {0}, {}, 0.25},
    {"dropped boxes suppress none", {0, 0, 1, 1, 0, 0, 1, 1}, {-.5F, -kInfinity}, 0.5, {0}, {}, -1},
    {"no threshold", {0, 0, 1, 1, 2, 0, 3, 1}, {-kInfinity, 0}, 0.5, {1, 0}, {}, std::nan("")},
    {"NaN and no area suppress none",
     {0, 0, kNan, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
     {.9F, .8F, .7F, .6F},
     0,
     {0, 1, 2, 3}},
    {"corners in another order", {1, 1, 0, 0, 1, 1, 0, 0}, {.5F, .25F}, 0, {0, 1}},
    {"without overlap, below any IoU", {0, 0, 1, 1, 2, 0, 3, 1}, {.5F, .25F}, -0.5, {0}},
    {"centers", {2, 1, 4, 2, 2, 0.5F, 4, 1}, {.5F, .25F}, 0.49, {0}, {{"box_mode", 1}}},
};

TEST(OpsNms, WorkedExamples) {
  for (const Example& example : kExamples) {
    for (const auto dtype : kFloatingDtypes) {
      SCOPED_TRACE(example.name);
      Case made = make_boxes("nms", example.sizes, example.boxes, 4, dtype);
      set_values(made, "confidence", example.confidence);
      made.parameters.set_real("iou_threshold", example.iou_threshold);
      made.parameters.set_real("confidence_threshold", example.confidence_threshold);
      EXPECT_EQ(outputs_of(made, "output", "output_size"), example.kept);
      expect_oracle(made);
    }
  }
}

// Rows, columns, and rows of several batches and classes; the call writes at most max_output_size rows of each.
TEST(OpsNms, OutputModes) {
  const auto run = [](Case made, const std::vector<float>& boxes, const std::vector<float>& confidence) {
    set_values(made, "boxes", boxes);
    set_values(made, "confidence", confidence);
    const Handle handle;
    const OperatorCall call(handle, made);
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    expect_oracle(made);
    return std::pair(call.floats("output"), call.int32s("output_size")[0]);
  };
  const std::vector<float> boxes = {0, 0, 1, 1, 2, 0, 3, 1}, confidence = {.25F, .5F};
  for (const auto dtype : kFloatingDtypes) {
    Sizes sizes = {{"n", 2}, {"max_output_size", 3}, {"mode", 1}};
    EXPECT_EQ(run(make_case("nms", dtype, sizes), boxes, confidence),
              std::pair(std::vector<float>{.5F, 2, 0, 3, 1, .25F, 0, 0, 1, 1, 0, 0, 0, 0, 0}, 2));
    sizes["mode"] = 2;
    EXPECT_EQ(run(make_case("nms", dtype, sizes), boxes, confidence),
              std::pair(std::vector<float>{.5F, .25F, 0, 2, 0, 0, 0, 0, 0, 3, 1, 0, 1, 1, 0}, 2));
    sizes = {{"n", 2}, {"b", 2}, {"c", 2}, {"max_output_size", 1}, {"batches", 1}};
    EXPECT_EQ(run(make_case("nms", dtype, sizes), {0, 0, 1, 1, 2, 0, 3, 1, 0, 0, 1, 1, 0, 0, 1, 1},
                  {.25F, .5F, .5F, .25F, 0, 0, .25F, .5F}),
              std::pair(std::vector<float>{0, 0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 0}, 3));
  }
}

TEST(OpsNms, EachCombination) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (int bits = 0; bits < 64; ++bits) {
    const bool has_batches = (bits & 32) != 0;
    Sizes sizes = {{"n", 150},
                   {"mode", bits & 3},
                   {"input_layout", bits >> 2 & 1},
                   {"box_mode", bits >> 3 & 1},
                   {"offset", bits >> 4 & 1},
                   {"batches", has_batches ? 1 : 0}};
    for (const int64_t batches : {1, 2}) {
      if (batches > 1 && !has_batches) continue;
      sizes["b"] = sizes["c"] = batches;
      SCOPED_TRACE(testing::Message() << bits << ", batches " << batches);
      for (const auto dtype : kFloatingDtypes)
        expect_oracle(make_case("nms", dtype, sizes), Placement::kAgainstEnd);
    }
  }
}

TEST(OpsNms, Thresholds) {
  for (const double threshold : {0.0, -0.0, 0.25, 1.0, 2.0, -0.25, -1e30, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    SCOPED_TRACE(threshold);
    // Boxes with arbitrary numbers, and boxes at a few places.
    for (const int64_t places : {0, 1, 3}) {
      for (const int64_t planar : {0, 1}) {
        Case made = make_case("nms", MLUOP_DTYPE_FLOAT, {{"n", 200}, {"places", places}, {"planar", planar}});
        made.parameters.set_real("iou_threshold", threshold);
        expect_oracle(made);
      }
      Case made = make_case("nms3d_normal", MLUOP_DTYPE_FLOAT, {{"n", 200}, {"places", places}});
      made.parameters.set_real("iou_threshold", threshold);
      expect_oracle(made);
    }
  }
}

TEST(OpsNms, Scores) {
  const float scores[] = {kNan, kInfinity, -kInfinity, 0, -0.0F, 0.5F, -0.5F, kMax, 0x1p-149F};
  for (const double threshold : {0.0, -0.0, 0.5, -1.0, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    SCOPED_TRACE(threshold);
    for (const auto dtype : kFloatingDtypes) {
      Case made = make_case("nms", dtype, {{"n", 90}, {"max_output_size", 90}, {"iou_percent", 20}});
      std::vector<float> confidence;
      for (size_t i = 0; i < 90; ++i) confidence.push_back(scores[i * 7 % std::size(scores)]);
      set_values(made, "confidence", confidence);
      made.parameters.set_real("confidence_threshold", threshold);
      expect_oracle(made);
    }
  }
}

// Arrangements of box i.
const struct {
  const char* name;
  std::vector<float> (*box)(int64_t i);
} kArrangements[] = {
    {"equal",
     [](int64_t) {
       return std::vector<float>{1, 1, 2, 2};
     }},
    {"disjoint",
     [](int64_t i) {
       const auto x = static_cast<float>(i) * 2;
       return std::vector<float>{x, 0, x + 1, 1};
     }},
    // Each box overlaps only the next.
    {"chain",
     [](int64_t i) {
       const auto x = static_cast<float>(i) * 2;
       return std::vector<float>{x, 0, x + 3, 1};
     }},
    {"nested",
     [](int64_t i) {
       const auto side = static_cast<float>(i + 1);
       return std::vector<float>{-side, -side, side, side};
     }},
    // Areas and sides that overflow.
    {"huge",
     [](int64_t i) {
       const float side = i % 3 == 0 ? kMax : i % 3 == 1 ? kInfinity : 1;
       return std::vector<float>{-side, -1, side, 1};
     }},
};

// Numbers of boxes around multiples of 64; several chunks.
TEST(OpsNms, Arrangements) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(3);
  for (const auto& arrangement : kArrangements) {
    for (const int64_t N : {1, 2, 63, 64, 65, 129, 4500}) {
      SCOPED_TRACE(testing::Message() << arrangement.name << ' ' << N);
      std::vector<float> boxes, confidence;
      for (int64_t i = 0; i < N; ++i) {
        const std::vector<float> box = arrangement.box(i);
        boxes.insert(boxes.end(), box.begin(), box.end());
        confidence.push_back(1 - static_cast<float>(i) * 0x1p-14F);
      }
      for (const int64_t offset : {0, 1}) {
        Case made = make_boxes("nms", {{"offset", offset}, {"iou_percent", 15}}, boxes, 4);
        set_values(made, "confidence", confidence);
        expect_oracle(made);
      }
    }
  }
}

TEST(OpsNms, ThreeDimensions) {
  const std::vector<float> cross = {0, 0, 0, 4, 1, 1, 0, 0, 0, 0, 4, 1, 1, 1.57079633F, 9, 9, 0, 1, 1, 1, 0};
  const std::vector<float> gap = {0, 0, 0, 4, 2, 1.5F, 0, 4.005F, 0, 0, 4, 2, 1.5F, 0};
  const struct {
    const std::vector<float>& boxes;
    double iou_threshold;
    std::vector<int32_t> kept, kept_upright;
  } kTable[] = {
      // IoU 1/7 with yaw, 1 without.
      {cross, 0.15, {0, 1, 2}, {0, 2}},
      {cross, 0.14, {0, 2}, {0, 2}},
      // The margin of 0.01 gives boxes 0.005 apart an IoU of 0.0006.
      {gap, 0, {0}, {0, 1}},
      {gap, 0.001, {0, 1}, {0, 1}},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.iou_threshold);
    for (const bool upright : {false, true}) {
      Case made =
          make_boxes(upright ? "nms3d_normal" : "nms", upright ? Sizes() : Sizes{{"planar", 0}}, row.boxes, 7);
      made.parameters.set_real("iou_threshold", row.iou_threshold);
      EXPECT_EQ(outputs_of(made, "output", upright ? "result_num" : "output_size"),
                upright ? row.kept_upright : row.kept);
      expect_oracle(made);
    }
  }
}

// The last bits of the overlap of two turned boxes depend on which box is kept.
TEST(OpsNms, OrderOfAPair) {
  int found = 0;
  for (int32_t seed = 0; seed < 200; ++seed) {
    Case made = make_case("nms", MLUOP_DTYPE_FLOAT, {{"n", 2}, {"planar", 0}, {"places", 1}}, seed);
    const std::vector<float> boxes = floats_of(made, "boxes");
    const float *a = boxes.data(), *b = boxes.data() + 7;
    const auto iou = [&](float overlap) { return overlap / std::max(a[3] * a[4] + b[3] * b[4] - overlap, 1e-8F); };
    const float of_a = iou(reference::bev_overlap(a, b)), of_b = iou(reference::bev_overlap(b, a));
    if (of_a == of_b) continue;
    ++found;
    made.parameters.set_real("iou_threshold", double{std::min(of_a, of_b)});
    EXPECT_EQ(outputs_of(made, "output", "output_size").size(), of_a > of_b ? 1U : 2U);
  }
  EXPECT_GT(found, 0);
}

// Numbers of a 3-D box that lead to no overlap or to an overflow.
TEST(OpsNms, IrregularBoxes) {
  for (const float number : {kNan, kInfinity, -kInfinity, 0.0F, -1.0F, kMax, 0x1p-149F}) {
    for (size_t column = 0; column < 7; ++column) {
      SCOPED_TRACE(testing::Message() << number << " in column " << column);
      for (const char* op : {"nms", "nms3d_normal"}) {
        for (const double threshold : {0.25, -1.0}) {
          const bool turned = op == std::string("nms");
          Case made =
              make_case(op, MLUOP_DTYPE_FLOAT, turned ? Sizes{{"n", 70}, {"planar", 0}} : Sizes{{"n", 70}});
          std::vector<float> boxes = floats_of(made, "boxes");
          for (size_t i = column; i < boxes.size(); i += 7 * 3) boxes[i] = number;
          set_values(made, "boxes", boxes);
          made.parameters.set_real("iou_threshold", threshold);
          expect_oracle(made);
        }
      }
    }
  }
  // Only the corners are not finite.
  Case made = make_boxes("nms3d_normal", {}, {kMax, 0, 0, kMax, 0.5F, 1, 0, kMax, 0, 0, kMax, 0.5F, 1, 0}, 7);
  EXPECT_EQ(outputs_of(made, "output", "result_num"), (std::vector<int32_t>{0, 1}));
  expect_oracle(made);
}

TEST(BigNms, NetworkSizes) {
  expect_oracle_everywhere(make_case("nms", MLUOP_DTYPE_FLOAT, {{"n", 9000}, {"max_output_size", 2000}}));
  expect_oracle_everywhere(make_case("nms", MLUOP_DTYPE_FLOAT, {{"n", 4096}, {"planar", 0}}));
}

}  // namespace
}  // namespace mluop::test
