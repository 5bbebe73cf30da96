// Fourier transforms: worked examples, plans, strides, places in the batch, NaN, transforms in place, one plan for
// several threads. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "support/api.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using Dims = std::vector<int64_t>;
using Complex = std::complex<float>;

constexpr auto kFloat = MLUOP_DTYPE_FLOAT, kHalf = MLUOP_DTYPE_HALF;
constexpr auto kComplex = MLUOP_DTYPE_COMPLEX_FLOAT, kComplexHalf = MLUOP_DTYPE_COMPLEX_HALF;
constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM, kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;

using Plan = cases::Owned<mluOpFFTPlan_t, mluOpCreateFFTPlan, mluOpDestroyFFTPlan>;

Descriptor with_onchip(Descriptor desc, mluOpDataType_t onchip) {
  require(mluOpSetTensorDescriptorOnchipDataType(desc, onchip));
  return desc;
}

// A plan with its workspace.
struct Transform {
  Transform(mluOpHandle_t handle, const Descriptor& input, const Descriptor& output, std::vector<int> n) {
    size_t reserve_size = 0, workspace_size = 0;
    require(mluOpMakeFFTPlanMany(handle, plan, input, output, static_cast<int>(n.size()), n.data(), &reserve_size,
                                 &workspace_size));
    EXPECT_EQ(reserve_size, 1U);
    require(mluOpSetFFTReserveArea(handle, plan, &reserve_size));
    workspace.resize(workspace_size);
  }

  mluOpStatus_t run(mluOpHandle_t handle, const void* input, void* output, int direction = 0) {
    return mluOpExecFFT(handle, plan, input, 1, workspace.data(), output, direction);
  }

  Plan plan;
  std::vector<std::byte> workspace;
};

class OpsFft : public ::testing::Test {
 protected:
  // The transform of real numbers, of length n.
  std::vector<Complex> transformed(const std::vector<float>& x, int n) {
    const int64_t count = n / 2 + 1;
    std::vector<Complex> to(static_cast<size_t>(count));
    Transform transform(handle, with_onchip(Descriptor(kFloat, {static_cast<int64_t>(x.size())}), kFloat),
                        Descriptor(kComplex, {count}), {n});
    EXPECT_EQ(transform.run(handle, x.data(), to.data()), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    return to;
  }

  mluOpStatus_t make(const Descriptor& input, const Descriptor& output, std::vector<int> n) {
    size_t sizes[2];
    return mluOpMakeFFTPlanMany(handle, plan, input, output, static_cast<int>(n.size()), n.data(), &sizes[0],
                                &sizes[1]);
  }

  Handle handle;
  Plan plan;
};

TEST_F(OpsFft, RealExamples) {
  EXPECT_EQ(transformed({1, 2, 3, 4}, 4), (std::vector<Complex>{10, {-2, 2}, -2}));
  EXPECT_EQ(transformed({1, 2, 3, 4}, 6), (std::vector<Complex>{10, {-3.5, -4.33012702F}, {2.5, 0.8660254F}, -2}));
  EXPECT_EQ(transformed({1, 2, 3, 4}, 3), (std::vector<Complex>{6, {-1.5, 0.8660254F}}));
  EXPECT_EQ(transformed({}, 2), (std::vector<Complex>{0, 0}));
}

TEST_F(OpsFft, ComplexToReal) {
  const Complex spectrum[] = {{1, 5}, {2, -1}, {3, 7}};
  float signal[4];
  Transform transform(handle, with_onchip(Descriptor(kComplex, {3}), MLUOP_DTYPE_INT31), Descriptor(kFloat, {4}),
                      {4});
  ASSERT_EQ(transform.run(handle, spectrum, signal), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(std::vector(signal, signal + 4), (std::vector<float>{8, 0, 0, -4}));
}

// Lengths of every algorithm: forward and backward give n times the input.
TEST_F(OpsFft, ForwardAndBackward) {
  for (const int n : {1, 2, 8, 14, 97, 360, 1009}) {
    const Descriptor desc = with_onchip(Descriptor(kComplex, {n}), kFloat);
    Transform transform(handle, desc, desc, {n});
    std::vector<Complex> x(static_cast<size_t>(n)), spectrum(x), y(x);
    for (size_t i = 0; i < x.size(); ++i) x[i] = {std::sin(static_cast<float>(i)), static_cast<float>(i % 7)};
    ASSERT_EQ(transform.run(handle, x.data(), spectrum.data(), 0), MLUOP_STATUS_SUCCESS);
    ASSERT_EQ(transform.run(handle, spectrum.data(), y.data(), 1), MLUOP_STATUS_SUCCESS);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_LE(std::abs(y[i] / static_cast<float>(n) - x[i]), 1e-5F) << n;
  }
}

TEST_F(OpsFft, StatusesOfMake) {
  const auto real = [](const Dims& dims) { return with_onchip(Descriptor(kFloat, dims), kFloat); };
  const auto half = [](const Dims& dims) { return with_onchip(Descriptor(kComplexHalf, dims), kHalf); };
  const auto spectrum = [](const Dims& dims) { return Descriptor(kComplex, dims); };
  const struct {
    mluOpStatus_t status, expected;
  } kTable[] = {
      {make(real({8}), spectrum({5}), {}), kBadParam},
      {make(real({1, 1, 1, 8}), spectrum({1, 1, 1, 5}), {1, 1, 1, 8}), kBadParam},
      {make(real({8}), spectrum({5}), {0}), kBadParam},
      {make(real({8}), spectrum({1, 5}), {8}), kBadParam},
      {make(real({1, 1, 8}), spectrum({1, 1, 5}), {8}), kBadParam},
      {make(real({2, 8}), spectrum({3, 5}), {8}), kBadParam},
      {make(real({8}), Descriptor(kFloat, {8}), {8}), kBadParam},
      {make(real({8}), Descriptor(kComplexHalf, {5}), {8}), kBadParam},
      {make(real({8}), spectrum({8}), {8}), kBadParam},
      {make(real({4, 8}), spectrum({5, 5}), {4, 8}), kBadParam},
      {make(Descriptor(kFloat, {8}), spectrum({5}), {8}), kBadParam},
      {make(with_onchip(Descriptor(kHalf, {8}), kFloat), Descriptor(kComplexHalf, {5}), {8}), kBadParam},
      {make(real({1, 1, 8}), spectrum({1, 1, 5}), {1, 1, 8}), kNotSupported},
      {make(real({8}), spectrum({(1 << 25) + 2}), {(1 << 26) + 2}), kNotSupported},
      {make(half({6}), Descriptor(kComplexHalf, {6}), {6}), kNotSupported},
      {make(half({3, 8}), Descriptor(kComplexHalf, {3, 8}), {3, 8}), MLUOP_STATUS_SUCCESS},
      {make(with_onchip(Descriptor(kHalf, {8}), MLUOP_DTYPE_INT16), Descriptor(kComplexHalf, {5}), {8}),
       MLUOP_STATUS_SUCCESS},
  };
  for (const auto& row : kTable) EXPECT_EQ(row.status, row.expected) << &row - kTable;
  EXPECT_EQ(make(Descriptor(kFloat, {8}), spectrum({5}), {8}), kBadParam);
  EXPECT_STREQ(mluOpOmpGetLastError(),
               "[mluOpMakeFFTPlanMany] the on-chip data type of input is INVALID, expected FLOAT or INT31 by "
               "mluOpSetTensorDescriptorOnchipDataType");
}

TEST_F(OpsFft, NullArguments) {
  const Descriptor input = with_onchip(Descriptor(kFloat, {8}), kFloat), output(kComplex, {5});
  const int n[] = {8};
  size_t size = 0;
  EXPECT_EQ(mluOpCreateFFTPlan(nullptr), kBadParam);
  EXPECT_EQ(mluOpDestroyFFTPlan(nullptr), kBadParam);
  EXPECT_EQ(mluOpMakeFFTPlanMany(nullptr, plan, input, output, 1, n, &size, &size), kBadParam);
  EXPECT_EQ(mluOpMakeFFTPlanMany(handle, nullptr, input, output, 1, n, &size, &size),
            MLUOP_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(mluOpMakeFFTPlanMany(handle, plan, nullptr, output, 1, n, &size, &size), kBadParam);
  EXPECT_EQ(mluOpMakeFFTPlanMany(handle, plan, input, nullptr, 1, n, &size, &size), kBadParam);
  EXPECT_EQ(mluOpMakeFFTPlanMany(handle, plan, input, output, 1, nullptr, &size, &size), kBadParam);
  EXPECT_EQ(mluOpMakeFFTPlanMany(handle, plan, input, output, 1, n, nullptr, &size), kBadParam);
  EXPECT_EQ(mluOpMakeFFTPlanMany(handle, plan, input, output, 1, n, &size, nullptr), kBadParam);
  EXPECT_EQ(mluOpSetFFTReserveArea(nullptr, plan, &size), kBadParam);
  EXPECT_EQ(mluOpSetFFTReserveArea(handle, nullptr, &size), kBadParam);
  EXPECT_EQ(mluOpSetFFTReserveArea(handle, plan, nullptr), kBadParam);
  EXPECT_EQ(mluOpSetFFTReserveArea(handle, plan, &size), kBadParam);  // not made
  float x[8] = {};
  Complex y[5];
  EXPECT_EQ(mluOpExecFFT(handle, nullptr, x, 1, nullptr, y, 0), kBadParam);
  EXPECT_EQ(mluOpExecFFT(handle, plan, x, 1, nullptr, y, 0), kBadParam);  // not made
  ASSERT_EQ(make(input, output, {8}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpExecFFT(handle, plan, x, 1, nullptr, y, 0), kBadParam);
  EXPECT_STREQ(mluOpOmpGetLastError(),
               "[mluOpExecFFT] fft_plan has no reserve area, expected mluOpSetFFTReserveArea before");
  ASSERT_EQ(mluOpSetFFTReserveArea(handle, plan, &size), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpExecFFT(nullptr, plan, x, 1, nullptr, y, 0), kBadParam);
  EXPECT_EQ(mluOpExecFFT(handle, plan, nullptr, 1, nullptr, y, 0), kBadParam);
  EXPECT_EQ(mluOpExecFFT(handle, plan, x, 1, nullptr, nullptr, 0), kBadParam);
  EXPECT_EQ(mluOpExecFFT(handle, plan, x, 1, nullptr, x + 1, 0), kBadParam);  // overlap
  EXPECT_EQ(mluOpExecFFT(handle, plan, x, HUGE_VALF, nullptr, y, 0), kBadParam);
  EXPECT_EQ(mluOpExecFFT(handle, plan, x, 1, nullptr, y, 0), MLUOP_STATUS_SUCCESS);
}

TEST_F(OpsFft, NeedsWorkspace) {
  const Descriptor desc = with_onchip(Descriptor(kComplex, {2, 3}), kFloat);
  Transform transform(handle, desc, desc, {2, 3});
  Complex x[6] = {}, y[6];
  EXPECT_EQ(mluOpExecFFT(handle, transform.plan, x, 1, nullptr, y, 0), kBadParam);
  EXPECT_EQ(transform.run(handle, x, y), MLUOP_STATUS_SUCCESS);
}

TEST_F(OpsFft, EmptyBatch) {
  Transform transform(handle, with_onchip(Descriptor(kFloat, {0, 8}), kFloat), Descriptor(kComplex, {0, 5}), {8});
  EXPECT_EQ(transform.run(handle, nullptr, nullptr), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  // Items that are neighbours.
  const Descriptor turned = with_onchip(Descriptor::with_strides(kComplex, {0, 4}, {1, 2}), kFloat);
  Transform of_turned(handle, turned, turned, {4});
  EXPECT_EQ(of_turned.run(handle, nullptr, nullptr), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// Two dimensions, items that are neighbours: groups of two items lie between the passes, the last item is alone.
TEST_F(OpsFft, LastGroup) {
  constexpr int64_t kItems = 3, kN = 512, kNumbers = kN * kN;
  const Descriptor item = with_onchip(Descriptor(kComplex, {kN, kN}), kFloat);
  const Descriptor items =
      with_onchip(Descriptor::with_strides(kComplex, {kItems, kN, kN}, {1, kItems * kN, kItems}), kFloat);
  Transform of_items(handle, items, items, {kN, kN}), of_item(handle, item, item, {kN, kN});
  std::vector<Complex> x(kItems * kNumbers), y(x), one(kNumbers), alone(one);
  for (size_t i = 0; i < x.size(); ++i) x[i] = {static_cast<float>(i % 13), static_cast<float>(i % 5)};
  ASSERT_EQ(of_items.run(handle, x.data(), y.data()), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  for (size_t b = 0; b < kItems; ++b) {
    for (size_t i = 0; i < kNumbers; ++i) one[i] = x[i * kItems + b];
    ASSERT_EQ(of_item.run(handle, one.data(), alone.data()), MLUOP_STATUS_SUCCESS);
    for (size_t i = 0; i < kNumbers; ++i) one[i] = y[i * kItems + b];
    EXPECT_TRUE(one == alone) << b;
  }
}

// A row of the batch has the bits of the row alone, whatever the strides, and no NaN of another row.
TEST_F(OpsFft, RowsAreIndependent) {
  constexpr int64_t kRows = 11, kN = 60;
  std::vector<Complex> x(kRows * kN), y(x), alone(kN);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = {std::sin(static_cast<float>(i * i)), std::cos(static_cast<float>(i))};
  x[3 * kN] = {std::numeric_limits<float>::quiet_NaN(), 0};
  x[5 * kN + 7] = {0, std::numeric_limits<float>::infinity()};
  // Columns of the batch: items are neighbours.
  std::vector<Complex> columns(x.size()), turned(x.size());
  for (size_t i = 0; i < x.size(); ++i) columns[i % kN * kRows + i / kN] = x[i];
  const Descriptor rows = with_onchip(Descriptor(kComplex, {kRows, kN}), kFloat);
  const Descriptor turned_rows = with_onchip(Descriptor::with_strides(kComplex, {kRows, kN}, {1, kRows}), kFloat);
  Transform of_rows(handle, rows, rows, {kN}), of_columns(handle, turned_rows, turned_rows, {kN});
  const Descriptor row = with_onchip(Descriptor(kComplex, {kN}), kFloat);
  Transform of_row(handle, row, row, {kN});
  ASSERT_EQ(of_rows.run(handle, x.data(), y.data()), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(of_columns.run(handle, columns.data(), turned.data()), MLUOP_STATUS_SUCCESS);
  for (size_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(of_row.run(handle, x.data() + i * kN, alone.data()), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(std::memcmp(alone.data(), y.data() + i * kN, kN * sizeof(Complex)), 0) << i;
    const bool is_nan = i == 3 || i == 5;
    for (size_t k = 0; k < kN; ++k) {
      EXPECT_EQ(std::isnan(alone[k].real()) && std::isnan(alone[k].imag()), is_nan) << i;
      EXPECT_EQ(std::memcmp(&alone[k], &turned[k * kRows + i], sizeof(Complex)), 0) << i;
    }
  }
}

TEST_F(OpsFft, InPlace) {
  // Rows of four numbers, at the distance of their spectra.
  const auto in = [](int64_t distance) {
    return with_onchip(Descriptor::with_strides(kFloat, {2, 4}, {distance, 1}), kFloat);
  };
  const Descriptor spectrum = with_onchip(Descriptor(kComplex, {2, 3}), kFloat);
  Transform forward(handle, in(6), spectrum, {4}), backward(handle, spectrum, in(6), {4});
  std::vector<float> x = {1, 2, 3, 4, 0, 0, 4, 3, 2, 1, 0, 0};
  ASSERT_EQ(forward.run(handle, x.data(), x.data()), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(x, (std::vector<float>{10, 0, -2, 2, -2, 0, 10, 0, 2, -2, 2, 0}));
  ASSERT_EQ(backward.run(handle, x.data(), x.data()), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(x, (std::vector<float>{4, 8, 12, 16, -2, 0, 16, 12, 8, 4, 2, 0}));
  Transform close(handle, in(5), spectrum, {4}), close_back(handle, spectrum, in(5), {4});
  EXPECT_EQ(close.run(handle, x.data(), x.data()), kBadParam);
  EXPECT_STREQ(
      mluOpOmpGetLastError(),
      "[mluOpExecFFT] items of the batch of input are 5 numbers apart, of output 6, expected at most as many of "
      "output in place");
  EXPECT_EQ(close_back.run(handle, x.data(), x.data()), kBadParam);
  const Descriptor alone = with_onchip(Descriptor(kComplex, {3}), kFloat);
  Transform complex(handle, alone, alone, {3});
  EXPECT_EQ(complex.run(handle, x.data(), x.data()), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const Descriptor batch = with_onchip(Descriptor(kComplex, {1, 3}), kFloat);
  Transform of_one(handle, batch, batch, {3});
  EXPECT_EQ(of_one.run(handle, x.data(), x.data()), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// Threads with handles of their own share a plan.
TEST_F(OpsFft, SharedPlan) {
  constexpr int kN = 194, kThreads = 4;
  const Descriptor desc = with_onchip(Descriptor(kComplex, {8, kN}), kFloat);
  Transform transform(handle, desc, desc, {kN});
  std::vector<Complex> x(8 * kN), expected(x);
  for (size_t i = 0; i < x.size(); ++i) x[i] = {static_cast<float>(i % 13), static_cast<float>(i % 5)};
  ASSERT_EQ(transform.run(handle, x.data(), expected.data()), MLUOP_STATUS_SUCCESS);
  std::vector<std::vector<Complex>> results(kThreads, std::vector<Complex>(x.size()));
  std::vector<std::thread> threads;
  for (std::vector<Complex>& result : results) {
    threads.emplace_back([&] {
      const Handle own;
      for (int i = 0; i < 10; ++i) EXPECT_EQ(transform.run(own, x.data(), result.data()), MLUOP_STATUS_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace mluop::test
