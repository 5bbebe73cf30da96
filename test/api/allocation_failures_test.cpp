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

// A function that fails does not change the pointer.
template <class Object>
mluOpStatus_t create_and_destroy(mluOpStatus_t (*create)(Object*), mluOpStatus_t (*destroy)(Object)) {
  Object object = nullptr;
  const mluOpStatus_t status = create(&object);
  if (status != MLUOP_STATUS_SUCCESS) return object == nullptr ? status : MLUOP_STATUS_INTERNAL_ERROR;
  return destroy(object);
}

mluOpStatus_t create_and_destroy_handle() { return create_and_destroy(mluOpCreate, mluOpDestroy); }

constexpr int64_t kNegativeDims[] = {2, -3};
constexpr int kSetSizes[] = {2, 3};

// Created by the first call, before any allocation fails.
mluOpSeqDataDescriptor_t seq_data() {
  static const cases::Owned<mluOpSeqDataDescriptor_t, mluOpCreateSeqDataDescriptor, mluOpDestroySeqDataDescriptor>
      desc;
  return desc;
}

mluOpStatus_t set_seq_data() {
  constexpr int64_t kDims[] = {2, 3};
  constexpr int kLengths[] = {3, 2};
  return mluOpSetSeqDataDescriptor_v2(seq_data(), MLUOP_SEQDATA_NT, MLUOP_DTYPE_FLOAT, 2, kDims, 2, kLengths,
                                      nullptr);
}

mluOpStatus_t create_and_destroy_group() {
  mluOpTensorDescriptor_t descs[2] = {};
  mluOpTensorDescriptor_t* group[] = {&descs[0], &descs[1]};
  const mluOpStatus_t status = mluOpCreateGroupTensorDescriptors(group, 2);
  if (status == MLUOP_STATUS_SUCCESS) return mluOpDestroyGroupTensorDescriptors(group, 2);
  return descs[0] == nullptr && descs[1] == nullptr ? status : MLUOP_STATUS_INTERNAL_ERROR;
}

mluOpStatus_t set_group(mluOpTensorDescriptor_t desc) {
  mluOpTensorDescriptor_t* group[] = {&desc};
  const auto layout = MLUOP_LAYOUT_NC;
  const auto dtype = MLUOP_DTYPE_HALF;
  const int dim_count = 2;
  return mluOpSetGroupTensorDescriptors(group, &layout, &dtype, &dim_count, kSetSizes, 1);
}

mluOpStatus_t get_directory() {
  char path[1000];
  mluOpStatus_t status = MLUOP_STATUS_INTERNAL_ERROR;
  mluOpGetGenCaseDirectory(path, sizeof path, nullptr, &status);
  return status;
}

// The functions that allocate, with one row for each kind of failure: the message allocates.
const struct {
  const char* name;
  std::function<mluOpStatus_t(mluOpHandle_t, mluOpTensorDescriptor_t)> run;
  mluOpStatus_t expected = MLUOP_STATUS_SUCCESS;  // with memory
} kFunctions[] = {
    {"mluOpCreate", [](auto, auto) { return create_and_destroy_handle(); }},
    {"mluOpUpdateContextInformation", [](auto h, auto) { return mluOpUpdateContextInformation(h); }},
    {"mluOpCreateTensorDescriptor",
     [](auto, auto) { return create_and_destroy(mluOpCreateTensorDescriptor, mluOpDestroyTensorDescriptor); }},
    {"mluOpCreateSparseConvolutionDescriptor",
     [](auto, auto) {
       return create_and_destroy(mluOpCreateSparseConvolutionDescriptor, mluOpDestroySparseConvolutionDescriptor);
     }},
    {"mluOpCreateDCNDescriptor",
     [](auto, auto) { return create_and_destroy(mluOpCreateDCNDescriptor, mluOpDestroyDCNDescriptor); }},
    {"mluOpCreateAdamWDescriptor",
     [](auto, auto) { return create_and_destroy(mluOpCreateAdamWDescriptor, mluOpDestroyAdamWDescriptor); }},
    {"mluOpCreateCarafeDescriptor",
     [](auto, auto) { return create_and_destroy(mluOpCreateCarafeDescriptor, mluOpDestroyCarafeDescriptor); }},
    {"mluOpCreateSeqDataDescriptor",
     [](auto, auto) { return create_and_destroy(mluOpCreateSeqDataDescriptor, mluOpDestroySeqDataDescriptor); }},
    {"mluOpSetSeqDataDescriptor_v2", [](auto, auto) { return set_seq_data(); }},
    {"mluOpCreateTensorSetDescriptor",
     [](auto, auto) {
       return create_and_destroy(
           +[](mluOpTensorSetDescriptor_t* set) { return mluOpCreateTensorSetDescriptor(set, 2, kSetSizes); },
           mluOpDestroyTensorSetDescriptor);
     }},
    {"mluOpCreateGroupTensorDescriptors", [](auto, auto) { return create_and_destroy_group(); }},
    {"mluOpSetGroupTensorDescriptors", [](auto, auto d) { return set_group(d); }},
    {"mluOpGetGenCaseDirectory", [](auto, auto) { return get_directory(); }},
    {"mluOpCreateFFTPlan", [](auto, auto) { return create_and_destroy(mluOpCreateFFTPlan, mluOpDestroyFFTPlan); }},
    {"mluOpCreateNmsDescriptor",
     [](auto, auto) { return create_and_destroy(mluOpCreateNmsDescriptor, mluOpDestroyNmsDescriptor); }},
    {"mluOpCreateRoiAlignForwardDescriptor",
     [](auto, auto) {
       return create_and_destroy(mluOpCreateRoiAlignForwardDescriptor, mluOpDestroyRoiAlignForwardDescriptor);
     }},
    {"mluOpCreate", [](auto, auto) { return mluOpCreate(nullptr); }, MLUOP_STATUS_BAD_PARAM},
    {"mluOpOmpSetStatistics", [](auto h, auto) { return mluOpOmpSetStatistics(h, 2); }, MLUOP_STATUS_BAD_PARAM},
    {"mluOpSetTensorDescriptorDim_v2",
     [](auto, auto d) { return mluOpSetTensorDescriptorDim_v2(d, 2, kNegativeDims); }, MLUOP_STATUS_BAD_PARAM},
};

class FaultsOfFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
    seq_data();
  }
  void TearDown() override { Handle(); }  // restores the level of the log

  FaultPointCount fault_points;
};

// A function that fails changes neither handle nor descriptor.
TEST_F(FaultsOfFunctions, EachAllocation) {
  for (const char* level : {"off", "debug"}) {
    for (const auto& function : kFunctions) {
      SCOPED_TRACE(std::string(function.name) + ", log level " + level);
      ::testing::internal::CaptureStderr();
      const int64_t points = for_each_fault_point([&](int64_t n) {
        const Handle handle;
        const Descriptor desc(MLUOP_DTYPE_FLOAT, {4, 5});
        // Longer than what a string holds without an allocation.
        const ScopedEnvironment variables[] = {
            {"MLUOP_OMP_DEVICE", "mlu590"},
            {"MLUOP_OMP_MAX_THREADS", "00000000000000000000000003"},
            {"MLUOP_OMP_ALGORITHM", "device"},
            {"MLUOP_OMP_NRAM_KB", "64"},
            {"MLUOP_OMP_TRACE", "a file that no test writes, with a long name.json"},
            {"MLUOP_LOG_LEVEL", level}};
        const auto state = [&] {
          const Context& context = *static_cast<mluOpHandle_t>(handle);
          return std::tuple(context.device.name, context.nram_capacity, context.max_threads,
                            context.max_threads_is_set, context.algorithm, context.trace_file,
                            context.statistics.enabled(), mluOpGetTensorElementNum(desc));
        };
        const auto before = state();
        const auto [status, triggered] = run_with_fault(n, [&] { return function.run(handle, desc); });
        // The debug log may be lost.
        if (status != function.expected) {
          EXPECT_TRUE(triggered);
          EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED);
          EXPECT_EQ(mluOpOmpGetLastError(), std::string("[") + function.name + "] out of memory");
          EXPECT_TRUE(state() == before) << n;
        }
        EXPECT_EQ(function.run(handle, desc), function.expected) << mluOpOmpGetLastError();
        return triggered;
      });
      ::testing::internal::GetCapturedStderr();
      EXPECT_GE(points, 1);
      fault_points.add(points);
    }
  }
}

// The first call of a process constructs the logger and other objects with the lifetime of the process.
TEST_F(FaultsOfFunctions, FirstCallOfAProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto fail_in_children = [] {
    constexpr int kTriggered = 2;
    int status = 0;
    const int64_t points = for_each_fault_point([&](int64_t n) {
      status = exit_status_of_child([&] {
        const FaultResult result = run_with_fault(n, create_and_destroy_handle);
        const bool right = result.status == (result.triggered ? MLUOP_STATUS_ALLOC_FAILED : MLUOP_STATUS_SUCCESS);
        if (!right || create_and_destroy_handle() != MLUOP_STATUS_SUCCESS) return false;
        std::exit(result.triggered ? kTriggered : 0);  // LeakSanitizer reports here
      });
      return status == kTriggered;
    });
    std::cerr << points << " fault points";
    _exit(status);
  };
  EXPECT_EXIT(fail_in_children(), ::testing::ExitedWithCode(0), "[1-9][0-9]* fault points");
}

}  // namespace
}  // namespace mluop::test
