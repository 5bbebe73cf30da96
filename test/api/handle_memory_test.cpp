// The memory of the process does not grow while handles are created, used and destroyed.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>

#include "support/environment.h"
#include "support/operator_call.h"
#include "support/sanitizers.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kHandles = 10000;

// Bytes that malloc has handed out; its caches of freed blocks count.
size_t allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

size_t resident_bytes() {
  size_t total = 0;
  size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Less than a byte for each handle may be new: cached blocks. A page of resident memory for each handle would be
// 40 MiB.
constexpr size_t kResidentTolerance = size_t{4} << 20;

void expect_no_growth(mluOpOmpAlgorithm_t algorithm, const cases::Case& made) {
  OperatorCall call(nullptr, made);
  const auto use_handles = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const Handle handle(algorithm);
      call.arguments.handle = handle;
      require(call.run());
    }
  };
  use_handles(100);
  const size_t allocated_before = allocated_bytes();
  const size_t resident_before = resident_bytes();
  use_handles(kHandles);
  EXPECT_LT(allocated_bytes(), allocated_before + kHandles);
  EXPECT_LE(resident_bytes(), resident_before + kResidentTolerance);
}

TEST(ApiHandleMemory, DoesNotGrow) {
  if (kSanitizer) GTEST_SKIP() << "sanitizers replace malloc; AddressSanitizer reports leaks of the other tests";
  const cases::Case made = make_case(
      "voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
      {{"batch_size", 1}, {"num_points", 20}, {"num_channels", 3}, {"num_voxel_x", 4}, {"num_voxel_y", 4}});
  const ScopedThreads tasks(2);
  const ScopedEnvironment max_threads("MLUOP_OMP_MAX_THREADS", "1");
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "64");
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    expect_no_growth(algorithm, made);
  }
}

}  // namespace
}  // namespace mluop::test
