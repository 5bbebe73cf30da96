// The environment variables of OpenMP, which its runtimes read when the process starts: entries of ctest set them.
// Checks that a variable is in effect, so that the other tests of its entry run as the entry states.
#include <gtest/gtest.h>
#include <omp.h>
#include <pthread.h>

#include <cstdlib>
#include <string>

#include "support/sanitizers.h"

namespace mluop::test {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The size of the stack of the calling thread.
size_t stack_bytes() {
  pthread_attr_t attributes;
  void* address = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  pthread_attr_getstack(&attributes, &address, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

TEST(TeamOpenmpSettings, Dynamic) {
  if (variable("OMP_DYNAMIC").empty()) GTEST_SKIP() << "OMP_DYNAMIC is not set";
  EXPECT_EQ(omp_get_dynamic() != 0, variable("OMP_DYNAMIC") == "true");
}

TEST(TeamOpenmpSettings, ThreadLimit) {
  if (variable("OMP_THREAD_LIMIT").empty()) GTEST_SKIP() << "OMP_THREAD_LIMIT is not set";
  EXPECT_EQ(std::to_string(omp_get_thread_limit()), variable("OMP_THREAD_LIMIT"));
}

TEST(TeamOpenmpSettings, ProcBind) {
  if (variable("OMP_PROC_BIND").empty()) GTEST_SKIP() << "OMP_PROC_BIND is not set";
  EXPECT_EQ(omp_get_proc_bind(),
            variable("OMP_PROC_BIND") == "close" ? omp_proc_bind_close : omp_proc_bind_spread);
}

// OMP_STACKSIZE is in KiB here. The runtime and the sanitizer add memory of their own.
TEST(TeamOpenmpSettings, StackSize) {
  const std::string value = variable("OMP_STACKSIZE");
  if (value.empty()) GTEST_SKIP() << "OMP_STACKSIZE is not set";
  const size_t expected = std::strtoull(value.c_str(), nullptr, 10) * 1024;
  size_t found = 0;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) found = stack_bytes();
  EXPECT_GE(found, expected / 2);
  if (!kSanitizer) {
    EXPECT_LE(found, expected + (size_t{64} << 10));
  }
}

}  // namespace
}  // namespace mluop::test
