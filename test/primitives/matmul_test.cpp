// matmul() compared to its definition, on whole numbers: sums are exact in every order.
#include "primitives/matmul.h"

#include <gtest/gtest.h>

#include "core/boundary.h"
#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"
#include "support/half.h"

namespace mluop::test {
namespace {

struct Sizes {
  int64_t rows, inner, columns;
};

// Around MR, the lanes of a vector, NR and KC of the microkernels.
constexpr Sizes kSizes[] = {{0, 3, 3},     {1, 1, 1},   {1, 7, 16},     {5, 16, 17},   {6, 3, 64},   {7, 64, 65},
                            {11, 5, 31},   {12, 5, 32}, {13, 33, 33},   {25, 17, 47},  {24, 9, 48},  {49, 2, 63},
                            {100, 1, 129}, {3, 513, 5}, {30, 1100, 70}, {5000, 8, 24}, {9, 600, 300}};

template <class T>
T make(int value);
template <>
float make(int value) {
  return static_cast<float>(value);
}
template <>
Half make(int value) {
  return to_f16(value);
}

template <class T>
GuardedBuffer<T> random_matrix(int64_t count, Placement placement, std::mt19937& random) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = make<T>(static_cast<int>(random() % 17) - 8);
  return GuardedBuffer<T>(values, placement);
}

template <class T>
void expect_product(const Sizes& sizes, Placement placement, std::mt19937& random) {
  SCOPED_TRACE(std::to_string(sizes.rows) + " x " + std::to_string(sizes.inner) + " x " +
               std::to_string(sizes.columns));
  const Handle handle;
  Context& context = *handle;
  const auto a = random_matrix<T>(sizes.rows * sizes.inner, placement, random);
  const auto b = random_matrix<T>(sizes.inner * sizes.columns, placement, random);
  MatmulArgs args{sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT,
                  sizes.rows,
                  sizes.inner,
                  sizes.columns,
                  a.data(),
                  b.data(),
                  nullptr};
  const GuardedBuffer<float> result(static_cast<size_t>(sizes.rows * sizes.columns), placement);
  args.result = result.data();
  context.reserve(0);
  EXPECT_NO_THROW(matmul_tiling(context, args.dtype, args.inner, args.columns));
  matmul(context, args);
  for (int64_t i = 0; i < sizes.rows; ++i) {
    for (int64_t j = 0; j < sizes.columns; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < sizes.inner; ++l) {
        sum += to_f32(a[static_cast<size_t>(i * sizes.inner + l)]) *
               to_f32(b[static_cast<size_t>(l * sizes.columns + j)]);
      }
      ASSERT_EQ(result[static_cast<size_t>(i * sizes.columns + j)], sum) << i << ' ' << j;
    }
  }
  EXPECT_TRUE(result.intact() && a.intact() && b.intact());
}

TEST(PrimitivesMatmul, SizesThreadsAndPlacements) {
  auto random = seeded_random();
  for (const int threads : {1, 2, 7}) {
    const ScopedThreads scoped(threads);
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
      for (const Sizes& sizes : kSizes) {
        expect_product<float>(sizes, placement, random);
        expect_product<Half>(sizes, placement, random);
      }
    }
  }
}

TEST(PrimitivesMatmul, SmallNram) {
  auto random = seeded_random();
  for (const char* kib : {"1", "2", "16"}) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_product<float>({30, 700, 70}, Placement::kAligned, random);
    expect_product<Half>({30, 700, 70}, Placement::kAligned, random);
  }
}

// The smallest tile does not fit: both functions throw, and the result is not written.
TEST(PrimitivesMatmul, NramOfNoTile) {
  const Handle handle;
  Context& context = *handle;
  context.nram_capacity = 64;
  context.reserve(0);
  const float one = 1;
  float result[] = {7};
  EXPECT_THROW(matmul_tiling(context, MLUOP_DTYPE_FLOAT, 1, 1), Failure);
  EXPECT_THROW(matmul(context, {MLUOP_DTYPE_FLOAT, 1, 1, 1, &one, &one, result}), Failure);
  EXPECT_EQ(result[0], 7);
}

}  // namespace
}  // namespace mluop::test
