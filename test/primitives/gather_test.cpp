// gather(): the rows at the indices, and zeros for pairs with a negative index.
#include "primitives/gather.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

constexpr int32_t kRowCount = 50;

// The other index of a skipped pair is out of range: a read of its row would leave the guarded buffer.
TEST(PrimitivesGather, RowsByIndex) {
  const Handle handle;
  Context& context = *handle;
  auto random = seeded_random();
  for (const int threads : {1, 2, 7}) {
    const ScopedThreads scoped(threads);
    context.reserve(0);
    for (const size_t count : {0, 1, 3, 5000}) {
      for (const size_t columns : {1, 3, 16, 33}) {
        const GuardedBuffer<uint16_t> from(kRowCount * columns, Placement::kAgainstEnd);
        std::iota(from.data(), from.data() + from.size(), uint16_t{1});
        const GuardedBuffer<int32_t> indices(count, Placement::kAgainstEnd),
            paired_indices(count, Placement::kAgainstEnd);
        std::vector<uint16_t> expected;
        for (size_t i = 0; i < count; ++i) {
          const auto kind = random() % 4;
          indices[i] = kind == 0 ? -1 : kind == 1 ? INT32_MAX : static_cast<int32_t>(random() % kRowCount);
          paired_indices[i] = kind == 1 ? INT32_MIN : 7;
          for (size_t j = 0; j < columns; ++j) {
            expected.push_back(kind < 2 ? uint16_t{0} : from[static_cast<size_t>(indices[i]) * columns + j]);
          }
        }
        const GuardedBuffer<uint16_t> to(count * columns, Placement::kMisaligned);
        gather(context, {static_cast<int64_t>(count), static_cast<int64_t>(columns * sizeof(uint16_t)),
                         indices.data(), paired_indices.data(), from.data(), to.data()});
        EXPECT_EQ(to.values(), expected) << count << " rows of " << columns;
        EXPECT_TRUE(to.intact());
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
