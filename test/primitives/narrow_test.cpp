// narrow(): the half that is nearest, at every place of a vector and of a task.
#include "primitives/narrow.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"
#include "support/half.h"

namespace mluop::test {
namespace {

TEST(PrimitivesNarrow, RoundsToNearestEven) {
  const Handle handle;
  auto random = seeded_random();
  constexpr float kSpecial[] = {0.0F,
                                -0.0F,
                                65519.0F,
                                65520.0F,
                                -65520.0F,
                                0x1p-24F,
                                0x1.8p-24F,
                                0x1p-25F,
                                1.0F + 0x1p-11F,
                                1.0F + 0x3p-11F,
                                std::numeric_limits<float>::infinity()};
  for (const int threads : {1, 3}) {
    const ScopedThreads scoped(threads);
    for (const size_t count : {0, 1, 15, 16, 17, 50001}) {
      const GuardedBuffer<float> from(count, Placement::kAgainstEnd);
      std::vector<uint16_t> expected, found;
      for (size_t i = 0; i < count; ++i) {
        from[i] = i % 3 == 0 ? kSpecial[random() % std::size(kSpecial)]
                             : (static_cast<float>(random() % 200001) - 1e5F) / 1001;
        expected.push_back(half_of(from[i]).bits);
      }
      const GuardedBuffer<mluop::Half> to(count, Placement::kMisaligned);
      narrow(*handle, from.data(), static_cast<int64_t>(count), to.data());
      for (size_t i = 0; i < count; ++i) found.push_back(to[i].bits);
      EXPECT_EQ(found, expected) << count;
      EXPECT_TRUE(to.intact()) << count;
    }
  }
}

}  // namespace
}  // namespace mluop::test
