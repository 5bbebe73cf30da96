// transpose(): every element at its position, for every order of dimensions; each is loaded and stored once.
#include "primitives/memory/transpose.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/guarded_buffer.h"
#include "support/team_context.h"

namespace mluop::test {
namespace {

using Dims = std::array<int64_t, 3>;

// Dimension `order[i]` of the source becomes dimension i of the copy.
template <class T>
void expect_transposed(Context& context, const Dims& dims, const std::array<size_t, 3>& order) {
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
  context.statistics.begin_call();
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
  int64_t loaded = 0, stored = 0;
  for (const TaskStatistics& task : context.statistics.launches().at(0).tasks) {
    loaded += task.bytes_loaded;
    stored += task.bytes_stored;
  }
  EXPECT_EQ(loaded, static_cast<int64_t>(from.byte_count()));
  EXPECT_EQ(stored, static_cast<int64_t>(from.byte_count()));
}

TEST(PrimitivesTranspose, OrdersAndSizes) {
  for (const int threads : {1, 3}) {
    TeamContext context(threads);
    context.statistics.enable(true);
    for (const Dims& dims : {Dims{1, 1, 1}, Dims{2, 3, 5}, Dims{64, 27, 17}, Dims{1, 300, 40}, Dims{0, 4, 4}}) {
      for (const std::array<size_t, 3>& order :
           {std::array<size_t, 3>{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
        expect_transposed<uint16_t>(context, dims, order);
        expect_transposed<uint32_t>(context, dims, order);
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
