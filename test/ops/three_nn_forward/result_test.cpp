// mluOpThreeNNForward against the serial loop of its definition, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <string>

#include "ops/three_nn_forward/call.h"
#include "ops/three_nn_forward/native/plan.h"
#include "support/compare.h"
#include "support/element.h"
#include "support/environment.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int64_t kTree = three_nn_forward::native::kMinTreePoints;

template <class T>
void expect_outputs(const ThreeNNInputs<T>& inputs, const ThreeNNOutputs<T>& expected,
                    Placement placement = Placement::kAligned) {
  const Handle handle;
  const ThreeNNCall<T> call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const auto outputs = call.outputs();
  // The conversion to fp32 is exact, so equal bits of fp32 are equal bits of T.
  EXPECT_TRUE(same_bits(floats_of(outputs.dist2), floats_of(expected.dist2)));
  EXPECT_TRUE(outputs.idx == expected.idx);
  EXPECT_TRUE(call.intact());
}

template <class T>
void expect_reference(const ThreeNNInputs<T>& inputs, Placement placement = Placement::kAligned) {
  expect_outputs(inputs, three_nn_reference(inputs), placement);
}

void expect_reference_in_both_types(const ThreeNNSizes& sizes, std::mt19937& random,
                                    Placement placement = Placement::kAligned) {
  SCOPED_TRACE(product_text({sizes.B, sizes.N, sizes.M}));
  expect_reference(random_three_nn<float>(sizes, random), placement);
  expect_reference(random_three_nn<Half>(sizes, random), placement);
}

TEST(OpsThreeNNForward, HostileSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  // Fewer known points than neighbors; vectors of queries, less and plus one; unrolled comparisons and their rest.
  for (const int64_t M : {0, 1, 2, 3, 4, 5, 7, 8, 100}) {
    for (const int64_t N : {1, 3, 4, 5, 7, 15, 16, 17, 33}) expect_reference_in_both_types({2, N, M}, random);
  }
  expect_reference_in_both_types({70, 1, 9}, random);
  expect_reference_in_both_types({1, 5000, 3}, random);
}

TEST(OpsThreeNNForward, HostileSizesOfTrees) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  // Around the smallest tree, whole blocks and nodes, another number of cells, and a chunk of points.
  for (const int64_t M : {kTree - 1, kTree, kTree + 1, kTree + 15, kTree + 16, 2 * kTree - 1, 2 * kTree,
                          int64_t{4095}, int64_t{4096}, int64_t{4097}}) {
    expect_reference_in_both_types({2, 37, M}, random);
  }
  expect_reference_in_both_types({9, 1, kTree + 3}, random);
  // The largest number of cells, and a third level of nodes.
  expect_reference_in_both_types({1, 100, 70001}, random);
}

TEST(OpsThreeNNForward, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
    expect_reference_in_both_types({2, 77, 123}, random, placement);
    expect_reference_in_both_types({2, 77, kTree + 5}, random, placement);
  }
}

TEST(OpsThreeNNForward, ThreadCounts) {
  auto random = seeded_random();
  for (const ThreeNNSizes& sizes : {ThreeNNSizes{3, 1001, 203}, {2, 501, 9001}}) {
    const auto floats = random_three_nn<float>(sizes, random);
    const auto halves = random_three_nn<Half>(sizes, random);
    const auto expected_floats = three_nn_reference(floats);
    const auto expected_halves = three_nn_reference(halves);
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_outputs(floats, expected_floats);
      expect_outputs(halves, expected_halves);
    }
  }
}

TEST(OpsThreeNNForward, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const char* kib : {"1", "384", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference_in_both_types({2, 30, 300}, random);
    expect_reference_in_both_types({2, 30, kTree}, random);
  }
}

TEST(OpsThreeNNForward, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const Handle handle;
  for (const int64_t points : {int64_t{1000}, int64_t{3}, kTree * 2, int64_t{1}}) {
    const auto inputs = random_three_nn<float>({2, 50, points}, random);
    const ThreeNNCall<float> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    EXPECT_TRUE(call.outputs().idx == three_nn_reference(inputs).idx);
  }
}

// The workspace suffices for every number of threads, also those set after the query.
TEST(OpsThreeNNForward, WorkspaceOfFewerThreads) {
  auto random = seeded_random();
  const auto inputs = random_three_nn<Half>({2, 400, kTree * 3}, random);
  const Handle handle;
  const ScopedThreads one(1);
  const ThreeNNCall<Half> call(handle, inputs);
  const ScopedThreads many(64);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(call.outputs().idx == three_nn_reference(inputs).idx);
  EXPECT_TRUE(call.intact());
}

// Distributions that are hostile to trees and ties. `place` changes the coordinates of a known point.
struct Distribution {
  const char* name;
  std::function<void(float* point, int64_t m, std::mt19937& random)> place;
};

const Distribution kDistributions[] = {
    {"all equal", [](float* p, int64_t, auto&) { p[0] = p[1] = p[2] = 0.5F; }},
    {"two places", [](float* p, int64_t m, auto&) { p[0] = p[1] = p[2] = m % 2 == 0 ? 0.25F : -0.5F; }},
    {"a small grid, with ties",
     [](float* p, int64_t, auto& random) {
       for (int i = 0; i < 3; ++i) p[i] = static_cast<float>(random() % 9) * 0.25F - 1;
     }},
    {"a plane", [](float* p, int64_t, auto&) { p[2] = 0; }},
    {"a line", [](float* p, int64_t, auto&) { p[0] = p[1] = 0.125F; }},
    {"a cluster and an outlier",
     [](float* p, int64_t m, auto&) {
       for (int i = 0; i < 3; ++i) p[i] = m == 77 ? 30000.0F : p[i] * 0x1p-6F;
     }},
    {"sorted", [](float* p, int64_t m, auto&) { p[0] = static_cast<float>(m) * 0x1p-11F; }},
    {"far away, where distances tie", [](float* p, int64_t, auto&) { p[0] = 250 + p[0]; }},
    {"squares are subnormal in half",
     [](float* p, int64_t, auto&) {
       for (int i = 0; i < 3; ++i) p[i] *= 0x1p-9F;
     }},
    {"distances overflow",
     [](float* p, int64_t m, auto&) {
       if (m % 3 != 0) p[1] = m % 3 == 1 ? 60000.0F : -60000.0F;
     }},
    {"most are not finite",
     [](float* p, int64_t m, auto& random) {
       const float specials[] = {kNan, kInfinity, -kInfinity};
       if (m % 50 != 0) p[random() % 3] = specials[random() % 3];
     }},
    {"two are finite",
     [](float* p, int64_t m, auto&) {
       if (m != 9 && m != 700) p[m % 3] = m % 2 == 0 ? kNan : kInfinity;
     }},
    {"none is finite", [](float* p, int64_t m, auto&) { p[m % 3] = -kInfinity; }},
};

TEST(OpsThreeNNForward, Distributions) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const Distribution& distribution : kDistributions) {
    SCOPED_TRACE(distribution.name);
    for (const int64_t M : {int64_t{800}, kTree * 3 + 5}) {
      SCOPED_TRACE(M);
      auto floats = random_three_nn<float>({2, 60, M}, random);
      // Queries at known points, and queries that are not finite.
      for (int64_t m = 0; m < 2 * M; ++m) distribution.place(floats.known.data() + m * 3, m % M, random);
      std::copy_n(floats.known.data(), 60, floats.unknown.data());
      for (const auto& [i, value] : {std::pair{70, kNan}, {81, kInfinity}, {95, -kInfinity}, {101, 3.0e38F}}) {
        floats.unknown[static_cast<size_t>(i)] = value;
      }
      ThreeNNInputs<Half> halves{floats.sizes, {}, {}};
      for (const float value : floats.unknown) halves.unknown.push_back(to_f16(value));
      for (const float value : floats.known) halves.known.push_back(to_f16(value));
      expect_reference(floats);
      expect_reference(halves);
    }
  }
}

// Ties go to the lower index, also across blocks, nodes and tasks.
TEST(OpsThreeNNForward, TiesGoToTheLowerIndex) {
  for (const int64_t M : {int64_t{20}, kTree * 2}) {
    ThreeNNInputs<float> inputs{{1, 1, M}, {0, 0, 0}, std::vector<float>(static_cast<size_t>(3 * M), 5)};
    // On a sphere of squared radius 9, in reverse order of x.
    const float sphere[5][3] = {{3, 0, 0}, {2, 2, 1}, {1, 2, 2}, {0, 0, 3}, {-3, 0, 0}};
    for (size_t i = 0; i < 5; ++i) std::copy_n(sphere[i], 3, inputs.known.data() + (i * 4 + 1) * 3);
    expect_outputs(inputs, {{9, 9, 9}, {1, 5, 9}});
  }
}

// Squares below the least subnormal number are 0, and subnormal ones are kept.
TEST(OpsThreeNNForward, Subnormals) {
  for (const int64_t M : {int64_t{4}, kTree}) {
    ThreeNNInputs<float> inputs{{1, 1, M}, {0, 0, 0}, std::vector<float>(static_cast<size_t>(3 * M), 1)};
    const float known[4][3] = {{0x1p-70F, 0, 0}, {0x1p-80F, 0, 0}, {0, 0x1p-140F, 0}, {0, 0, 0}};
    std::copy_n(&known[0][0], 12, inputs.known.data());
    expect_outputs(inputs, {{0, 0, 0}, {1, 2, 3}});
    inputs.known[11] = 1;
    expect_outputs(inputs, {{0, 0, 0x1p-140F}, {1, 2, 0}});
  }
}

// The rounded sum of squares is the greatest float; with fused multiply-adds it is infinite.
TEST(OpsThreeNNForward, GreatestDistance) {
  for (const int64_t M : {int64_t{4}, kTree}) {
    ThreeNNInputs<float> inputs{{1, 1, M}, {0, 0, 0}, std::vector<float>(static_cast<size_t>(3 * M), kInfinity)};
    const float place[3] = {0x1.279a72p+63F, 0x1.279a7ap+63F, 0x1.279a70p+63F};
    for (const int64_t m : {1, 2, 3}) std::copy_n(place, 3, inputs.known.data() + m * 3);
    constexpr float kMax = std::numeric_limits<float>::max();
    expect_outputs(inputs, {{kMax, kMax, kMax}, {1, 2, 3}});
  }
}

// Every step is rounded to half: 2049 - 0 is 2048, and the square overflows from 256 on.
TEST(OpsThreeNNForward, StepsOfHalf) {
  const auto half = [](std::vector<float> values) {
    std::vector<Half> halves;
    for (const float value : values) halves.push_back(to_f16(value));
    return halves;
  };
  const ThreeNNInputs<Half> inputs{
      {1, 1, 4}, half({0, 0, 0}), half({45, 5, 1, 45.03125, 0, 0, 256, 0, 0, 45, 1, 1})};
  // 45^2 = 2025, +25 = 2050, +1 = 2051 ties to 2052; 45.03125^2 = 2027.8 is 2028; 2025 + 1 + 1 = 2027.
  expect_outputs(inputs, {half({2027, 2028, 2052}), {3, 1, 0}});
}

TEST(OpsThreeNNForward, DocumentSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  expect_reference_in_both_types({2, 256, 64}, random);
  expect_reference_in_both_types({3, 1024, 256}, random);
  expect_reference(random_three_nn<float>({2, 4096, 1024}, random));
}

TEST(BigThreeNNForward, DocumentSizes) {
  auto random = seeded_random();
  expect_reference_in_both_types({3, 4096, 1024}, random);
  expect_reference_in_both_types({2, 16384, 4096}, random, Placement::kAgainstEnd);
}

}  // namespace
}  // namespace mluop::test
