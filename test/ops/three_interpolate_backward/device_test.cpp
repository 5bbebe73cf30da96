// The device algorithm of mluOpThreeInterpolateBackward: tiles, split, traffic and results.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ops/three_interpolate_backward/device/plan.h"
#include "ops/three_interpolate_backward/device/tile.h"
#include "ops/three_interpolate_backward/sizes.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "team/split.h"

namespace mluop::test {
namespace {

using cases::Case;
using three_interpolate_backward::Args;
using three_interpolate_backward::device::choose_features;
using three_interpolate_backward::device::document_bytes;
using three_interpolate_backward::device::make_plan;
using three_interpolate_backward::device::Plan;
using three_interpolate_backward::device::Tiling;

constexpr auto kDevice = MLUOP_OMP_ALGORITHM_DEVICE;
constexpr BackwardSizes kCase4 = {16, 128, 4096, 1024};

Plan plan_of(const BackwardSizes& sizes, mluOpDataType_t dtype, size_t nram_kib = 640) {
  const Args args{sizes.B, sizes.C, sizes.N, sizes.M, dtype, nullptr, nullptr, nullptr, nullptr};
  Context context;
  context.nram_capacity = nram_kib * 1024;
  return make_plan(context, args);
}

void expect_tiling(const Tiling& tiling, int64_t Co, int64_t No, int64_t Mo) {
  EXPECT_EQ(tiling.Co, Co);
  EXPECT_EQ(tiling.No, No);
  EXPECT_EQ(tiling.Mo, Mo);
}

TEST(OpsThreeInterpolateBackwardDevice, TilesOfCase4) {
  for (const int task_dim : {1, 4, 16}) {
    const ScopedThreads threads(task_dim);
    const Plan floats = plan_of(kCase4, MLUOP_DTYPE_FLOAT);
    EXPECT_EQ(floats.task_dim, task_dim);
    expect_tiling(floats.tiling, 64, 32, 1024);
    EXPECT_EQ(document_bytes(floats.tiling, 4), 542848);
    expect_tiling(plan_of(kCase4, MLUOP_DTYPE_HALF).tiling, 128, 128, 1024);
  }
}

// The search of the document, one multiple of `unit` after the other.
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
  constexpr BackwardSizes kSizes[] = {{1, 1, 1, 1},      {2, 33, 65, 1000},     {16, 1024, 4096, 128},
                                      {1, 3, 9, 70000},  {29, 2047, 999, 2033}, {1, 1, 1, int64_t{1} << 61},
                                      {1, 5, 1 << 20, 7}};
  for (const int task_dim : {1, 3, 64}) {
    const ScopedThreads threads(task_dim);
    for (const auto& s : kSizes) {
      for (const size_t kib : {16, 17, 24, 36, 64, 384, 640, 1024, 1 << 20}) {
        for (const auto dtype : kFloatingDtypes) {
          SCOPED_TRACE(product_text({s.B, s.C, s.N, s.M, task_dim, static_cast<int64_t>(kib)}));
          const Tiling tiling = plan_of(s, dtype, kib).tiling;
          const int64_t element = dtype == MLUOP_DTYPE_FLOAT ? 4 : 2;
          // A tile of multiples of 128 bytes needs 18,432 bytes in float and 36,096 in half.
          const int64_t unit = (kib >= (element == 4 ? 18 : 36) ? 128 : 64) / element;
          for (const int64_t size : {tiling.Co, tiling.No, tiling.Mo}) {
            EXPECT_GT(size, 0);
            EXPECT_EQ(size % unit, 0);
          }
          EXPECT_LE(document_bytes(tiling, element), static_cast<int64_t>(kib * 1024));
        }
      }
    }
  }
}

// No element has more than one owner, so a run repeats the bits of another with the same tiles.
TEST(OpsThreeInterpolateBackwardDevice, RepeatsBits) {
  const ScopedThreads threads(4);
  const Handle handle(kDevice);
  const OperatorCall call(handle, make_backward(MLUOP_DTYPE_FLOAT, {4, 40, 900, 30}));
  require(call.run());
  const auto first = call.outputs();
  require(call.run());
  EXPECT_TRUE(call.outputs() == first);
}

// The bytes that a task loads and stores by the formulas of the document, for elements of these bytes.
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

// Checks the result and each task of a call with `task_dim` tasks.
void expect_call(const Oracle& oracle, const BackwardSizes& s, int task_dim, size_t nram_kib) {
  SCOPED_TRACE(product_text({task_dim}) + " tasks");
  const ScopedThreads threads(task_dim);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", std::to_string(nram_kib).c_str());
  const mluOpDataType_t dtype = oracle.made().inputs[0].dtype;
  const Tiling tiling = plan_of(s, dtype, nram_kib).tiling;
  const Handle handle(kDevice);
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, oracle.made());
  require(call.run());
  EXPECT_TRUE(oracle.agrees(call, kDevice));
  EXPECT_TRUE(call.intact());

  expect_launches(handle, {"check_indices", "interpolate"}, task_dim);
  for (int task = 0; task < task_dim; ++task) {
    SCOPED_TRACE(task);
    const auto check = task_statistics(handle, 0, task);
    EXPECT_EQ(check.item_count, split(s.B * s.N * 3, task_dim, task).size());
    EXPECT_EQ(check.bytes_loaded, check.item_count * 4);
    EXPECT_EQ(check.bytes_stored, 0);

    const auto statistics = task_statistics(handle, 1, task);
    const Range items = split(s.B * ceil_div(s.M, tiling.Mo), task_dim, task);
    EXPECT_EQ(statistics.first_item, items.begin);
    EXPECT_EQ(statistics.item_count, items.size());
    const Traffic traffic{statistics.tiles, statistics.bytes_loaded, statistics.bytes_stored};
    EXPECT_TRUE(traffic == traffic_of(s, tiling, items, dtype == MLUOP_DTYPE_FLOAT ? 4 : 2));
    EXPECT_EQ(statistics.atomics, 0);
    EXPECT_EQ(statistics.atomic_elements, 0);
    EXPECT_LE(statistics.nram_bytes, static_cast<int64_t>(nram_kib * 1024));
    if (dtype == MLUOP_DTYPE_FLOAT && items.size() > 0) {
      EXPECT_EQ(statistics.nram_bytes, document_bytes(tiling, 4));
    }
  }
}

TEST(OpsThreeInterpolateBackwardDevice, Statistics) {
  // Case 4 with fewer points, and sizes that leave remainders.
  for (const BackwardSizes& sizes : {BackwardSizes{16, 128, 256, 1024}, {5, 70, 333, 777}}) {
    for (const auto dtype : kFloatingDtypes) {
      const Case made = make_backward(dtype, sizes);
      const Oracle oracle(made);
      for (const int task_dim : {1, 3, 4, 16, 64}) {
        for (const size_t kib : {64, 640}) expect_call(oracle, sizes, task_dim, kib);
      }
    }
  }
}

// Case 4 of the document in float, with the numbers of its partition. All tasks have equal shares.
TEST(BigThreeInterpolateBackwardDevice, Case4) {
  const Case made = make_backward(MLUOP_DTYPE_FLOAT, kCase4);
  const Oracle oracle(made);
  struct Row {
    int task_dim;
    int64_t items;
    Traffic traffic;
  };
  constexpr Row kTable[] = {
      {1, 16, {4096, 36700160, 8388608}}, {4, 4, {1024, 9175040, 2097152}}, {16, 1, {256, 2293760, 524288}}};
  for (const auto& [task_dim, items, traffic] : kTable) {
    EXPECT_TRUE(traffic_of(kCase4, {64, 32, 1024}, {0, items}, 4) == traffic);
    expect_call(oracle, kCase4, task_dim, 640);
  }
}

}  // namespace
}  // namespace mluop::test
