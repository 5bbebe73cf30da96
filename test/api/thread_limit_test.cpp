// Teams whose threads the system refuses (RLIMIT_NPROC): launches run on those that it grants, with the same
// results.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "support/child_process.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/solved_case.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

// The number of threads of the last call's first launch; 0 if the call or its result is wrong.
int threads_of_call(mluOpOmpAlgorithm_t algorithm, const SolvedCase& masks) {
  const Handle handle(algorithm);
  require(mluOpOmpSetStatistics(handle, 1));
  if (!masks.solved_by(handle)) return 0;
  mluOpOmpLaunchStatistics_t launch{};
  require(mluOpOmpGetLaunchStatistics(handle, 0, &launch));
  return launch.threads;
}

constexpr int kThreads = 4;

// Prints the number of threads with the limit `threads` for this user, and without it; root has no limit. Ends the
// process.
[[noreturn]] void call_with_limit(mluOpOmpAlgorithm_t algorithm, rlim_t threads, const SolvedCase& masks) {
  setenv("MLUOP_OMP_MAX_THREADS", "4", 1);
  const ScopedThreads tasks(kThreads);
  if (setgid(kNobody) != 0 || setuid(kNobody) != 0 || !set_limit(RLIMIT_NPROC, threads)) _exit(2);
  const int limited = threads_of_call(algorithm, masks);
  set_limit(RLIMIT_NPROC, RLIM_INFINITY);
  const int unlimited = threads_of_call(algorithm, masks);
  std::cerr << "limited " << limited << ", unlimited " << unlimited << std::endl;
  _exit(0);
}

class FaultsOfThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "becomes a user without processes: requires root";
    if (kSanitizer) GTEST_SKIP() << "the sanitizer has threads of its own";
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  }

  SolvedCase masks = solve(make_case("masked_im2col_forward", MLUOP_DTYPE_FLOAT,
                                     {{"channels", 20}, {"height", 40}, {"width", 40}, {"mask_cnt", 3000}}));
};

TEST_F(FaultsOfThreads, AllRefused) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    EXPECT_EXIT(call_with_limit(algorithm, 1, masks), ::testing::ExitedWithCode(0), "limited 1, unlimited 4");
  }
}

// Other processes of the user count too.
TEST_F(FaultsOfThreads, SomeRefused) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    EXPECT_EXIT(call_with_limit(algorithm, 3, masks), ::testing::ExitedWithCode(0), "limited [123], unlimited 4");
  }
}

}  // namespace
}  // namespace mluop::test
