// mluOpOmpFurthestPointSample and mluOpOmpFurthestPointSampleWithDist against the serial loop of their definition
// and the threads of the CUDA kernel of mmcv, at sizes and with values that their kernels distinguish; and the
// requirements on their sizes. test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ops/furthest_point_sample/rank.h"
#include "reference/squared_distance.h"
#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/point_distributions.h"
#include "support/special_values.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kOfPoints = "furthest_point_sample";
constexpr const char* kOfDistances = "furthest_point_sample_with_dist";

struct SampleSizes {
  int64_t B, N, M;
};

Case make(const char* op, const SampleSizes& s) {
  return make_case(op, MLUOP_DTYPE_FLOAT, {{"b", s.B}, {"n", s.N}, {"m", s.M}});
}

// A case of one cloud.
Case cloud_case(const std::vector<float>& points, int64_t M) {
  Case made = make(kOfPoints, {1, static_cast<int64_t>(points.size() / 3), M});
  set_values(made, "points", points);
  return made;
}

Case matrix_case(const std::vector<float>& distances, int64_t N, int64_t M) {
  Case made = make(kOfDistances, {1, N, M});
  set_values(made, "distances", distances);
  return made;
}

std::vector<float> squared_distances(const std::vector<float>& points) {
  std::vector<float> matrix;
  for (size_t l = 0; l < points.size(); l += 3) {
    for (size_t k = 0; k < points.size(); k += 3)
      matrix.push_back(reference::squared_distance(&points[k], &points[l]));
  }
  return matrix;
}

void expect_samples(const Case& made, const std::vector<int32_t>& idx) {
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("idx"), idx);
  expect_oracle(made);
}

struct Example {
  std::vector<float> points;
  std::vector<int32_t> idx;
};

const Example kExamples[] = {
    // Four points are at a squared distance of 4; point 4 has the least reversed bits.
    {{0, 0, 0, 2, 0, 0, 0, 2, 0, -2, 0, 0, 0, -2, 0}, {0, 4, 2, 1, 3}},
    {{0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0, 5, 0, 0, 6, 0, 0, 7, 0, 0}, {0, 7, 4, 2, 6, 1, 5, 3}},
    // More samples than points.
    {{0, 0, 0, 1, 0, 0, 3, 0, 0}, {0, 2, 1, 0, 0}},
    {{1, 2, 3}, {0, 0, 0}},
    // A point that is not finite repeats.
    {{0, 0, 0, 1, 0, 0, kNan, 0, 0, 3, 0, 0}, {0, 2, 2, 2}},
    {{0, 0, 0, 0, -kInfinity, 0, 1, 0, 0}, {0, 1, 1, 1}},
    {{0, 0, kNan, 1, 0, 0, 2, 0, 0}, {0, 0, 0}},
    // Points near the origin are samples.
    {{0.01F, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0}, {0, 3, 2, 1}},
    // Points 1e5 and more apart tie.
    {{0, 0, 0, 2e5F, 0, 0, 3e5F, 0, 0, -4e5F, 0, 0}, {0, 2, 1, 3, 0}},
};

TEST(OpsFurthestPointSample, WorkedExamples) {
  for (const auto& [points, idx] : kExamples) {
    SCOPED_TRACE(::testing::PrintToString(idx));
    const auto M = static_cast<int64_t>(idx.size());
    expect_samples(cloud_case(points, M), idx);
    expect_samples(matrix_case(squared_distances(points), static_cast<int64_t>(points.size() / 3), M), idx);
  }
}

TEST(OpsFurthestPointSample, WorkedExamplesOfDistances) {
  // The distances are read from the row of the sample, not from its column.
  expect_samples(matrix_case({0, 5, 3, 9, 0, 1, 9, 9, 0}, 3, 3), {0, 1, 2});
  // Distances may be negative, but not less than -1.
  expect_samples(matrix_case({-2, -0.5F, -3, -4}, 2, 4), {0, 1, 0, 0});
  expect_samples(matrix_case({-2, -1, 7, 7}, 2, 3), {0, 0, 0});
  expect_samples(matrix_case({-kInfinity, -0.0F, 7, 7}, 2, 3), {0, 1, 1});
  expect_samples(matrix_case({kNan, kNan, 7, 7}, 2, 3), {0, 0, 0});
}

// The samples of a block of threads of mmcv: each thread keeps the first of its maxima, and so does their tree.
std::vector<int32_t> samples_of_threads(const std::vector<float>& points, int64_t M) {
  const size_t N = points.size() / 3, threads = std::bit_floor(std::min<size_t>(N, 1024));
  std::vector<float> distances(N, 1e10F);
  std::vector<int32_t> idx{0};
  while (static_cast<int64_t>(idx.size()) < M) {
    struct Best {
      float distance = -1;
      int32_t k = 0;
    };
    std::vector<Best> best(threads);
    const auto last = static_cast<size_t>(idx.back());
    for (size_t k = 0; k < N; ++k) {
      distances[k] = std::fmin(reference::squared_distance(&points[3 * k], &points[3 * last]), distances[k]);
      Best& thread = best[k % threads];
      if (distances[k] > thread.distance) thread = {distances[k], static_cast<int32_t>(k)};
    }
    for (size_t stride = threads / 2; stride >= 1; stride /= 2) {
      for (size_t t = 0; t < stride; ++t) {
        if (best[t + stride].distance > best[t].distance) best[t] = best[t + stride];
      }
    }
    idx.push_back(best[0].k);
  }
  return idx;
}

// Points of a grid, many of which tie or are equal; numbers of points below and above 1024 threads.
TEST(OpsFurthestPointSample, TiesAreThoseOfThreads) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  for (const int64_t N : {1, 2, 3, 5, 8, 100, 511, 512, 1000, 1024, 1025, 2048, 3001}) {
    for (const uint32_t side : {2U, 7U, 20U}) {
      SCOPED_TRACE(testing::Message() << N << " in " << side);
      std::vector<float> points(static_cast<size_t>(3 * N));
      for (float& each : points) each = static_cast<float>(random() % side);
      const std::vector<int32_t> idx = samples_of_threads(points, 200);
      expect_samples(cloud_case(points, 200), idx);
      if (N <= 1100) expect_samples(matrix_case(squared_distances(points), N, 200), idx);
    }
  }
}

TEST(OpsFurthestPointSample, RanksArePoints) {
  using furthest_point_sample::point_of;
  using furthest_point_sample::rank_of;
  for (const int64_t k : {0, 1, 2, 512, 1023, 1024, 1025, 123'456'789, 2'147'483'646}) {
    EXPECT_EQ(point_of(rank_of(k)), k);
    EXPECT_GE(rank_of(k), 0);
    EXPECT_LT(rank_of(k), furthest_point_sample::kLastRank);
  }
}

// Numbers of points around the sizes of vectors and buckets; numbers of samples around the limits at which buckets
// are split.
TEST(OpsFurthestPointSample, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const int64_t N : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 1023, 1025, 4099}) {
    for (const int64_t M : {1, 2, 15, 16, 17, 31, 32, 33, 130}) {
      SCOPED_TRACE(product_text({N, M}));
      const Case made = make(kOfPoints, {2, N, M});
      expect_oracle(made, Placement::kAgainstEnd);
      expect_oracle(with_values(made, Values::kIntegers, 1), Placement::kAgainstEnd);
      if (N < 1000) expect_oracle(make(kOfDistances, {2, N, M}), Placement::kAgainstEnd);
    }
  }
}

TEST(OpsFurthestPointSample, Distributions) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  for (const PointDistribution& distribution : kPointDistributions) {
    SCOPED_TRACE(distribution.name);
    for (const int64_t N : {300, 3000}) {
      Case made = make(kOfPoints, {1, N, 300});
      std::vector<float> points = floats_of(made, "points");
      for (int64_t i = 0; i < N; ++i) distribution.place(&points[static_cast<size_t>(3 * i)], i, N, random);
      set_values(made, "points", points);
      expect_oracle(made);
    }
  }
}

// All points are sampled. The last points have the least distances.
TEST(OpsFurthestPointSample, AllPoints) {
  MLUOP_LABELS(kNotEmulated);
  expect_oracle(make(kOfPoints, {1, 2000, 2010}));
  expect_oracle(make(kOfDistances, {1, 500, 510}));
}

TEST(OpsFurthestPointSample, ThreadCounts) {
  MLUOP_LABELS(kManyThreads);
  expect_oracle_everywhere(make(kOfPoints, {9, 500, 100}));
  expect_oracle_everywhere(make(kOfDistances, {9, 100, 40}));
}

TEST(BigFurthestPointSample, NetworkSizes) {
  expect_oracle(make(kOfPoints, {2, 16384, 4096}));
  expect_oracle(make(kOfPoints, {3, 20000, 2048}));
  expect_oracle(make(kOfPoints, {1, 1000000, 200}));
  expect_oracle(make(kOfDistances, {2, 4096, 512}));
}

TEST(OpsFurthestPointSampleErrors, Sizes) {
  for (const auto& [op, input] : {std::pair{kOfPoints, "points"}, {kOfDistances, "distances"}}) {
    const Case made = make(op, {2, 200, 64});
    const std::string name = input;
    expect_errors(made,
                  {{set_shape(input, {2, int64_t{1} << 31, 3}),
                    name + " dim 1 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
                   {with_sizes(op, {{"n", 0}}), name + " dim 1 is 0, expected at least 1"}},
                  {.query = Query::kFails});
  }
}

// A workspace of 2^64 bytes.
TEST(OpsFurthestPointSampleErrors, WorkspaceThatOverflows) {
  const Handle handle;
  OperatorCall call(handle, make(kOfPoints, {2, 200, 64}));
  set_shape("points", {int64_t{1} << 29, int64_t{1} << 30, 3})(call);
  set_shape("idx", {int64_t{1} << 29, 1})(call);
  size_t bytes = 7;
  EXPECT_EQ(call.op().query(call.arguments, &bytes), MLUOP_STATUS_BAD_PARAM);
  EXPECT_THAT(mluOpOmpGetLastError(), ::testing::HasSubstr("the size in bytes of scratch buffer clouds "));
  EXPECT_EQ(bytes, 7U);
}

// Without samples the call reads no data: all data and the workspace may be null.
TEST(OpsFurthestPointSampleErrors, NoSamples) {
  for (const char* op : {kOfPoints, kOfDistances}) {
    for (const SampleSizes& sizes : {SampleSizes{0, 9, 9}, SampleSizes{2, 9, 0}, SampleSizes{2, 0, 0}}) {
      const Handle handle;
      OperatorCall call(handle, make(op, sizes));
      EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.arguments.workspace_size, 0U);
      call.arguments[0].data = call.arguments[1].data = nullptr;
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    }
  }
}

}  // namespace
}  // namespace mluop::test
