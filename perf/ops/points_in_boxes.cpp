// Points in boxes at the sizes of the document of MLU-OPS, PointRCNN and Part-A2. The points form a scan: rings
// around the origin, with consecutive points near each other; boxes have the size of cars.
#include "reference/points_in_boxes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "perf/support/operator_case.h"

namespace mluop::perf::points_in_boxes {
namespace {

using Sizes = reference::PointsInBoxesSizes;

struct Row {
  const char* name;
  Sizes sizes;
  bool is_shuffled = false;
};

constexpr Row kCases[] = {{"document 1x272414_t66", {1, 272414, 66}},
                          {"pointrcnn 4x16384_t50", {4, 16384, 50}},
                          {"proposals 1x120000_t500", {1, 120000, 500}}};
// In random order, points far from each other are compared with the same boxes.
constexpr Row kCliffCases[] = {{"points_in_boxes scan", {1, 120000, 100}},
                               {"points_in_boxes shuffled", {1, 120000, 100}, true}};

std::vector<float> make_points(const Sizes& sizes, bool is_shuffled) {
  constexpr int64_t kRings = 64;
  std::mt19937 random(1);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  std::vector<std::array<float, 3>> points(static_cast<size_t>(sizes.M));
  std::vector<float> values;
  for (int64_t b = 0; b < sizes.B; ++b) {
    for (int64_t m = 0; m < sizes.M; ++m) {
      const float turns = static_cast<float>(m * kRings) / static_cast<float>(sizes.M), ring = std::floor(turns);
      const float angle = 2 * std::numbers::pi_v<float> * (turns - ring), range = 4 + ring + uniform(-0.2F, 0.2F);
      points[static_cast<size_t>(m)] = {range * std::cos(angle), range * std::sin(angle), uniform(-2, 1)};
    }
    if (is_shuffled) std::shuffle(points.begin(), points.end(), random);
    for (const auto& point : points) values.insert(values.end(), point.begin(), point.end());
  }
  return values;
}

std::vector<float> make_boxes(const Sizes& sizes) {
  std::mt19937 random(2);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  std::vector<float> values;
  for (int64_t i = 0; i < sizes.B * sizes.T; ++i) {
    values.insert(values.end(), {uniform(-60, 60), uniform(-60, 60), -1.6F, uniform(3.5F, 4.5F), uniform(1.6F, 2),
                                 1.6F, uniform(-3.14F, 3.14F)});
  }
  return values;
}

std::unique_ptr<OperatorCase> make(const std::string& op, const Row& row, const Variant& variant, double size) {
  Sizes sizes = row.sizes;
  sizes.M = scaled(sizes.M, size);
  const auto& [B, M, T] = sizes;
  const TensorShape points = {"points", variant.dtype, {B, M, 3}}, boxes = {"boxes", variant.dtype, {B, T, 7}};
  std::unique_ptr<OperatorCase> made;
  if (op == "points_in_boxes") {
    made = make_case(op, variant, {}, {points, boxes, {"points_indices", MLUOP_DTYPE_INT32, {B, M}}});
  } else if (op == "points_in_boxes_part") {
    made = make_case(op, variant, {}, {boxes, points, {"indices", MLUOP_DTYPE_INT32, {B, M}}});
  } else {
    made = make_case(op, variant, {}, {boxes, points, {"is_inside", MLUOP_DTYPE_INT32, {B, M, T}}});
  }
  made->set("points", make_points(sizes, row.is_shuffled));
  made->set("boxes", make_boxes(sizes));
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  const auto make_of = [](const std::string& op) {
    return [op](const Row& row, const Variant& variant, double size) { return make(op, row, variant, size); };
  };
  for (const std::string op : {"points_in_boxes", "points_in_boxes_part", "points_in_boxes_all"}) {
    append_cases(specs, op, kNativeFloat, kCases, make_of(op));
  }
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make_of("points_in_boxes_part"));
  return specs;
}

}  // namespace mluop::perf::points_in_boxes
