// fill_zero(): writes every byte of its range and no other.
#include "primitives/memory/fill.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/guarded_buffer.h"
#include "support/labels.h"
#include "support/team_context.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

TEST(PrimitivesFill, AllBytesAndNoOther) {
  MLUOP_LABELS(kSlow);
  constexpr size_t kStreamed = (64 << 20) + 5;
  for (const int threads : {1, 7, 64}) {
    TeamContext context(threads);
    for (const auto algorithm : kAlgorithms) {
      context.algorithm = algorithm;
      for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{100000},
                                 threads == 7 ? kStreamed : 5000001}) {
        const GuardedBuffer<uint8_t> memory(bytes, Placement::kMisaligned);
        fill_zero(context, memory.data(), static_cast<int64_t>(bytes));
        EXPECT_EQ(memory.values(), std::vector<uint8_t>(bytes)) << bytes;
        EXPECT_TRUE(memory.intact()) << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
