// fill_zero(): writes every byte of its range and no other.
#include "primitives/fill.h"

#include <gtest/gtest.h>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

void expect_zeros(mluOpOmpAlgorithm_t algorithm, size_t bytes) {
  const Handle handle(algorithm);
  Context& context = *handle;
  context.reserve(0);
  const GuardedBuffer<uint8_t> memory(bytes, Placement::kMisaligned);
  fill_zero(context, memory.data(), static_cast<int64_t>(bytes));
  EXPECT_EQ(memory.values(), std::vector<uint8_t>(bytes)) << bytes;
  EXPECT_TRUE(memory.intact()) << bytes;
}

TEST(PrimitivesFill, AllBytesAndNoOther) {
  for (const int threads : {1, 7, 64}) {
    const ScopedThreads scoped(threads);
    for (const size_t bytes : {0, 1, 63, 64, 65, 100000, 5000001, (64 << 20) + 5}) {
      for (const auto algorithm : kAlgorithms) expect_zeros(algorithm, bytes);
    }
  }
}

}  // namespace
}  // namespace mluop::test
