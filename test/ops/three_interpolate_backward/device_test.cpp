// The device algorithm of mluOpThreeInterpolateBackward: tiles, split, traffic and results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ops/three_interpolate_backward/sizes.h"
#include "ops/three_interpolate_backward/three_interpolate_backward.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_device_kernels.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/recorded_run.h"
#include "team/split.h"

namespace mluop::test {
namespace {

using cases::Case;
using ::testing::ElementsAre;
using three_interpolate_backward::Args;
using three_interpolate_backward::device::choose_features;
using three_interpolate_backward::device::document_bytes;
using three_interpolate_backward::device::make_plan;
using three_interpolate_backward::device::Plan;
using three_interpolate_backward::device::Tiling;

constexpr BackwardSizes kCase4 = {16, 128, 4096, 1024};

Plan plan_of(const BackwardSizes& sizes, mluOpDataType_t dtype, size_t nram_kib = 640) {
  const Args args{sizes.B, sizes.C, sizes.N, sizes.M, dtype, nullptr, nullptr, nullptr, nullptr};
  Context context;
  context.nram_capacity = nram_kib * 1024;
  return make_plan(context, args);
}

std::array<int64_t, 3> extents_of(const Tiling& tiling) { return {tiling.Co, tiling.No, tiling.Mo}; }

TEST(OpsThreeInterpolateBackwardDevice, TilesOfCase4) {
  for (const int task_dim : {1, 4, 16}) {
    const ScopedThreads threads(task_dim);
    const Plan floats = plan_of(kCase4, MLUOP_DTYPE_FLOAT);
    EXPECT_EQ(floats.task_dim, task_dim);
    EXPECT_THAT(extents_of(floats.tiling), ElementsAre(64, 32, 1024));
    EXPECT_EQ(document_bytes(floats.tiling, 4), 542848);
    EXPECT_THAT(extents_of(plan_of(kCase4, MLUOP_DTYPE_HALF).tiling), ElementsAre(128, 128, 1024));
  }
}

// The search of the document, which tries the multiples of `unit` one after the other.
int64_t search_features(int64_t B, int64_t M, int64_t max, int64_t unit, int task_dim) {
  const auto rounds = [&](int64_t features) {
    const int64_t items = B * ((M + features - 1) / features);
    return std::pair(items / task_dim, items % task_dim);
  };
  int64_t best = max;
  for (int64_t features = max - unit; features > 0; features -= unit) {
    const auto [best_q, best_r] = rounds(best);
    const auto [q, r] = rounds(features);
    const bool lower = q <= best_q - 2 || (q == best_q - 1 && (best_r != 0 || r == 0));
    const bool equal = q == best_q && best_r != 0 && (r == 0 || r > best_r);
    const bool higher = q == best_q + 1 && best_r != 0 && r == 0;
    if (lower || equal || higher) best = features;
  }
  return best;
}

TEST(OpsThreeInterpolateBackwardDevice, FeaturesFillRounds) {
  for (const int task_dim : {1, 2, 3, 4, 7, 16, 64}) {
    for (const int64_t B : {1, 2, 3, 5, 16, 29, 64, 70}) {
      for (const int64_t M : {1, 31, 32, 33, 64, 100, 777, 1024, 2033, 5000}) {
        for (const int64_t max : {32, 64, 96, 256, 992, 1024, 4096}) {
          const int64_t from = std::min((M + 31) / 32 * 32, max);
          ASSERT_EQ(choose_features(B, M, from, 32, task_dim), search_features(B, M, from, 32, task_dim))
              << B << " " << M << " " << from << " " << task_dim;
        }
      }
    }
  }
}

TEST(OpsThreeInterpolateBackwardDevice, TilesFitNram) {
  MLUOP_LABELS(kNotEmulated);
  constexpr BackwardSizes kSizes[] = {{1, 1, 1, 1},      {2, 33, 65, 1000},     {16, 1024, 4096, 128},
                                      {1, 3, 9, 70000},  {29, 2047, 999, 2033}, {1, 1, 1, int64_t{1} << 61},
                                      {1, 5, 1 << 20, 7}};
  for (const int task_dim : {1, 64}) {
    const ScopedThreads threads(task_dim);
    for (const auto& s : kSizes) {
      for (const size_t kib : {16, 17, 24, 36, 64, 384, 640, 1024, 1 << 16}) {
        for (const auto dtype : kFloatingDtypes) {
          SCOPED_TRACE(product_text({s.B, s.C, s.N, s.M, task_dim, static_cast<int64_t>(kib)}));
          const Tiling tiling = plan_of(s, dtype, kib).tiling;
          const int64_t element = dtype == MLUOP_DTYPE_FLOAT ? 4 : 2;
          // A tile whose channels are a multiple of 128 bytes needs 18,432 bytes in float and 36,096 in half.
          const int64_t unit = (kib >= (element == 4 ? 18 : 36) ? 128 : 64) / element;
          for (const int64_t extent : extents_of(tiling)) {
            EXPECT_GT(extent, 0);
            EXPECT_EQ(extent % unit, 0);
          }
          EXPECT_LE(document_bytes(tiling, element), static_cast<int64_t>(kib * 1024));
        }
      }
    }
  }
}

// The bytes that a task loads and stores by the formulas of the document, for the given element size.
struct Traffic {
  int64_t tiles, loaded, stored;
  bool operator==(const Traffic&) const = default;
};

Traffic traffic_of(const BackwardSizes& s, const Tiling& tiling, Range items, int64_t element) {
  const int64_t channel_tiles = ceil_div(s.C, tiling.Co);
  const int64_t feature_tiles = ceil_div(s.M, tiling.Mo);
  Traffic traffic{};
  for (int64_t item = items.begin; item < items.end; ++item) {
    const int64_t m0 = item % feature_tiles * tiling.Mo;
    traffic.tiles += channel_tiles * ceil_div(s.N, tiling.No);
    traffic.loaded += channel_tiles * s.N * 3 * (4 + element) + element * s.C * s.N;
    traffic.stored += element * s.C * std::min(tiling.Mo, s.M - m0);
  }
  return traffic;
}

TEST(OpsThreeInterpolateBackwardDevice, TrafficOfCase4) {
  EXPECT_EQ(traffic_of(kCase4, {64, 32, 1024}, {0, 16}, 4), (Traffic{4096, 36700160, 8388608}));
  EXPECT_EQ(traffic_of(kCase4, {64, 32, 1024}, {0, 4}, 4), (Traffic{1024, 9175040, 2097152}));
  EXPECT_EQ(traffic_of(kCase4, {64, 32, 1024}, {0, 1}, 4), (Traffic{256, 2293760, 524288}));
}

// Checks the result and each task of a call with `task_dim` tasks.
void expect_call(const Oracle& oracle, const BackwardSizes& s, int task_dim, size_t nram_kib) {
  SCOPED_TRACE(product_text({task_dim}) + " tasks");
  const ScopedThreads threads(task_dim);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", std::to_string(nram_kib).c_str());
  const mluOpDataType_t dtype = oracle.made().inputs[0].dtype;
  const Tiling tiling = plan_of(s, dtype, nram_kib).tiling;
  const std::vector<Launch> launches = run_recorded(oracle, MLUOP_OMP_ALGORITHM_DEVICE, task_dim);
  expect_launches(launches, {"check_indices", "interpolate"}, task_dim);
  for (int task = 0; task < task_dim; ++task) {
    SCOPED_TRACE(task);
    const auto& check = launches[0].tasks.at(static_cast<size_t>(task));
    EXPECT_EQ(check.item_count, split(s.B * s.N * 3, task_dim, task).size());
    EXPECT_EQ(check.bytes_loaded, check.item_count * 4);
    EXPECT_EQ(check.bytes_stored, 0);

    const auto& statistics = launches[1].tasks.at(static_cast<size_t>(task));
    const Range items = split(s.B * ceil_div(s.M, tiling.Mo), task_dim, task);
    EXPECT_EQ(statistics.first_item, items.begin);
    EXPECT_EQ(statistics.item_count, items.size());
    const Traffic traffic{statistics.tiles, statistics.bytes_loaded, statistics.bytes_stored};
    EXPECT_EQ(traffic, traffic_of(s, tiling, items, dtype == MLUOP_DTYPE_FLOAT ? 4 : 2));
    EXPECT_EQ(statistics.atomics, 0);
    EXPECT_EQ(statistics.atomic_elements, 0);
    EXPECT_LE(statistics.nram_bytes, static_cast<int64_t>(nram_kib * 1024));
    if (dtype == MLUOP_DTYPE_FLOAT && items.size() > 0) {
      EXPECT_EQ(statistics.nram_bytes, document_bytes(tiling, 4));
    }
  }
}

TEST(OpsThreeInterpolateBackwardDevice, Statistics) {
  MLUOP_LABELS(kOnce, kSlow);
  for (const auto dtype : kFloatingDtypes) {
    // Case 4 with fewer points.
    constexpr BackwardSizes kFewPoints = {16, 128, 40, 1024};
    const Case case4 = make_backward(dtype, kFewPoints);
    const Oracle oracle(case4);
    for (const int task_dim : {4, 16}) expect_call(oracle, kFewPoints, task_dim, 640);
    // Remainders.
    constexpr BackwardSizes kRemainders = {5, 70, 133, 777};
    const Case remainders = make_backward(dtype, kRemainders);
    const Oracle oracle_of_remainders(remainders);
    for (const int task_dim : {1, 3, 64}) {
      for (const size_t kib : {64, 640}) expect_call(oracle_of_remainders, kRemainders, task_dim, kib);
    }
  }
}

}  // namespace
}  // namespace mluop::test
