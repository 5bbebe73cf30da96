// f32_to_f16(): the nearest half, at every position of a vector and of a task.
#include "ops/indice_convolution_forward/device/f32_to_f16.h"

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
  struct Sizes {
    size_t rows, columns, stride;
  };
  for (const int threads : {1, 3}) {
    const ScopedThreads scoped(threads);
    context.reserve(0);
    for (const Sizes sizes : {Sizes{0, 3, 3}, {1, 1, 1}, {3, 15, 17}, {7, 16, 16}, {5, 17, 40}, {5001, 10, 13}}) {
      SCOPED_TRACE(sizes.columns);
      const GuardedBuffer<float> from(sizes.rows * sizes.columns, Placement::kAgainstEnd);
      const size_t extent = sizes.rows == 0 ? 0 : (sizes.rows - 1) * sizes.stride + sizes.columns;
      const GuardedBuffer<mluop::Half> to(extent, Placement::kMisaligned);
      std::vector<uint16_t> expected, found;
      for (size_t i = 0; i < extent; ++i) expected.push_back(to[i].bits);
      for (size_t i = 0; i < sizes.rows * sizes.columns; ++i) {
        from[i] = i % 3 == 0 ? kSpecial[random() % std::size(kSpecial)]
                             : (static_cast<float>(random() % 200001) - 1e5F) / 1001;
        expected[i / sizes.columns * sizes.stride + i % sizes.columns] = to_f16(from[i]).bits;
      }
      indice_convolution_forward::device::f32_to_f16(
          context, {static_cast<int64_t>(sizes.rows), static_cast<int64_t>(sizes.columns), from.data(), to.data(),
                    static_cast<int64_t>(sizes.stride)});
      for (size_t i = 0; i < extent; ++i) found.push_back(to[i].bits);
      EXPECT_EQ(found, expected);
      EXPECT_TRUE(to.intact());
    }
  }
}

}  // namespace
}  // namespace mluop::test
