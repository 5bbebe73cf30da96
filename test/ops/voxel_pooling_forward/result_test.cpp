// mluOpVoxelPoolingForward against the serial loop of its definition.
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "core/caches.h"
#include "ops/voxel_pooling_forward/call.h"
#include "support/camera_rig.h"
#include "support/compare.h"
#include "support/element.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

// For fp32 additions in unspecified order, and for their rounding to half, which differs by a unit in the last
// place at most. The acceptance standard allows 3e-3.
template <class T>
constexpr double kDeviceTolerance = std::is_same_v<T, float> ? 1e-5 : 0x1p-10;

std::string name_of(const VoxelPoolingSizes& s) {
  return product_text({s.batch_size, s.num_points, s.num_channels, s.num_voxel_x, s.num_voxel_y, s.num_voxel_z});
}

// Compares bits in the native algorithm, and the accuracy metrics in the device algorithm.
template <class T>
void expect_outputs(const VoxelPoolingInputs<T>& inputs, const VoxelPoolingOutputs<T>& expected,
                    mluOpOmpAlgorithm_t algorithm, Placement placement) {
  const Handle handle(algorithm);
  const VoxelPoolingCall call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const VoxelPoolingOutputs<T> found = call.outputs();
  EXPECT_EQ(found.pos_memo, expected.pos_memo);
  if (algorithm == MLUOP_OMP_ALGORITHM_NATIVE) {
    EXPECT_TRUE(same_bits(floats_of(found.output_features), floats_of(expected.output_features)));
  } else {
    const auto [diff1, diff2] = differences(floats_of(found.output_features), floats_of(expected.output_features));
    EXPECT_LE(diff1, kDeviceTolerance<T>);
    EXPECT_LE(diff2, kDeviceTolerance<T>);
  }
  EXPECT_TRUE(call.intact());
}

template <class T>
void expect_outputs_with_both_algorithms(const VoxelPoolingInputs<T>& inputs,
                                         const VoxelPoolingOutputs<T>& expected, Placement placement) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    expect_outputs(inputs, expected, algorithm, placement);
  }
}

template <class T>
void expect_reference(const VoxelPoolingInputs<T>& inputs, mluOpOmpAlgorithm_t algorithm, Placement placement) {
  expect_outputs(inputs, voxel_pooling_reference(inputs), algorithm, placement);
}

template <class T>
void expect_reference_with_both_algorithms(const VoxelPoolingInputs<T>& inputs,
                                           Placement placement = Placement::kAligned) {
  expect_outputs_with_both_algorithms(inputs, voxel_pooling_reference(inputs), placement);
}

template <class T>
class OpsVoxelPoolingForward : public ::testing::Test {};
template <class T>
class BigVoxelPoolingForward : public ::testing::Test {};
using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsVoxelPoolingForward, Elements);
TYPED_TEST_SUITE(BigVoxelPoolingForward, Elements);

constexpr VoxelPoolingSizes kHostileSizes[] = {
    {1, 1, 1, 1, 1, 1},          // one of everything
    {1, 1, 17, 1, 1, 1},         // one point, a vector and one lane
    {3, 1, 5, 4, 4, 2},          // a batch shorter than a vector
    {2, 15, 16, 3, 2, 1},        // a vector of points minus one
    {2, 16, 31, 3, 2, 1},        // a vector of points; two vectors of channels minus one
    {2, 17, 33, 3, 2, 1},        // a vector of points plus one
    {1, 5000, 3, 7, 5, 3},       // many points per cell, fewer channels than a vector
    {1, 40, 4, 100, 90, 2},      // more cells than points
    {7, 131, 80, 13, 11, 1},     // the channels of the network; tiles across batches
    {1, 64, 1025, 2, 2, 1},      // a row longer than a tile
    {2, 300, 128, 1, 1, 1},      // one cell for all points
    {1, 3001, 7, 1, 999, 1},     // a grid of one column
    {1, 200, 9, 3, 3, INT_MAX},  // the largest z extent
};

TYPED_TEST(OpsVoxelPoolingForward, HostileSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const VoxelPoolingSizes& sizes : kHostileSizes) {
    SCOPED_TRACE(name_of(sizes));
    expect_reference_with_both_algorithms(random_voxel_pooling<TypeParam>(sizes, random));
  }
}

TYPED_TEST(OpsVoxelPoolingForward, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int channels : {1, 16, 19, 80}) {
    const auto inputs = random_voxel_pooling<TypeParam>({2, 777, channels, 9, 8, 1}, random);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
      SCOPED_TRACE(channels);
      expect_reference_with_both_algorithms(inputs, placement);
    }
  }
}

// Rows of every length around those of vectors, which end at a guard page.
TYPED_TEST(OpsVoxelPoolingForward, Tails) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (int channels = 1; channels <= 70; ++channels) {
    SCOPED_TRACE(channels);
    const auto inputs = random_voxel_pooling<TypeParam>({2, 37, channels, 3, 3, 1}, random);
    expect_reference_with_both_algorithms(inputs, Placement::kAgainstEnd);
  }
}

// Several cells a bucket; sums that exceed the memory of a task, in several chunks of ranks.
TYPED_TEST(OpsVoxelPoolingForward, ManyCells) {
  auto random = seeded_random();
  for (const auto& sizes : {VoxelPoolingSizes{1, 4000, 3, 150, 151, 1}, {1, 3000, 500, 75, 77, 1}}) {
    SCOPED_TRACE(name_of(sizes));
    const auto inputs = random_voxel_pooling<TypeParam>(sizes, random);
    for (const int count : {1, 3}) {
      const ScopedThreads threads(count);
      expect_reference_with_both_algorithms(inputs);
    }
  }
}

// The sums of one cell exceed the memory of a task: several chunks of channels.
TYPED_TEST(OpsVoxelPoolingForward, LongRows) {
  auto random = seeded_random();
  const auto channels = static_cast<int>(cache_sizes().llc / 4 / int64_t{sizeof(float)} + 37);
  const auto inputs = random_voxel_pooling<TypeParam>({1, 5, channels, 2, 1, 1}, random);
  for (const int count : {1, 2}) {
    const ScopedThreads threads(count);
    expect_reference_with_both_algorithms(inputs, Placement::kAgainstEnd);
  }
}

// Outputs large enough for nontemporal stores.
TYPED_TEST(OpsVoxelPoolingForward, StreamedOutputs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int channels : {64, 67}) {
    const auto inputs = random_voxel_pooling<TypeParam>({1, 40000, channels, 63, 65, 1}, random);
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
      SCOPED_TRACE(channels);
      expect_reference_with_both_algorithms(inputs, placement);
    }
  }
}

TYPED_TEST(OpsVoxelPoolingForward, ThreadCounts) {
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling<TypeParam>({2, 9001, 24, 20, 30, 1}, random);
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_reference_with_both_algorithms(inputs);
  }
}

// The sums depend on the order of additions: only the order of the definition gives these bits, in every run.
TYPED_TEST(OpsVoxelPoolingForward, DeterministicOrder) {
  auto random = seeded_random();
  auto inputs = random_voxel_pooling<TypeParam>({1, 20000, 6, 2, 2, 1}, random);
  const int range = sizeof(TypeParam) == 2 ? 10 : 20;
  std::uniform_int_distribution<int> exponent(-range, range);
  for (TypeParam& feature : inputs.input_features) {
    feature = rounded_to<TypeParam>(std::ldexp(to_f32(feature), exponent(random)));
  }
  for (int run = 0; run < 5; ++run) {
    for (const int count : {1, 2, 5, 16}) {
      const ScopedThreads threads(count);
      expect_reference(inputs, MLUOP_OMP_ALGORITHM_NATIVE, Placement::kAligned);
    }
  }
}

TYPED_TEST(OpsVoxelPoolingForward, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const auto many_points = random_voxel_pooling<TypeParam>({2, 30000, 5, 12, 10, 1}, random);
  const auto many_channels = random_voxel_pooling<TypeParam>({1, 50, 3000, 3, 2, 1}, random);
  for (const char* kib : {"16", "17", "64", "384", "640", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference_with_both_algorithms(many_points);
    expect_reference_with_both_algorithms(many_channels);
  }
}

// Consecutive calls of different sizes with one handle.
TYPED_TEST(OpsVoxelPoolingForward, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const Handle handle;
  for (const int points : {3000, 10, 30000, 1}) {
    const auto inputs = random_voxel_pooling<TypeParam>({2, points, 21, 17, 19, 1}, random);
    const auto expected = voxel_pooling_reference(inputs);
    const VoxelPoolingCall call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    EXPECT_TRUE(same_bits(floats_of(call.outputs().output_features), floats_of(expected.output_features)));
    EXPECT_EQ(call.outputs().pos_memo, expected.pos_memo);
  }
}

TYPED_TEST(OpsVoxelPoolingForward, NanAndInfinity) {
  auto random = seeded_random();
  auto inputs = random_voxel_pooling<TypeParam>({1, 2000, 18, 4, 4, 1}, random);
  constexpr bool kIsFloat = std::is_same_v<TypeParam, float>;
  const float specials[] = {kNan,
                            kInfinity,
                            -kInfinity,
                            -0.0F,
                            kIsFloat ? std::numeric_limits<float>::denorm_min() : 0x1p-24F,
                            kIsFloat ? std::numeric_limits<float>::max() : 65504.0F};
  for (size_t i = 0; i < inputs.input_features.size(); i += 97) {
    inputs.input_features[i] = rounded_to<TypeParam>(specials[i / 97 % std::size(specials)]);
  }
  expect_reference_with_both_algorithms(inputs);
}

// A sum of negative zeros is +0, because the initial value is +0.
TYPED_TEST(OpsVoxelPoolingForward, NegativeZero) {
  VoxelPoolingInputs<TypeParam> inputs{
      {1, 2, 20, 1, 1, 1}, {0, 0, 0, 0, 0, 0}, std::vector<TypeParam>(40, rounded_to<TypeParam>(-0.0))};
  expect_reference(inputs, MLUOP_OMP_ALGORITHM_NATIVE, Placement::kAligned);
}

// Overflow to infinity, subnormal sums and ties.
TEST(OpsVoxelPoolingForwardHalf, RoundsOnceToNearestEven) {
  for (const auto& [addends, factor, sum] : half_sums()) {
    if (factor == 0x1p-11) continue;  // half does not represent the products
    SCOPED_TRACE(sum);
    const auto count = static_cast<int>(addends.size());
    VoxelPoolingInputs<Half> inputs{{1, count, 1, 1, 1, 1}, std::vector<int32_t>(addends.size() * 3), {}};
    for (const double addend : addends) inputs.input_features.push_back(to_f16(addend * factor));
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      const Handle handle(algorithm);
      const VoxelPoolingCall call(handle, inputs);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(to_f32(call.outputs().output_features[0]), sum);
    }
  }
}

// A sum in half would stay at 2048.
TEST(OpsVoxelPoolingForwardHalf, ManyPointsOfACell) {
  const VoxelPoolingInputs<Half> inputs{{1, 20000, 33, 1, 1, 1},
                                        std::vector<int32_t>(size_t{60000}),
                                        std::vector<Half>(size_t{20000} * 33, to_f16(1))};
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    for (const int count : {1, 2, 7}) {
      const ScopedThreads threads(count);
      const Handle handle(algorithm);
      const VoxelPoolingCall call(handle, inputs);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(floats_of(call.outputs().output_features), std::vector<float>(33, 20000.0F));
    }
  }
}

TYPED_TEST(OpsVoxelPoolingForward, NoPointInRange) {
  auto random = seeded_random();
  auto inputs = random_voxel_pooling<TypeParam>({2, 500, 12, 6, 6, 1}, random);
  for (size_t i = 0; i < inputs.geom_xyz.size(); i += 3) inputs.geom_xyz[i] = i % 2 == 0 ? -1 : INT_MAX;
  expect_reference_with_both_algorithms(inputs);
}

// Coordinates near the limits of int32 must not overflow into the grid.
TYPED_TEST(OpsVoxelPoolingForward, ExtremeCoordinates) {
  VoxelPoolingInputs<TypeParam> inputs{{1, 64, 3, 5, 4, 2}, {}, {}};
  const int32_t extremes[] = {INT_MIN, INT_MIN + 1, -1, 0, 1, 3, INT_MAX - 1, INT_MAX};
  for (const int32_t x : extremes) {
    for (const int32_t y : extremes) inputs.geom_xyz.insert(inputs.geom_xyz.end(), {x, y, (x ^ y) & 1});
  }
  inputs.input_features.assign(static_cast<size_t>(inputs.sizes.input_count()), rounded_to<TypeParam>(1));
  expect_reference_with_both_algorithms(inputs);
}

TYPED_TEST(BigVoxelPoolingForward, NetworkSize) {
  auto random = seeded_random();
  VoxelPoolingInputs<TypeParam> inputs{kBevDepthSizes, {}, {}};
  std::uniform_real_distribution<float> feature(-1.0F, 1.0F);
  for (int64_t i = 0; i < kBevDepthSizes.input_count(); ++i)
    inputs.input_features.push_back(rounded_to<TypeParam>(feature(random)));
  for (auto& geometry : {camera_geometry(kBevDepthSizes.batch_size), uniform_geometry(kBevDepthSizes, 17)}) {
    inputs.geom_xyz = geometry;
    const auto expected = voxel_pooling_reference(inputs);
    for (const int count : {1, 2, 16}) {
      const ScopedThreads threads(count);
      expect_outputs_with_both_algorithms(inputs, expected, Placement::kAgainstEnd);
    }
  }
}

}  // namespace
}  // namespace mluop::test
