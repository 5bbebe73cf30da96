// mluOpDynamicPointToVoxelBackward against the serial loops of its definition, at sizes and with values that its
// kernels distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "ops/dynamic_scatter_backward/scatter_case.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/recorded_run.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

std::string text_of(const ScatterSizes& s) {
  return product_text({s.points, s.voxels, s.channels}) + ", voxel_num " + std::to_string(s.voxel_num);
}

// Checks the case with each reduction.
void expect_reductions(Case made, Placement placement = Placement::kAligned) {
  for (const auto reduce_type : kReduceTypes) {
    SCOPED_TRACE(reduce_type);
    made.parameters.set("reduce_type", reduce_type);
    expect_oracle(made, placement);
  }
}

// Voxel 0 has the points 0, 2 and 3, voxel 1 has point 4. The first point with the maximum receives its gradient,
// the other points receive +0: zeros of either sign are equal, NaN equals no value, a gradient keeps its sign.
TEST(OpsDynamicScatterBackward, WorkedExample) {
  const float feats[][4] = {{1, -0.0F, kNan, 2}, {9, 9, 9, 9}, {3, 0, kNan, 4}, {3, 0, kNan, 4}, {5, 6, 7, 8}};
  const struct {
    mluOpReduceMode_t reduce_type;
    std::vector<float> grad_feats;
  } kRows[] = {
      {MLUOP_REDUCE_DSUM, {3, 6, 9, -0.0F, 0, 0, 0, 0, 3, 6, 9, -0.0F, 3, 6, 9, -0.0F, 1, 2, 4, 5}},
      {MLUOP_REDUCE_DMEAN, {1, 2, 3, -0.0F, 0, 0, 0, 0, 1, 2, 3, -0.0F, 1, 2, 3, -0.0F, 1, 2, 4, 5}},
      {MLUOP_REDUCE_DMAX, {0, 6, 0, 0, 0, 0, 0, 0, 3, 0, 0, -0.0F, 0, 0, 0, 0, 1, 2, 4, 5}},
  };
  Case made = make_scatter({5, 2, 4, 2}, {0, -1, 0, 0, 1}, {&feats[0][0], &feats[0][0] + 20});
  set_values(made, "voxel_feats", std::vector<float>{3, 0, kNan, 4, 5, 6, 7, 8});
  set_values(made, "grad_voxel_feats", std::vector<float>{3, 6, 9, -0.0F, 1, 2, 4, 5});
  for (const auto& [reduce_type, grad_feats] : kRows) {
    made.parameters.set("reduce_type", reduce_type);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(reduce_type) + ' ' + mluop::test::text_of(algorithm));
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(same_bits(call.floats("grad_feats"), grad_feats));
    }
  }
}

constexpr ScatterSizes kSizes[] = {
    {16, 16, 16, 16},             // as many voxels as points
    {300, 7, 3, 7},               // many points per voxel, fewer channels than a vector
    {5000, 1, 5, 1},              // one voxel for all points
    {1000, 900, 9, 900},          // voxels without points
    {1000, 900, 20, 17},          // voxel_num below the number of voxels
    {500, 300, 8, 0},             // voxel_num 0
    {64, 20, 127, 20},            // eight vectors minus one lane
    {64, 20, 128, 20},            // eight vectors
    {64, 20, 131, 20},            // eight vectors and a tail of three lanes
    {40, 9, 2050, 9},             // rows longer than a tile
    {9001, 4001, 1, 4000},        // one channel: the deterministic algorithm needs the larger workspace
    {20000, 3, 1, 3},             // fewer voxels than tasks
    {9001, 8000, 24, 8000},       // many voxels
    {200001, 60, 1, 60},          // many points
    {100000, 100000, 1, 100000},  // as many voxels
    {64, 3, 5000, 3},             // many channels
};

// Sums and means need no workspace.
TEST(OpsDynamicScatterBackward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  for (const ScatterSizes& sizes : kSizes) {
    Case made = random_scatter(sizes, random);
    for (const auto reduce_type : kReduceTypes) {
      made.parameters.set("reduce_type", reduce_type);
      const Oracle oracle(made);
      const Handle handle;
      EXPECT_EQ(OperatorCall(handle, made).arguments.workspace_size == 0, reduce_type != MLUOP_REDUCE_DMAX);
      for (const int count : {1, 3, 64}) {
        SCOPED_TRACE(text_of(sizes) + ", reduce_type " + std::to_string(reduce_type) + ", threads " +
                     std::to_string(count));
        const ScopedThreads threads(count);
        expect_oracle(oracle, count == 3 ? Placement::kMisaligned : Placement::kAgainstEnd);
      }
    }
  }
}

// An output large enough for nontemporal stores, with rows of whole and of partial cache lines.
TEST(OpsDynamicScatterBackward, StreamedOutput) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int64_t channels : {64, 71}) {
    SCOPED_TRACE(channels);
    const Case made = random_scatter({14000, 3000, channels, 3000}, random);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
      expect_reductions(made, placement);
    }
  }
}

TEST(OpsDynamicScatterBackward, NramSizes) {
  MLUOP_LABELS(kOnce, kSlow);
  auto random = seeded_random();
  for (const ScatterSizes& sizes : {ScatterSizes{30000, 9000, 5, 9000},
                                    {50, 20, 3000, 20},
                                    {3001, 900, 19, 880},
                                    {2000, 1500, 1, 1500},
                                    {70, 30, 1000, 30}}) {
    const Case made = random_scatter(sizes, random);
    const Oracle oracle(made);
    for (const char* kib : {"1", "16", "17", "640"}) {
      SCOPED_TRACE(text_of(sizes) + ", NRAM " + kib);
      const ScopedThreads threads(3);
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      expect_oracle(oracle, Placement::kAgainstEnd);
    }
  }
}

// Infinity equals itself. Gradients have arbitrary values, counts start at 1.
TEST(OpsDynamicScatterBackward, SpecialValues) {
  auto random = seeded_random();
  constexpr ScatterSizes kSpecial = {2000, 300, 18, 300};
  constexpr float kValues[] = {kNan, kInfinity, -kInfinity, -0.0F, 0.0F, 1e-45F, 3e38F, 1.0F};
  constexpr int32_t kCounts[] = {1, 3, 16777217, INT_MAX};
  const auto with_specials = [&](std::vector<float> values, uint32_t one_in) {
    for (float& value : values) {
      if (random() % one_in == 0) value = kValues[random() % 8];
    }
    return values;
  };
  const std::vector<int32_t> map = random_map(kSpecial, random);
  Case made = make_scatter(kSpecial, map, with_specials(random_feats(kSpecial, random), 7));
  set_values(made, "voxel_feats", with_specials(floats_of(made, "voxel_feats"), 13));
  set_values(made, "grad_voxel_feats", with_specials(floats_of(made, "grad_voxel_feats"), 2));
  std::vector<int32_t> counts(300);
  for (int32_t& count : counts) count = kCounts[random() % 4];
  set_values(made, "voxel_points_count", counts);
  expect_reductions(made);
}

// Gradients are copied with all bits, including the payload of a NaN.
TEST(OpsDynamicScatterBackward, PayloadsOfNan) {
  auto random = seeded_random();
  for (const auto reduce_type : {MLUOP_REDUCE_DMAX, MLUOP_REDUCE_DSUM}) {
    Case made = random_scatter({900, 500, 33, 500}, random, Values::kAnyBits);
    made.parameters.set("reduce_type", reduce_type);
    for (const auto algorithm : kAlgorithms) {
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      OperatorCall expected(handle, made);
      expected.expect();
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(call.outputs() == expected.outputs());
    }
  }
}

TEST(OpsDynamicScatterBackward, NoPointHasAVoxel) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const ScatterSizes& sizes : {ScatterSizes{5, 4, 64, 4}, {3000, 50, 20, 50}}) {
    const std::vector<int32_t> map(static_cast<size_t>(sizes.points), -1);
    expect_reductions(make_scatter(sizes, map, random_feats(sizes, random)));
  }
}

// Without voxels the map is ignored, and the gradient is zero.
TEST(OpsDynamicScatterBackward, NoVoxels) {
  auto random = seeded_random();
  for (const ScatterSizes& sizes : {ScatterSizes{3000, 0, 20, 0}, {70, 30, 20, 0}}) {
    Case made = random_scatter(sizes, random);
    expect_oracle(made);
    std::vector<int32_t> map(static_cast<size_t>(sizes.points));
    std::iota(map.begin(), map.end(), -3);
    set_values(made, "point2voxel_map", map);
    const Handle handle;
    OperatorCall call(handle, made);
    if (sizes.voxels == 0) {
      for (const char* id : {"grad_voxel_feats", "voxel_feats", "voxel_points_count"}) call[id].data = nullptr;
    }
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.floats("grad_feats"), std::vector<float>(map.size() * 20));
  }
}

// Without elements the call does not access memory.
TEST(OpsDynamicScatterBackward, NoElements) {
  const Handle handle;
  for (const ScatterSizes& sizes : {ScatterSizes{0, 0, 8, 0}, {0, 3, 8, 3}, {5, 3, 0, 3}, {0, 0, 0, 0}}) {
    SCOPED_TRACE(text_of(sizes));
    OperatorCall call(handle, make_scatter(sizes, std::vector<int32_t>(static_cast<size_t>(sizes.points)), {}));
    EXPECT_EQ(call.arguments.workspace_size, 0U);
    for (cases::Operand& tensor : call.arguments.tensors) tensor.data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
}

// Few voxels have most points, so that tasks share the points of a voxel.

void expect_shared_voxels(const Oracle& oracle, std::initializer_list<int> counts) {
  for (const int count : counts) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_shared(oracle, "match", "claim_shared", count == 2 ? Placement::kMisaligned : Placement::kAgainstEnd);
  }
}

// Voxel 7 has all points, or nine points in ten; one point in 100 has no voxel.
Case crowded(const ScatterSizes& sizes, bool all, std::mt19937& random) {
  std::vector<int32_t> map = random_map(sizes, random);
  for (int32_t& voxel : map) {
    if (all || random() % 10 > 0) voxel = random() % 100 == 0 ? -1 : 7;
  }
  return make_scatter(sizes, map, random_feats(sizes, random));
}

TEST(OpsDynamicScatterBackwardSharedVoxels, FirstMatches) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  for (const int channels : {1, 16, 17, 64, 131}) {
    for (const bool all : {false, true}) {
      SCOPED_TRACE(channels);
      expect_shared_voxels(crowded({3000, 300, channels, 300}, all, random), {1, 2, 3, 7, 64});
    }
  }
}

// Several tasks find points with the maximum of one voxel: the smallest point index receives the gradient in every
// run.
TEST(OpsDynamicScatterBackwardSharedVoxels, TiesGoToTheFirstPoint) {
  MLUOP_LABELS(kManyThreads);
  std::vector<int32_t> map(30000);
  for (size_t n = 0; n < map.size(); ++n) map[n] = static_cast<int32_t>(n % 2);
  const Case made = make_scatter({30000, 2, 18, 2}, map, std::vector<float>(map.size() * 18, 1.0F));
  const Oracle oracle(made);
  for (const int count : {2, 5, 16}) {
    const ScopedThreads threads(count);
    for (int run = 0; run < 3; ++run) expect_oracle(oracle);
  }
}

// Buckets of several voxels, two of them crowded, and maxima shared by many points.
TEST(OpsDynamicScatterBackwardSharedVoxels, Buckets) {
  auto random = seeded_random();
  constexpr ScatterSizes kBuckets = {50000, 20000, 21, 20000};
  std::vector<int32_t> map = random_map(kBuckets, random);
  for (int32_t& voxel : map) {
    const uint32_t choice = random() % 16;
    if (choice < 15) voxel = choice < 7 ? 19999 : choice < 14 ? 40 : 41;
  }
  expect_shared_voxels(make_scatter(kBuckets, map, random_feats(kBuckets, random, 3)), {1, 4, 64});
}

// An output large enough for nontemporal stores.
TEST(OpsDynamicScatterBackwardSharedVoxels, StreamedOutput) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  expect_shared_voxels(crowded({10000, 2000, 128, 2000}, false, random), {3, 7});
}

TEST(BigDynamicScatterBackward, LargeScan) {
  auto random = seeded_random();
  for (const bool shuffled : {false, true}) {
    const Case made = lidar_scatter({500000, 100000, 64, 100000}, 128, random, shuffled);
    const Oracle oracle(made);
    for (const int count : {1, 2, 16}) {
      const ScopedThreads threads(count);
      expect_oracle(oracle, count == 2 ? Placement::kAgainstEnd : Placement::kAligned);
    }
  }
}

}  // namespace
}  // namespace mluop::test
