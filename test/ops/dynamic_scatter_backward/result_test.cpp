// mluOpDynamicPointToVoxelBackward against the serial loops of its definition, at sizes and with values that
// its kernels treat apart. test/ops/contract_test.cpp has those of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <numeric>
#include <string>
#include <vector>

#include "ops/dynamic_scatter_backward/scatter_case.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

std::string text_of(const ScatterSizes& s) {
  return product_text({s.points, s.voxels, s.channels}) + ", voxel_num " + std::to_string(s.voxel_num);
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

// The size of the workspace is sufficient for every number of threads. Sums and means need none.
TEST(OpsDynamicScatterBackward, HostileSizes) {
  auto random = seeded_random();
  for (const ScatterSizes& sizes : kSizes) {
    Case made = random_scatter(sizes, random);
    for (const auto reduce_type : kReduceTypes) {
      made.parameters.set("reduce_type", reduce_type);
      const Oracle oracle(made);
      const Handle handle;
      const OperatorCall call(handle, made);
      EXPECT_EQ(call.arguments.workspace_size == 0, reduce_type != MLUOP_REDUCE_DMAX);
      for (const int count : {1, 2, 3, 7, 64}) {
        SCOPED_TRACE(text_of(sizes) + ", reduce_type " + std::to_string(reduce_type) + ", threads " +
                     std::to_string(count));
        const ScopedThreads threads(count);
        expect_oracle(oracle, count == 2 ? Placement::kMisaligned : Placement::kAgainstEnd);
        size_t bytes = 0;
        require(call.op().query(call.arguments, &bytes));
        EXPECT_EQ(bytes, call.arguments.workspace_size);
      }
    }
  }
}

// An output large enough for nontemporal stores, with rows of whole and of partial cache lines.
TEST(OpsDynamicScatterBackward, StreamedOutput) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int64_t channels : {64, 71}) {
    Case made = random_scatter({20000, 6000, channels, 6000}, random);
    for (const auto reduce_type : kReduceTypes) {
      SCOPED_TRACE(product_text({channels, reduce_type}));
      made.parameters.set("reduce_type", reduce_type);
      const Oracle oracle(made);
      for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
        expect_oracle(oracle, placement);
      }
    }
  }
}

// Several tasks find points of one voxel: the smallest point receives the gradient in every run.
TEST(OpsDynamicScatterBackward, TiesGoToTheFirstPoint) {
  constexpr ScatterSizes kTwoVoxels = {30000, 2, 18, 2};
  std::vector<int32_t> map(30000);
  for (size_t n = 0; n < map.size(); ++n) map[n] = static_cast<int32_t>(n % 2);
  const Case made = make_scatter(kTwoVoxels, map, std::vector<float>(map.size() * 18, 1.0F));
  const Oracle oracle(made);
  for (int run = 0; run < 5; ++run) {
    for (const int count : {1, 2, 5, 16}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_oracle(oracle);
    }
  }
}

TEST(OpsDynamicScatterBackward, NramSizes) {
  auto random = seeded_random();
  constexpr ScatterSizes kTiled[] = {
      {30000, 9000, 5, 9000}, {50, 20, 3000, 20}, {3001, 900, 19, 880}, {2000, 1500, 1, 1500}, {70, 30, 1000, 30}};
  for (const ScatterSizes& sizes : kTiled) {
    const Case made = random_scatter(sizes, random);
    const Oracle oracle(made);
    for (const int count : {1, 3, 16}) {
      for (const char* kib : {"1", "16", "17", "64", "384", "640", "1024"}) {
        SCOPED_TRACE(text_of(sizes) + ", threads " + std::to_string(count) + ", NRAM " + kib);
        const ScopedThreads threads(count);
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
        expect_oracle(oracle, Placement::kAgainstEnd);
      }
    }
  }
}

// NaN equals no value, -0 equals +0, and infinity equals itself. Gradients are arbitrary, and counts from 1 on.
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
  for (const auto reduce_type : kReduceTypes) {
    made.parameters.set("reduce_type", reduce_type);
    expect_oracle(made);
  }
}

// Gradients are copied: the payload of a NaN too.
TEST(OpsDynamicScatterBackward, PayloadsOfNan) {
  auto random = seeded_random();
  for (const auto reduce_type : {MLUOP_REDUCE_DMAX, MLUOP_REDUCE_DSUM}) {
    Case made = with_values(random_scatter({900, 500, 33, 500}, random), Values::kAnyBits, 1);
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

// Points of one voxel that have the same feature: the first receives the gradient, the others +0.
struct Tie {
  float feature, maximum, gradient, received;
};
constexpr Tie kTies[] = {
    {-0.0F, 0.0F, 5.0F, 5.0F},   // the signs of zeros do not matter
    {1.0F, 1.0F, -0.0F, -0.0F},  // a gradient keeps its sign
    {kNan, kNan, 5.0F, 0.0F},    // NaN equals no value
};

TEST(OpsDynamicScatterBackward, SpecialTies) {
  for (const Tie& tie : kTies) {
    SCOPED_TRACE(tie.feature);
    Case made = make_scatter({3, 1, 20, 1}, {0, 0, 0}, std::vector<float>(60, tie.feature));
    set_values(made, "voxel_feats", std::vector<float>(20, tie.maximum));
    set_values(made, "grad_voxel_feats", std::vector<float>(20, tie.gradient));
    std::vector<float> expected(60);
    std::fill_n(expected.begin(), 20, tie.received);
    for (const auto algorithm : kAlgorithms) {
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(same_bits(call.floats("grad_feats"), expected));
    }
  }
}

TEST(OpsDynamicScatterBackward, NoPointHasAVoxel) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const ScatterSizes& sizes : {ScatterSizes{5, 4, 64, 4}, {3000, 50, 20, 50}, {30000, 4, 64, 4}}) {
    const std::vector<int32_t> map(static_cast<size_t>(sizes.points), -1);
    Case made = make_scatter(sizes, map, random_feats(sizes, random));
    for (const auto reduce_type : kReduceTypes) {
      made.parameters.set("reduce_type", reduce_type);
      expect_oracle(made);
    }
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

TEST(OpsDynamicScatterBackward, NetworkSize) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const bool shuffled : {false, true}) {
    expect_oracle(lidar_scatter({17176, 13743, 128, 13743}, 64, random, shuffled));
  }
}

TEST(BigDynamicScatterBackward, LargeScan) {
  auto random = seeded_random();
  for (const bool shuffled : {false, true}) {
    const Case made = lidar_scatter({500000, 100000, 64, 100000}, 128, random, shuffled);
    const Oracle oracle(made);
    for (const int count : {1, 2, 16}) {
      const ScopedThreads threads(count);
      for (const auto placement : {Placement::kAligned, Placement::kAgainstEnd}) expect_oracle(oracle, placement);
    }
  }
}

}  // namespace
}  // namespace mluop::test
