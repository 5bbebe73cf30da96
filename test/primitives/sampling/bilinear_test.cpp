// Taps at the rim of a map, and the clipping of grids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "primitives/sampling/bilinear.h"
#include "primitives/sampling/roi_grid.h"
#include "primitives/sampling/weighted_pixels.h"

namespace mluop::test {
namespace {

float value_of(const Tap& tap) {
  float sum = 0;
  for (int i = 0; i < tap.count; ++i) {
    sum += tap.weights[i] * static_cast<float>(tap.pixels[i]) * static_cast<float>(tap.pixels[i]);
  }
  return sum;
}

TEST(PrimitivesBilinear, ClampedTaps) {
  const float after = std::nextafter(4.0F, 5.0F), before = std::nextafter(-1.0F, -2.0F);
  EXPECT_EQ(clamped_tap(-1, 0, 4, 4).count, 4);
  EXPECT_EQ(clamped_tap(before, 0, 4, 4).count, 0);
  EXPECT_EQ(clamped_tap(after, 0, 4, 4).count, 0);
  EXPECT_EQ(value_of(clamped_tap(-0.5F, 1.5F, 4, 4)), 2.5F);
  EXPECT_EQ(value_of(clamped_tap(3.7F, 1.5F, 4, 4)), 182.5F);
  EXPECT_EQ(value_of(clamped_tap(4, 4, 4, 4)), 225);
  EXPECT_EQ(value_of(clamped_tap(0.5F, -0.5F, 1, 1)), 0);
  EXPECT_EQ(clamped_tap(NAN, 5, 4, 4).count, 0);
  EXPECT_TRUE(std::isnan(value_of(clamped_tap(NAN, 0, 4, 4))));
}

TEST(PrimitivesBilinear, ZeroPaddedTaps) {
  EXPECT_EQ(value_of(zero_padded_tap(3, 1.5F, 4, 4)), 182.5F);
  EXPECT_EQ(value_of(zero_padded_tap(1.5F, 2.25F, 4, 4)), 72.25F);
  EXPECT_EQ(zero_padded_tap(-0.5F, -0.5F, 4, 4).count, 1);
  for (const float outside : {-1.0F, 4.0F, NAN, HUGE_VALF}) EXPECT_EQ(zero_padded_tap(outside, 0, 4, 4).count, 0);
}

// Each pixel has the sum of its weights; a tap that is far away, or at NaN, is not taken.
TEST(PrimitivesBilinear, WeightedPixels) {
  WeightedPixels pixels;
  for (const float x : {5.25F, 5.75F, 2.0F, 8.5F}) {
    const Tap tap = clamped_tap(3.5F, x, 20, 20);
    ASSERT_TRUE(pixels.takes(tap));
    pixels.add(tap);
  }
  EXPECT_FALSE(pixels.takes(clamped_tap(3.5F, 9, 20, 20)));
  EXPECT_FALSE(pixels.takes(clamped_tap(7.5F, 5, 20, 20)));
  EXPECT_FALSE(pixels.takes(clamped_tap(NAN, 5, 20, 20)));
  pixels.finish(20);
  EXPECT_THAT(std::vector(pixels.pixels, pixels.pixels + pixels.count),
              testing::ElementsAre(62, 63, 65, 66, 68, 69, 82, 83, 85, 86, 88, 89));
  EXPECT_THAT(std::vector(pixels.weights, pixels.weights + pixels.count),
              testing::ElementsAre(0.5F, 0, 0.5F, 0.5F, 0.25F, 0.25F, 0.5F, 0, 0.5F, 0.5F, 0.25F, 0.25F));
  // At the rim of the map the last pixel stands for the following one, with a weight of 0.
  pixels.add(clamped_tap(18.5F, 19.5F, 20, 20));
  pixels.finish(20);
  EXPECT_THAT(std::vector(pixels.pixels, pixels.pixels + pixels.count), testing::ElementsAre(379, 379, 399, 399));
  EXPECT_THAT(std::vector(pixels.weights, pixels.weights + pixels.count), testing::ElementsAre(0.5F, 0, 0.5F, 0));
  pixels.add(zero_padded_tap(-0.5F, -0.5F, 20, 20));
  pixels.add(zero_padded_tap(0.5F, 0.5F, 20, 20));
  pixels.finish(20);
  EXPECT_THAT(std::vector(pixels.pixels, pixels.pixels + pixels.count), testing::ElementsAre(0, 1, 20, 21));
  EXPECT_EQ(pixels.weights[0], 0.5F);
  const Tap nan = clamped_tap(NAN, 5, 20, 20);
  pixels.add(nan);
  EXPECT_FALSE(pixels.takes(clamped_tap(0, 0, 20, 20)));
}

// All samples on the map are visited, in the same order, and few others.
TEST(PrimitivesRoiGrid, ClippedGrids) {
  for (const float angle : {0.0F, 0.3F, 1.5707964F, 2.5F, -3.1415927F}) {
    const RotatedGrid grid(3, 5, 300, 500, angle, 2, 2, 0);
    ASSERT_TRUE(grid.is_clipped);
    RotatedGrid full = grid;
    full.is_clipped = false;
    for (const int64_t bin : {0, 3}) {
      std::vector<float> expected, found;
      int64_t visited = 0;
      const auto into = [](std::vector<float>& to) {
        return [&](float y, float x) {
          if (clamped_tap(y, x, 7, 9).count > 0) to.insert(to.end(), {y, x});
        };
      };
      full.for_each_sample(bin / 2, bin % 2, 7, 9, into(expected));
      grid.for_each_sample(bin / 2, bin % 2, 7, 9, [&](float y, float x) {
        ++visited;
        into(found)(y, x);
      });
      EXPECT_EQ(found, expected);
      EXPECT_LT(visited, 2000);
    }
  }
  const GridAxis y(-100, 200, 1, 0), x(-300, 500, 1, 0);
  int64_t visited = 0, on_map = 0;
  for_each_grid_sample(y, x, 0, 0, 7, 9, [&](float at_y, float at_x) {
    ++visited;
    on_map += clamped_tap(at_y, at_x, 7, 9).count > 0 ? 1 : 0;
  });
  EXPECT_EQ(on_map, 8 * 10);
  EXPECT_LT(visited, 500);
}

}  // namespace
}  // namespace mluop::test
