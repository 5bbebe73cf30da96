// Every NRAM size around the smallest that suffices, for each operator and algorithm: the output is complete, or
// unchanged.
#include <gtest/gtest.h>

#include <string>

#include "ops/operator_cases.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

TEST(OpsSmallNram, CompleteOrUnchanged) {
  const ScopedThreads threads(3);
  int failures = 0;
  for (const OperatorCase& test : operator_cases()) {
    SCOPED_TRACE(test.name);
    for (const mluOpOmpAlgorithm_t algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      for (int kib = 1; kib <= 64; kib *= 2) {
        SCOPED_TRACE(kib);
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", std::to_string(kib).c_str());
        const Handle handle(algorithm);
        const OperatorCall call(handle, test.made);
        const auto before = call.contents();
        const mluOpStatus_t status = call.run();
        EXPECT_TRUE(call.intact());
        if (status == MLUOP_STATUS_SUCCESS) continue;
        EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED) << mluOpOmpGetLastError();
        EXPECT_TRUE(call.contents() == before) << "the failing call changed inputs or outputs";
        ++failures;
      }
    }
  }
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace mluop::test
