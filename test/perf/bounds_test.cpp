// The algorithmic bounds: their results where they have any, all shapes otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "perf/bounds/indice_convolution_forward.h"
#include "perf/bounds/pair_tiles.h"
#include "perf/bounds/three_interpolate_backward.h"
#include "perf/bounds/voxel_pooling_forward.h"
#include "perf/support/buffer.h"
#include "reference/voxel_pooling_forward.h"
#include "support/camera_rig.h"

namespace mluop::perf {
namespace {

constexpr uint32_t kSeed = 1;

template <class T>
class PerfBoundsOfVoxelPooling : public ::testing::Test {};
using Elements = ::testing::Types<float, test::Half>;
TYPED_TEST_SUITE(PerfBoundsOfVoxelPooling, Elements);

// The bound adds the same rows as the operator in the same order.
TYPED_TEST(PerfBoundsOfVoxelPooling, AddsEveryRow) {
  for (const int channels : {1, 16, 83}) {
    for (const int threads : {1, 2, 7}) {
      const reference::VoxelPoolingForwardSizes sizes{2, 1013, channels, 11, 13, 1};
      const auto geometry = test::uniform_geometry(sizes, kSeed);
      Buffer<int32_t> geom_xyz(sizes.geom_count()), memo(sizes.geom_count()), expected_memo(sizes.geom_count());
      std::copy(geometry.begin(), geometry.end(), geom_xyz.data());
      Buffer<TypeParam> input(sizes.input_count()), output(sizes.output_count()), expected(sizes.output_count());
      fill_uniform(input, kSeed);
      output.set_bytes(0xFF);
      voxel_pooling_forward_bound(sizes, sizeof(TypeParam) == 2, geom_xyz.data(), input.data(), output.data(),
                                  memo.data(), threads)();
      reference::voxel_pooling_forward(sizes, geom_xyz.data(), input.data(), expected.data(),
                                       expected_memo.data());
      EXPECT_TRUE(std::ranges::equal(output.values(), expected.values())) << channels << ' ' << threads;
    }
  }
}

// Each pair is in a chunk of its tile and offset; the padding of a chunk goes to the row past the end of the tile.
TEST(PerfBounds, TilesContainEveryPair) {
  constexpr int64_t kRowCount = 1000, kBlock = 6;
  const reference::IndiceConvolutionForwardSizes sizes{kRowCount, kRowCount, 16, 32, 1, 1, 3};
  std::vector<int32_t> pairs(static_cast<size_t>(sizes.pairs_count()));
  const std::vector<int64_t> num{kRowCount, 0, 7};
  for (const int64_t k : {0, 2}) {
    for (int64_t l = 0; l < num[static_cast<size_t>(k)]; ++l) {
      pairs[static_cast<size_t>(2 * k * kRowCount + l)] = static_cast<int32_t>(l);
      pairs[static_cast<size_t>((2 * k + 1) * kRowCount + l)] = static_cast<int32_t>((l * 7 + k) % kRowCount);
    }
  }
  const PairTiles tiles(sizes, pairs.data(), num.data(), kBlock, 1);
  ASSERT_GT(tiles.tile_count(), size_t{1});
  std::vector<int64_t> found(3);
  for (size_t tile = 0; tile < tiles.tile_count(); ++tile) {
    const auto [begin, end] = tiles.chunks_of(tile);
    for (const PairChunk* chunk = begin; chunk < end; ++chunk) {
      EXPECT_EQ(chunk->count % kBlock, 0U);
      EXPECT_LE(chunk->count, PairTiles::kMaxPairs);
      for (size_t i = chunk->begin; i < chunk->begin + chunk->count; ++i) {
        const int64_t row = tiles.output_offsets[i] / sizes.Co;
        if (row == tiles.tile_rows) continue;
        const int64_t input = tiles.input_offsets[i] / sizes.Ci;
        EXPECT_EQ(static_cast<int64_t>(tile) * tiles.tile_rows + row, (input * 7 + chunk->k) % kRowCount);
        ++found[static_cast<size_t>(chunk->k)];
      }
    }
  }
  EXPECT_EQ(found, num);
}

// Runs all shapes of blocks, panels and tiles, with more threads than work items. The results are unspecified.
TEST(PerfBounds, RunAtAnySize) {
  for (const int64_t Co : {16, 32, 48, 64, 128}) {
    const reference::IndiceConvolutionForwardSizes sizes{50, 40, 16, Co, 1, 1, 1};
    std::vector<int32_t> pairs(static_cast<size_t>(sizes.pairs_count()));
    for (size_t l = 0; l < 40; ++l) pairs[l] = pairs[l + 50] = static_cast<int32_t>(l);
    const int64_t num = 40;
    const Buffer<float> features(sizes.features_count());
    const Buffer<test::Half> half_features(sizes.features_count());
    indice_convolution_forward_bound(sizes, features.data(), pairs.data(), &num, 3)();
    indice_convolution_forward_bound(sizes, half_features.data(), pairs.data(), &num, 3)();
  }
  for (const int64_t C : {16, 33, 64}) {
    const reference::ThreeInterpolateBackwardSizes sizes{2, C, 167, 21};
    std::vector<int32_t> indices(static_cast<size_t>(sizes.index_count()));
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int32_t>(i * 5 % 21);
    const std::vector<float> weights(indices.size(), 0.5F);
    const Buffer<float> grad_output(sizes.grad_output_count());
    Buffer<float> grad_features(sizes.grad_features_count());
    for (const bool half : {false, true}) {
      three_interpolate_backward_bound({sizes, half, grad_output.data(), indices.data(), grad_features.data()},
                                       weights, 5)();
    }
  }
}

TEST(PerfBounds, EmptyWithoutAWholeSquare) {
  const std::vector<int32_t> indices(3 * 16);
  const std::vector<float> weights(indices.size()), grad_output(16 * 16);
  Buffer<float> grad_features(16 * 16);
  const auto exists = [&](const reference::ThreeInterpolateBackwardSizes& sizes) {
    return static_cast<bool>(three_interpolate_backward_bound(
        {sizes, false, grad_output.data(), indices.data(), grad_features.data()}, weights, 1));
  };
  EXPECT_FALSE(exists({1, 15, 16, 16}));
  EXPECT_FALSE(exists({1, 16, 15, 16}));
  EXPECT_FALSE(exists({1, 16, 16, 15}));
  EXPECT_TRUE(exists({1, 16, 16, 16}));
}

}  // namespace
}  // namespace mluop::perf
