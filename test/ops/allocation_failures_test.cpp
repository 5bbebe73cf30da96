// Operators whose allocations fail: each allocation of a call on a new handle, one at a time, for each operator,
// element type and algorithm.
#include <gtest/gtest.h>

#include <string>

#include "ops/dynamic_scatter_backward/call.h"
#include "ops/indice_convolution_forward/call.h"
#include "ops/masked_im2col_forward/call.h"
#include "ops/operator_cases.h"
#include "ops/three_interpolate_backward/call.h"
#include "ops/voxel_pooling_forward/call.h"
#include "support/environment.h"
#include "support/failing_allocator.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

class OpsAllocationFailures : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
  }

  std::mt19937 random = seeded_random();
  ScopedThreads threads{3};
};

// Runs the call on a new handle with the n-th allocation failing. Returns whether there was an n-th one.
template <class Call>
bool expect_failure_of_allocation(int64_t n, mluOpOmpAlgorithm_t algorithm, const typename Call::Inputs& inputs) {
  const Handle handle(algorithm);
  const Call call(handle, inputs);
  const auto before = call.contents();
  mluOpStatus_t status;
  bool triggered;
  {
    const FailingAllocation failing(n);
    status = call.run();
    triggered = failing.triggered();
  }
  if (!triggered) {
    EXPECT_EQ(status, MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    return false;
  }
  EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED) << mluOpOmpGetLastError();
  EXPECT_TRUE(call.contents() == before) << "the failing call changed inputs or outputs";
  EXPECT_TRUE(call.guards_intact());
  // The handle is usable after the failure.
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(call.intact());
  return true;
}

template <class Call>
void expect_allocation_failures(const typename Call::Inputs& inputs) {
  for (const mluOpOmpAlgorithm_t algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    int64_t n = 1;
    while (expect_failure_of_allocation<Call>(n, algorithm, inputs)) ++n;
    // The NRAM at least.
    EXPECT_GT(n, 1);
  }
}

TEST_F(OpsAllocationFailures, VoxelPoolingForward) {
  expect_allocation_failures<VoxelPoolingCall>(random_voxel_pooling({2, 3000, 20, 9, 8, 1}, random));
}

TEST_F(OpsAllocationFailures, ThreeInterpolateBackward) {
  // Direct and grouped sums.
  for (const ThreeInterpolateSizes& sizes : {ThreeInterpolateSizes{2, 20, 500, 90}, {4, 64, 500, 30}}) {
    expect_allocation_failures<ThreeInterpolateCall<float>>(random_three_interpolate<float>(sizes, random));
    expect_allocation_failures<ThreeInterpolateCall<Half>>(random_three_interpolate<Half>(sizes, random));
  }
}

TEST_F(OpsAllocationFailures, MaskedIm2colForward) {
  const MaskedIm2colSizes sizes = {20, 15, 16, 200, 3, 3, 1, 1};
  expect_allocation_failures<MaskedIm2colCall<uint32_t>>(random_masked_im2col<uint32_t>(sizes, random));
  expect_allocation_failures<MaskedIm2colCall<uint16_t>>(random_masked_im2col<uint16_t>(sizes, random));
}

TEST_F(OpsAllocationFailures, DynamicScatterBackward) {
  expect_allocation_failures<DynamicScatterCall>(random_dynamic_scatter({3000, 900, 20, 900}, random));
}

TEST_F(OpsAllocationFailures, IndiceConvolutionForward) {
  const IndiceConvolutionSizes sizes = {500, 400, 16, 24, 3, 1, 2};
  const auto layout = FilterLayout::kNdhwc;
  expect_allocation_failures<IndiceConvolutionCall<float>>(
      random_indice_convolution<float>(sizes, layout, random));
  expect_allocation_failures<IndiceConvolutionCall<Half>>(random_indice_convolution<Half>(sizes, layout, random));
  // Many pairs for each row of the output.
  const IndiceConvolutionSizes few_rows = {4000, 20, 16, 24, 3, 1, 2};
  expect_allocation_failures<IndiceConvolutionCall<float>>(
      random_indice_convolution<float>(few_rows, layout, random));
}

// Every NRAM size around the smallest that suffices: the output is complete, or unchanged.
TEST_F(OpsAllocationFailures, SmallNram) {
  int failures = 0;
  for (const OperatorCase& test : operator_cases(Values::kFractional, random)) {
    SCOPED_TRACE(test.name);
    for (const mluOpOmpAlgorithm_t algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      for (int kib = 1; kib <= 64; kib *= 2) {
        SCOPED_TRACE(kib);
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", std::to_string(kib).c_str());
        const Handle handle(algorithm);
        const auto call = test.make_call(handle);
        const auto before = call->contents();
        const mluOpStatus_t status = call->run();
        EXPECT_TRUE(call->intact());
        if (status == MLUOP_STATUS_SUCCESS) continue;
        EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED) << mluOpOmpGetLastError();
        EXPECT_TRUE(call->contents() == before) << "the failing call changed inputs or outputs";
        ++failures;
      }
    }
  }
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace mluop::test
