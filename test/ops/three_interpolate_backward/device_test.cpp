// The device algorithm of mluOpThreeInterpolateBackward: tiles, split, traffic and results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "ops/three_interpolate_backward/call.h"
#include "ops/three_interpolate_backward/device/plan.h"
#include "ops/three_interpolate_backward/device/tile.h"
#include "support/call_statistics.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/trace.h"
#include "team/split.h"

namespace mluop::test {
namespace {

using three_interpolate_backward::Args;
using three_interpolate_backward::device::choose_features;
using three_interpolate_backward::device::document_bytes;
using three_interpolate_backward::device::make_plan;
using three_interpolate_backward::device::Plan;
using three_interpolate_backward::device::Tiling;

// The additions have another order than those of the oracle.
template <class T>
constexpr double kTolerance = sizeof(T) == 4 ? 1e-5 : 3e-3;

constexpr ThreeInterpolateSizes kCase4 = {16, 128, 4096, 1024};

Plan plan_of(const ThreeInterpolateSizes& sizes, mluOpDataType_t dtype, size_t nram_kib = 640) {
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
  constexpr ThreeInterpolateSizes kSizes[] = {
      {1, 1, 1, 1},          {2, 33, 65, 1000},           {16, 1024, 4096, 128}, {1, 3, 9, 70000},
      {29, 2047, 999, 2033}, {1, 1, 1, int64_t{1} << 61}, {1, 5, 1 << 20, 7}};
  for (const int task_dim : {1, 3, 64}) {
    const ScopedThreads threads(task_dim);
    for (const auto& s : kSizes) {
      for (const size_t kib : {16, 17, 24, 36, 64, 384, 640, 1024, 1 << 20}) {
        for (const auto dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
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

template <class T>
void expect_close(const std::vector<T>& evaluated, const std::vector<T>& expected) {
  const auto [diff1, diff2] = differences(floats_of(evaluated), floats_of(expected));
  EXPECT_LE(diff1, kTolerance<T>);
  EXPECT_LE(diff2, kTolerance<T>);
}

template <class T>
void expect_reference(const ThreeInterpolateInputs<T>& inputs, const std::vector<T>& expected,
                      Placement placement = Placement::kAligned) {
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  const ThreeInterpolateCall<T> call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  expect_close(call.output(), expected);
  EXPECT_TRUE(call.intact());
}

constexpr int kTaskDims[] = {1, 2, 3, 16, 64};

template <class T>
void expect_reference_everywhere(const ThreeInterpolateSizes& sizes, std::mt19937& random) {
  SCOPED_TRACE(product_text({sizes.B, sizes.C, sizes.N, sizes.M}));
  const auto inputs = random_three_interpolate<T>(sizes, random);
  const auto expected = three_interpolate_reference(inputs);
  for (const int task_dim : kTaskDims) {
    const ScopedThreads threads(task_dim);
    for (const char* kib : {"16", "20", "64", "384", "640", "1024"}) {
      SCOPED_TRACE(product_text({task_dim}) + " tasks, KiB " + kib);
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      expect_reference(inputs, expected, Placement::kAgainstEnd);
    }
  }
}

TEST(OpsThreeInterpolateBackwardDevice, TaskDimsAndNramSizes) {
  auto random = seeded_random();
  for (const ThreeInterpolateSizes& sizes : {ThreeInterpolateSizes{1, 1, 1, 1},
                                             {2, 33, 65, 31},
                                             {3, 70, 100, 129},
                                             {1, 5, 300, 5003},
                                             {5, 130, 33, 64}}) {
    expect_reference_everywhere<float>(sizes, random);
    expect_reference_everywhere<Half>(sizes, random);
  }
}

TEST(OpsThreeInterpolateBackwardDevice, DocumentSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(4);
  for (const ThreeInterpolateSizes& sizes : {ThreeInterpolateSizes{16, 512, 64, 16},
                                             {16, 256, 256, 64},
                                             {16, 16, 64, 512},
                                             {16, 1, 128, 1024},
                                             {7, 63, 129, 127}}) {
    SCOPED_TRACE(product_text({sizes.B, sizes.C, sizes.N, sizes.M}));
    const auto floats = random_three_interpolate<float>(sizes, random);
    expect_reference(floats, three_interpolate_reference(floats));
    const auto halves = random_three_interpolate<Half>(sizes, random);
    expect_reference(halves, three_interpolate_reference(halves), Placement::kMisaligned);
  }
}

// No element has more than one owner, so a run repeats the bits of another with the same tiles.
TEST(OpsThreeInterpolateBackwardDevice, RepeatsBits) {
  auto random = seeded_random();
  const auto inputs = random_three_interpolate<float>({4, 40, 900, 30}, random);
  const ScopedThreads threads(4);
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  const ThreeInterpolateCall<float> call(handle, inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  const auto first = call.output();
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  EXPECT_TRUE(same_bits(call.output(), first));
}

// Additions run by slot, then point: 2^24 + 1 is 2^24 in fp32, so the order shows in the sum.
TEST(OpsThreeInterpolateBackwardDevice, OrderOfAdditions) {
  // Point 0 adds 2^24 in slot 0 and 1 in slot 1, point 1 adds -2^24 in slot 0. The serial loop returns 0.
  const ThreeInterpolateInputs<float> inputs{
      {1, 1, 2, 2}, {1, 1}, {0, 0, 1, 0, 1, 1}, {0x1p24F, 1, 0, -0x1p24F, 0, 0}};
  EXPECT_EQ(three_interpolate_reference(inputs)[0], 0);
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  const ThreeInterpolateCall<float> call(handle, inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(call.output()[0], 1);
}

TEST(OpsThreeInterpolateBackwardDevice, NanAndInfinity) {
  auto random = seeded_random();
  const float specials[] = {NAN, HUGE_VALF, -HUGE_VALF, -0.0F, 0x1p-149F, 0x1p-24F, 1024.0F};
  auto inputs = random_three_interpolate<float>({2, 40, 400, 500}, random);
  for (size_t i = 0; i < inputs.grad_output.size(); i += 397) {
    inputs.grad_output[i] = specials[i / 397 % std::size(specials)];
  }
  for (const char* kib : {"16", "640"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference(inputs, three_interpolate_reference(inputs));
  }
}

// What a task moves, by the formulas of the document.
struct Traffic {
  int64_t tiles, loaded, stored;
  bool operator==(const Traffic&) const = default;
};

template <class T>
Traffic traffic_of(const ThreeInterpolateSizes& s, const Tiling& tiling, Range items) {
  constexpr auto kBytes = int64_t{sizeof(T)};
  const int64_t channel_tiles = ceil_div(s.C, tiling.Co);
  const int64_t feature_tiles = ceil_div(s.M, tiling.Mo);
  Traffic traffic{};
  for (int64_t item = items.begin; item < items.end; ++item) {
    const int64_t m0 = item % feature_tiles * tiling.Mo;
    traffic.tiles += channel_tiles * ceil_div(s.N, tiling.No);
    traffic.loaded += channel_tiles * s.N * 3 * (4 + kBytes) + kBytes * s.C * s.N;
    traffic.stored += kBytes * s.C * std::min(tiling.Mo, s.M - m0);
  }
  return traffic;
}

template <class T>
void run_with_statistics(mluOpHandle_t handle, const ThreeInterpolateInputs<T>& inputs) {
  require(mluOpOmpSetStatistics(handle, 1));
  const ThreeInterpolateCall<T> call(handle, inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// Checks each task of a call with `task_dim` tasks. `nram_kib` is the NRAM of the handle.
template <class T>
void expect_statistics(const ThreeInterpolateInputs<T>& inputs, int task_dim, size_t nram_kib) {
  SCOPED_TRACE(product_text({task_dim}) + " tasks");
  const ScopedThreads threads(task_dim);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", std::to_string(nram_kib).c_str());
  const ThreeInterpolateSizes& s = inputs.sizes;
  const Tiling tiling = plan_of(s, sizeof(T) == 4 ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_HALF, nram_kib).tiling;
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  run_with_statistics(handle, inputs);

  expect_launches(handle, {"check_indices", "interpolate"}, task_dim);
  for (int task = 0; task < task_dim; ++task) {
    SCOPED_TRACE(task);
    const auto check = task_statistics(handle, 0, task);
    EXPECT_EQ(check.item_count, split(s.index_count(), task_dim, task).size());
    EXPECT_EQ(check.bytes_loaded, check.item_count * 4);
    EXPECT_EQ(check.bytes_stored, 0);

    const auto statistics = task_statistics(handle, 1, task);
    const Range items = split(s.B * ceil_div(s.M, tiling.Mo), task_dim, task);
    EXPECT_EQ(statistics.first_item, items.begin);
    EXPECT_EQ(statistics.item_count, items.size());
    const Traffic traffic{statistics.tiles, statistics.bytes_loaded, statistics.bytes_stored};
    EXPECT_TRUE(traffic == traffic_of<T>(s, tiling, items));
    EXPECT_EQ(statistics.atomics, 0);
    EXPECT_EQ(statistics.atomic_elements, 0);
    EXPECT_LE(statistics.nram_bytes, static_cast<int64_t>(nram_kib * 1024));
    if (sizeof(T) == 4 && items.size() > 0) {
      EXPECT_EQ(statistics.nram_bytes, document_bytes(tiling, 4));
    }
  }
}

TEST(OpsThreeInterpolateBackwardDevice, Statistics) {
  auto random = seeded_random();
  // Case 4 with fewer points, and sizes that leave rests.
  for (const ThreeInterpolateSizes& sizes : {ThreeInterpolateSizes{16, 128, 256, 1024}, {5, 70, 333, 777}}) {
    const auto floats = random_three_interpolate<float>(sizes, random);
    const auto halves = random_three_interpolate<Half>(sizes, random);
    for (const int task_dim : {1, 3, 4, 16, 64}) {
      for (const size_t kib : {64, 640}) {
        expect_statistics(floats, task_dim, kib);
        expect_statistics(halves, task_dim, kib);
      }
    }
  }
}

// Case 4 of the document in float, with the numbers of its partition.
TEST(BigThreeInterpolateBackwardDevice, Case4) {
  auto random = seeded_random();
  const auto inputs = random_three_interpolate<float>(kCase4, random);
  const auto expected = three_interpolate_reference(inputs);
  struct Row {
    int task_dim;
    int64_t items, tiles, loaded, stored;
  };
  constexpr Row kTable[] = {
      {1, 16, 4096, 36700160, 8388608}, {4, 4, 1024, 9175040, 2097152}, {16, 1, 256, 2293760, 524288}};
  for (const auto& [task_dim, items, tiles, loaded, stored] : kTable) {
    SCOPED_TRACE(task_dim);
    const ScopedThreads threads(task_dim);
    const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
    run_with_statistics(handle, inputs);
    for (int task = 0; task < task_dim; ++task) {
      const auto statistics = task_statistics(handle, 1, task);
      EXPECT_EQ(statistics.first_item, task * items);
      EXPECT_EQ(statistics.item_count, items);
      EXPECT_EQ(statistics.tiles, tiles);
      EXPECT_EQ(statistics.bytes_loaded, loaded);
      EXPECT_EQ(statistics.bytes_stored, stored);
      EXPECT_EQ(statistics.atomics, 0);
      EXPECT_EQ(statistics.nram_bytes, 542848);
    }
    expect_reference(inputs, expected);
    expect_statistics(inputs, task_dim, 640);
  }
}

TEST(BigThreeInterpolateBackwardDevice, DocumentSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(4);
  for (const ThreeInterpolateSizes& sizes :
       {ThreeInterpolateSizes{16, 1024, 4096, 128}, {15, 1025, 1023, 1023}, {29, 2047, 999, 2033}}) {
    SCOPED_TRACE(product_text({sizes.B, sizes.C, sizes.N, sizes.M}));
    const auto floats = random_three_interpolate<float>(sizes, random);
    expect_reference(floats, three_interpolate_reference(floats), Placement::kAgainstEnd);
    const auto halves = random_three_interpolate<Half>(sizes, random);
    expect_reference(halves, three_interpolate_reference(halves), Placement::kAgainstEnd);
  }
}

}  // namespace
}  // namespace mluop::test
