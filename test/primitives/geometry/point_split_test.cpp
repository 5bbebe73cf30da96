#include "primitives/geometry/point_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/environment.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

TEST(PrimitivesPointSplit, MiddlesOfAnyPoints) {
  auto random = seeded_random();
  for (const int64_t count : {1, 2, 17, 64, 65, 100, 1000, 5000}) {
    for (const uint32_t values : {1U, 3U, 1000U}) {
      std::vector<IndexedPoint> points;
      for (int64_t i = 0; i < count; ++i) {
        const float coordinates[] = {static_cast<float>(random() % values) * 0.5F,
                                     random() % 8 == 0 ? kNan : static_cast<float>(random() % values), 0.25F};
        points.push_back(load_point(coordinates, i));
      }
      for (const int64_t middle : {int64_t{0}, count / 3, count / 2, count - 1}) {
        SCOPED_TRACE(testing::Message() << middle << " of " << count << ", " << values << " values");
        std::vector<IndexedPoint> split = points;
        const int dim = split_points(split.data(), count, middle);
        const auto less = [dim](const IndexedPoint& a, const IndexedPoint& b) {
          const float x = a.coordinates[dim], y = b.coordinates[dim];
          return x < y || (x == y && a.index < b.index);
        };
        const auto at = split.begin() + middle;
        EXPECT_TRUE(std::all_of(split.begin(), at, [&](const IndexedPoint& point) { return less(point, *at); }));
        EXPECT_TRUE(std::none_of(at, split.end(), [&](const IndexedPoint& point) { return less(point, *at); }));
        std::ranges::sort(split, {}, &IndexedPoint::index);
        for (int64_t i = 0; i < count; ++i) {
          const auto n = static_cast<size_t>(i);
          EXPECT_TRUE(std::ranges::equal(split[n].coordinates, points[n].coordinates));
        }
      }
    }
  }
}

// A dimension whose width comes only from points that are not finite is not split.
TEST(PrimitivesPointSplit, WidestDimension) {
  const float coordinates[][3] = {{0, 1, 2}, {1, -1, 2}, {0, 0, kInfinity}, {-kInfinity, 0, 0}, {kNan, 9, 9}};
  std::vector<IndexedPoint> points;
  for (const auto& each : coordinates) points.push_back(load_point(each, static_cast<int64_t>(points.size())));
  EXPECT_EQ(split_points(points.data(), 5, 2), 1);
  EXPECT_EQ(points[2].index, 2);
}

}  // namespace
}  // namespace mluop::test
