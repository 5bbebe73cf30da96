// fill_zero(): writes every byte of its range and no other.
#include "primitives/fill.h"

#include <gtest/gtest.h>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

TEST(PrimitivesFill, AllBytesAndNoOther) {
  const Handle handle;
  Context& context = *handle;
  for (const int threads : {1, 7, 64}) {
    const ScopedThreads scoped(threads);
    context.reserve(0);
    for (const size_t bytes : {0, 1, 63, 64, 65, 100000, 5000001, (64 << 20) + 5}) {
      const GuardedBuffer<uint8_t> memory(bytes, Placement::kMisaligned);
      fill_zero(context, memory.data(), static_cast<int64_t>(bytes));
      EXPECT_EQ(memory.values(), std::vector<uint8_t>(bytes)) << bytes;
      EXPECT_TRUE(memory.intact()) << bytes;
    }
  }
}

}  // namespace
}  // namespace mluop::test
