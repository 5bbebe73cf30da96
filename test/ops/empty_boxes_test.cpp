// Boxes without a positive width and height, in every operator that intersects boxes: they overlap no box.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/operator_call.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;

struct Box {
  bool is_empty() const { return w <= 0 || h <= 0; }

  float x, y, w, h, dz;
};

// Boxes of each size, placed so that the boxes with positive sizes overlap.
std::vector<Box> boxes() {
  const float sizes[][3] = {{2, 1, 1},  {0, 1, 1},   {2, 0, 1},     {2, 1, 0},         {-2, 1, 1},
                            {2, -1, 1}, {-2, -1, 1}, {2, 1, -1},    {kNan, 1, 1},      {2, kNan, 1},
                            {0, 0, 1},  {0, -1, 1},  {-0.5F, 1, 1}, {kInfinity, 1, 1}, {2, kInfinity, 1}};
  std::vector<Box> all;
  for (const float shift : {0.0F, 0.25F, 7.0F}) {
    for (const auto& [w, h, dz] : sizes) all.push_back({shift, shift / 2, w, h, dz});
  }
  return all;
}

enum class Format { kCorners, kCenter, kRotated, kOfSpace };

std::vector<float> numbers(Format format, const Box& box) {
  const auto [x, y, w, h, dz] = box;
  switch (format) {
    case Format::kCorners: return {x - w / 2, y - h / 2, x + w / 2, y + h / 2};
    case Format::kCenter: return {x, y, w, h};
    case Format::kRotated: return {x, y, w, h, 0.3F};
    default: return {x, y, 0, w, h, dz, 0.3F};
  }
}

std::vector<float> numbers(Format format) {
  std::vector<float> all;
  for (const Box& box : boxes()) {
    for (const float number : numbers(format, box)) all.push_back(number);
  }
  return all;
}

// The overlaps of all pairs.
std::vector<float> overlaps(const char* op, Format format, const char* a, const char* b, const char* output) {
  const auto count = static_cast<int64_t>(boxes().size());
  Case made = make_case(op, MLUOP_DTYPE_FLOAT, {{"n", count}, {"m", count}});
  set_values(made, a, numbers(format));
  set_values(made, b, numbers(format));
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(output);
}

TEST(OpsEmptyBoxes, OverlapsAreZero) {
  const std::vector<std::vector<float>> found = {
      overlaps("box_iou_rotated", Format::kRotated, "bbox1", "bbox2", "ious"),
      overlaps("boxes_overlap_bev", Format::kOfSpace, "boxes_a", "boxes_b", "overlaps")};
  const std::vector<Box> all = boxes();
  const size_t count = all.size();
  for (const std::vector<float>& values : found) {
    for (size_t i = 0; i < count * count; ++i) {
      const size_t a = i / count, b = i % count;
      SCOPED_TRACE(testing::Message() << a << ' ' << b);
      if (all[a].is_empty() || all[b].is_empty()) {
        EXPECT_EQ(values[i], 0);
      }
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(values[b * count + a]));
      } else {
        EXPECT_NEAR(values[i], values[b * count + a], 1e-6);
        EXPECT_GE(values[i], 0);
      }
      if (&values == &found[0] && !std::isnan(values[i])) {
        EXPECT_LE(values[i], 1);
      }
    }
  }
}

struct Suppression {
  const char* op;
  Format format;
  const char* boxes;
  const char* scores;  // null: no scores, or the last number of a box
  std::map<std::string, int64_t> sizes;
};

const Suppression kSuppressions[] = {
    {"nms", Format::kCorners, "boxes", "confidence", {}},
    {"nms", Format::kCorners, "boxes", "confidence", {{"offset", 1}}},
    {"nms", Format::kCenter, "boxes", "confidence", {{"box_mode", 1}}},
    {"nms", Format::kOfSpace, "boxes", nullptr, {{"planar", 0}}},
    {"nms3d_normal", Format::kOfSpace, "boxes", nullptr, {}},
    {"nms_rotated", Format::kRotated, "boxes", "scores", {}},
    {"nms_match", Format::kCorners, "dets", nullptr, {}},
    {"soft_nms", Format::kCorners, "boxes", "scores", {{"method", MLUOP_OMP_SOFT_NMS_NAIVE}}},
    {"soft_nms", Format::kCorners, "boxes", "scores", {{"method", MLUOP_OMP_SOFT_NMS_LINEAR}, {"offset", 1}}},
    {"soft_nms", Format::kCorners, "boxes", "scores", {{"method", MLUOP_OMP_SOFT_NMS_GAUSSIAN}}},
};

// The oracles have an IoU of 0, which suppresses if the threshold is negative.
TEST(OpsEmptyBoxes, Suppressions) {
  const size_t count = boxes().size();
  for (const auto& [op, format, id, scores_id, more] : kSuppressions) {
    std::map<std::string, int64_t> sizes = more;
    sizes["n"] = static_cast<int64_t>(count);
    sizes["max_output_size"] = sizes["n"];
    if (std::string(op) != "nms") sizes.erase("max_output_size");
    Case made = make_case(op, MLUOP_DTYPE_FLOAT, sizes);
    std::vector<float> scores;
    for (size_t i = 0; i < count; ++i) scores.push_back(1 - static_cast<float>(i) / 64);
    std::vector<float> values = numbers(format);
    if (std::string(op) == "nms_match") {
      for (size_t i = count; i > 0; --i)
        values.insert(values.begin() + static_cast<std::ptrdiff_t>(4 * i), scores[i - 1]);
    }
    set_values(made, id, values);
    if (scores_id != nullptr) set_values(made, scores_id, scores);
    for (const double threshold : {-0.5, -0.0, 0.25}) {
      SCOPED_TRACE(testing::Message() << op << ' ' << static_cast<int>(format) << ' ' << threshold);
      made.parameters.set_real("iou_threshold", threshold);
      expect_oracle(made);
    }
  }
}

}  // namespace
}  // namespace mluop::test
