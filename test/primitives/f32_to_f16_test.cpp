// f32_to_f16(): the nearest half, at every position of a vector and of a task.
#include "primitives/f32_to_f16.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"
#include "support/half.h"

namespace mluop::test {
namespace {

TEST(OpsF32ToF16, RoundsToNearestEven) {
  const Handle handle;
  Context& context = *handle;
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
    context.reserve(0);
    for (const size_t count : {0, 1, 15, 16, 17, 85, 50010}) {
      SCOPED_TRACE(count);
      const GuardedBuffer<float> from(count, Placement::kAgainstEnd);
      const GuardedBuffer<mluop::Half> to(count, Placement::kMisaligned);
      std::vector<uint16_t> expected, found;
      for (size_t i = 0; i < count; ++i) {
        from[i] = i % 3 == 0 ? kSpecial[random() % std::size(kSpecial)]
                             : (static_cast<float>(random() % 200001) - 1e5F) / 1001;
        expected.push_back(to_f16(from[i]).bits);
      }
      f32_to_f16(context, {static_cast<int64_t>(count), from.data(), to.data()});
      for (size_t i = 0; i < count; ++i) found.push_back(to[i].bits);
      EXPECT_EQ(found, expected);
      EXPECT_TRUE(to.intact());
    }
  }
}

}  // namespace
}  // namespace mluop::test
