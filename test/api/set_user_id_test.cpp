// Environment variables in a program with the set-user-ID bit: its user must not choose what it writes.
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "mlu_op.h"
#include "support/child_process.h"
#include "support/environment.h"
#include "support/temporary_folder.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;

constexpr int kNotSecure = 77;

// Runs in the child process of the test below.
TEST(ApiSetUserId, DISABLED_CreatesAHandle) {
  if (getauxval(AT_SECURE) == 0) _exit(kNotSecure);
  mluOpHandle_t handle = nullptr;
  _exit(mluOpCreate(&handle) == MLUOP_STATUS_SUCCESS ? 0 : 1);
}

TEST(ApiSetUserId, IgnoresTheEnvironment) {
  if (geteuid() != 0) GTEST_SKIP() << "requires root";
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  const fs::path program = folder.path() / "program";
  fs::copy_file("/proc/self/exe", program);
  fs::permissions(program,
                  fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec | fs::perms::set_uid);
  // An invalid value, which fails the creation of a handle wherever it is read.
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", "none");
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(kNobody) != 0) _exit(kNotSecure);
    execl(program.c_str(), program.c_str(), "--gtest_filter=ApiSetUserId.DISABLED_*",
          "--gtest_also_run_disabled_tests", nullptr);
    _exit(kNotSecure);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotSecure) GTEST_SKIP() << "set-user-ID programs cannot be run here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace mluop::test
