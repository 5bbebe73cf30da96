// Operators and workspace queries whose allocations fail: each allocation of a call, one at a time, for each
// operator, element type and algorithm; on a new handle, on one whose memory has to grow, and with logs,
// statistics and traces.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "case/reduce.h"
#include "ops/operator_cases.h"
#include "support/environment.h"
#include "support/fault_points.h"
#include "support/sanitizers.h"
#include "support/temporary_folder.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

class FaultsOfOperators : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
  }
  void TearDown() override { Handle(); }  // restores the level of the log

  ScopedThreads threads{3};
  FaultPointCount fault_points;
};

using Function = mluOpStatus_t (OperatorCall::*)() const;

struct Attempt {
  const OperatorCase& test;
  mluOpOmpAlgorithm_t algorithm;
  Function function;
  const cases::Case* earlier;  // a call that the handle has run; null: the handle is new
  bool records;  // statistics, a trace and a debug log, which are lost without memory: the call succeeds

  // Runs the function and lets the n-th allocation fail. Returns whether there was an n-th allocation.
  bool operator()(int64_t n) const {
    SCOPED_TRACE(n);
    const Handle handle(algorithm);
    require(mluOpOmpSetStatistics(handle, records ? 1 : 0));
    if (earlier != nullptr) require(OperatorCall(handle, *earlier).run());
    const OperatorCall call(handle, test.made);
    const auto before = call.contents();
    // Whether the failing memory belongs to the call itself, such as a sparse convolution descriptor.
    bool is_own_memory = false;
    const auto [status, triggered] = run_with_fault(n, [&] {
      try {
        return (call.*function)();
      } catch (const std::exception&) {
        is_own_memory = true;
        return MLUOP_STATUS_ALLOC_FAILED;
      }
    });
    EXPECT_TRUE(call.guards_intact());
    if (status == MLUOP_STATUS_SUCCESS) {
      EXPECT_TRUE(!triggered || records) << "the call succeeded without memory";
      EXPECT_TRUE(call.intact());
    } else {
      EXPECT_TRUE(triggered);
      EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED) << mluOpOmpGetLastError();
      EXPECT_TRUE(is_own_memory || std::string(mluOpOmpGetLastError()).ends_with("] out of memory"))
          << mluOpOmpGetLastError();
      EXPECT_TRUE(call.contents() == before) << "the failing call changed inputs or outputs";
    }
    if (triggered) expect_usable(call);
    return triggered;
  }

  // The handle works after the failure, with earlier and with new sizes.
  void expect_usable(const OperatorCall& call) const {
    EXPECT_EQ((call.*function)(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call.intact());
    if (earlier == nullptr) return;
    EXPECT_EQ(OperatorCall(call.arguments.handle, *earlier).run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
};

TEST_F(FaultsOfOperators, EachAllocation) {
  std::string last;
  for (const OperatorCase& test : operator_cases()) {
    SCOPED_TRACE(test.name);
    // The memory of a handle grows for the first case of each operator; sanitizers run no other.
    const bool is_first = test.made.op_name != std::exchange(last, test.made.op_name);
    if (kSanitizer && !is_first) continue;
    const cases::Operator& op = cases::operator_of(test.made.op_name, {});
    const cases::Case small = op.make(default_recipe(op, op.dtypes.front()));
    for (const auto algorithm : algorithms_of(op)) {
      SCOPED_TRACE(text_of(algorithm));
      const int64_t points = for_each_fault_point(Attempt{test, algorithm, &OperatorCall::run, nullptr, false});
      // At least the NRAM is allocated.
      EXPECT_GE(points, 1);
      fault_points.add(points);
      if (is_first) {
        fault_points.add(for_each_fault_point(Attempt{test, algorithm, &OperatorCall::run, &small, false}));
      }
      if (op.query != nullptr) {
        fault_points.add(for_each_fault_point(Attempt{test, algorithm, &OperatorCall::query, nullptr, false}));
      }
    }
  }
}

// The number of recorded allocations does not depend on the sizes of the call. Operators share the code that
// records: sanitizers run every eighth.
TEST_F(FaultsOfOperators, EachAllocationOfRecords) {
  size_t number = 0;
  const TemporaryFolder folder;
  const std::string trace = (folder.path() / "trace.json").string();
  const ScopedEnvironment trace_file("MLUOP_OMP_TRACE", trace.c_str());
  const ScopedEnvironment log_level("MLUOP_LOG_LEVEL", "debug");
  ::testing::internal::CaptureStderr();
  for (const cases::Operator& op : cases::operators()) {
    if (kSanitizer && number++ % 8 != 0) continue;
    const OperatorCase test{op.name, self_contained(op.make(default_recipe(op, op.dtypes.front())))};
    for (const auto algorithm : algorithms_of(op)) {
      SCOPED_TRACE(op.name + ' ' + text_of(algorithm));
      fault_points.add(for_each_fault_point(Attempt{test, algorithm, &OperatorCall::run, nullptr, true}));
      if (op.query != nullptr) {
        fault_points.add(for_each_fault_point(Attempt{test, algorithm, &OperatorCall::query, nullptr, true}));
      }
    }
  }
  ::testing::internal::GetCapturedStderr();
}

// A trace whose file could not be opened for lack of memory is written by the next call.
TEST_F(FaultsOfOperators, TraceIsOpenedLater) {
  const cases::Operator& op = cases::operator_of("masked_im2col_forward", {});
  const cases::Case made = op.make(default_recipe(op, MLUOP_DTYPE_FLOAT));
  fault_points.add(for_each_fault_point([&](int64_t n) {
    SCOPED_TRACE(n);
    const TemporaryFolder folder;
    const auto path = folder.path() / "trace.json";
    const ScopedEnvironment trace_file("MLUOP_OMP_TRACE", path.c_str());
    const Handle handle;
    const OperatorCall call(handle, made);
    const bool triggered = run_with_fault(n, [&] { return call.run(); }).triggered;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    std::error_code error;
    EXPECT_GT(std::filesystem::file_size(path, error), 0U) << error.message();
    return triggered;
  }));
}

}  // namespace
}  // namespace mluop::test
