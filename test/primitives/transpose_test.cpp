// transpose(): every element at its position, for every order of dimensions.
#include "primitives/transpose.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/api.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

using Dims = std::array<int64_t, 3>;

// Dimension `order[i]` of the source becomes dimension i of the copy.
template <class T>
void expect_transposed(const Dims& dims, const std::array<size_t, 3>& order) {
  const Handle handle;
  Context& context = *handle;
  context.reserve(0);
  const Dims strides{dims[1] * dims[2], dims[2], 1};
  const auto count = static_cast<size_t>(dims[0] * strides[0]);
  const GuardedBuffer<T> from(count, Placement::kAgainstEnd);
  std::iota(from.data(), from.data() + count, T{0});
  const GuardedBuffer<T> to(count, Placement::kMisaligned);
  const TransposeArgs args{{dims[order[0]], dims[order[1]], dims[order[2]]},
                           {strides[order[0]], strides[order[1]], strides[order[2]]},
                           sizeof(T),
                           from.data(),
                           to.data()};
  transpose(context, args);
  size_t at = 0;
  for (int64_t i = 0; i < args.dims[0]; ++i) {
    for (int64_t j = 0; j < args.dims[1]; ++j) {
      for (int64_t l = 0; l < args.dims[2]; ++l) {
        const int64_t position = i * args.strides[0] + j * args.strides[1] + l * args.strides[2];
        ASSERT_EQ(to[at++], static_cast<T>(position)) << i << ' ' << j << ' ' << l;
      }
    }
  }
  EXPECT_TRUE(to.intact());
}

TEST(PrimitivesTranspose, OrdersAndSizes) {
  for (const int threads : {1, 3}) {
    const ScopedThreads scoped(threads);
    for (const Dims& dims : {Dims{1, 1, 1}, Dims{2, 3, 5}, Dims{64, 27, 17}, Dims{1, 300, 40}, Dims{0, 4, 4}}) {
      for (const std::array<size_t, 3>& order :
           {std::array<size_t, 3>{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
        expect_transposed<uint16_t>(dims, order);
        expect_transposed<uint32_t>(dims, order);
      }
    }
  }
}

// Each element is loaded once and stored once.
TEST(PrimitivesTranspose, Traffic) {
  const ScopedThreads threads(3);
  const GuardedBuffer<uint32_t> from(64 * 27 * 17), to(from.size());
  const auto bytes = static_cast<int64_t>(from.byte_count());
  for (const Dims& strides : {Dims{27 * 17, 17, 1}, Dims{27 * 17, 1, 17}, Dims{1, 17 * 64, 64}}) {
    SCOPED_TRACE(strides[1]);
    const Dims dims = strides[1] == 1 ? Dims{64, 17, 27} : Dims{64, 27, 17};
    const Handle handle;
    Context& context = *handle;
    context.reserve(0);
    require(mluOpOmpSetStatistics(handle, 1));
    transpose(context, {dims, strides, sizeof(uint32_t), from.data(), to.data()});
    int64_t loaded = 0, stored = 0;
    for (int task = 0; task < 3; ++task) {
      const auto statistics = task_statistics(handle, 0, task);
      loaded += statistics.bytes_loaded;
      stored += statistics.bytes_stored;
    }
    EXPECT_EQ(loaded, bytes);
    EXPECT_EQ(stored, bytes);
  }
}

}  // namespace
}  // namespace mluop::test
