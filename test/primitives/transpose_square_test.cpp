// load_transposed() with rows of any stride and alignment.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/transpose_square_test.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "primitives/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::unpack;

// Writes the columns of a square as fp32. Returns the number of rows.
template <class T>
size_t transpose(const T* from, int64_t stride, float* to) {
  const hn::CappedTag<float, 16> d;
  constexpr size_t kLanes = hn::MaxLanes(hn::CappedTag<float, 16>());
  hn::Vec<decltype(d)> columns[kLanes];
  load_transposed(d, from, stride, columns);
  for (size_t j = 0; j < kLanes; ++j) {
    float* column = to + j * kPacked<T> * kLanes;
    hn::StoreU(unpack<T, 0>(d, columns[j]), d, column);
    if constexpr (kPacked<T> == 2) hn::StoreU(unpack<T, 1>(d, columns[j]), d, column + kLanes);
  }
  return kLanes;
}

size_t transpose_floats(const float* from, int64_t stride, float* to) { return transpose(from, stride, to); }
size_t transpose_halves(const Half* from, int64_t stride, float* to) { return transpose(from, stride, to); }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

HWY_EXPORT(transpose_floats);
HWY_EXPORT(transpose_halves);

// The square ends at an inaccessible page: a read past its end fails.
template <class T, class Make>
void expect_transposed(size_t (*transpose)(const T*, int64_t, float*), const Make& make) {
  constexpr size_t kColumns = sizeof(float) / sizeof(T);
  float to[256 * kColumns];
  const std::vector<T> any(256 * kColumns);
  const size_t rows = transpose(any.data(), 16 * kColumns, to);
  const size_t columns = rows * kColumns;
  for (const size_t stride : {columns, columns + 1, size_t{37}, size_t{1024}}) {
    GuardedBuffer<T> from((rows - 1) * stride + columns, Placement::kAgainstEnd);
    for (size_t i = 0; i < from.size(); ++i) from[i] = make(static_cast<int>(i % 2039));
    transpose(from.data(), static_cast<int64_t>(stride), to);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        EXPECT_EQ(to[column * rows + row], static_cast<float>((row * stride + column) % 2039)) << row << column;
      }
    }
  }
}

TEST(PrimitivesTransposeSquare, Floats) {
  expect_transposed<float>(MLUOP_DISPATCH(transpose_floats), [](int i) { return static_cast<float>(i); });
}

// A half represents every integer up to 2048.
TEST(PrimitivesTransposeSquare, Halves) {
  expect_transposed<mluop::Half>(MLUOP_DISPATCH(transpose_halves),
                                 [](int i) { return f32_to_f16(static_cast<float>(i)); });
}

}  // namespace
}  // namespace mluop::test
#endif
