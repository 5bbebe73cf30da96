// The element-by-element operators: examples, special values, exact logarithms, strides, and outputs in place of
// inputs. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "mlu_op_omp.h"
#include "support/api.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
using Dims = std::vector<int64_t>;

Dims shape_of(size_t count) { return {static_cast<int64_t>(count)}; }

// run(handle, x descriptor, x, y descriptor, y)
template <class Y = float, class X, class Run>
std::vector<Y> mapped(const std::vector<X>& x, const Run& run, mluOpDataType_t from = kFloat,
                      mluOpDataType_t to = kFloat, size_t parts = 1) {
  const Handle handle;
  const Descriptor x_desc(from, shape_of(x.size() / parts)), y_desc(to, shape_of(x.size() / parts));
  std::vector<Y> y(x.size() / parts, Y{77});
  EXPECT_EQ(run(handle, x_desc, x.data(), y_desc, y.data()), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return y;
}

auto log_to(mluOpLogBase_t base) {
  return
      [base](mluOpHandle_t handle, mluOpTensorDescriptor_t x_desc, const void* x, mluOpTensorDescriptor_t y_desc,
             void* y) { return mluOpLog(handle, MLUOP_COMPUTATION_FAST, base, x_desc, x, y_desc, y); };
}

auto sqrt_of() {
  return [](mluOpHandle_t handle, mluOpTensorDescriptor_t x_desc, const void* x, mluOpTensorDescriptor_t y_desc,
            void* y) { return mluOpSqrt(handle, MLUOP_COMPUTATION_HIGH_PRECISION, x_desc, x, y_desc, y); };
}

// Equal numbers, signs of zeros included, or both NaN.
template <class T>
void expect_equal(const std::vector<T>& found, const std::vector<T>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const double a = found[i], b = expected[i];
    EXPECT_TRUE((std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)))
        << i << ": found " << a << ", expected " << b;
  }
}

TEST(OpsElementwise, Abs) {
  expect_equal(mapped(std::vector<float>{-1.5F, -0.0F, 2, -kInfinity, kNaN}, mluOpAbs),
               {1.5F, 0, 2, kInfinity, kNaN});
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(mapped<int32_t>(std::vector<int32_t>{-5, 7, kLeast, kLeast + 1, 16777217}, mluOpAbs, MLUOP_DTYPE_INT32,
                            MLUOP_DTYPE_INT32),
            (std::vector<int32_t>{5, 7, kLeast, -(kLeast + 1), 16777217}));
  expect_equal(
      mapped(std::vector<float>{3, -4, 2e38F, 2e38F, 1e-30F, 1e-30F, kNaN, -kInfinity, kNaN, 1, 3e38F, 3e38F},
             mluOpAbs, MLUOP_DTYPE_COMPLEX_FLOAT, kFloat, 2),
      {5, 2.82842712e38F, 1.41421356e-30F, kInfinity, kNaN, kInfinity});
  // The payload of a signaling NaN.
  const std::vector<uint32_t> bits = mapped<uint32_t>(std::vector<uint32_t>{0xFF812345, 0x80000001}, mluOpAbs);
  EXPECT_EQ(bits, (std::vector<uint32_t>{0x7F812345, 1}));
  const std::vector<uint16_t> half = mapped<uint16_t>(std::vector<uint16_t>{0xFC01, 0x8000, 0x3C00}, mluOpAbs,
                                                      MLUOP_DTYPE_HALF, MLUOP_DTYPE_HALF);
  EXPECT_EQ(half, (std::vector<uint16_t>{0x7C01, 0, 0x3C00}));
}

TEST(OpsElementwise, Log) {
  const std::vector<float> specials = {0, -0.0F, -1, -0x1p-149F, kInfinity, -kInfinity, kNaN, 1};
  for (const mluOpLogBase_t base : {MLUOP_LOG_E, MLUOP_LOG_2, MLUOP_LOG_10}) {
    expect_equal(mapped(specials, log_to(base)), {-kInfinity, -kInfinity, kNaN, kNaN, kInfinity, kNaN, kNaN, 0});
  }
  std::vector<float> powers, exponents;
  for (int i = -149; i <= 127; ++i) {
    powers.push_back(std::ldexp(1.0F, i));
    exponents.push_back(static_cast<float>(i));
  }
  expect_equal(mapped(powers, log_to(MLUOP_LOG_2)), exponents);
  powers = {1, 10, 100, 1000, 1e4F, 1e5F, 1e6F, 1e7F, 1e8F, 1e9F, 1e10F};
  exponents = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  expect_equal(mapped(powers, log_to(MLUOP_LOG_10)), exponents);
}

// The result lies within 0.501 units of its last place, over all binades and close to 1.
TEST(OpsElementwise, AccuracyOfLog) {
  std::vector<float> x;
  for (uint32_t bits = 1; bits < 0x7F800000; bits += 104729) x.push_back(std::bit_cast<float>(bits));
  for (uint32_t i = 0; i < 2000; ++i) x.push_back(std::bit_cast<float>(0x3F7FFC00 + i));
  for (const mluOpLogBase_t base : {MLUOP_LOG_E, MLUOP_LOG_2, MLUOP_LOG_10}) {
    const std::vector<float> y = mapped(x, log_to(base));
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double from = x[i];
      const double exact = base == MLUOP_LOG_E   ? std::log(from)
                           : base == MLUOP_LOG_2 ? std::log2(from)
                                                 : std::log10(from);
      const double unit = std::ldexp(1.0, std::ilogb(exact == 0 ? 1.0 : exact) - 23);
      worst = std::max(worst, std::abs(y[i] - exact) / unit);
    }
    EXPECT_LE(worst, 0.501) << base;
  }
}

TEST(OpsElementwise, Sqrt) {
  expect_equal(mapped(std::vector<float>{9, 2, 0, -0.0F, -1, kInfinity, kNaN, 0x1p-149F}, sqrt_of()),
               {3, 1.41421356F, 0, -0.0F, kNaN, kInfinity, kNaN, std::sqrt(0x1p-149F)});
  expect_equal(mapped(std::vector<int32_t>{0, 49, -1, 2147395600, 2147483647}, sqrt_of(), MLUOP_DTYPE_INT32),
               {0, 7, kNaN, 46340, 46340.95F});
}

// The quotients are rounded once, also where 2 y or diff_y / 2 are not numbers of the type.
TEST(OpsElementwise, SqrtBackward) {
  const Handle handle;
  const std::vector<float> y = {2, 0, 0, 0, -0.0F, 3e38F, 0x1p-20F, kInfinity, kNaN};
  const std::vector<float> diff_y = {3, 1, -1, 0, 1, 3e38F, 0x1p-149F, kInfinity, 1};
  const Descriptor desc(kFloat, shape_of(y.size()));
  std::vector<float> diff_x(y.size());
  ASSERT_EQ(mluOpSqrtBackward(handle, desc, y.data(), desc, diff_y.data(), desc, diff_x.data()),
            MLUOP_STATUS_SUCCESS);
  expect_equal(diff_x, {0.75F, kInfinity, -kInfinity, kNaN, -kInfinity, 0.5F, 0x1p-130F, kNaN, kNaN});
}

TEST(OpsElementwise, Div) {
  const Handle handle;
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, y = {2, 4, 0}, column = {10, 0.5F};
  const Descriptor matrix(kFloat, {2, 3}), row_desc(kFloat, {1, 3}), column_desc(kFloat, {2, 1});
  std::vector<float> z(6);
  const auto divide = [&](const Descriptor& x_desc, const std::vector<float>& dividends, const Descriptor& y_desc,
                          const std::vector<float>& divisors) {
    EXPECT_EQ(mluOpDiv(handle, MLUOP_COMPUTATION_FAST, x_desc, dividends.data(), y_desc, divisors.data(), matrix,
                       z.data()),
              MLUOP_STATUS_SUCCESS)
        << mluOpOmpGetLastError();
    return z;
  };
  expect_equal(divide(matrix, x, row_desc, y), {0.5F, 0.5F, kInfinity, 2, 1.25F, kInfinity});
  expect_equal(divide(matrix, x, column_desc, column), {0.1F, 0.2F, 0.3F, 8, 10, 12});
  expect_equal(divide(row_desc, y, column_desc, column), {0.2F, 0.4F, 0, 4, 8, 0});
  expect_equal(divide(matrix, x, matrix, x), std::vector<float>(6, 1));
}

TEST(OpsElementwise, Lgamma) {
  expect_equal(
      mapped(std::vector<float>{1, 2, 3, 0.5F, -2.5F, 0, -0.0F, -3, kInfinity, -kInfinity, kNaN}, mluOpLgamma),
      {0, 0, 0.6931472F, 0.57236494F, -0.056243717F, kInfinity, kInfinity, kInfinity, kInfinity, kInfinity, kNaN});
}

template <class T>
std::vector<T> space(mluOpDataType_t dtype, float start, float end, int64_t steps, float base, size_t count) {
  const Handle handle;
  const Descriptor desc(dtype, shape_of(count));
  std::vector<T> res(count, T{77});
  EXPECT_EQ(mluOpLogspace(handle, start, end, steps, base, desc, res.data()), MLUOP_STATUS_SUCCESS)
      << mluOpOmpGetLastError();
  return res;
}

TEST(OpsElementwise, Logspace) {
  const std::vector<float> found = space<float>(kFloat, 0.1F, 1, 5, 10, 5);
  const std::vector<float> expected = {1.258925F, 2.113489F, 3.548134F, 5.956621F, 10};
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(found[i], expected[i], 1e-6F * expected[i]);
  EXPECT_EQ(found[4], 10);
  EXPECT_EQ(space<int32_t>(MLUOP_DTYPE_INT32, 0, 3, 4, 10, 6), (std::vector<int32_t>{1, 10, 100, 1000, 77, 77}));
  // start and end are truncated; numbers beyond the type, and NaN.
  EXPECT_EQ(space<int32_t>(MLUOP_DTYPE_INT32, 1.9F, 31.9F, 2, 2, 2), (std::vector<int32_t>{2, 2147483647}));
  EXPECT_EQ(space<int32_t>(MLUOP_DTYPE_INT32, 33, 33, 1, -2, 1),
            std::vector<int32_t>{std::numeric_limits<int32_t>::min()});
  EXPECT_EQ(space<int32_t>(MLUOP_DTYPE_INT32, 1, 1, 1, kNaN, 1), std::vector<int32_t>{0});
  EXPECT_EQ(space<int32_t>(MLUOP_DTYPE_INT32, kNaN, 0, 1, 5, 1), std::vector<int32_t>{1});
  expect_equal(space<float>(kFloat, 2, 9, 1, 3, 2), {9, 77});
  expect_equal(space<float>(kFloat, 2, 9, 0, 3, 1), {77});
  expect_equal(space<float>(kFloat, -1, 1, 3, 0, 3), {kInfinity, 1, 0});
  expect_equal(space<float>(kFloat, 0.5F, 1, 2, -4, 2), {kNaN, -4});
  // 65519 and 65520 round to the largest half and to infinity.
  EXPECT_EQ(space<uint16_t>(MLUOP_DTYPE_HALF, 1, 1, 1, 65519, 1), std::vector<uint16_t>{0x7BFF});
  EXPECT_EQ(space<uint16_t>(MLUOP_DTYPE_HALF, 1, 1, 1, 65520, 1), std::vector<uint16_t>{0x7C00});
  EXPECT_EQ(space<uint16_t>(MLUOP_DTYPE_BFLOAT16, 1, 1, 1, 3, 1), std::vector<uint16_t>{0x4040});
}

// A transposed tensor, every second element, and elements that share a place; gaps of the output are unchanged.
TEST(OpsElementwise, Strides) {
  const Handle handle;
  std::vector<float> x(60);
  for (size_t i = 0; i < x.size(); ++i) x[i] = -static_cast<float>(i);
  const auto transposed = Descriptor::with_strides(kFloat, {5, 4}, {1, 5});
  const auto spread = Descriptor::with_strides(kFloat, {5, 4}, {12, 2});
  const auto repeated = Descriptor::with_strides(kFloat, {5, 4}, {0, 1});
  std::vector<float> y(60, 77);
  ASSERT_EQ(mluOpAbs(handle, transposed, x.data(), spread, y.data()), MLUOP_STATUS_SUCCESS);
  for (size_t at = 0; at < y.size(); ++at) {
    const size_t row = at / 12, column = at % 12 / 2;
    EXPECT_EQ(y[at], at % 2 == 1 || column >= 4 ? 77 : static_cast<float>(row + 5 * column)) << at;
  }
  ASSERT_EQ(mluOpAbs(handle, repeated, x.data(), transposed, y.data()), MLUOP_STATUS_SUCCESS);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(y[i], static_cast<float>(i / 5)) << i;
  ASSERT_EQ(mluOpSqrt(handle, MLUOP_COMPUTATION_FAST, transposed, y.data(), transposed, y.data()),
            MLUOP_STATUS_SUCCESS);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(y[i], std::sqrt(static_cast<float>(i / 5))) << i;

  const std::vector<float> complex = {3, 4, 9, 9, 6, 8, 9, 9};
  const auto pairs = Descriptor::with_strides(MLUOP_DTYPE_COMPLEX_FLOAT, {2}, {2});
  ASSERT_EQ(mluOpAbs(handle, pairs, complex.data(), Descriptor(kFloat, {2}), y.data()), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(y[0], 5);
  EXPECT_EQ(y[1], 10);
  const std::vector<uint16_t> half = {0xBC00, 0, 0xC000};
  std::vector<uint16_t> magnitudes(2);
  ASSERT_EQ(mluOpAbs(handle, Descriptor::with_strides(MLUOP_DTYPE_HALF, {2}, {2}), half.data(),
                     Descriptor(MLUOP_DTYPE_HALF, {2}), magnitudes.data()),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(magnitudes, (std::vector<uint16_t>{0x3C00, 0x4000}));

  // A divisor of one element may have any strides.
  const Descriptor one = Descriptor::with_strides(kFloat, {1, 1}, {9, 9});
  const float two = 2;
  ASSERT_EQ(mluOpDiv(handle, MLUOP_COMPUTATION_FAST, transposed, x.data(), one, &two, transposed, y.data()),
            MLUOP_STATUS_SUCCESS);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(y[i], -static_cast<float>(i) / 2) << i;
}

TEST(OpsElementwise, InPlace) {
  const Handle handle;
  // More than the caches hold: the output of another tensor would bypass them.
  const size_t count = size_t{1} << 22;
  const Descriptor desc(kFloat, shape_of(count));
  // Aligned, as outputs that bypass the caches are.
  const GuardedBuffer<float> x(std::vector<float>(count, 16)), y(std::vector<float>(count, 4));
  ASSERT_EQ(mluOpDiv(handle, MLUOP_COMPUTATION_FAST, desc, x.data(), desc, y.data(), desc, y.data()),
            MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSqrt(handle, MLUOP_COMPUTATION_FAST, desc, x.data(), desc, x.data()), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSqrtBackward(handle, desc, x.data(), desc, y.data(), desc, y.data()), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(x.values(), std::vector<float>(count, 4));
  EXPECT_EQ(y.values(), std::vector<float>(count, 0.5F));
  std::vector<float> tail(7, -3);
  const Descriptor short_desc(kFloat, {7});
  ASSERT_EQ(mluOpAbs(handle, short_desc, tail.data(), short_desc, tail.data()), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(tail, std::vector<float>(7, 3));
  ASSERT_EQ(mluOpLgamma(handle, short_desc, tail.data(), short_desc, tail.data()), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(tail, std::vector<float>(7, std::log(2.0F)));
}

// Outputs that bypass the caches.
TEST(OpsElementwise, LargeTensors) {
  const Handle handle;
  for (const mluOpDataType_t dtype : {kFloat, MLUOP_DTYPE_BFLOAT16}) {
    const size_t count = (size_t{1} << 22) + 3, size = dtype == kFloat ? 4 : 2;
    const Descriptor desc(dtype, shape_of(count));
    std::vector<uint32_t> x(count * size / 4 + 1, dtype == kFloat ? 0xBF800000 : 0xBF80BF80);
    alignas(64) static uint32_t memory[(size_t{1} << 22) + 16];
    ASSERT_EQ(mluOpAbs(handle, desc, x.data(), desc, memory), MLUOP_STATUS_SUCCESS);
    const uint32_t one = dtype == kFloat ? 0x3F800000 : 0x3F803F80;
    for (size_t i = 0; i < count * size / 4; ++i) ASSERT_EQ(memory[i], one) << i;
    ASSERT_EQ(mluOpSqrt(handle, MLUOP_COMPUTATION_FAST, desc, memory, desc, x.data()), MLUOP_STATUS_SUCCESS);
    for (size_t i = 0; i < count * size / 4; ++i) ASSERT_EQ(x[i], one) << i;
  }
}

}  // namespace
}  // namespace mluop::test
