// Calls in a process whose address space is limited (RLIMIT_AS), in steps from none left to enough: each succeeds
// or returns ALLOC_FAILED. Unlike a failing operator new, the limit also refuses the stacks of threads and what
// the OpenMP runtime allocates.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <vector>

#include "ops/dynamic_scatter_backward/call.h"
#include "ops/get_indice_pairs/call.h"
#include "ops/indice_convolution_forward/call.h"
#include "ops/masked_im2col_forward/call.h"
#include "ops/three_interpolate_backward/call.h"
#include "ops/voxel_pooling_forward/call.h"
#include "support/child_process.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kSucceeded = 10, kAllocFailed = 11, kWrong = 12;

// Limits the address space to `bytes`, or to the process's own limit if that is lower.
bool limit_address_space(rlim_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return false;
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// Runs the call with `bytes` of address space left, and without a limit afterwards.
template <class Call>
int outcome_with_limit(const Call& call, rlim_t bytes) {
  const auto before = call.contents();
  if (!limit_address_space(address_space() + bytes)) return kWrong;
  const mluOpStatus_t status = call.run();
  if (!limit_address_space(RLIM_INFINITY)) return kWrong;
  if (!call.intact()) return kWrong;
  if (status == MLUOP_STATUS_SUCCESS) return kSucceeded;
  if (status != MLUOP_STATUS_ALLOC_FAILED || call.contents() != before) return kWrong;
  return call.run() == MLUOP_STATUS_SUCCESS ? kAllocFailed : kWrong;
}

// In a process without teams: each limit has a child process of its own. Returns whether all calls returned in
// order, and prints what they returned.
template <class Call>
bool run_with_limits(mluOpOmpAlgorithm_t algorithm, const typename Call::Inputs& inputs) {
  const Handle handle(algorithm);
  const Call call(handle, inputs);
  int succeeded = 0, failed = 0;
  constexpr rlim_t kStep = 128 << 10;
  for (rlim_t bytes = 0; bytes < (rlim_t{256} << 20); bytes += std::max(kStep, bytes / 6 / kStep * kStep)) {
    const int outcome = exit_status_of_child([&] {
      _exit(outcome_with_limit(call, bytes));
      return true;
    });
    succeeded += outcome == kSucceeded;
    failed += outcome == kAllocFailed;
    if (outcome != kSucceeded && outcome != kAllocFailed) {
      std::cerr << text_of(algorithm) << ": exit status " << outcome << " with " << bytes << " bytes\n";
      return false;
    }
  }
  std::cerr << text_of(algorithm) << ": " << succeeded << " succeeded, " << failed << " failed\n";
  return succeeded > 0 && failed > 0;
}

template <class Call>
void expect_no_crash(const typename Call::Inputs& inputs) {
  if (kSanitizer) GTEST_SKIP() << "the sanitizer reserves address space";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run = [&] {
    // libgomp ends threads when teams shrink and creates them again when they grow; the stacks of both may exist
    // for a moment. Teams of two do not shrink.
    setenv("MLUOP_OMP_MAX_THREADS", "2", 1);
    const ScopedThreads threads(2);
    bool right = true;
    for (const auto algorithm : kAlgorithms) right = run_with_limits<Call>(algorithm, inputs) && right;
    _exit(right ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "succeeded.*\n.*succeeded");
}

TEST(FaultsOfAddressSpace, VoxelPoolingForward) {
  auto random = seeded_random();
  expect_no_crash<VoxelPoolingCall<float>>(random_voxel_pooling<float>({2, 20000, 4, 30, 30, 1}, random));
  expect_no_crash<VoxelPoolingCall<Half>>(random_voxel_pooling<Half>({2, 20000, 4, 30, 30, 1}, random));
}

TEST(FaultsOfAddressSpace, ThreeInterpolateBackward) {
  auto random = seeded_random();
  expect_no_crash<ThreeInterpolateCall<float>>(random_three_interpolate<float>({1, 64, 8000, 90}, random));
}

TEST(FaultsOfAddressSpace, MaskedIm2colForward) {
  auto random = seeded_random();
  expect_no_crash<MaskedIm2colCall<uint16_t>>(
      random_masked_im2col<uint16_t>({20, 100, 100, 3000, 3, 3, 1, 1}, random));
}

TEST(FaultsOfAddressSpace, DynamicScatterBackward) {
  auto random = seeded_random();
  expect_no_crash<DynamicScatterCall>(random_dynamic_scatter({10000, 3000, 20, 3000}, random));
}

TEST(FaultsOfAddressSpace, IndiceConvolutionForward) {
  auto random = seeded_random();
  expect_no_crash<IndiceConvolutionCall<Half>>(
      random_indice_convolution<Half>({2000, 40000, 16, 16, 3, 1, 3}, FilterLayout::kNdhwc, random));
}

TEST(FaultsOfAddressSpace, GetIndicePairs) {
  auto random = seeded_random();
  const IndicePairsProblem convolution = {2,         {20, 30, 40}, {10, 15, 20}, {3, 3, 3}, {2, 2, 2},
                                          {1, 1, 1}, {1, 1, 1},    false,        {}};
  expect_no_crash<GetIndicePairsCall>(random_get_indice_pairs(convolution, 20000, random));
}

}  // namespace
}  // namespace mluop::test
