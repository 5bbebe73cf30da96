#include "reference/boxes_overlap_bev.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace mluop::reference {
namespace {

using Vertex = std::array<float, 2>;

float rounded_cos(float angle) { return static_cast<float>(std::cos(static_cast<double>(angle))); }
float rounded_sin(float angle) { return static_cast<float>(std::sin(static_cast<double>(angle))); }

// (a - origin) x (b - origin)
float cross(const Vertex& a, const Vertex& b, const Vertex& origin) {
  return (a[0] - origin[0]) * (b[1] - origin[1]) - (b[0] - origin[0]) * (a[1] - origin[1]);
}

// The four corners, followed by the first again.
std::array<Vertex, 5> corners_of(const float* box) {
  const float x_low = box[0] - box[3] / 2, x_high = box[0] + box[3] / 2;
  const float y_low = box[1] - box[4] / 2, y_high = box[1] + box[4] / 2;
  std::array<Vertex, 5> corners = {
      {{x_low, y_low}, {x_high, y_low}, {x_high, y_high}, {x_low, y_high}, {x_low, y_low}}};
  const float c = rounded_cos(box[6]), s = rounded_sin(box[6]);
  for (Vertex& corner : corners) {
    const float dx = corner[0] - box[0], dy = corner[1] - box[1];
    corner = {dx * c - dy * s + box[0], dx * s + dy * c + box[1]};
  }
  return corners;
}

// Tests in a frame rotated back by yaw whether the point is within half the sides and the margin.
bool contains(const float* box, const Vertex& point) {
  constexpr float kMargin = 1e-2F;
  const float c = rounded_cos(-box[6]), s = rounded_sin(-box[6]);
  const float dx = point[0] - box[0], dy = point[1] - box[1];
  const float u = dx * c + dy * -s, v = dx * s + dy * c;
  return std::fabs(u) < box[3] / 2 + kMargin && std::fabs(v) < box[4] / 2 + kMargin;
}

bool ranges_touch(const Vertex& p0, const Vertex& p1, const Vertex& q0, const Vertex& q1) {
  for (size_t axis = 0; axis < 2; ++axis) {
    const auto [p_low, p_high] = std::minmax(p0[axis], p1[axis]);
    const auto [q_low, q_high] = std::minmax(q0[axis], q1[axis]);
    if (!(p_low <= q_high && q_low <= p_high)) return false;
  }
  return true;
}

// Appends the crossing of two edges to `points` if each has its ends on both sides of the other.
void append_crossing(const Vertex& p0, const Vertex& p1, const Vertex& q0, const Vertex& q1,
                     std::vector<Vertex>& points) {
  if (!ranges_touch(p0, p1, q0, q1)) return;
  const float s1 = cross(q0, p1, p0), s2 = cross(p1, q1, p0);
  const float s3 = cross(p0, q1, q0), s4 = cross(q1, p1, q0);
  if (!(s1 * s2 > 0 && s3 * s4 > 0)) return;
  const float s5 = cross(q1, p1, p0);
  if (std::fabs(s5 - s1) > 1e-8F) {
    points.push_back({(s5 * q0[0] - s1 * q1[0]) / (s5 - s1), (s5 * q0[1] - s1 * q1[1]) / (s5 - s1)});
    return;
  }
  // The lines a x + b y + c = 0.
  const float pa = p0[1] - p1[1], pb = p1[0] - p0[0], pc = p0[0] * p1[1] - p1[0] * p0[1];
  const float qa = q0[1] - q1[1], qb = q1[0] - q0[0], qc = q0[0] * q1[1] - q1[0] * q0[1];
  const float d = pa * qb - qa * pb;
  points.push_back({(pb * qc - qb * pc) / d, (qa * pc - pa * qc) / d});
}

}  // namespace

float bev_overlap(const float* box_a, const float* box_b) {
  for (const float* box : {box_a, box_b}) {
    if (box[3] <= 0 || box[4] <= 0) return 0;
  }
  const auto a = corners_of(box_a), b = corners_of(box_b);
  std::vector<Vertex> points;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) append_crossing(a[i], a[i + 1], b[j], b[j + 1], points);
  }
  for (size_t i = 0; i < 4; ++i) {
    if (contains(box_a, b[i])) points.push_back(b[i]);
    if (contains(box_b, a[i])) points.push_back(a[i]);
  }
  if (points.empty()) return 0;

  Vertex mean = {0, 0};
  for (size_t axis = 0; axis < 2; ++axis) {
    for (const Vertex& point : points) mean[axis] += point[axis];
    mean[axis] /= static_cast<float>(points.size());
  }
  const auto angle = [&](const Vertex& point) { return std::atan2(point[1] - mean[1], point[0] - mean[0]); };
  for (size_t last = points.size() - 1; last > 0; --last) {
    for (size_t i = 0; i < last; ++i) {
      if (angle(points[i]) > angle(points[i + 1])) std::swap(points[i], points[i + 1]);
    }
  }

  float area = 0;
  for (size_t i = 0; i + 1 < points.size(); ++i) area += cross(points[i], points[i + 1], points[0]);
  return static_cast<float>(std::fabs(static_cast<double>(area)) / 2.0);
}

void boxes_overlap_bev(int64_t N, int64_t M, const float* boxes_a, const float* boxes_b, float* overlaps) {
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t m = 0; m < M; ++m) overlaps[n * M + m] = bev_overlap(boxes_a + n * 7, boxes_b + m * 7);
  }
}

}  // namespace mluop::reference
