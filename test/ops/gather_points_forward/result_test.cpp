// mluOpOmpGatherPointsForward against its definition, bit for bit, at sizes that its kernels distinguish.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/caches.h"
#include "ops/gather_points_forward/gather_points_forward.h"
#include "ops/gather_points_forward/gather_points_forward_native_kernels.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

struct GatherSizes {
  int64_t B, C, N, M;   // batches, channels, features, points
  int64_t samples = 0;  // of each point; 0: indices have no such dimension
};

std::string text_of(const GatherSizes& s) { return product_text({s.B, s.C, s.N, s.M, s.samples}); }

// Elements of any bits, NaN among them.
Case make_gather(mluOpDataType_t dtype, const GatherSizes& s) {
  return with_values(make_case("gather_points_forward", dtype,
                               {{"b", s.B}, {"c", s.C}, {"n", s.N}, {"m", s.M}, {"samples", s.samples}}),
                     Values::kAnyBits, 1);
}

constexpr GatherSizes kHostileGathers[] = {
    {2, 32, 33, 223},       // packed: a chunk of points minus one, a square of features plus one
    {2, 32, 32, 224},       // a chunk of points, whole squares of features
    {2, 33, 31, 225},       // a chunk of points plus one, a strip of channels plus one
    {2, 79, 64, 512},       // whole strips of points, a partial one of channels
    {1, 7, 1, 1000},        // one feature for all points
    {1, 2, 5000, 3},        // most features are gathered nowhere
    {70, 1, 5, 9},          // more batches than tasks
    {1, 130, 9, 40},        // more strips than tasks
    {2, 3, 77, 1000},       // strips of 4 lanes
    {2, 8, 77, 1000},       // of 4 or 8 lanes
    {2, 9, 77, 1000},       // of 8 or 16 lanes
    {1, 1, 100, 5000},      // fewer strips than tasks, direct
    {1, 1, 100, 1023},      // a chunk of a row minus one
    {1, 1, 100, 1025},      // a chunk of a row plus one
    {4, 40, 203, 250, 4},   // many work items, packed
    {1, 14, 203, 5000, 4},  // few work items: tasks share a strip, packed
    {1, 2, 20001, 2003},    // and direct
};

TEST(OpsGatherPointsForward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  for (const auto dtype : kFloatingDtypes) {
    for (const GatherSizes& sizes : kHostileGathers) {
      SCOPED_TRACE(text_of(sizes));
      expect_oracle_everywhere(make_gather(dtype, sizes));
    }
  }
}

// Outputs that bypass the caches, of the packed and of the direct kernel; the last with features that are
// prefetched.
TEST(OpsGatherPointsForward, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  for (const GatherSizes& sizes : {GatherSizes{2, 67, 100, 33001}, {2, 1, 100, 2000001}, {1, 5, 800001, 900001}}) {
    for (const auto dtype : kFloatingDtypes) {
      SCOPED_TRACE(text_of(sizes));
      const Case made = make_gather(dtype, sizes);
      const Oracle oracle(made);
      for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd})
        expect_oracle(oracle, placement);
    }
  }
}

// Chunks of points that the smallest NRAM limits, packed and direct.
TEST(OpsGatherPointsForward, SmallNram) {
  const ScopedThreads threads(2);
  for (const GatherSizes& sizes : {GatherSizes{2, 41, 17, 3001}, {2, 41, 555, 3001}, {1, 1, 2001, 70}}) {
    SCOPED_TRACE(text_of(sizes));
    for (const auto dtype : kFloatingDtypes) {
      const Case made = make_gather(dtype, sizes);
      const Oracle oracle(made);
      for (const char* kib : {"1", "2", "8", "64", "1024"}) {
        SCOPED_TRACE(kib);
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
        expect_oracle(oracle);
      }
    }
  }
}

TEST(OpsGatherPointsForward, Plan) {
  const ScopedThreads threads(2);
  const auto plan = [](const GatherSizes& s, size_t nram_kib = 640) {
    Context context;
    context.nram_capacity = nram_kib * 1024;
    return gather_points_forward::native::make_plan(
        context, {s.B, s.C, s.N, s.M, MLUOP_DTYPE_FLOAT, {}, nullptr, nullptr, nullptr});
  };
  EXPECT_TRUE(plan({16, 128, 1024, 8192}).packed);
  EXPECT_TRUE(plan({2, 16, 100, 1000}).packed);
  EXPECT_TRUE(plan({2, 2, 100, 1000}).packed);
  EXPECT_FALSE(plan({2, 1, 100, 1000}).packed);
  EXPECT_FALSE(plan({2, 16, 5000, 10}).packed);
  EXPECT_FALSE(plan({2, 16, 1024, 40960}, 64).packed);
  EXPECT_FALSE(plan({1, 16, int64_t{1} << 55, int64_t{1} << 55}).packed);
  // Rows of features are prefetched if they come from memory, and most of their lines are read.
  const int64_t N = cache_sizes().llc / 4;
  EXPECT_TRUE(plan({1, 1, N, N / 16}).prefetch);
  EXPECT_FALSE(plan({1, 1, N, N / 16 - 1}).prefetch);
  EXPECT_FALSE(plan({1, 1, N / 16, N / 16}).prefetch);
}

TEST(OpsGatherPointsForward, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    for (const int64_t samples : {0, 2}) {
      Case made = make_gather(dtype, {2, 2, 3, samples == 0 ? 4 : 2, samples});
      set_values(made, "features", std::vector<float>{1, 2, 3, 10, 20, 30, 4, 5, 6, 7, 8, 9});
      set_values(made, "indices", std::vector<int32_t>{2, 0, 0, 1, 1, 1, 2, 1});
      const Handle handle;
      const OperatorCall call(handle, made);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.floats("output"), (std::vector<float>{3, 1, 1, 2, 30, 10, 10, 20, 5, 5, 6, 5, 8, 8, 9, 8}));
    }
  }
}

}  // namespace
}  // namespace mluop::test
