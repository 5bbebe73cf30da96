// Functions of handles and descriptors whose allocations fail, one at a time. Operators:
// ops/allocation_failures_test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>

#include "support/child_process.h"
#include "support/environment.h"
#include "support/fault_points.h"
#include "team/context.h"

namespace mluop::test {
namespace {

// A function of the API with arguments that it accepts, or not.
struct Entry {
  const char* name;
  std::function<mluOpStatus_t(mluOpHandle_t, mluOpTensorDescriptor_t)> run;
};

constexpr int kDims[] = {2, 3};
constexpr int64_t kDims64[] = {2, 3};
constexpr int kNegativeDims[] = {2, -3};
constexpr int64_t kNegativeDims64[] = {2, -3};
constexpr auto kLayout = MLUOP_LAYOUT_ARRAY;
constexpr auto kFloat = MLUOP_DTYPE_FLOAT;

mluOpStatus_t create_and_destroy_handle() {
  mluOpHandle_t handle = nullptr;
  const mluOpStatus_t status = mluOpCreate(&handle);
  if (status != MLUOP_STATUS_SUCCESS) return handle == nullptr ? status : MLUOP_STATUS_INTERNAL_ERROR;
  return mluOpDestroy(handle);
}

mluOpStatus_t create_and_destroy_descriptor() {
  mluOpTensorDescriptor_t desc = nullptr;
  const mluOpStatus_t status = mluOpCreateTensorDescriptor(&desc);
  if (status != MLUOP_STATUS_SUCCESS) return desc == nullptr ? status : MLUOP_STATUS_INTERNAL_ERROR;
  return mluOpDestroyTensorDescriptor(desc);
}

mluOpStatus_t create_and_destroy_sparse_convolution() {
  mluOpSparseConvolutionDescriptor_t desc = nullptr;
  const mluOpStatus_t status = mluOpCreateSparseConvolutionDescriptor(&desc);
  if (status != MLUOP_STATUS_SUCCESS) return desc == nullptr ? status : MLUOP_STATUS_INTERNAL_ERROR;
  return mluOpDestroySparseConvolutionDescriptor(desc);
}

const Entry kValid[] = {
    {"mluOpCreate", [](auto, auto) { return create_and_destroy_handle(); }},
    {"mluOpUpdateContextInformation", [](auto h, auto) { return mluOpUpdateContextInformation(h); }},
    {"mluOpSetQueue", [](auto h, auto) { return mluOpSetQueue(h, nullptr); }},
    {"mluOpGetQueue",
     [](auto h, auto) {
       cnrtQueue_t queue;
       return mluOpGetQueue(h, &queue);
     }},
    {"mluOpSetAtomicsMode", [](auto h, auto) { return mluOpSetAtomicsMode(h, MLUOP_ATOMICS_ALLOWED); }},
    {"mluOpGetAtomicsMode",
     [](auto h, auto) {
       mluOpAtomicsMode_t mode;
       return mluOpGetAtomicsMode(h, &mode);
     }},
    {"mluOpOmpSetAlgorithm", [](auto h, auto) { return mluOpOmpSetAlgorithm(h, MLUOP_OMP_ALGORITHM_DEVICE); }},
    {"mluOpOmpGetAlgorithm",
     [](auto h, auto) {
       mluOpOmpAlgorithm_t algorithm;
       return mluOpOmpGetAlgorithm(h, &algorithm);
     }},
    {"mluOpOmpSetStatistics", [](auto h, auto) { return mluOpOmpSetStatistics(h, 1); }},
    {"mluOpOmpGetLaunchCount",
     [](auto h, auto) {
       int count;
       return mluOpOmpGetLaunchCount(h, &count);
     }},
    {"mluOpGetSizeOfDataType",
     [](auto, auto) {
       size_t size;
       return mluOpGetSizeOfDataType(kFloat, &size);
     }},
    {"mluOpCreateTensorDescriptor", [](auto, auto) { return create_and_destroy_descriptor(); }},
    {"mluOpResetTensorDescriptor", [](auto, auto d) { return mluOpResetTensorDescriptor(d); }},
    {"mluOpCreateSparseConvolutionDescriptor", [](auto, auto) { return create_and_destroy_sparse_convolution(); }},
    {"mluOpSetTensorDescriptor",
     [](auto, auto d) { return mluOpSetTensorDescriptor(d, kLayout, kFloat, 2, kDims); }},
    {"mluOpSetTensorDescriptor_v2",
     [](auto, auto d) { return mluOpSetTensorDescriptor_v2(d, kLayout, kFloat, 2, kDims64); }},
    {"mluOpSetTensorDescriptorEx",
     [](auto, auto d) { return mluOpSetTensorDescriptorEx(d, kLayout, kFloat, 2, kDims, kDims); }},
    {"mluOpSetTensorDescriptorEx_v2",
     [](auto, auto d) { return mluOpSetTensorDescriptorEx_v2(d, kLayout, kFloat, 2, kDims64, kDims64); }},
    {"mluOpSetTensorDescriptorDim", [](auto, auto d) { return mluOpSetTensorDescriptorDim(d, 2, kDims); }},
    {"mluOpSetTensorDescriptorDim_v2", [](auto, auto d) { return mluOpSetTensorDescriptorDim_v2(d, 2, kDims64); }},
    {"mluOpGetTensorDescriptor",
     [](auto, auto d) {
       int dims[MLUOP_DIM_MAX];
       return mluOpGetTensorDescriptor(d, nullptr, nullptr, nullptr, dims);
     }},
    {"mluOpGetTensorDescriptorEx_v2",
     [](auto, auto d) {
       int64_t dims[MLUOP_DIM_MAX], strides[MLUOP_DIM_MAX];
       return mluOpGetTensorDescriptorEx_v2(d, nullptr, nullptr, nullptr, dims, strides);
     }},
};

// The message of a failure needs memory: the status is then ALLOC_FAILED.
const Entry kInvalid[] = {
    {"mluOpCreate", [](auto, auto) { return mluOpCreate(nullptr); }},
    {"mluOpGetAtomicsMode", [](auto h, auto) { return mluOpGetAtomicsMode(h, nullptr); }},
    {"mluOpOmpGetAlgorithm", [](auto h, auto) { return mluOpOmpGetAlgorithm(h, nullptr); }},
    {"mluOpOmpSetStatistics", [](auto h, auto) { return mluOpOmpSetStatistics(h, 2); }},
    {"mluOpOmpGetLaunchStatistics",
     [](auto h, auto) {
       mluOpOmpLaunchStatistics_t statistics;
       return mluOpOmpGetLaunchStatistics(h, 0, &statistics);
     }},
    {"mluOpOmpGetTaskStatistics",
     [](auto h, auto) {
       mluOpOmpTaskStatistics_t statistics;
       return mluOpOmpGetTaskStatistics(h, 0, 0, &statistics);
     }},
    {"mluOpCreateSparseConvolutionDescriptor",
     [](auto, auto) { return mluOpCreateSparseConvolutionDescriptor(nullptr); }},
    {"mluOpSetTensorDescriptor",
     [](auto, auto d) { return mluOpSetTensorDescriptor(d, kLayout, kFloat, 2, kNegativeDims); }},
    {"mluOpSetTensorDescriptorEx_v2",
     [](auto, auto d) { return mluOpSetTensorDescriptorEx_v2(d, kLayout, kFloat, 2, kDims64, kNegativeDims64); }},
    {"mluOpSetTensorDescriptorDim_v2",
     [](auto, auto d) { return mluOpSetTensorDescriptorDim_v2(d, 2, kNegativeDims64); }},
};

class FaultsOfFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
  }

  // Runs the entry with each of its allocations failing; `expected` is its status with memory.
  int64_t expect_failures(const Entry& entry, mluOpStatus_t expected) {
    SCOPED_TRACE(entry.name);
    return for_each_fault_point([&](int64_t n) {
      const Handle handle;
      const Descriptor desc(kFloat, {4, 5});
      const auto [status, triggered] = run_with_fault(n, [&] { return entry.run(handle, desc); });
      // The debug log may be lost.
      if (status != expected) {
        EXPECT_TRUE(triggered);
        EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED);
        EXPECT_EQ(mluOpOmpGetLastError(), std::string("[") + entry.name + "] out of memory");
        // The descriptor is unchanged.
        EXPECT_EQ(mluOpGetTensorElementNum(desc), 20U);
      }
      EXPECT_EQ(entry.run(handle, desc), expected) << mluOpOmpGetLastError();
      return triggered;
    });
  }

  FaultPointCount fault_points;
};

TEST_F(FaultsOfFunctions, ValidArguments) {
  for (const char* level : {"off", "debug"}) {
    const ScopedEnvironment log("MLUOP_LOG_LEVEL", level);
    // Longer than what a string holds without an allocation.
    const ScopedEnvironment trace("MLUOP_OMP_TRACE", "a file that no test writes, with a long name.json");
    const ScopedEnvironment max_threads("MLUOP_OMP_MAX_THREADS", "00000000000000000000000003");
    ::testing::internal::CaptureStderr();
    for (const Entry& entry : kValid) fault_points.add(expect_failures(entry, MLUOP_STATUS_SUCCESS));
    ::testing::internal::GetCapturedStderr();
  }
  Handle();  // restores the level
}

TEST_F(FaultsOfFunctions, InvalidArguments) {
  for (const Entry& entry : kInvalid) {
    const int64_t points = expect_failures(entry, MLUOP_STATUS_BAD_PARAM);
    EXPECT_GE(points, 1) << entry.name;  // the message
    fault_points.add(points);
  }
}

TEST_F(FaultsOfFunctions, FailingUpdateDoesNotChangeTheHandle) {
  ::testing::internal::CaptureStderr();
  fault_points.add(for_each_fault_point([&](int64_t n) {
    const Handle handle;
    const ScopedEnvironment variables[] = {{"MLUOP_OMP_DEVICE", "mlu590"},
                                           {"MLUOP_OMP_MAX_THREADS", "00000000000000000000000003"},
                                           {"MLUOP_OMP_ALGORITHM", "device"},
                                           {"MLUOP_OMP_NRAM_KB", "64"},
                                           {"MLUOP_OMP_TRACE", "some trace file with a long name.json"},
                                           {"MLUOP_LOG_LEVEL", "debug"}};
    const auto state = [&] {
      const Context& context = *static_cast<mluOpHandle_t>(handle);
      return std::tuple(context.device.name, context.nram_capacity, context.max_threads,
                        context.max_threads_is_set, context.algorithm, context.trace_file,
                        context.statistics.enabled());
    };
    const auto before = state();
    const auto [status, triggered] = run_with_fault(n, [&] { return mluOpUpdateContextInformation(handle); });
    // The line of the log may be lost.
    if (status != MLUOP_STATUS_SUCCESS) {
      EXPECT_TRUE(triggered) << n;
      EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED) << n;
      EXPECT_TRUE(state() == before) << n;
    }
    return triggered;
  }));
  ::testing::internal::GetCapturedStderr();
  Handle();  // restores the level
}

// The first call of a process constructs the logger and what else lives as long as the process.
TEST_F(FaultsOfFunctions, FirstCallOfAProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto fail_in_children = [] {
    int64_t n = 1;
    for (bool triggered = true; triggered; ++n) {
      constexpr int kTriggered = 2, kWrong = 1;
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        const FaultResult result = run_with_fault(n, create_and_destroy_handle);
        const bool right = result.status == (result.triggered ? MLUOP_STATUS_ALLOC_FAILED : MLUOP_STATUS_SUCCESS);
        if (!right || create_and_destroy_handle() != MLUOP_STATUS_SUCCESS) std::_Exit(kWrong);
        std::exit(result.triggered ? kTriggered : 0);  // LeakSanitizer reports here
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != kTriggered)) _exit(1);
      triggered = WEXITSTATUS(status) == kTriggered;
    }
    std::cerr << n - 2 << " fault points";
    _exit(0);
  };
  EXPECT_EXIT(fail_in_children(), ::testing::ExitedWithCode(0), "[1-9][0-9]* fault points");
}

}  // namespace
}  // namespace mluop::test
