// mluOpOmpKnn: known neighbors, and points that its kernels distinguish, against the serial loop of the
// definition, bit for bit. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/point_distributions.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

struct Sizes {
  int64_t B, M, N, k;
};

Case make(const Sizes& s, int64_t ties = 0) {
  return make_case("knn", MLUOP_DTYPE_FLOAT, {{"b", s.B}, {"m", s.M}, {"n", s.N}, {"k", s.k}, {"ties", ties}});
}

struct Example {
  std::vector<float> points;  // in the plane; the center is 0
  std::vector<int32_t> idx;
};

// Points at equal distances are in the order of the heap, not of the indices; the heap also chooses among ties for
// the last neighbor.
const Example kExamples[] = {
    {{1, 0, -1, 0, 0, 1, 0, -1}, {0}},
    {{1, 0, -1, 0, 0, 1, 0, -1}, {1, 0}},
    {{1, 0, -1, 0, 0, 1, 0, -1}, {1, 2, 0}},
    {{1, 0, -1, 0, 0, 1, 0, -1}, {2, 3, 1, 0}},
    {{1, 0, -1, 0, 0, 1, 0, -1}, {3, 1, 2, 0, 0}},
    {{2, 0, 1, 0, -1, 0, 0, 2, 0, 1}, {1}},
    {{2, 0, 1, 0, -1, 0, 0, 2, 0, 1}, {2, 1}},
    {{2, 0, 1, 0, -1, 0, 0, 2, 0, 1}, {1, 4, 2}},
    {{2, 0, 1, 0, -1, 0, 0, 2, 0, 1}, {2, 4, 1, 3}},
};

TEST(OpsKnn, WorkedExamples) {
  for (const auto& [in_plane, idx] : kExamples) {
    const auto k = static_cast<int64_t>(idx.size()), N = static_cast<int64_t>(in_plane.size() / 2);
    SCOPED_TRACE(product_text({N, k}));
    Case made = make({1, 1, N, k});
    std::vector<float> points;
    for (size_t i = 0; i < in_plane.size(); i += 2) {
      points.insert(points.end(), {in_plane[i], in_plane[i + 1], 0});
    }
    set_values(made, "xyz", points);
    set_values(made, "new_xyz", std::vector<float>(3));
    expect_oracle(made);
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.int32s("idx"), idx);
  }
}

// Points at distances from 1e10 on, or NaN, are no neighbors.
TEST(OpsKnn, Limit) {
  Case made = make({1, 1, 5, 4});
  constexpr float kFar = 1e5F;
  set_values(made, "xyz",
             std::vector<float>{kFar, 0, 0, 99999.99F, 0, 0, kNan, 0, 0, kInfinity, 0, 0, 3e38F, 0, 0});
  set_values(made, "new_xyz", std::vector<float>(3));
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("idx"), (std::vector<int32_t>{1, 0, 0, 0}));
  EXPECT_EQ(call.floats("dist2"), (std::vector<float>{99999.99F * 99999.99F, 1e10F, 1e10F, 1e10F}));
}

// Numbers of points around groups and tiles; fewer points than neighbors.
TEST(OpsKnn, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const int64_t N : {1, 2, 16, 17, 99, 101, 127, 128, 129, 1000, 4095, 4096, 4097, 9000}) {
    for (const int64_t k : {1, 2, 20, 99, 100}) {
      for (const int64_t ties : {0, 1}) {
        SCOPED_TRACE(product_text({N, k}) + (ties != 0 ? " with ties" : ""));
        expect_oracle(make({2, 9, N, k}, ties), Placement::kAgainstEnd);
      }
    }
  }
}

TEST(OpsKnn, Distributions) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const PointDistribution& distribution : kPointDistributions) {
    SCOPED_TRACE(distribution.name);
    for (const int64_t k : {3, 32}) {
      Case made = make({2, 60, 5000, k});
      // distribute() takes queries first.
      std::swap(made.inputs[0], made.inputs[1]);
      distribute(made, distribution, random);
      std::swap(made.inputs[0], made.inputs[1]);
      expect_oracle(made);
    }
  }
}

// Points in rows whose length is a multiple of the group size: neighbors in a column have the same place in a
// group. In the last order, each point is nearer than the points before it.
TEST(OpsKnn, Orders) {
  constexpr int64_t kRow = 256, kCount = 40 * kRow;
  Case made = make({1, 20, kCount, 30});
  std::vector<float> points = floats_of(made, "xyz");
  for (int64_t i = 0; i < kCount; ++i) {
    float* const point = &points[static_cast<size_t>(3 * i)];
    point[0] = static_cast<float>(i % kRow) * 0.02F + point[0] * 0x1p-10F;
    point[1] = static_cast<float>(i / kRow) * 0.001F + point[1] * 0x1p-10F;
    point[2] *= 0x1p-10F;
  }
  set_values(made, "xyz", points);
  expect_oracle(made);
  for (int64_t i = 0; i < kCount; ++i) points[static_cast<size_t>(3 * i)] = 4 - static_cast<float>(i) * 0x1p-12F;
  set_values(made, "xyz", points);
  expect_oracle(made);
}

// Points of several densities, some of them twice; centers at points, between points, far away and not finite.
TEST(OpsKnn, Grid) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const int64_t k : {1, 2, 20, 100}) {
    for (const float part : {0.5F, 0.05F}) {
      SCOPED_TRACE(testing::Message() << "k " << k << ", dense part of the extent " << part);
      Case made = make({2, 300, 5000, k});
      std::vector<float> xyz = floats_of(made, "xyz"), new_xyz = floats_of(made, "new_xyz");
      for (size_t i = 0; i < xyz.size(); ++i) xyz[i] *= i / 3 % 3 == 0 ? part : 1;
      for (size_t i = 600; i < xyz.size(); i += 300) std::copy_n(xyz.data() + i - 600, 3, xyz.data() + i);
      for (size_t i = 0; i < new_xyz.size(); i += 6) std::copy_n(xyz.data() + i, 3, new_xyz.data() + i);
      for (size_t i = 3; i < new_xyz.size(); i += 60) new_xyz[i] = static_cast<float>(random() % 100) - 50;
      for (const auto& [i, value] : {std::pair{30, kNan}, {301, kInfinity}, {601, -kInfinity}, {900, 3.0e38F}}) {
        new_xyz[static_cast<size_t>(i)] = value;
        xyz[static_cast<size_t>(i)] = value;
      }
      set_values(made, "xyz", xyz);
      set_values(made, "new_xyz", new_xyz);
      expect_kernel(made, "move_points");
    }
  }
}

// NRAM holds a few groups of points.
TEST(OpsKnn, SmallNram) {
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "16");
  for (const int64_t ties : {0, 1}) expect_oracle(make({2, 20, 5000, 50}, ties));
}

TEST(BigKnn, NetworkSizes) {
  for (const int64_t ties : {0, 1}) {
    expect_oracle(make({4, 4096, 4096, 20}, ties));
    expect_oracle(make({8, 1024, 4096, 32}, ties));
  }
}

}  // namespace
}  // namespace mluop::test
