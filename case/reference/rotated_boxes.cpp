#include "reference/rotated_boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/suppression.h"

namespace mluop::reference {
namespace {

using Real = long double;

struct Interval {
  Real low, high;
};

// The intersection of two intervals; low > high if it is empty.
Interval common(Interval a, Interval b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

// The y with |s x + c y| <= half.
Interval strip_at(Real x, Real s, Real c, Real half) {
  constexpr Real kInfinite = std::numeric_limits<Real>::infinity();
  if (c == 0) return std::abs(s * x) <= half ? Interval{-kInfinite, kInfinite} : Interval{kInfinite, -kInfinite};
  const Real center = -s * x / c, reach = std::abs(half / c);
  return {center - reach, center + reach};
}

struct Box {
  explicit Box(const float* numbers)
      : x(numbers[0]),
        y(numbers[1]),
        area(numbers[2] <= 0 || numbers[3] <= 0 ? 0 : Real{numbers[2]} * numbers[3]),
        half_width(std::abs(Real{numbers[2]}) / 2),
        half_height(std::abs(Real{numbers[3]}) / 2),
        radius(std::hypot(half_width, half_height)),
        cosine(std::cos(Real{numbers[4]})),
        sine(std::sin(Real{numbers[4]})),
        is_finite(std::all_of(numbers, numbers + 5, [](float number) { return std::isfinite(number); })) {}

  Real x, y, area, half_width, half_height, radius, cosine, sine;
  bool is_finite;
};

// The box `other` in a frame where `box` is centered and parallel to the axes.
struct RelativeBox {
  RelativeBox(const Box& box, const Box& other)
      : x(box.cosine * (other.x - box.x) + box.sine * (other.y - box.y)),
        y(box.cosine * (other.y - box.y) - box.sine * (other.x - box.x)),
        half_width(other.half_width),
        half_height(other.half_height),
        cosine(box.cosine * other.cosine + box.sine * other.sine),
        sine(box.cosine * other.sine - box.sine * other.cosine) {}

  // The y interval of its points at this x.
  Interval at(Real at_x) const {
    const Interval of_width = strip_at(at_x - x, cosine, sine, half_width);
    const Interval of_height = strip_at(at_x - x, -sine, cosine, half_height);
    const Interval both = common(of_width, of_height);
    return {both.low + y, both.high + y};
  }

  Real x, y, half_width, half_height, cosine, sine;
};

// The area is the integral over x of the length that both boxes share. This length is linear between the x of
// corners and crossings of edges: the integral is the value in the middle times the distance.
Real intersection(const Box& box, const Box& other) {
  const Real dx = other.x - box.x, dy = other.y - box.y, reach = 1.001L * (box.radius + other.radius);
  if (dx * dx + dy * dy > reach * reach) return 0;
  const RelativeBox relative(box, other);
  std::vector<Real> ends = {-box.half_width, box.half_width};
  for (const int u : {-1, 1}) {
    for (const int v : {-1, 1}) {
      const Real along = u * relative.half_width, across = v * relative.half_height;
      ends.push_back(relative.x + along * relative.cosine - across * relative.sine);
      // The crossings of the lines of the edges `u` and `v` with the line of the edge `v` of `box`.
      const Real height = v * box.half_height - relative.y;
      ends.push_back(relative.x + (along - height * relative.sine) / relative.cosine);
      ends.push_back(relative.x + (height * relative.cosine - u * relative.half_height) / relative.sine);
    }
  }
  // Parallel edges do not cross.
  for (Real& end : ends) {
    end = std::isfinite(end) ? std::clamp(end, -box.half_width, box.half_width) : -box.half_width;
  }
  std::sort(ends.begin(), ends.end());
  Real area = 0;
  for (size_t i = 1; i < ends.size(); ++i) {
    const Interval shared = common(relative.at((ends[i - 1] + ends[i]) / 2), {-box.half_height, box.half_height});
    area += (ends[i] - ends[i - 1]) * std::max(shared.high - shared.low, Real{0});
  }
  return std::min({area, box.area, other.area});
}

float overlap(const Box& box, const Box& other, bool is_over_first) {
  constexpr Real kSmallestArea = 1e-14;
  if (box.area < kSmallestArea || other.area < kSmallestArea) return 0;
  if (std::isnan(box.area) || std::isnan(other.area)) return std::numeric_limits<float>::quiet_NaN();
  if (!box.is_finite || !other.is_finite) return 0;
  const Real shared = intersection(box, other);
  return static_cast<float>(shared / (is_over_first ? box.area : box.area + other.area - shared));
}

std::vector<Box> boxes_of(const float* numbers, int64_t count, int64_t columns) {
  std::vector<Box> boxes;
  for (int64_t i = 0; i < count; ++i) boxes.emplace_back(numbers + i * columns);
  return boxes;
}

}  // namespace

void box_iou_rotated(const BoxIouRotatedProblem& problem, const float* bbox1, const float* bbox2, float* ious) {
  const std::vector<Box> first = boxes_of(bbox1, problem.N, 5), second = boxes_of(bbox2, problem.M, 5);
  for (size_t n = 0; n < first.size(); ++n) {
    const size_t begin = problem.is_aligned ? n : 0, end = problem.is_aligned ? n + 1 : second.size();
    for (size_t m = begin; m < end; ++m) *ious++ = overlap(first[n], second[m], problem.is_over_first);
  }
}

void nms_rotated(const NmsRotatedProblem& problem, const float* boxes, const float* scores, int32_t* output,
                 int32_t* result_num) {
  const std::vector<Box> all = boxes_of(boxes, problem.N, problem.columns);
  suppress(problem.N, scores, output, result_num, [&](size_t kept, size_t other) {
    return overlap(all[kept], all[other], false) > problem.iou_threshold;
  });
}

}  // namespace mluop::reference
