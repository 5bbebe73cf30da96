// mluOpOmpVoxelPoolingBackward against the serial loop of its definition, bit for bit, at sizes that its kernels
// distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "case/values.h"
#include "core/caches.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/scenes.h"
#include "support/sized_case.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

// Sizes: batch_size, num_points, num_channels, num_voxel_x, num_voxel_y. Elements have any bits, NaN among them.
// One point in four has no cell, the others have any cell, also of another batch.
Case make(mluOpDataType_t dtype, const std::vector<int64_t>& sizes) {
  return sized_case("voxel_pooling_backward", dtype, sizes, Values::kAnyBits);
}

TEST(OpsVoxelPoolingBackward, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make(dtype, {2, 2, 2, 3, 2});
    std::vector<float> gradients(24);
    std::iota(gradients.begin(), gradients.end(), 1.0F);
    set_values(made, "grad_output_features", gradients);
    set_values(made, "pos_memo", std::vector<int32_t>{0, 1, 2, 1, 0, 1, -1, -1, -1, 1, 1, 2});
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.floats("grad_input_features"), (std::vector<float>{11, 12, 15, 16, 0, 0, 23, 24}));
  }
}

TEST(OpsVoxelPoolingBackward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const std::vector<int64_t> kSizes[] = {
      {1, 2, 5000, 2, 2},     // tasks share a row
      {2, 3, 20'011, 3, 1},   // few long rows
      {3, 50, 80, 9, 7},      // several batches
      {5, 1, 33, 4, 4},       // a point a batch
      {1, 4000, 16, 100, 3},  // rows of a cache line in float
      {1, 40'000, 9, 20, 20}  // rows that cross cache lines
  };
  for (const auto dtype : kFloatingDtypes) {
    for (const auto& sizes : kSizes) {
      SCOPED_TRACE(::testing::PrintToString(sizes));
      const Case made = make(dtype, sizes);
      const Oracle oracle(made);
      for (const int count : {1, 3, 64}) {
        const ScopedThreads threads(count);
        EXPECT_TRUE(expect_contract(oracle, MLUOP_OMP_ALGORITHM_NATIVE));
      }
    }
  }
}

// Outputs written past the caches: short and long rows, of whole cache lines and others, in tiles of several
// sizes, the smallest shorter than a row.
TEST(OpsVoxelPoolingBackward, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  const struct {
    mluOpDataType_t dtype;
    int64_t channels;
    const char* nram_kib;
  } kRows[] = {
      {MLUOP_DTYPE_FLOAT, 1, "384"},   {MLUOP_DTYPE_FLOAT, 64, "384"}, {MLUOP_DTYPE_FLOAT, 257, "384"},
      {MLUOP_DTYPE_FLOAT, 531, "1"},   {MLUOP_DTYPE_FLOAT, 531, "3"},  {MLUOP_DTYPE_FLOAT, 1024, "384"},
      {MLUOP_DTYPE_FLOAT, 9001, "16"}, {MLUOP_DTYPE_HALF, 31, "1024"}, {MLUOP_DTYPE_HALF, 64, "384"},
  };
  const ScopedThreads threads(3);
  for (const auto& [dtype, channels, nram_kib] : kRows) {
    const int64_t row_bytes = channels * static_cast<int64_t>(cases::element_size(dtype));
    const Case made = make(dtype, {1, cache_sizes().llc / 4 / row_bytes + 3, channels, 11, 12});
    const Oracle oracle(made);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", nram_kib);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
      SCOPED_TRACE(product_text({dtype, channels}));
      EXPECT_TRUE(expect_contract(oracle, MLUOP_OMP_ALGORITHM_NATIVE, placement));
    }
  }
}

// The sizes of BEVDepth.
TEST(BigVoxelPoolingBackward, NetworkSize) {
  const auto& s = kBevDepthSizes;
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make(dtype, {s.batch_size, s.num_points, s.num_channels, s.num_voxel_x, s.num_voxel_y});
    const Oracle oracle(made);
    for (const int count : {1, 2, 16}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_oracle(oracle, Placement::kAgainstEnd);
    }
  }
}

}  // namespace
}  // namespace mluop::test
