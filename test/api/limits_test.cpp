// Operators in a process whose address space or number of threads is limited.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "support/child_process.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/solved_case.h"
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

// Each limit has a child process without teams. Returns whether all calls returned in order, and prints the
// results.
bool run_with_limits(mluOpOmpAlgorithm_t algorithm, const cases::Case& made) {
  const Handle handle(algorithm);
  const OperatorCall call(handle, made);
  std::map<int, int> outcomes;
  constexpr rlim_t kStep = 128 << 10;
  for (rlim_t bytes = 0; bytes < (rlim_t{256} << 20); bytes += std::max(kStep, bytes / 4 / kStep * kStep)) {
    const int outcome = exit_status_of_child([&] {
      _exit(outcome_with_limit(call, bytes));
      return true;
    });
    ++outcomes[outcome];
    std::cerr << bytes << " bytes: " << outcome << '\n';
  }
  return outcomes[kSucceeded] > 0 && outcomes[kAllocFailed] > 0 && outcomes.size() == 2;
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

// Each operator has a separate process too, so that its heap has no free memory of other operators.
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
      std::cerr << row.op << ", " << text_of(algorithm) << '\n';
      const int status = exit_status_of_child(
          [&] { return run_with_limits(algorithm, make_case(row.op, row.dtype, row.sizes)); });
      right = status == 0 && right;
    }
  }
  return right;
}

// RLIMIT_AS, in steps from no memory left to enough: each call succeeds or returns ALLOC_FAILED. Unlike a failing
// operator new, the limit also refuses the stacks of threads and allocations of the OpenMP runtime.
TEST(FaultsOfAddressSpace, Operators) {
  if (kSanitizer) GTEST_SKIP() << "the sanitizer reserves address space";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(_exit(run_all_with_limits() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

// The number of threads of the last call's first launch; 0 if the call or its result is wrong.
int threads_of_call(mluOpOmpAlgorithm_t algorithm, const SolvedCase& masks) {
  const Handle handle(algorithm);
  require(mluOpOmpSetStatistics(handle, 1));
  if (!masks.solved_by(handle)) return 0;
  mluOpOmpLaunchStatistics_t launch{};
  require(mluOpOmpGetLaunchStatistics(handle, 0, &launch));
  return launch.threads;
}

// Prints the number of threads with the limit `threads` for its user, and without the limit. The limit does not
// apply to root, and counts the threads of all processes of a user; so the process changes to a separate user.
// Ends the process.
[[noreturn]] void call_with_limit(mluOpOmpAlgorithm_t algorithm, rlim_t threads, const SolvedCase& masks) {
  setenv("MLUOP_OMP_MAX_THREADS", "4", 1);
  const ScopedThreads tasks(4);
  const uid_t user = 20000 + static_cast<uid_t>(getpid()) % 40000;
  if (setgid(user) != 0 || setuid(user) != 0 || !set_limit(RLIMIT_NPROC, threads)) _exit(2);
  const int limited = threads_of_call(algorithm, masks);
  set_limit(RLIMIT_NPROC, RLIM_INFINITY);
  const int unlimited = threads_of_call(algorithm, masks);
  std::cerr << "limited " << limited << ", unlimited " << unlimited << std::endl;
  _exit(0);
}

// Teams whose threads the system refuses (RLIMIT_NPROC): launches run on the granted threads, with the same
// results.
TEST(FaultsOfThreads, AllOrSomeRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "becomes a user without processes: requires root";
  if (kSanitizer) GTEST_SKIP() << "the sanitizer has threads of its own";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const SolvedCase masks = solve(make_case("masked_im2col_forward", MLUOP_DTYPE_FLOAT,
                                           {{"channels", 20}, {"height", 40}, {"width", 40}, {"mask_cnt", 3000}}));
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    EXPECT_EXIT(call_with_limit(algorithm, 1, masks), ::testing::ExitedWithCode(0), "limited 1, unlimited 4");
    EXPECT_EXIT(call_with_limit(algorithm, 3, masks), ::testing::ExitedWithCode(0), "limited 3, unlimited 4");
  }
}

}  // namespace
}  // namespace mluop::test
