// The environment variables of OpenMP, which its runtimes read when the process starts: entries of ctest set them.
// The tests check that each variable is in effect, so that the other tests of the entry run with it.
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

TEST(TeamOpenmpSettings, AreInEffect) {
  const std::string dynamic = variable("OMP_DYNAMIC"), limit = variable("OMP_THREAD_LIMIT"),
                    binding = variable("OMP_PROC_BIND"), stack = variable("OMP_STACKSIZE");
  if (!dynamic.empty()) {
    EXPECT_EQ(omp_get_dynamic() != 0, dynamic == "true");
  }
  if (!limit.empty()) {
    EXPECT_EQ(std::to_string(omp_get_thread_limit()), limit);
  }
  if (!binding.empty()) {
    EXPECT_EQ(omp_get_proc_bind(), binding == "close" ? omp_proc_bind_close : omp_proc_bind_spread);
  }
  if (stack.empty()) return;
  // The variable is in KiB. The runtime and the sanitizer add memory.
  const size_t expected = std::strtoull(stack.c_str(), nullptr, 10) * 1024;
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
