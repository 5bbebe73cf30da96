// The operators of points in boxes: points whose boxes are known, and points at faces, where rounding decides,
// against the serial loop of the definition. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using Box = std::array<float, 7>;  // x, y, z, dx, dy, dz, yaw
using Point = std::array<float, 3>;

constexpr auto kPi = std::numbers::pi_v<float>;
constexpr const char* kOps[] = {"points_in_boxes", "points_in_boxes_part", "points_in_boxes_all"};

template <size_t kCount>
std::vector<float> numbers_of(const std::vector<std::array<float, kCount>>& rows) {
  std::vector<float> numbers;
  for (const auto& row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
  return numbers;
}

cases::Case make(const char* op, const std::vector<Point>& points, const std::vector<Box>& boxes) {
  const auto size = [](const auto& rows) { return static_cast<int64_t>(rows.size()); };
  cases::Case made = make_case(op, MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", size(points)}, {"t", size(boxes)}});
  set_values(made, "points", numbers_of(points));
  set_values(made, "boxes", numbers_of(boxes));
  return made;
}

std::vector<int32_t> results(const char* op, const std::vector<Point>& points, const std::vector<Box>& boxes) {
  const cases::Case made = make(op, points, boxes);
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.int32s(call.op().tensors[2].id);
}

// Whether the box contains the point by the rule of MLU-OPS, and by the rule of mmcv.
struct Example {
  Box box;
  Point point;
  bool mlu, mmcv;
};

constexpr Box kTurned = {10, 5, -1, 4, 2, 1.5F, kPi / 6}, kBox = {0, 0, 0, 4, 2, 2, 0};

const Example kExamples[] = {
    // Points at the center of the bottom face, at the center of the top face, and below: z is the z of the box's
    // center, or of its bottom.
    {kTurned, {10, 5, -1}, true, true},
    {kTurned, {10, 5, 0.5F}, false, true},
    {kTurned, {10, 5, -1.5F}, true, false},
    // Yaw turns the x axis to the y axis.
    {kTurned, {11.7F, 6, -0.5F}, true, true},
    {kTurned, {11.733F, 6, -0.5F}, false, false},
    {kTurned, {9.5F, 5.866F, -0.5F}, true, true},
    // The sides are 1e-5 longer, or open intervals.
    {kBox, {2, 0, 1}, true, false},
    {kBox, {0, -1, 1}, true, false},
    {kBox, {2.000005F, 0, 0.5F}, true, false},
    {kBox, {2.00002F, 0, 0.5F}, false, false},
    // Top and bottom belong to the box.
    {kBox, {0, 0, 2}, false, true},
    {kBox, {0, 0, -1}, true, false},
    // Only a height of NaN is inside.
    {kBox, {0, 0, kNan}, true, true},
    {kBox, {kNan, 0, 1}, false, false},
    {kBox, {0, kNan, 1}, false, false},
    {kBox, {0, kInfinity, 1}, false, false},
    {kBox, {0, 0, kInfinity}, false, false},
    // Boxes without extent, of negative and infinite extents, and with NaN.
    {{0, 0, 0, 0, 2, 2, 0}, {0, 0, 1}, true, false},
    {{0, 0, 0, -1, 2, 2, 0}, {0, 0, 1}, false, false},
    {{0, 0, 0, 4, 2, -1, 0}, {0, 0, 0}, false, false},
    {{0, 0, 0, 4, 2, kNan, 0}, {0, 0, 7}, true, true},
    {{0, 0, 0, kInfinity, 2, 2, 0}, {1e30F, 0, 1}, true, true},
    {{0, 0, 0, kInfinity, 2, 2, 0}, {kInfinity, 0, 1}, false, false},
    {{0, 0, 0, 4, 2, 2, kNan}, {0, 0, 1}, false, false},
    {{0, 0, 0, 4, 2, 2, kInfinity}, {0, 0, 1}, false, false},
    {{kNan, 0, 0, 4, 2, 2, 0}, {0, 0, 1}, false, false},
    {{kInfinity, 0, 0, 4, 2, 2, 0}, {kInfinity, 0, 1}, false, false},
    // Halves of subnormal sides are between two floats.
    {{0, 0, 0, 0x3p-149F, 2, 2, 0}, {0x1p-149F, 0, 1}, true, true},
    {{0, 0, 0, 0x3p-149F, 2, 2, 0}, {0x2p-149F, 0, 1}, true, false},
};

TEST(OpsPointsInBoxes, WorkedExamples) {
  for (const auto& [box, point, mlu, mmcv] : kExamples) {
    SCOPED_TRACE(testing::PrintToString(box) + ' ' + testing::PrintToString(point));
    EXPECT_EQ(results("points_in_boxes", {point}, {box})[0], mlu ? 0 : -1);
    EXPECT_EQ(results("points_in_boxes_part", {point}, {box})[0], mmcv ? 0 : -1);
    EXPECT_EQ(results("points_in_boxes_all", {point}, {box})[0], mmcv ? 1 : 0);
  }
}

TEST(OpsPointsInBoxes, FirstOfSeveral) {
  const std::vector<Box> boxes = {{0, 0, 0, 4, 2, 2, 0}, {1, 0, 0, 4, 2, 2, 0}};
  const std::vector<Point> points = {{1, 0, 1}, {2.5F, 0, 1}, {-1.5F, 0, 1}, {4, 0, 1}};
  EXPECT_EQ(results("points_in_boxes", points, boxes), (std::vector<int32_t>{0, 1, 0, -1}));
  EXPECT_EQ(results("points_in_boxes_part", points, boxes), (std::vector<int32_t>{0, 1, 0, -1}));
  EXPECT_EQ(results("points_in_boxes_all", points, boxes), (std::vector<int32_t>{1, 1, 0, 1, 1, 0, 0, 0}));
}

// Numbers of points and of boxes around the size of a group.
TEST(OpsPointsInBoxes, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const char* op : kOps) {
    for (const int64_t M : {1, 15, 16, 17, 63, 64, 65, 127, 129, 1000}) {
      for (const int64_t T : {1, 63, 64, 65, 200}) {
        SCOPED_TRACE(std::string(op) + ' ' + product_text({M, T}));
        const std::map<std::string, int64_t> sizes = {{"b", 3}, {"m", M}, {"t", T}, {"specials", 1}};
        const cases::Case made = make_case(op, MLUOP_DTYPE_FLOAT, sizes);
        expect_oracle(made, Placement::kAgainstEnd);
      }
    }
  }
}

// Points on the corners and on the faces of boxes at any yaw, at coordinates and sides of any size, and one float
// to each side: the bounds of the boxes exclude none of them.
TEST(OpsPointsInBoxes, Faces) {
  MLUOP_LABELS(kNotEmulated);
  std::vector<Box> boxes;
  std::vector<Point> points;
  for (const float center : {0.0F, -31.7F, 1000.0F, 1e5F, 3e7F}) {
    for (const float side : {1e-3F, 2.0F, 7.3F, 1e6F}) {
      for (int turn = 0; turn < 5; ++turn) {
        const float yaw = static_cast<float>(turn) * 0.41F, c = std::cos(yaw), s = std::sin(yaw);
        boxes.push_back({center, -center, center, side, side / 2, side, yaw});
        for (const auto& [u, v] : {std::pair{1.0F, 1.0F}, {-1.0F, 1.0F}, {1.0F, 0.0F}, {0.0F, -1.0F}}) {
          const float x = center + (u * c - v / 2 * s) * side / 2, y = -center + (u * s + v / 2 * c) * side / 2;
          points.push_back({x, y, center + side / 2});
          points.push_back({std::nextafter(x, kInfinity), std::nextafter(y, -kInfinity), center + side});
          points.push_back({std::nextafter(x, -kInfinity), std::nextafter(y, kInfinity), center - side / 2});
        }
      }
    }
  }
  const ScopedThreads threads(2);
  for (const char* op : kOps) expect_oracle(make(op, points, boxes));
}

// The center of the height is rounded if the box is far from 0.
TEST(OpsPointsInBoxes, RoundedHeights) {
  std::vector<Box> boxes;
  std::vector<Point> points;
  for (int i = 0; i < 100; ++i) {
    const float z = 1000 + static_cast<float>(i) * 0.37F;
    boxes.push_back({0, 0, z, 1, 1, 0.1F, 0});
    points.push_back({0, 0, z});
    points.push_back({0, 0, z + 0.1F});
    points.push_back({0, 0, z - 0.05F});
  }
  for (const char* op : kOps) expect_oracle(make(op, points, boxes));
}

TEST(BigPointsInBoxes, NetworkSizes) {
  for (const char* op : kOps) {
    expect_oracle(make_case(op, MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", 272414}, {"t", 66}}));
    expect_oracle(make_case(op, MLUOP_DTYPE_FLOAT, {{"b", 4}, {"m", 16384}, {"t", 50}}));
  }
}

}  // namespace
}  // namespace mluop::test
