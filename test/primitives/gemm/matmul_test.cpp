// matmul() compared to its definition, on whole numbers: sums are exact in every order.
#include "primitives/gemm/matmul.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/boundary.h"
#include "support/element.h"
#include "support/guarded_buffer.h"
#include "support/labels.h"
#include "support/team_context.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

struct Sizes {
  int64_t rows, inner, columns;
};

// Sizes around MR, the lanes of a vector, NR and KC of the microkernels.
constexpr Sizes kSizes[] = {{0, 3, 3},     {1, 1, 1},   {1, 7, 16},     {5, 16, 17},   {6, 3, 64},   {7, 64, 65},
                            {11, 5, 31},   {12, 5, 32}, {13, 33, 33},   {25, 17, 47},  {24, 9, 48},  {49, 2, 63},
                            {100, 1, 129}, {3, 513, 5}, {30, 1100, 70}, {5000, 8, 24}, {9, 600, 300}};

template <class T>
GuardedBuffer<T> random_matrix(int64_t count, Placement placement, std::mt19937& random) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) {
    reference::put(static_cast<double>(random() % 17) - 8, &value);
  }
  return GuardedBuffer<T>(values, placement);
}

template <class T>
void expect_product(Context& context, const Sizes& sizes, Placement placement, std::mt19937& random) {
  const auto [rows, inner, columns] = sizes;
  SCOPED_TRACE(product_text({rows, inner, columns}));
  const auto a = random_matrix<T>(rows * inner, placement, random);
  const auto b = random_matrix<T>(inner * columns, placement, random);
  const GuardedBuffer<float> result(static_cast<size_t>(rows * columns), placement);
  EXPECT_NO_THROW(matmul_tiling(context, kDtype<T>, inner, columns));
  matmul(context, {kDtype<T>, rows, inner, columns, a.data(), b.data(), result.data()});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < inner; ++l) {
        sum += to_f32(a[static_cast<size_t>(i * inner + l)]) * to_f32(b[static_cast<size_t>(l * columns + j)]);
      }
      ASSERT_EQ(result[static_cast<size_t>(i * columns + j)], sum) << i << ' ' << j;
    }
  }
  EXPECT_TRUE(result.intact() && a.intact() && b.intact());
}

TEST(PrimitivesMatmul, SizesThreadsAndPlacements) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  for (const auto& [threads, placement] : {std::pair{1, Placement::kAgainstEnd},
                                           {2, Placement::kMisaligned},
                                           {7, Placement::kAligned},
                                           {7, Placement::kAgainstEnd}}) {
    TeamContext context(threads);
    for (const Sizes& sizes : kSizes) {
      expect_product<float>(context, sizes, placement, random);
      expect_product<Half>(context, sizes, placement, random);
      expect_product<BFloat16>(context, sizes, placement, random);
    }
  }
}

TEST(PrimitivesMatmul, SmallNram) {
  auto random = seeded_random();
  for (const char* kib : {"1", "2", "16"}) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    TeamContext context(2);
    expect_product<float>(context, {30, 700, 70}, Placement::kAligned, random);
    expect_product<Half>(context, {30, 700, 70}, Placement::kAligned, random);
  }
}

// The smallest tile does not fit: both functions throw, and the result is unchanged.
TEST(PrimitivesMatmul, NramOfNoTile) {
  TeamContext context(1);
  context.nram_capacity = 64;
  const float one = 1;
  float result[] = {7};
  EXPECT_THROW(matmul_tiling(context, MLUOP_DTYPE_FLOAT, 1, 1), Failure);
  EXPECT_THROW(matmul(context, {MLUOP_DTYPE_FLOAT, 1, 1, 1, &one, &one, result}), Failure);
  EXPECT_EQ(result[0], 7);
}

}  // namespace
}  // namespace mluop::test
