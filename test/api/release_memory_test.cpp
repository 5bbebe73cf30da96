// mluOpOmpReleaseMemory: the memory of earlier calls is freed, and later calls have the same results.
#include <gtest/gtest.h>

#include "core/boundary.h"
#include "ops/operator_cases.h"
#include "support/api_errors.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/failing_allocator.h"
#include "support/trace.h"
#include "team/context.h"

namespace mluop::test {
namespace {

TEST(ApiReleaseMemory, FreesNramAndKeepsResults) {
  const ScopedThreads threads(3);
  for (const OperatorCase& test : operator_cases()) {
    SCOPED_TRACE(test.name);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      const Handle handle(algorithm);
      const mluOpContext& context = *static_cast<mluOpHandle_t>(handle);
      const OperatorCall first(handle, test.made);
      require(first.run());
      EXPECT_NO_THROW(context.nram(0));
      EXPECT_EQ(mluOpOmpReleaseMemory(handle), MLUOP_STATUS_SUCCESS);
      EXPECT_THROW(context.nram(0), Failure);
      // Again, without memory.
      EXPECT_EQ(mluOpOmpReleaseMemory(handle), MLUOP_STATUS_SUCCESS);
      const OperatorCall second(handle, test.made);
      EXPECT_EQ(second.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(second.intact());
      if (algorithm == MLUOP_OMP_ALGORITHM_NATIVE || !first.op().atomic_sums) {
        EXPECT_TRUE(second.contents() == first.contents());
      }
    }
  }
}

// After the release, a call allocates as the first of a handle does.
TEST(ApiReleaseMemory, TheNextCallAllocatesAgain) {
  if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
  const auto cases = operator_cases();
  const Handle handle;
  const OperatorCall call(handle, cases.front().made);
  const auto allocations = [&] {
    const FailingAllocation none(0);
    call.run();
    return none.count();
  };
  const int64_t of_first = allocations();
  const int64_t of_later = allocations();
  require(mluOpOmpReleaseMemory(handle));
  EXPECT_EQ(allocations(), of_first);
  EXPECT_LT(of_later, of_first);
}

TEST(ApiReleaseMemory, KeepsSettingsAndForgetsStatistics) {
  const auto cases = operator_cases();
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetStatistics(handle, 1));
  require(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED));
  const OperatorCall call(handle, cases.front().made);
  require(call.run());
  EXPECT_FALSE(launches_of(handle).empty());
  require(mluOpOmpReleaseMemory(handle));
  EXPECT_TRUE(launches_of(handle).empty());
  mluOpAtomicsMode_t mode;
  require(mluOpGetAtomicsMode(handle, &mode));
  EXPECT_EQ(mode, MLUOP_ATOMICS_ALLOWED);
  mluOpOmpAlgorithm_t algorithm;
  require(mluOpOmpGetAlgorithm(handle, &algorithm));
  EXPECT_EQ(algorithm, MLUOP_OMP_ALGORITHM_DEVICE);
  require(call.run());
  EXPECT_FALSE(launches_of(handle).empty());
}

TEST(ApiReleaseMemory, NullHandle) {
  expect_errors({{[] { return mluOpOmpReleaseMemory(nullptr); }, "[mluOpOmpReleaseMemory] handle is null"}});
}

}  // namespace
}  // namespace mluop::test
