// The environment variables of mlu_op.h, as mluOpCreate and mluOpUpdateContextInformation read them. Levels of the
// log: log_test.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/auxv.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support/api.h"
#include "support/child_process.h"
#include "support/environment.h"
#include "support/temporary_folder.h"
#include "team/context.h"

namespace mluop::test {
namespace {

const mluOpContext& context_of(const Handle& handle) { return *mluOpHandle_t{handle}; }

TEST(ApiEnvironment, DevicesAndNram) {
  constexpr struct {
    const char *device, *nram;
    const char* name;
    size_t nram_kib;
    bool is_200_series;
  } kTable[] = {
      {nullptr, nullptr, "mlu370", 640, false},
      {"", "", "mlu370", 640, false},
      {"mlu370", nullptr, "mlu370", 640, false},
      {"mlu590", nullptr, "mlu590", 384, false},
      {"mlu290", nullptr, "mlu290", 384, true},
      {"mlu270", nullptr, "mlu270", 384, true},
      {nullptr, "1", "mlu370", 1, false},
      {"mlu590", "0064", "mlu590", 64, false},
      {nullptr, "1048576", "mlu370", 1048576, false},
  };
  EXPECT_EQ(std::size(kDeviceProfiles), 4U);
  for (const auto& row : kTable) {
    const ScopedEnvironment device("MLUOP_OMP_DEVICE", row.device), nram("MLUOP_OMP_NRAM_KB", row.nram);
    const Handle handle;
    EXPECT_EQ(context_of(handle).device.name, row.name);
    EXPECT_EQ(context_of(handle).nram_capacity, row.nram_kib * 1024);
    EXPECT_EQ(context_of(handle).device.is_200_series, row.is_200_series);
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
    // The limit applies to both algorithms.
    for (const auto algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
      EXPECT_EQ(context_of(Handle(algorithm)).thread_count(count + 1), count);
    }
  }
}

TEST(ApiEnvironment, UpdateReadsAgain) {
  const Handle handle;
  require(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED));
  int place = 0;
  const auto queue = reinterpret_cast<cnrtQueue_t>(&place);
  require(mluOpSetQueue(handle, queue));
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", "mlu290"), nram("MLUOP_OMP_NRAM_KB", "77");
  EXPECT_NE(context_of(handle).device.name, "mlu290");
  ASSERT_EQ(mluOpUpdateContextInformation(handle), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(context_of(handle).device.name, "mlu290");
  EXPECT_EQ(context_of(handle).nram_capacity, size_t{77} * 1024);
  EXPECT_EQ(context_of(handle).atomics_mode, MLUOP_ATOMICS_ALLOWED);
  EXPECT_EQ(context_of(handle).queue, queue);
}

TEST(ApiEnvironment, InvalidVariables) {
  constexpr auto kFormats = "a number from 0 to 2";
  const struct {
    const char *name, *expected;
    std::vector<std::string> values;
  } kTable[] = {
      {"MLUOP_OMP_DEVICE",
       "one of: mlu270, mlu290, mlu370, mlu590",
       {"mlu100", "MLU370", "mlu", "370", "mlu37", "mlu3700", " mlu370", "mlu370 "}},
      {"MLUOP_OMP_NRAM_KB",
       "a whole number from 1 to 1048576",
       {"0", "1048577", "-1", "+64", "64k", " 64", "64.5", "0x40", "lots", "18446744073709551617"}},
      {"MLUOP_OMP_MAX_THREADS", "a whole number from 1 to 4096", {"0", "4097", "2x"}},
      {"MLUOP_LOG_LEVEL", "one of: debug, info, warn, error, off", {"trace", "ERROR", "5"}},
      {"MLUOP_OMP_ALGORITHM", "one of: native, device", {"Device", "atomics", "1", "native "}},
      {"MLUOP_GEN_CASE", "a number from 0 to 3", {"4", "-1", "02", "on"}},
      {"MLUOP_GEN_CASE_DUMP_DATA", kFormats, {"3"}},
      {"MLUOP_GEN_CASE_DUMP_DATA_OUTPUT", kFormats, {"3"}},
      {"MLUOP_GEN_CASE_DUMP_DATA_FILE", "a number from 0 to 1", {"2"}},
  };
  const Handle handle;
  const std::string_view device = context_of(handle).device.name;
  const size_t nram = context_of(handle).nram_capacity;
  // A failing update does not apply the valid variables either.
  const ScopedEnvironment other_device("MLUOP_OMP_DEVICE", "mlu270"), other_nram("MLUOP_OMP_NRAM_KB", "123");
  int place = 0;
  const auto before = reinterpret_cast<mluOpHandle_t>(&place);
  for (const auto& row : kTable) {
    for (const std::string& value : row.values) {
      const std::string message = std::string(row.name) + " is \"" + value + "\", expected " + row.expected;
      SCOPED_TRACE(message);
      const ScopedEnvironment variable(row.name, value.c_str());
      mluOpHandle_t created = before;
      EXPECT_EQ(mluOpCreate(&created), MLUOP_STATUS_BAD_PARAM);
      EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpCreate] " + message);
      EXPECT_EQ(created, before);
      EXPECT_EQ(mluOpUpdateContextInformation(handle), MLUOP_STATUS_BAD_PARAM);
      EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpUpdateContextInformation] " + message);
      EXPECT_EQ(context_of(handle).device.name, device);
      EXPECT_EQ(context_of(handle).nram_capacity, nram);
    }
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

constexpr int kNotSecure = 77;

// Runs in the child process of the test below.
TEST(ApiSetUserId, DISABLED_CreatesAHandle) {
  if (getauxval(AT_SECURE) == 0) _exit(kNotSecure);
  mluOpHandle_t handle = nullptr;
  _exit(mluOpCreate(&handle) == MLUOP_STATUS_SUCCESS ? 0 : 1);
}

// In a program with the set-user-ID bit, the user must not choose which files it writes.
TEST(ApiSetUserId, IgnoresTheEnvironment) {
  if (geteuid() != 0) GTEST_SKIP() << "requires root";
  using std::filesystem::perms;
  constexpr perms kPermissions = perms::owner_all | perms::group_exec | perms::others_exec;
  const TemporaryFolder folder;
  permissions(folder.path(), kPermissions);
  const std::filesystem::path program = folder.path() / "program";
  copy_file("/proc/self/exe", program);
  permissions(program, kPermissions | perms::set_uid);
  // An invalid value: creating a handle fails if the variable is read.
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", "none");
  const int status = exit_status_of_child([&] {
    if (setuid(kNobody) == 0) {
      execl(program.c_str(), program.c_str(), "--gtest_filter=ApiSetUserId.DISABLED_*",
            "--gtest_also_run_disabled_tests", nullptr);
    }
    _exit(kNotSecure);
    return false;
  });
  if (status == kNotSecure) GTEST_SKIP() << "set-user-ID programs cannot be run here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mluop::test
