// The figures of a comparison, against plain loops over their definitions in long double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "case/values.h"
#include "compare/compared.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

using cases::bits_at;
using cases::number_at;

constexpr mluOpDataType_t kDtypes[] = {
    MLUOP_DTYPE_HALF,   MLUOP_DTYPE_BFLOAT16, MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_DOUBLE, MLUOP_DTYPE_INT8,
    MLUOP_DTYPE_INT16,  MLUOP_DTYPE_INT32,    MLUOP_DTYPE_INT64, MLUOP_DTYPE_UINT8,  MLUOP_DTYPE_UINT16,
    MLUOP_DTYPE_UINT32, MLUOP_DTYPE_UINT64,   MLUOP_DTYPE_BOOL};

struct IntegerRange {
  long double least, most;
};

IntegerRange range_of(mluOpDataType_t dtype) {
  const auto bits = static_cast<int>(8 * cases::element_size(dtype));
  const bool is_signed = dtype == MLUOP_DTYPE_INT8 || dtype == MLUOP_DTYPE_INT16 || dtype == MLUOP_DTYPE_INT32 ||
                         dtype == MLUOP_DTYPE_INT64;
  if (is_signed)
    return {-std::exp2(static_cast<long double>(bits - 1)), std::exp2(static_cast<long double>(bits - 1)) - 1};
  return {0, std::exp2(static_cast<long double>(bits)) - 1};
}

// The exact value of element i.
long double exact_at(const DenseTensor& tensor, size_t i) {
  const uint64_t bits = bits_at(tensor.bytes.data(), tensor.dtype, i);
  if (tensor.dtype == MLUOP_DTYPE_INT64) return static_cast<long double>(static_cast<int64_t>(bits));
  if (tensor.dtype == MLUOP_DTYPE_UINT64) return static_cast<long double>(bits);
  return number_at(tensor.bytes.data(), tensor.dtype, i);
}

long double number_of(mluOpDataType_t dtype, uint64_t bits) {
  std::byte bytes[8];
  cases::put_bits(bytes, dtype, 0, bits);
  return number_at(bytes, dtype, 0);
}

// The nearest finite value or infinity; the even one of two.
uint64_t nearest_short_float(mluOpDataType_t dtype, long double number) {
  const uint64_t infinity = dtype == MLUOP_DTYPE_HALF ? 0x7C00 : 0x7F80;
  const long double size = std::abs(number);
  uint64_t below = 0;
  for (uint64_t step = 1 << 14; step > 0; step /= 2) {
    if (below + step < infinity && number_of(dtype, below + step) <= size) below += step;
  }
  const long double low = number_of(dtype, below);
  // Infinity has the place of the next value.
  const long double high =
      below + 1 == infinity ? 2 * low - number_of(dtype, below - 1) : number_of(dtype, below + 1);
  const long double middle = (low + high) / 2;
  const bool up = size > middle || (size == middle && below % 2 != 0);
  return below + (up ? 1 : 0) + (std::signbit(number) ? 0x8000 : 0);
}

// The bits of element i of `from` in another type.
uint64_t rounded_bits(mluOpDataType_t dtype, const DenseTensor& from, size_t i) {
  if (dtype == from.dtype) return bits_at(from.bytes.data(), dtype, i);
  const long double number = exact_at(from, i);
  if (dtype == MLUOP_DTYPE_DOUBLE) return std::bit_cast<uint64_t>(static_cast<double>(number));
  if (dtype == MLUOP_DTYPE_FLOAT) return std::bit_cast<uint32_t>(static_cast<float>(static_cast<double>(number)));
  if (cases::is_floating(dtype)) {
    const uint64_t nan = dtype == MLUOP_DTYPE_HALF ? 0x7E00 : 0x7FC0;
    const uint64_t infinity = dtype == MLUOP_DTYPE_HALF ? 0x7C00 : 0x7F80;
    if (std::isnan(number)) return nan;
    if (std::isinf(number)) return infinity + (number < 0 ? 0x8000 : 0);
    return nearest_short_float(dtype, number);
  }
  if (std::isnan(number)) return 0;
  const IntegerRange range = range_of(dtype);
  const long double nearest = std::clamp(std::nearbyint(number), range.least, range.most);
  const uint64_t bits =
      nearest < 0 ? static_cast<uint64_t>(static_cast<int64_t>(nearest)) : static_cast<uint64_t>(nearest);
  const auto unused = static_cast<int>(64 - 8 * cases::element_size(dtype));
  return bits << unused >> unused;
}

// The index of the value among the values of the type.
long double place_of(mluOpDataType_t dtype, uint64_t bits) {
  const auto width = static_cast<int>(8 * cases::element_size(dtype));
  if (cases::is_floating(dtype)) {
    const uint64_t sign = uint64_t{1} << (width - 1);
    const auto magnitude = static_cast<long double>(bits & ~sign);
    return (bits & sign) != 0 ? -magnitude : magnitude;
  }
  if (range_of(dtype).least == 0) return static_cast<long double>(bits);
  return static_cast<long double>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
}

struct Plain {
  mluOpOmpDifference_t figures{};
  std::vector<mluOpOmpWrongElement_t> worst;
};

size_t bucket_of(long double distance) {
  size_t bucket = 0;
  for (long double bound = 0; distance > bound && bucket < 33; bound = bound == 0 ? 1 : 2 * bound) ++bucket;
  return bucket;
}

long double ratio(long double a, long double b) { return a == 0 ? 0 : b == 0 ? HUGE_VALL : a / b; }

double least_of(mluOpDataType_t dtype) {
  if (!cases::is_floating(dtype)) return 0;
  return dtype == MLUOP_DTYPE_HALF       ? 0x1p-24
         : dtype == MLUOP_DTYPE_BFLOAT16 ? 0x1p-133
         : dtype == MLUOP_DTYPE_FLOAT    ? 0x1p-149
                                         : 0x1p-1074;
}

double plain_rms(const DenseTensor& tensor) {
  long double squares = 0, n = 0;
  for (size_t i = 0; i < tensor.bytes.size() / cases::element_size(tensor.dtype); ++i) {
    const long double x = number_at(tensor.bytes.data(), tensor.dtype, i);
    if (!std::isfinite(x) || x == 0) continue;
    squares += x * x;
    n += 1;
  }
  return static_cast<double>(std::sqrt(ratio(squares, n)));
}

// atol: the absolute tolerance.
Plain plain(const DenseTensor& found, const DenseTensor& expected, const mluOpOmpCompareOptions_t& options,
            double atol) {
  Plain result;
  auto& to = result.figures;
  const size_t count = found.bytes.size() / cases::element_size(found.dtype);
  const double from = found.dtype == MLUOP_DTYPE_HALF ? 1e-4 : 1e-6;
  const bool exact = found.dtype == expected.dtype;
  long double errors = 0, sizes = 0, error_squares = 0, n = 0, e_sum = 0, b_sum = 0, ee = 0, bb = 0, eb = 0;
  std::vector<std::pair<long double, long double>> finite;
  to.elements = static_cast<int64_t>(count);
  for (size_t i = 0; i < count; ++i) {
    const long double e = exact ? exact_at(found, i) : number_at(found.bytes.data(), found.dtype, i);
    const long double b = exact ? exact_at(expected, i) : number_at(expected.bytes.data(), expected.dtype, i);
    const uint64_t e_bits = bits_at(found.bytes.data(), found.dtype, i);
    const uint64_t b_bits = rounded_bits(found.dtype, expected, i);
    const bool both_nan = std::isnan(e) && std::isnan(b);
    const bool differs = e_bits != b_bits && !(both_nan && (!exact || options.nan_payloads == 0));
    const bool is_finite = std::isfinite(e) && std::isfinite(b), mismatch = !is_finite && e != b && !both_nan;
    const double error = mismatch ? HUGE_VAL : is_finite ? static_cast<double>(std::abs(e - b)) : 0;
    const double size = static_cast<double>(std::abs(b));
    const double denominator = size + options.epsilon;
    const double relative = error == 0 ? 0 : mismatch || denominator == 0 ? HUGE_VAL : error / denominator;
    to.differing += differs;
    to.found_nan += std::isnan(e);
    to.expected_nan += std::isnan(b);
    to.found_inf += std::isinf(e);
    to.expected_inf += std::isinf(b);
    to.special_mismatches += mismatch;
    to.overflowed += std::isinf(e) && std::isfinite(b);
    const bool wrong = options.bits != 0 ? differs : is_finite ? !(error <= atol + options.rtol * size) : mismatch;
    to.wrong += wrong;
    if (wrong) {
      result.worst.push_back(
          {static_cast<int64_t>(i), static_cast<double>(b), static_cast<double>(e), error, relative});
    }
    if (!is_finite) {
      ++to.ulp_histogram[mismatch ? MLUOP_OMP_ULP_BUCKETS - 1 : 0];
      continue;
    }
    to.above += e > b;
    to.below += e < b;
    to.flushed += e == 0 && b != 0;
    const long double distance = std::abs(place_of(found.dtype, e_bits) - place_of(found.dtype, b_bits));
    to.max_ulp = std::max(to.max_ulp, distance >= 0x1p63L ? INT64_MAX : static_cast<int64_t>(distance));
    ++to.ulp_histogram[bucket_of(distance)];
    to.max_absolute = std::max(to.max_absolute, error);
    to.max_relative = std::max(to.max_relative, relative);
    double& diff3 = size > from ? to.diff3_relative : to.diff3_absolute;
    diff3 = std::max(diff3, size > from ? relative : error);
    errors += std::abs(e - b);
    sizes += std::abs(b);
    error_squares += (e - b) * (e - b);
    n += 1;
    e_sum += e;
    b_sum += b;
    ee += e * e;
    bb += b * b;
    eb += e * b;
    finite.emplace_back(e, b);
  }
  to.diff1 = static_cast<double>(ratio(errors, sizes + options.epsilon));
  to.diff2 = static_cast<double>(std::sqrt(ratio(error_squares, bb + options.epsilon)));
  to.mean_magnitude = static_cast<double>(ratio(sizes, n));
  const double none = errors == 0 || to.wrong == 0 ? 1 : 0;
  const auto correlation = [&](long double product, long double x, long double y) {
    return x == 0 || y == 0 ? (x == y ? none : 0) : static_cast<double>(product / std::sqrt(x) / std::sqrt(y));
  };
  to.cosine = correlation(eb, ee, bb);
  long double cc = 0, dd = 0, cd = 0, residual = 0;
  const long double factor = bb == 0 ? (ee == 0 ? 1 : 0) : eb / bb;
  for (const auto& [e, b] : finite) {
    cc += (e - e_sum / n) * (e - e_sum / n);
    dd += (b - b_sum / n) * (b - b_sum / n);
    cd += (e - e_sum / n) * (b - b_sum / n);
    residual += (e - factor * b) * (e - factor * b);
  }
  to.pcc = correlation(cd, cc, dd);
  to.factor = static_cast<double>(factor);
  to.factor_residual = static_cast<double>(std::sqrt(ratio(residual, ee)));
  std::stable_sort(result.worst.begin(), result.worst.end(),
                   [](const auto& a, const auto& b) { return a.absolute > b.absolute; });
  result.worst.resize(std::min(result.worst.size(), static_cast<size_t>(options.worst)));
  return result;
}

void expect_near(double value, double expected, double tolerance, const char* name) {
  if (value == expected) return;
  EXPECT_LE(std::abs(value - expected), tolerance * std::max(std::abs(expected), 1e-3))
      << name << ": " << value << " " << expected;
}

void expect_figures(const DenseTensor& found, const DenseTensor& expected,
                    const mluOpOmpCompareOptions_t& options) {
  const Compared compared(found, expected, options);
  const auto figures = compared.difference();
  const double rms = options.rms_atol > 0 ? plain_rms(expected) : 0;
  expect_near(figures.rms, rms, 1e-11, "rms");
  const double least = std::max(least_of(found.dtype), least_of(expected.dtype));
  EXPECT_EQ(figures.atol, options.atol + (rms > 0 ? std::max(least, options.rms_atol * figures.rms) : 0));
  const Plain right = plain(found, expected, options, figures.atol);
  const auto& to = right.figures;
#define MLUOP_EXPECT(FIELD) EXPECT_EQ(figures.FIELD, to.FIELD) << #FIELD
  MLUOP_EXPECT(elements);
  MLUOP_EXPECT(differing);
  MLUOP_EXPECT(wrong);
  MLUOP_EXPECT(above);
  MLUOP_EXPECT(below);
  MLUOP_EXPECT(found_nan);
  MLUOP_EXPECT(expected_nan);
  MLUOP_EXPECT(found_inf);
  MLUOP_EXPECT(expected_inf);
  MLUOP_EXPECT(special_mismatches);
  MLUOP_EXPECT(overflowed);
  MLUOP_EXPECT(flushed);
  MLUOP_EXPECT(max_absolute);
  MLUOP_EXPECT(max_relative);
  MLUOP_EXPECT(diff3_relative);
  MLUOP_EXPECT(diff3_absolute);
  MLUOP_EXPECT(max_ulp);
#undef MLUOP_EXPECT
  EXPECT_THAT(figures.ulp_histogram, ::testing::ElementsAreArray(to.ulp_histogram));
#define MLUOP_EXPECT(FIELD, TOLERANCE) expect_near(figures.FIELD, to.FIELD, TOLERANCE, #FIELD)
  MLUOP_EXPECT(diff1, 1e-11);
  MLUOP_EXPECT(diff2, 1e-11);
  MLUOP_EXPECT(mean_magnitude, 1e-11);
  MLUOP_EXPECT(cosine, 1e-9);
  MLUOP_EXPECT(pcc, 1e-9);
  MLUOP_EXPECT(factor, 1e-9);
  MLUOP_EXPECT(factor_residual, 1e-6);
#undef MLUOP_EXPECT
  const auto worst = compared.worst();
  ASSERT_EQ(worst.size(), right.worst.size());
  for (size_t k = 0; k < worst.size(); ++k) {
    EXPECT_EQ(worst[k].index, right.worst[k].index);
    EXPECT_EQ(worst[k].absolute, right.worst[k].absolute);
    EXPECT_EQ(worst[k].relative, right.worst[k].relative);
  }
}

enum class Data { kEqual, kFewErrors, kRounding, kSpecials, kUnrelated, kTiny, kScaled, kShifted };
constexpr Data kAllData[] = {Data::kEqual,     Data::kFewErrors, Data::kRounding, Data::kSpecials,
                             Data::kUnrelated, Data::kTiny,      Data::kScaled,   Data::kShifted};

// Numbers for two tensors.
std::pair<std::vector<double>, std::vector<double>> numbers_of(Data data, size_t count, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> found(count), expected(count);
  const double specials[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, 0, -0.0, 1, 70000, 1e-7, -1e-7, 1e-40};
  const auto any_special = [&] { return specials[random() % std::size(specials)]; };
  for (size_t i = 0; i < count; ++i) {
    const double b = data == Data::kTiny ? 1e-6 * normal(random) : random() % 5 == 0 ? 0 : 50 * normal(random);
    found[i] = expected[i] = b;
    switch (data) {
      case Data::kEqual: break;
      case Data::kFewErrors:
        if (i % 97 == 5) found[i] = b + normal(random);
        break;
      case Data::kRounding: found[i] = b * (1 + 1e-3 * normal(random)); break;
      case Data::kSpecials:
        if (random() % 4 == 0) found[i] = any_special();
        if (random() % 4 == 0) expected[i] = any_special();
        break;
      case Data::kUnrelated: found[i] = 50 * normal(random); break;
      case Data::kTiny: found[i] = b * (1 + 0.1 * normal(random)); break;
      case Data::kScaled: found[i] = 1e-4 * b * (1 + 0.1 * normal(random)); break;
      case Data::kShifted: found[i] = b + 1e-3; break;
    }
  }
  return {found, expected};
}

DenseTensor tensor_of(mluOpDataType_t dtype, const std::vector<double>& numbers) {
  DenseTensor made{dtype, {static_cast<int64_t>(numbers.size())}, {}};
  made.bytes.resize(numbers.size() * cases::element_size(dtype));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double number = cases::is_floating(dtype)   ? numbers[i]
                          : std::isfinite(numbers[i]) ? std::rint(numbers[i])
                                                      : 0;
    const IntegerRange range = cases::is_floating(dtype) ? IntegerRange{-HUGE_VALL, HUGE_VALL} : range_of(dtype);
    const double held = std::isnan(number)
                            ? number
                            : static_cast<double>(std::clamp<long double>(number, range.least, range.most));
    cases::put_bits(made.bytes.data(), dtype, i, cases::bits_of_number(dtype, held));
  }
  return made;
}

void expect_figures_of_data(mluOpDataType_t found_dtype, mluOpDataType_t expected_dtype, size_t count) {
  std::mt19937 random = seeded_random();
  for (const Data data : kAllData) {
    const auto [found, expected] = numbers_of(data, count, random);
    mluOpOmpCompareOptions_t options = mluOpOmpDefaultCompareOptions();
    const DenseTensor e = tensor_of(found_dtype, found), b = tensor_of(expected_dtype, expected);
    for (const int bits : {0, 1}) {
      SCOPED_TRACE(::testing::Message() << "data types " << found_dtype << ' ' << expected_dtype << ", " << count
                                        << " elements, data " << static_cast<int>(data) << ", bits " << bits);
      options.bits = bits;
      options.nan_payloads = bits;
      options.epsilon = bits * 1e-3;
      options.worst = bits == 0 ? 5 : 40;
      expect_figures(e, b, options);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(CompareFigures, OfEachDataType) {
  for (const mluOpDataType_t dtype : kDtypes) {
    // Around a step, a chunk and a block.
    for (const size_t count : {1, 15, 16, 17, 511, 513}) expect_figures_of_data(dtype, dtype, count);
  }
}

TEST(CompareFigures, OfUnlikeDataTypes) {
  MLUOP_LABELS(kOnce);
  for (const mluOpDataType_t found : kDtypes) {
    for (const mluOpDataType_t expected : kDtypes) {
      if (found != expected) expect_figures_of_data(found, expected, 600);
    }
  }
}

TEST(CompareFigures, OfSeveralBlocks) {
  MLUOP_LABELS(kSlow);
  for (const mluOpDataType_t dtype : {MLUOP_DTYPE_HALF, MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_INT32}) {
    expect_figures_of_data(dtype, dtype, dtype == MLUOP_DTYPE_FLOAT ? 140000 : 65537);
  }
}

TEST(CompareFigures, AreTheSameBitsAtEveryThreadCount) {
  MLUOP_LABELS(kManyThreads, kSlow);
  std::mt19937 random = seeded_random();
  const auto [found, expected] = numbers_of(Data::kRounding, 200000, random);
  for (const mluOpDataType_t dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF, MLUOP_DTYPE_DOUBLE}) {
    const DenseTensor e = tensor_of(dtype, found), b = tensor_of(dtype, expected);
    std::vector<mluOpOmpDifference_t> figures;
    std::vector<std::vector<mluOpOmpWrongElement_t>> worst;
    for (const int threads : {1, 2, 3, 7}) {
      const ScopedThreads scope(threads);
      const Compared compared(e, b);
      figures.push_back(compared.difference());
      worst.push_back(compared.worst());
      EXPECT_EQ(std::memcmp(&figures.front(), &figures.back(), sizeof(figures.front())), 0);
      ASSERT_EQ(worst.back().size(), 5U);
      EXPECT_EQ(std::memcmp(worst.front().data(), worst.back().data(), 5 * sizeof(worst[0][0])), 0);
    }
  }
}

// This test runs on each of them.
TEST(CompareFigures, AreTheSameBitsOnEveryInstructionSet) {
  std::mt19937 random(1);
  std::vector<float> e(100000), b(100000);
  for (size_t i = 0; i < e.size(); ++i) {
    b[i] = static_cast<float>(random()) * 0x1p-31F - 1;
    e[i] = b[i] + static_cast<float>(random()) * 0x1p-50F;
  }
  const auto dims = std::vector<int64_t>{100000};
  const auto figures =
      Compared(DenseTensor::of(MLUOP_DTYPE_FLOAT, dims, e), DenseTensor::of(MLUOP_DTYPE_FLOAT, dims, b))
          .difference();
  EXPECT_EQ(figures.diff1, 0x1.fd4ea8f25e04fp-19);
  EXPECT_EQ(figures.diff2, 0x1.fde8ce9c23ce8p-19);
  EXPECT_EQ(figures.pcc, 0x1.fffffffffc06fp-1);
  EXPECT_EQ(figures.factor_residual, 0x1.fde8b403c7af2p-19);
}

// The absolute tolerance is relative to what is expected, at any scale.
TEST(CompareFigures, RelativeAbsoluteTolerance) {
  const struct {
    const char* what;
    std::vector<int64_t> dims;
    std::vector<double> expected;
    double rms, atol;
  } rows[] = {
      {"ordinary", {4}, {1, -1, 1, -1}, 1, 1e-5},
      {"small", {4}, {3e-6, 4e-6, -3e-6, 4e-6}, std::sqrt(12.5) * 1e-6, std::sqrt(12.5) * 1e-11},
      {"large", {4}, {3e4, 4e4, -3e4, 4e4}, std::sqrt(12.5) * 1e4, std::sqrt(12.5) * 1e-1},
      {"mostly zeros", {6}, {0, 0, 2, 0, -0.0, 0}, 2, 2e-5},
      {"special", {5}, {std::nan(""), HUGE_VAL, 2, -HUGE_VAL, 2}, 2, 2e-5},
      {"only special", {3}, {std::nan(""), HUGE_VAL, -HUGE_VAL}, 0, 0},
      {"zeros", {3}, {0, 0, -0.0}, 0, 0},
      {"squares overflow", {3}, {1e308, -1e308, 0}, 1e308, 1e303},
      {"squares underflow", {3}, {1e-300, -1e-300, 0}, 1e-300, 1e-305},
      {"largest",
       {2},
       {std::numeric_limits<double>::max(), -std::numeric_limits<double>::max()},
       0x1.fffffffffffffp1023,
       1e-5 * 0x1.fffffffffffffp1023},
      {"subnormal", {2}, {5e-324, 5e-324}, 5e-324, 5e-324},
      {"boxes with a score", {2, 2}, {700, 0.5, 700, 0.5}, std::sqrt((490000 + 0.25) / 2), 1e-5},
      {"small boxes", {1, 2, 2}, {1e-3, 1e-3, 1e-3, 1e-3}, 1e-3, 1e-8},
      {"a column", {2, 1}, {700, 700}, 700, 7e-3},
      {"filters", {1, 1, 2, 2}, {700, 700, 700, 700}, 700, 7e-3},
      {"long rows", {1, 17}, std::vector<double>(17, 700), 700, 7e-3},
  };
  mluOpOmpCompareOptions_t options{};
  options.rms_atol = 1e-5;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    const auto expected = DenseTensor::of(MLUOP_DTYPE_DOUBLE, row.dims, row.expected);
    const auto figures = Compared(expected, expected, options).difference();
    EXPECT_DOUBLE_EQ(figures.rms, row.rms);
    EXPECT_DOUBLE_EQ(figures.atol, row.atol);
    // NaN in found changes nothing.
    const std::vector<double> nan(row.expected.size(), std::nan(""));
    EXPECT_EQ(Compared(DenseTensor::of(MLUOP_DTYPE_DOUBLE, row.dims, nan), expected, options).difference().atol,
              figures.atol);
    options.atol = 1;
    EXPECT_EQ(Compared(expected, expected, options).difference().atol,
              std::min(1 + figures.atol, std::numeric_limits<double>::max()));
    options.atol = 0;
  }
  // Half has no numbers between 0 and 2^-24.
  const auto half = tensor_of(MLUOP_DTYPE_HALF, {0x1p-20, 0x1p-20});
  EXPECT_EQ(Compared(half, half, options).difference().atol, 0x1p-24);
}

// Errors that fp32 cannot distinguish from the tolerance.
TEST(CompareFigures, WrongByOneRoundingOfTheTolerance) {
  mluOpOmpCompareOptions_t options = mluOpOmpDefaultCompareOptions();
  const std::vector<float> b(40, 3), e(40, 3.25F);
  const auto found = DenseTensor::of(MLUOP_DTYPE_FLOAT, {40}, e),
             expected = DenseTensor::of(MLUOP_DTYPE_FLOAT, {40}, b);
  options.rtol = options.rms_atol = 0;
  options.atol = 0.25;
  EXPECT_EQ(Compared(found, expected, options).difference().wrong, 0);
  options.atol = std::nextafter(0.25, 0.0);
  EXPECT_EQ(Compared(found, expected, options).difference().wrong, 40);
}

// Errors whose values are equal or adjacent in fp32, and distances that fp32 rounds.
TEST(CompareFigures, OfErrorsThatRiseSlowly) {
  constexpr size_t kCount = 600;
  std::vector<float> ones(kCount, 1), rising(kCount), halves(kCount, 2.5F), next(kCount), far(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    rising[i] = -std::ldexp(static_cast<float>(i), -40);
    next[i] = 1.5F - std::ldexp(static_cast<float>(i / 16), -23);
    far[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(1.0F) + (1U << (i % 3 + 24)) + 1);
  }
  const auto tensor = [](const std::vector<float>& numbers) {
    return DenseTensor::of(MLUOP_DTYPE_FLOAT, {kCount}, numbers);
  };
  const auto options = mluOpOmpDefaultCompareOptions();
  expect_figures(tensor(rising), tensor(ones), options);
  expect_figures(tensor(next), tensor(halves), options);
  expect_figures(tensor(far), tensor(ones), options);
  expect_figures(tensor(std::vector<float>(kCount)), tensor(ones), options);
}

TEST(CompareFigures, OfNoElements) {
  const DenseTensor empty{MLUOP_DTYPE_FLOAT, {3, 0, 2}, {}};
  const Compared compared(empty, empty);
  mluOpOmpDifference_t figures = compared.difference();
  EXPECT_EQ(figures.cosine, 1);
  EXPECT_EQ(figures.pcc, 1);
  figures.cosine = figures.pcc = 0;
  const mluOpOmpDifference_t zeros{};
  EXPECT_EQ(std::memcmp(&figures, &zeros, sizeof(zeros)), 0);
  EXPECT_EQ(compared.worst().size(), 0U);
  EXPECT_EQ(compared.pattern(), "");
}

// Errors, and squares of numbers, beyond the range of double.
TEST(CompareFigures, SumsDoNotOverflow) {
  const auto e = DenseTensor::of<double>(MLUOP_DTYPE_DOUBLE, {3}, {1.5e308, 1e200, -1.5e308});
  const auto b = DenseTensor::of<double>(MLUOP_DTYPE_DOUBLE, {3}, {-1.5e308, 1e200, 1.5e308});
  const auto figures = Compared(e, b).difference();
  EXPECT_DOUBLE_EQ(figures.diff1, 2);
  EXPECT_DOUBLE_EQ(figures.diff2, 2);
  EXPECT_DOUBLE_EQ(figures.max_relative, 2);
  EXPECT_DOUBLE_EQ(figures.diff3_relative, 2);
  EXPECT_DOUBLE_EQ(figures.cosine, -1);
  EXPECT_EQ(figures.max_absolute, HUGE_VAL);
  EXPECT_DOUBLE_EQ(figures.mean_magnitude, 1e308);
  // Squares that underflow beside squares that overflow.
  for (int i = 0; i < 64; ++i) {
    const double small = 1e7 * (1 + 0.03 * i);
    const auto constant = DenseTensor::of<double>(MLUOP_DTYPE_DOUBLE, {3}, {small, small, small});
    EXPECT_TRUE(std::isfinite(Compared(constant, b).difference().pcc)) << small;
  }
}

TEST(CompareFigures, CorrelationOfLargeMeans) {
  std::mt19937 random = seeded_random();
  std::normal_distribution<double> normal;
  std::vector<double> e, b;
  for (int i = 0; i < 5000; ++i) {
    b.push_back(1e9 + normal(random));
    e.push_back(b.back() + normal(random));
  }
  const auto found = DenseTensor::of(MLUOP_DTYPE_DOUBLE, {5000}, e),
             expected = DenseTensor::of(MLUOP_DTYPE_DOUBLE, {5000}, b);
  const auto options = mluOpOmpDefaultCompareOptions();
  EXPECT_NEAR(Compared(found, expected).difference().pcc, plain(found, expected, options, 0).figures.pcc, 1e-9);
  // Constants.
  const auto constant = DenseTensor::of(MLUOP_DTYPE_DOUBLE, {5000}, std::vector<double>(5000, 0.1));
  EXPECT_EQ(Compared(constant, expected).difference().pcc, 0);
  EXPECT_EQ(Compared(constant, constant).difference().pcc, 1);
}

// Integers that have the same value in double are unequal.
TEST(CompareFigures, Of64BitIntegers) {
  constexpr int64_t kLarge = (int64_t{1} << 60) + 1;
  const auto e = DenseTensor::of<int64_t>(MLUOP_DTYPE_INT64, {3}, {kLarge, -5, INT64_MIN});
  const auto b = DenseTensor::of<int64_t>(MLUOP_DTYPE_INT64, {3}, {kLarge + 1, -5, INT64_MAX});
  mluOpOmpCompareOptions_t options = mluOpOmpDefaultCompareOptions();
  options.rtol = options.rms_atol = 0;
  const Compared compared(e, b, options);
  EXPECT_EQ(compared.difference().differing, 2);
  EXPECT_EQ(compared.difference().wrong, 2);
  EXPECT_EQ(compared.difference().max_ulp, INT64_MAX);
  EXPECT_EQ(compared.difference().below, 2);
  EXPECT_EQ(compared.worst()[1].absolute, 1);
  const auto u = DenseTensor::of<uint64_t>(MLUOP_DTYPE_UINT64, {3}, {kLarge + 1, 0, 0});
  const auto positive = DenseTensor::of<int64_t>(MLUOP_DTYPE_INT64, {3}, {kLarge, 0, 0});
  const Compared unlike(positive, u, options);
  EXPECT_EQ(unlike.difference().differing, 1);
  EXPECT_EQ(unlike.difference().max_ulp, 1);
  EXPECT_EQ(unlike.difference().wrong, 1);
  EXPECT_EQ(Compared(u, positive, options).worst()[0].absolute, 1);
}

TEST(CompareFigures, ReadNothingBesideTheTensors) {
  for (const size_t count : {1, 15, 16, 17, 33, 512, 700}) {
    for (const mluOpDataType_t dtype : kDtypes) {
      for (const Placement placement : kPlacements) {
        const size_t size = cases::element_size(dtype);
        const GuardedMemory e(count * size, size, placement), b(count * size, size, placement);
        std::memset(e.bytes(), 1, count * size);
        std::memset(b.bytes(), 2, count * size);
        const Handle handle;
        const Descriptor desc(dtype, {static_cast<int64_t>(count)});
        mluOpOmpComparison_t comparison = nullptr;
        require(mluOpOmpCompare(handle, desc, e.bytes(), desc, b.bytes(), nullptr, &comparison));
        mluOpOmpDifference_t figures;
        require(mluOpOmpGetDifference(comparison, &figures));
        EXPECT_EQ(figures.differing, static_cast<int64_t>(count));
        mluOpOmpDestroyComparison(comparison);
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
