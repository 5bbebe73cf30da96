// The environment variables of mlu_op.h, as mluOpCreate and mluOpUpdateContextInformation read them.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>
#include <string>

#include "support/api.h"
#include "support/environment.h"
#include "team/context.h"

namespace mluop::test {
namespace {

const mluOpContext& context_of(const Handle& handle) { return *mluOpHandle_t{handle}; }

TEST(ApiEnvironment, Devices) {
  constexpr struct {
    const char* value;
    const char* device;
    size_t nram_kib;
    bool is_200_series;
  } kTable[] = {
      {nullptr, "mlu370", 640, false},  {"", "mlu370", 640, false},      {"mlu370", "mlu370", 640, false},
      {"mlu590", "mlu590", 384, false}, {"mlu290", "mlu290", 384, true}, {"mlu270", "mlu270", 384, true},
  };
  EXPECT_EQ(std::size(kDeviceProfiles), 4U);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", nullptr);
  for (const auto& row : kTable) {
    const ScopedEnvironment device("MLUOP_OMP_DEVICE", row.value);
    const Handle handle;
    EXPECT_EQ(context_of(handle).device.name, row.device);
    EXPECT_EQ(context_of(handle).nram_capacity, row.nram_kib * 1024);
    EXPECT_EQ(context_of(handle).device.is_200_series, row.is_200_series);
  }
}

TEST(ApiEnvironment, NramSizes) {
  constexpr struct {
    const char* value;
    size_t kib;
  } kTable[] = {{"", 640}, {"1", 1}, {"384", 384}, {"0064", 64}, {"1048576", 1048576}};
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", nullptr);
  for (const auto& row : kTable) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", row.value);
    EXPECT_EQ(context_of(Handle()).nram_capacity, row.kib * 1024) << row.value;
  }
}

TEST(ApiEnvironment, MaxThreads) {
  for (const char* unset : {static_cast<const char*>(nullptr), ""}) {
    const ScopedEnvironment threads("MLUOP_OMP_MAX_THREADS", unset);
    EXPECT_EQ(context_of(Handle()).max_threads, omp_get_num_procs());
    // The device algorithm has a thread for each task.
    const int tasks = omp_get_num_procs() + 1;
    EXPECT_EQ(context_of(Handle()).thread_count(tasks), tasks - 1);
    EXPECT_EQ(context_of(Handle(MLUOP_OMP_ALGORITHM_DEVICE)).thread_count(tasks), tasks);
  }
  for (const int count : {1, 3, 4096}) {
    const ScopedEnvironment threads("MLUOP_OMP_MAX_THREADS", std::to_string(count).c_str());
    EXPECT_EQ(context_of(Handle()).max_threads, count);
    // The limit holds for both algorithms.
    for (const auto algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
      EXPECT_EQ(context_of(Handle(algorithm)).thread_count(count + 1), count);
    }
  }
}

TEST(ApiEnvironment, LogLevels) {
  for (const char* level : {"debug", "info", "warn", "error", "off", ""}) {
    const ScopedEnvironment log("MLUOP_LOG_LEVEL", level);
    // Level debug writes a line.
    ::testing::internal::CaptureStderr();
    EXPECT_NO_THROW(Handle()) << level;
    ::testing::internal::GetCapturedStderr();
  }
  Handle();  // restores the level
}

struct InvalidVariable {
  const char* name;
  const char* value;
  const char* expected;
};

constexpr auto kDevices = "one of: mlu270, mlu290, mlu370, mlu590";
constexpr auto kNram = "a whole number from 1 to 1048576";
constexpr auto kThreadRange = "a whole number from 1 to 4096";
constexpr auto kModeRange = "a number from 0 to 3";
constexpr auto kFormats = "a number from 0 to 2";
constexpr auto kAlgorithmNames = "one of: native, device";
constexpr auto kLevels = "one of: debug, info, warn, error, off";

constexpr InvalidVariable kInvalidVariables[] = {
    {"MLUOP_OMP_DEVICE", "mlu100", kDevices},
    {"MLUOP_OMP_DEVICE", "MLU370", kDevices},
    {"MLUOP_OMP_DEVICE", "mlu", kDevices},
    {"MLUOP_OMP_DEVICE", "370", kDevices},
    {"MLUOP_OMP_DEVICE", "mlu37", kDevices},
    {"MLUOP_OMP_DEVICE", "mlu3700", kDevices},
    {"MLUOP_OMP_DEVICE", " mlu370", kDevices},
    {"MLUOP_OMP_DEVICE", "mlu370 ", kDevices},
    {"MLUOP_OMP_NRAM_KB", "0", kNram},
    {"MLUOP_OMP_NRAM_KB", "1048577", kNram},
    {"MLUOP_OMP_NRAM_KB", "-1", kNram},
    {"MLUOP_OMP_NRAM_KB", "+64", kNram},
    {"MLUOP_OMP_NRAM_KB", "64k", kNram},
    {"MLUOP_OMP_NRAM_KB", " 64", kNram},
    {"MLUOP_OMP_NRAM_KB", "64.5", kNram},
    {"MLUOP_OMP_NRAM_KB", "0x40", kNram},
    {"MLUOP_OMP_NRAM_KB", "lots", kNram},
    {"MLUOP_OMP_NRAM_KB", "18446744073709551617", kNram},
    {"MLUOP_OMP_MAX_THREADS", "0", kThreadRange},
    {"MLUOP_OMP_MAX_THREADS", "4097", kThreadRange},
    {"MLUOP_OMP_MAX_THREADS", "2x", kThreadRange},
    {"MLUOP_LOG_LEVEL", "trace", kLevels},
    {"MLUOP_LOG_LEVEL", "ERROR", kLevels},
    {"MLUOP_LOG_LEVEL", "5", kLevels},
    {"MLUOP_OMP_ALGORITHM", "Device", kAlgorithmNames},
    {"MLUOP_OMP_ALGORITHM", "atomics", kAlgorithmNames},
    {"MLUOP_OMP_ALGORITHM", "1", kAlgorithmNames},
    {"MLUOP_OMP_ALGORITHM", "native ", kAlgorithmNames},
    {"MLUOP_GEN_CASE", "4", kModeRange},
    {"MLUOP_GEN_CASE", "-1", kModeRange},
    {"MLUOP_GEN_CASE", "02", kModeRange},
    {"MLUOP_GEN_CASE", "on", kModeRange},
    {"MLUOP_GEN_CASE_DUMP_DATA", "3", kFormats},
    {"MLUOP_GEN_CASE_DUMP_DATA_OUTPUT", "3", kFormats},
    {"MLUOP_GEN_CASE_DUMP_DATA_FILE", "2", "a number from 0 to 1"},
};

std::string message_of(const char* function, const InvalidVariable& variable) {
  return std::string("[") + function + "] " + variable.name + " is \"" + variable.value + "\", expected " +
         variable.expected;
}

TEST(ApiEnvironment, CreateReportsInvalidVariables) {
  for (const InvalidVariable& row : kInvalidVariables) {
    SCOPED_TRACE(message_of("", row));
    const ScopedEnvironment variable(row.name, row.value);
    int place = 0;
    const auto before = reinterpret_cast<mluOpHandle_t>(&place);
    mluOpHandle_t handle = before;
    EXPECT_EQ(mluOpCreate(&handle), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpOmpGetLastError(), message_of("mluOpCreate", row));
    EXPECT_EQ(handle, before);
  }
}

TEST(ApiEnvironment, UpdateReadsAgain) {
  const Handle handle;
  ASSERT_EQ(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED), MLUOP_STATUS_SUCCESS);
  int place = 0;
  const auto queue = reinterpret_cast<cnrtQueue_t>(&place);
  ASSERT_EQ(mluOpSetQueue(handle, queue), MLUOP_STATUS_SUCCESS);
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", "mlu290");
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "77");
  EXPECT_NE(context_of(handle).device.name, "mlu290");
  ASSERT_EQ(mluOpUpdateContextInformation(handle), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(context_of(handle).device.name, "mlu290");
  EXPECT_EQ(context_of(handle).nram_capacity, size_t{77} * 1024);
  EXPECT_EQ(context_of(handle).atomics_mode, MLUOP_ATOMICS_ALLOWED);
  EXPECT_EQ(context_of(handle).queue, queue);
}

TEST(ApiEnvironment, UpdateReportsInvalidVariables) {
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", "mlu590");
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "99");
  const Handle handle;
  ASSERT_EQ(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED), MLUOP_STATUS_SUCCESS);
  for (const InvalidVariable& row : kInvalidVariables) {
    SCOPED_TRACE(message_of("", row));
    // The call does not apply the valid variables either.
    const ScopedEnvironment other_device("MLUOP_OMP_DEVICE", "mlu270");
    const ScopedEnvironment other_nram("MLUOP_OMP_NRAM_KB", "123");
    const ScopedEnvironment variable(row.name, row.value);
    EXPECT_EQ(mluOpUpdateContextInformation(handle), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpOmpGetLastError(), message_of("mluOpUpdateContextInformation", row));
    EXPECT_EQ(context_of(handle).device.name, "mlu590");
    EXPECT_EQ(context_of(handle).nram_capacity, size_t{99} * 1024);
    EXPECT_EQ(context_of(handle).atomics_mode, MLUOP_ATOMICS_ALLOWED);
  }
}

// The library reads MLUOP_OMP_SIMD once per process, so the test starts a new process.
TEST(ApiEnvironmentDeathTest, InvalidInstructionSet) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto create = [] {
    setenv("MLUOP_OMP_SIMD", "mmx", 1);
    setenv("MLUOP_LOG_LEVEL", "error", 1);
    mluOpHandle_t handle = nullptr;
    // Every call fails, even after the variable is valid.
    mluOpCreate(&handle);
    setenv("MLUOP_OMP_SIMD", "generic", 1);
    const mluOpStatus_t status = mluOpCreate(&handle);
    std::exit(status == MLUOP_STATUS_BAD_PARAM && handle == nullptr ? 0 : 1);
  };
  EXPECT_EXIT(create(), ::testing::ExitedWithCode(0),
              "\\[mluOpCreate\\] MLUOP_OMP_SIMD is \"mmx\", expected one of: generic");
}

}  // namespace
}  // namespace mluop::test
