// The convex hull of a few points in a plane, in double.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "primitives/geometry/clip.h"

namespace mluop {

template <size_t kPoints>
struct Hull {
  Hull() = default;
  // The hull of points[0, point_count), whose numbers are finite.
  Hull(const std::array<Point, kPoints>& points, int point_count) {
    std::array<Corner, kPoints> sorted;
    for (int i = 0; i < point_count; ++i) sorted[i] = {points[i], static_cast<int8_t>(i)};
    std::sort(sorted.begin(), sorted.begin() + point_count, [](const Corner& a, const Corner& b) {
      if (a.point.y != b.point.y) return a.point.y < b.point.y;
      return a.point.x != b.point.x ? a.point.x < b.point.x : a.index < b.index;
    });
    const auto end = std::unique(
        sorted.begin(), sorted.begin() + point_count,
        [](const Corner& a, const Corner& b) { return a.point.x == b.point.x && a.point.y == b.point.y; });
    append_chain(sorted.begin(), end);
    if (end - sorted.begin() == 1) {
      count = 1;
    } else {
      append_chain(std::make_reverse_iterator(end), sorted.rend());
    }
  }

  const Point& operator[](int i) const { return corners[i].point; }
  const Point& after(int i) const { return corners[i + 1 < count ? i + 1 : 0].point; }

  double area() const {
    double twice = 0;
    for (int i = 2; i < count; ++i) twice += cross((*this)[i - 1] - (*this)[0], (*this)[i] - (*this)[0]);
    return std::abs(twice) / 2;
  }

  struct Corner {
    Point point;
    int8_t index;  // among the points; the lowest index if points are equal
  };

  // Counter-clockwise, beginning with the lowest corner; if several corners are lowest, with the leftmost one.
  // Points on a side are not corners. Equal points have one corner, points on a line have two.
  // append_chain() needs one element more than there are points.
  std::array<Corner, kPoints + 1> corners;
  int count = 0;

 private:
  // Appends the chain along points in order, without its last point.
  template <class Iterator>
  void append_chain(Iterator begin, Iterator end) {
    const int first = count;
    for (Iterator next = begin; next != end; ++next) {
      while (count >= first + 2 && cross(corners[count - 1].point - corners[count - 2].point,
                                         next->point - corners[count - 2].point) <= 0) {
        --count;
      }
      corners[count++] = *next;
    }
    --count;
  }
};

}  // namespace mluop
