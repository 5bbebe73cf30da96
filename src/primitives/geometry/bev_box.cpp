#include "primitives/geometry/bev_box.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mluop {
namespace {

constexpr float kMargin = 0.01F;

// If the cross products differ by less, the lines of two edges are intersected by another formula.
constexpr float kParallel = 1e-8F;

struct Corner {
  float x, y;
};

// The polygon of an intersection: its points in any order.
class Polygon {
 public:
  void add(Corner point) {
    points_[count_++] = point;
    sum_.x += point.x;
    sum_.y += point.y;
  }

  float area() {
    if (count_ == 0) return 0;
    sort();
    float doubled = 0;
    for (int i = 0; i + 1 < count_; ++i) {
      const Corner a = from_first(i), b = from_first(i + 1);
      doubled += a.x * b.y - a.y * b.x;
    }
    return std::abs(doubled) / 2;
  }

 private:
  // Crossings of all pairs of edges, and the corners of both boxes.
  static constexpr int kMaxPoints = 16 + 8;

  Corner from_first(int i) const { return {points_[i].x - points_[0].x, points_[i].y - points_[0].y}; }

  // Sorts by angle about the mean.
  void sort() {
    const auto count = static_cast<float>(count_);
    const Corner mean = {sum_.x / count, sum_.y / count};
    Corner from_mean[kMaxPoints];
    for (int i = 0; i < count_; ++i) from_mean[i] = {points_[i].x - mean.x, points_[i].y - mean.y};
    if (!sort_by_ratio(from_mean)) sort_by_angle(from_mean);
  }

  // Keeps the order of equal angles. A NaN angle never compares: the exchanges of a bubble sort are part of the
  // definition.
  void sort_by_angle(const Corner* from_mean) {
    float angles[kMaxPoints];
    for (int i = 0; i < count_; ++i) angles[i] = std::atan2(from_mean[i].y, from_mean[i].x);
    for (int last = count_ - 1; last > 0; --last) {
      for (int i = 0; i < last; ++i) {
        if (angles[i] > angles[i + 1]) {
          std::swap(angles[i], angles[i + 1]);
          std::swap(points_[i], points_[i + 1]);
        }
      }
    }
  }

  // The same in a fraction of the time, from numbers between -2 and 2 that increase with the angle and no faster
  // than it. Returns false if two are so close that the rounding of the arc tangent might matter.
  bool sort_by_ratio(const Corner* from_mean) {
    constexpr float kClear = 0x1p-16F;
    float ratios[kMaxPoints];
    bool are_clear = true;
    for (int i = 0; i < count_; ++i) {
      const auto [x, y] = from_mean[i];
      const float length = std::abs(x) + std::abs(y);
      ratios[i] = x >= 0 ? y / length : std::copysign(2.0F, y) - y / length;
      are_clear &= std::isfinite(length);
    }
    int ranks[kMaxPoints] = {};
    for (int i = 1; i < count_; ++i) {
      for (int j = 0; j < i; ++j) {
        const float difference = ratios[i] - ratios[j];
        const int is_after = difference > 0 ? 1 : 0;
        are_clear &= std::abs(difference) > kClear;
        ranks[i] += is_after;
        ranks[j] += 1 - is_after;
      }
    }
    if (!are_clear) return false;
    Corner sorted[kMaxPoints];
    for (int i = 0; i < count_; ++i) sorted[ranks[i]] = points_[i];
    std::copy_n(sorted, count_, points_);
    return true;
  }

  Corner points_[kMaxPoints];
  Corner sum_ = {0, 0};
  int count_ = 0;
};

Corner corner_of(const BevBox& box, int i) { return {box.corners_x[i % 4], box.corners_y[i % 4]}; }

// The side of edge i of one box on which corner j of another box lies: a cross product.
struct Sides {
  Sides(const BevBox& box, const BevBox& other) {
    for (int i = 0; i < 4; ++i) {
      const Corner p0 = corner_of(box, i), p1 = corner_of(box, i + 1);
      const float edge_x = p1.x - p0.x, edge_y = p1.y - p0.y;
      for (int j = 0; j < 4; ++j) {
        of[i][j] = (other.corners_x[j] - p0.x) * edge_y - edge_x * (other.corners_y[j] - p0.y);
      }
    }
  }
  // Whether edge j of the other box has its ends on both sides of edge i.
  bool are_opposite(int i, int j) const { return of[i][j] * of[i][(j + 1) % 4] < 0; }

  float of[4][4];
};

bool bounds_meet(Corner p0, Corner p1, Corner q0, Corner q1) {
  return std::min(p0.x, p1.x) <= std::max(q0.x, q1.x) && std::min(q0.x, q1.x) <= std::max(p0.x, p1.x) &&
         std::min(p0.y, p1.y) <= std::max(q0.y, q1.y) && std::min(q0.y, q1.y) <= std::max(p0.y, p1.y);
}

// The crossing of the edges (p0, p1) and (q0, q1); side0 and side1 are the sides of q0 and q1.
Corner crossing_of(Corner p0, Corner p1, Corner q0, Corner q1, float side0, float side1) {
  const float difference = side1 - side0;
  if (std::abs(difference) > kParallel) {
    return {(side1 * q0.x - side0 * q1.x) / difference, (side1 * q0.y - side0 * q1.y) / difference};
  }
  const float a0 = p0.y - p1.y, b0 = p1.x - p0.x, c0 = p0.x * p1.y - p1.x * p0.y;
  const float a1 = q0.y - q1.y, b1 = q1.x - q0.x, c1 = q0.x * q1.y - q1.x * q0.y;
  const float determinant = a0 * b1 - a1 * b0;
  return {(b0 * c1 - b1 * c0) / determinant, (a1 * c0 - a0 * c1) / determinant};
}

void add_crossings(const BevBox& a, const BevBox& b, Polygon& polygon) {
  const Sides sides_of_a(a, b), sides_of_b(b, a);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      if (!sides_of_a.are_opposite(i, j) || !sides_of_b.are_opposite(j, i)) continue;
      const Corner p0 = corner_of(a, i), p1 = corner_of(a, i + 1);
      const Corner q0 = corner_of(b, j), q1 = corner_of(b, j + 1);
      if (!bounds_meet(p0, p1, q0, q1)) continue;
      polygon.add(crossing_of(p0, p1, q0, q1, sides_of_a.of[i][j], sides_of_a.of[i][(j + 1) % 4]));
    }
  }
}

bool is_inside(Corner point, const BevBox& box) {
  const float x = point.x - box.x, y = point.y - box.y;
  return std::abs(x * box.cosine + y * box.sine) < box.reach_u &&
         std::abs(y * box.cosine - x * box.sine) < box.reach_v;
}

}  // namespace

BevBox make_bev_box(const float* box) {
  const float half_dx = box[3] / 2, half_dy = box[4] / 2;
  const bool is_empty = box[3] <= 0 || box[4] <= 0;
  BevBox made{.x = is_empty ? std::numeric_limits<float>::quiet_NaN() : box[0],
              .y = box[1],
              .cosine = static_cast<float>(std::cos(double{box[6]})),
              .sine = static_cast<float>(std::sin(double{box[6]})),
              .reach_u = half_dx + kMargin,
              .reach_v = half_dy + kMargin,
              .corners_x = {},
              .corners_y = {}};
  // Rounded as coordinates are before rotation.
  const float left = made.x - half_dx - made.x, right = made.x + half_dx - made.x;
  const float low = made.y - half_dy - made.y, high = made.y + half_dy - made.y;
  const Corner corners[] = {{left, low}, {right, low}, {right, high}, {left, high}};
  for (int i = 0; i < 4; ++i) {
    made.corners_x[i] = corners[i].x * made.cosine - corners[i].y * made.sine + made.x;
    made.corners_y[i] = corners[i].x * made.sine + corners[i].y * made.cosine + made.y;
  }
  return made;
}

// A nonzero overlap has a crossing, or a corner of one box inside the other.
// - A crossing requires bounds_meet() of two edges, that is, of their rounded corners, which the bounds contain.
//   Corners with NaN have no side and cross nothing.
// - For a corner p of another box that is_inside(): |p - center| is at most |cosine| u + |sine| v along x, with u
//   and v the reaches, up to the rounding of differences, products, sums, cosine and sine. Each is at most 2^-24
//   of u + v; together they are less than 8 * 2^-24 (u + v). kRoundings is twice this bound.
Bounds bounds_of(const BevBox& box) {
  constexpr double kRoundings = 0x1p-20;
  const double cosine = std::abs(box.cosine) + kRoundings, sine = std::abs(box.sine) + kRoundings;
  const double u = std::max(box.reach_u, 0.0F), v = std::max(box.reach_v, 0.0F);
  const double reach_x = cosine * u + sine * v, reach_y = sine * u + cosine * v;
  double min_x = box.x - reach_x, min_y = box.y - reach_y;
  double max_x = box.x + reach_x, max_y = box.y + reach_y;
  for (int i = 0; i < 4; ++i) {
    // NaN never replaces a bound.
    min_x = std::min(min_x, double{box.corners_x[i]});
    min_y = std::min(min_y, double{box.corners_y[i]});
    max_x = std::max(max_x, double{box.corners_x[i]});
    max_y = std::max(max_y, double{box.corners_y[i]});
  }
  return bounds_around(min_x, min_y, max_x, max_y);
}

float overlap_of(const BevBox& a, const BevBox& b) {
  Polygon polygon;
  add_crossings(a, b, polygon);
  for (int i = 0; i < 4; ++i) {
    if (is_inside(corner_of(b, i), a)) polygon.add(corner_of(b, i));
    if (is_inside(corner_of(a, i), b)) polygon.add(corner_of(a, i));
  }
  return polygon.area();
}

}  // namespace mluop
