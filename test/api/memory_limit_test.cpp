// Calls in a process whose address space is limited (RLIMIT_AS), in steps from none left to enough: each succeeds
// or returns ALLOC_FAILED. Unlike a failing operator new, the limit also refuses the stacks of threads and what
// the OpenMP runtime allocates.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "support/child_process.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/sanitizers.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kSucceeded = 10, kAllocFailed = 11, kWrong = 12;

rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// Runs the call with `bytes` of address space left, and without a limit afterwards.
int outcome_with_limit(const OperatorCall& call, rlim_t bytes) {
  const auto before = call.contents();
  if (!set_limit(RLIMIT_AS, address_space() + bytes)) return kWrong;
  const mluOpStatus_t status = call.run();
  if (!set_limit(RLIMIT_AS, RLIM_INFINITY)) return kWrong;
  if (!call.intact()) return kWrong;
  if (status == MLUOP_STATUS_SUCCESS) return kSucceeded;
  if (status != MLUOP_STATUS_ALLOC_FAILED || call.contents() != before) return kWrong;
  return call.run() == MLUOP_STATUS_SUCCESS ? kAllocFailed : kWrong;
}

// In a process without teams: each limit has a child process of its own. Returns whether all calls returned in
// order, and prints what they returned.
bool run_with_limits(mluOpOmpAlgorithm_t algorithm, const cases::Case& made) {
  const Handle handle(algorithm);
  const OperatorCall call(handle, made);
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

const struct {
  const char* op;
  mluOpDataType_t dtype;
  std::map<std::string, int64_t> sizes;
} kOperatorSizes[] = {
    {"voxel_pooling_forward",
     MLUOP_DTYPE_FLOAT,
     {{"num_points", 20000}, {"num_channels", 4}, {"num_voxel_x", 30}, {"num_voxel_y", 30}}},
    {"voxel_pooling_forward",
     MLUOP_DTYPE_HALF,
     {{"num_points", 20000}, {"num_channels", 4}, {"num_voxel_x", 30}, {"num_voxel_y", 30}}},
    {"three_interpolate_backward", MLUOP_DTYPE_FLOAT, {{"b", 1}, {"c", 64}, {"m", 90}, {"n", 8000}}},
    {"masked_im2col_forward",
     MLUOP_DTYPE_HALF,
     {{"channels", 20}, {"height", 100}, {"width", 100}, {"mask_cnt", 3000}}},
    {"dynamic_point_to_voxel_backward", MLUOP_DTYPE_FLOAT, {{"n", 10000}, {"c", 20}, {"grid", 15}}},
    {"indice_convolution_forward",
     MLUOP_DTYPE_HALF,
     {{"num_act_in", 2000}, {"num_act_out", 40000}, {"ci", 16}, {"co", 16}, {"d", 3}, {"h", 1}, {"w", 3}}},
    {"get_indice_pairs",
     MLUOP_DTYPE_INT32,
     {{"depth", 20}, {"height", 30}, {"width", 40}, {"sites", 20000}, {"stride", 2}}},
};

// Each operator has a process of its own too, so that no memory of others is free in its heap.
bool run_all_with_limits() {
  // libgomp ends threads when teams shrink and creates them again when they grow; the stacks of both may exist for
  // a moment. Teams of two do not shrink.
  setenv("MLUOP_OMP_MAX_THREADS", "2", 1);
  const ScopedThreads threads(2);
  // Large blocks that are freed return to the system.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  bool right = true;
  for (const auto& row : kOperatorSizes) {
    for (const auto algorithm : kAlgorithms) {
      std::cerr << row.op << ", ";
      const int status = exit_status_of_child(
          [&] { return run_with_limits(algorithm, make_case(row.op, row.dtype, row.sizes)); });
      right = status == 0 && right;
    }
  }
  return right;
}

TEST(FaultsOfAddressSpace, Operators) {
  if (kSanitizer) GTEST_SKIP() << "the sanitizer reserves address space";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(_exit(run_all_with_limits() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mluop::test
