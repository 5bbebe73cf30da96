// fit_tile(): the largest tile that fits NRAM.
#include "team/fit_tile.h"

#include <gtest/gtest.h>

namespace mluop::test {
namespace {

struct Tile {
  Tile(Arena& nram, int64_t count, int64_t channels)
      : points(nram.take<int32_t>("points", {count})), rows(nram.take<float>("rows", {count, channels})) {}

  int32_t* points;
  float* rows;
};

TEST(TeamFitTile, LargestCountThatFits) {
  for (const size_t kib : {1, 2, 3, 7, 64, 640}) {
    Context context;
    context.nram_capacity = kib * 1024;
    for (const int64_t channels : {1, 3, 16, 100}) {
      const auto bytes = [&](int64_t points) { return bytes_of<Tile>(points, channels); };
      for (const int64_t max : {int64_t{1}, int64_t{2}, int64_t{5}, int64_t{1000}, int64_t{1} << 40}) {
        const int64_t count = fit_tile(context, max, bytes);
        EXPECT_GE(count, 1);
        EXPECT_LE(count, max);
        EXPECT_LE(bytes(count), context.nram_capacity);
        if (count < max) {
          EXPECT_GT(bytes(count + 1), context.nram_capacity);
        }
      }
    }
  }
}

TEST(TeamFitTile, SmallestTileThatDoesNotFit) {
  Context context;
  context.nram_capacity = 2048;
  const auto bytes = [](int64_t points) { return bytes_of<Tile>(points, 500); };
  try {
    fit_tile(context, 10, bytes);
    ADD_FAILURE() << "does not throw";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, MLUOP_STATUS_ALLOC_FAILED);
    EXPECT_STREQ(failure.what(), "MLUOP_OMP_NRAM_KB is 2, expected room for the smallest tile: 2112 bytes");
  }
}

// Exactly the capacity fits.
TEST(TeamFitTile, WholeCapacity) {
  Context context;
  context.nram_capacity = bytes_of<Tile>(1, 500);
  EXPECT_EQ(fit_tile(context, 10, [](int64_t points) { return bytes_of<Tile>(points, 500); }), 1);
}

}  // namespace
}  // namespace mluop::test
