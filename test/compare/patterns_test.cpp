// The descriptions of the wrong elements of a modified tensor, and near misses that a description must not match.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "case/values.h"
#include "compare/compared.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kB = 2, kY = 6, kX = 7, kC = 16, kCount = kB * kY * kX * kC;
constexpr const char* kAxes[] = {"batch", "y", "x", "channel"};

struct Position {
  int64_t b, y, x, c;
};

Position position_of(int64_t i) { return {i / (kY * kX * kC), i / (kX * kC) % kY, i / kC % kX, i % kC}; }

std::vector<float> random_floats(int64_t count) {
  std::mt19937 random = seeded_random();
  std::uniform_real_distribution<float> uniform(1, 2);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

std::string pattern_of(const std::vector<float>& found, const std::vector<float>& expected,
                       const std::vector<int64_t>& dims = {kB, kY, kX, kC}) {
  mluOpOmpCompareOptions_t options = mluOpOmpDefaultCompareOptions();
  if (dims.size() == 4) options.axes = kAxes;
  std::string patterns[2];
  for (const int threads : {1, 3}) {
    const ScopedThreads scope(threads);
    patterns[threads / 2] = Compared(DenseTensor::of(MLUOP_DTYPE_FLOAT, dims, found),
                                     DenseTensor::of(MLUOP_DTYPE_FLOAT, dims, expected), options)
                                .pattern();
  }
  EXPECT_EQ(patterns[0], patterns[1]);
  return patterns[0];
}

// The pattern if the elements at these positions have random errors.
std::string pattern_at(const std::function<bool(const Position&)>& is_wrong) {
  const std::vector<float> expected = random_floats(kCount);
  std::vector<float> found = expected;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> error(1, 2);
  for (int64_t i = 0; i < kCount; ++i) {
    if (is_wrong(position_of(i))) found[static_cast<size_t>(i)] += error(random);
  }
  return pattern_of(found, expected);
}

TEST(ComparePatterns, Locations) {
  using P = const Position&;
  const std::pair<const char*, bool (*)(P)> patterns[] = {
      {"", [](P) { return false; }},
      {"everything, 1344 of all 1344 elements", [](P) { return true; }},
      {"one channel: 3 of 16 (dim 3), 84 of its 84 elements", [](P p) { return p.c == 3; }},
      // Only the occupied cells of a channel are wrong.
      {"one channel: 3 of 16 (dim 3), 28 of its 84 elements",
       [](P p) { return p.c == 3 && (p.x + p.y) % 3 == 0; }},
      {"one batch: 1 of 2 (dim 0), 672 of its 672 elements", [](P p) { return p.b == 1; }},
      {"a tile: [1:2, 0:2, 5:7, 0:8], 32 of its 32 elements",
       [](P p) { return p.b == 1 && p.y < 2 && p.x >= 5 && p.c < 8; }},
      {"every 4th channel from 1 (dim 3), 336 of their 336 elements", [](P p) { return p.c % 4 == 1; }},
      {"3 of 16 indices of channel: 1, 2, 9 (dim 3), 252 of their 252 elements",
       [](P p) { return p.c == 1 || p.c == 2 || p.c == 9; }},
      {"4 of 16 indices of channel: 4 to 7 (dim 3), 336 of their 336 elements",
       [](P p) { return p.c >= 4 && p.c < 8; }},
      {"2 of 7 indices of x: 0, 6 (dim 2), 384 of their 384 elements", [](P p) { return p.x % 6 == 0; }},
      {"a border: the first or last y (dim 1) or x (dim 2), 704 of its 704 elements",
       [](P p) { return p.y % 5 == 0 || p.x % 6 == 0; }},
      {"one element", [](P p) { return p.b == 0 && p.y == 1 && p.x == 2 && p.c == 3; }},
      {"a few elements: 2",
       [](P p) { return p.b + p.y == 0 && ((p.x == 6 && p.c == 4) || (p.x == 0 && p.c == 5)); }},
      {"scattered: 9.1 % of all elements, in no pattern",
       [](P p) { return (p.b * 7919 + p.y * 104729 + p.x * 1299709 + p.c * 15485863) % 11 == 0; }},
      // An inner element is wrong too, so the pattern is not a border.
      {"scattered: 52 % of all elements, in no pattern",
       [](P p) { return p.y % 5 == 0 || p.x % 6 == 0 || (p.b == 0 && p.y == 2 && p.x == 3 && p.c == 4); }},
  };
  for (const auto& [text, is_wrong] : patterns) EXPECT_EQ(pattern_at(is_wrong), text);
}

// Common properties of the wrong elements of one channel, and an element without the property.
TEST(ComparePatterns, Traits) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> base = random_floats(kCount);
  const std::pair<const char*, float (*)(float)> traits[] = {
      {"each is NaN", [](float) { return kNaN; }},
      {"each is infinite (overflow)", [](float) { return HUGE_VALF; }},
      {"each is 0", [](float) { return 0.0F; }},
      {"each has the other sign", [](float b) { return -b; }},
      {"each is 3 times what is expected", [](float b) { return 3 * b; }},
      {"each is rounded to half", [](float b) { return std::rint(b * 0x1p10F) * 0x1p-10F; }},
      {"each is rounded to bfloat16", [](float b) { return std::rint(b * 0x1p7F) * 0x1p-7F; }},
  };
  for (const auto& [text, spoil] : traits) {
    std::vector<float> found = base, expected = base;
    const auto states = [of = std::string(text)](const char* part) { return of.find(part) != std::string::npos; };
    // Beyond the tolerance; for bfloat16, also from the nearest halves.
    const float rounding = states("to half") ? 0x1p-12F : states("to bfloat16") ? 0x1p-9F : 0;
    for (size_t i = 3; i < found.size(); i += kC) {
      found[i] = spoil(expected[i]);
      if (rounding > 0) expected[i] = found[i] + rounding;
    }
    EXPECT_EQ(pattern_of(found, expected),
              std::string("one channel: 3 of 16 (dim 3), 84 of its 84 elements; ") + text);
    found[3 + 40 * kC] = expected[3 + 40 * kC] + 0.4711F;
    EXPECT_EQ(pattern_of(found, expected), "one channel: 3 of 16 (dim 3), 84 of its 84 elements") << text;
  }
}

// Elements in vectors, elements of the remainder, and elements beside NaN.
TEST(ComparePatterns, TraitsOfEachElement) {
  constexpr size_t kElements = 70;
  for (const mluOpDataType_t dtype :
       {MLUOP_DTYPE_HALF, MLUOP_DTYPE_BFLOAT16, MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_DOUBLE}) {
    DenseTensor e{dtype, {kElements}, {}}, b = e;
    e.bytes.resize(kElements * cases::element_size(dtype));
    b.bytes.resize(e.bytes.size());
    const auto put = [&](DenseTensor& tensor, size_t i, double number) {
      cases::put_bits(tensor.bytes.data(), dtype, i, cases::bits_of_number(dtype, number));
    };
    for (size_t i = 0; i < kElements; ++i) {
      put(b, i, static_cast<double>(i + 1));
      put(e, i, -static_cast<double>(i + 1));
    }
    EXPECT_THAT(Compared(e, b).pattern(), HasSubstr("each has the other sign")) << dtype;
    for (size_t i = 0; i < kElements; ++i) put(e, i, static_cast<double>(2 * i + 2));
    EXPECT_THAT(Compared(e, b).pattern(), HasSubstr("each is 2 times what is expected")) << dtype;
    for (size_t i = 0; i < kElements; ++i) {
      for (const double other : {0.25, std::nan("")}) {
        put(e, i, other);
        EXPECT_THAT(Compared(e, b).pattern(), Not(HasSubstr("each"))) << dtype << ' ' << i << ' ' << other;
      }
      put(e, i, static_cast<double>(2 * i + 2));
    }
  }
}

TEST(ComparePatterns, OneUlpAndFlushedHalves) {
  mluOpOmpCompareOptions_t options = mluOpOmpDefaultCompareOptions();
  options.rtol = options.rms_atol = 0;
  std::vector<uint16_t> b(64), e(64);
  for (size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<uint16_t>(0x3C00 + i * 7);
    e[i] = static_cast<uint16_t>(b[i] + (i % 2 == 0 ? 1 : -1));
  }
  const auto pattern = [&] {
    return Compared(DenseTensor::of(MLUOP_DTYPE_HALF, {8, 8}, e), DenseTensor::of(MLUOP_DTYPE_HALF, {8, 8}, b),
                    options)
        .pattern();
  };
  EXPECT_THAT(pattern(), HasSubstr("everything, 64 of all 64 elements; each is off by 1 ULP"));
  e[9] = static_cast<uint16_t>(b[9] + 2);
  EXPECT_EQ(pattern(), "everything, 64 of all 64 elements");
  for (size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<uint16_t>(1 + i * 3);
    e[i] = 0;
  }
  EXPECT_EQ(pattern(),
            "everything, 64 of all 64 elements; each is 0, expected a subnormal number (flushed to zero)");
  b[5] = 0x3C00;
  EXPECT_EQ(pattern(), "everything, 64 of all 64 elements; each is 0");
}

TEST(ComparePatterns, EightDimensions) {
  const std::vector<float> expected = random_floats(96);
  std::vector<float> found = expected;
  for (size_t i = 0; i < found.size(); ++i) {
    if (i / 8 % 3 == 1) found[i] += expected[95 - i];
  }
  EXPECT_EQ(pattern_of(found, expected, {1, 2, 1, 2, 3, 2, 1, 4}),
            "one index: 1 of 3 (dim 4), 32 of its 32 elements");
}

TEST(ComparePatterns, Integers) {
  const auto pattern = [](const std::vector<int32_t>& found, const std::vector<int32_t>& expected) {
    const std::vector<int64_t> dims = {static_cast<int64_t>(found.size())};
    return Compared(DenseTensor::of(MLUOP_DTYPE_INT32, dims, found),
                    DenseTensor::of(MLUOP_DTYPE_INT32, dims, expected))
        .pattern();
  };
  EXPECT_EQ(pattern({2, 3, 4, 8, 10}, {1, 2, 3, 9, 11}), "everything, 5 of all 5 elements; each is off by 1");
  EXPECT_EQ(pattern({3, 5, 7, 10, 100}, {6, 10, 14, 20, 200}),
            "everything, 5 of all 5 elements; each is 0.5 times what is expected");
  EXPECT_EQ(pattern({3, 5, 7, 10, 100}, {6, 10, 14, 23, 200}), "everything, 5 of all 5 elements");
}

TEST(ComparePatterns, Transpositions) {
  const std::vector<float> expected = random_floats(kCount);
  std::vector<float> found;
  for (int64_t x = 0; x < kX; ++x) {
    for (int64_t b = 0; b < kB; ++b) {
      for (int64_t c = 0; c < kC; ++c) {
        for (int64_t y = 0; y < kY; ++y)
          found.push_back(expected[static_cast<size_t>(((b * kY + y) * kX + x) * kC + c)]);
      }
    }
  }
  EXPECT_EQ(pattern_of(found, expected),
            "transposed: found has the dims of expected in the order 2, 0, 3, 1 (x, batch, channel, y)");
  EXPECT_EQ(pattern_of(expected, found),
            "transposed: expected has the dims of found in the order 2, 0, 3, 1 (x, batch, channel, y)");
  // Within the tolerance.
  std::vector<float> near = found;
  for (float& value : near) value *= 1 + 2e-6F;
  EXPECT_THAT(pattern_of(near, expected), HasSubstr("order 2, 0, 3, 1"));
  near[77] += 1e-3F;
  EXPECT_THAT(pattern_of(near, expected), Not(HasSubstr("transposed")));
}

TEST(ComparePatterns, Permutations) {
  const std::vector<float> expected = random_floats(kCount);
  // map(i) is the new index of index i of `dim`.
  const auto permuted = [&](int dim, const std::function<int64_t(int64_t)>& map) {
    std::vector<float> found(expected.size());
    for (int64_t i = 0; i < kCount; ++i) {
      Position p = position_of(i);
      int64_t& index = dim == 0 ? p.b : dim == 1 ? p.y : dim == 2 ? p.x : p.c;
      index = map(index);
      found[static_cast<size_t>(((p.b * kY + p.y) * kX + p.x) * kC + p.c)] = expected[static_cast<size_t>(i)];
    }
    return found;
  };
  EXPECT_EQ(pattern_of(permuted(0, [](int64_t i) { return 1 - i; }), expected),
            "all 2 indices of batch (dim 0) are permuted: 0 -> 1, 1 -> 0");
  EXPECT_EQ(pattern_of(permuted(2, [](int64_t i) { return 6 - i; }), expected),
            "6 of 7 indices of x (dim 2) are reversed");
  EXPECT_EQ(pattern_of(permuted(1, [](int64_t i) { return (i + 4) % 6; }), expected),
            "all 6 indices of y (dim 1) are rotated by 4");
  const int64_t cycle[] = {0, 2, 9, 3, 4, 5, 6, 7, 8, 1, 10, 11, 12, 13, 14, 15};
  std::vector<float> found = permuted(3, [&](int64_t i) { return cycle[i]; });
  EXPECT_EQ(pattern_of(found, expected),
            "3 of 16 indices of channel (dim 3) are permuted: 1 -> 2, 2 -> 9, 9 -> 1");
  for (float& value : found) value *= 1 + 2e-6F;
  EXPECT_THAT(pattern_of(found, expected), HasSubstr("1 -> 2, 2 -> 9, 9 -> 1"));
  found[7 * kC + 9] += 1e-3F;  // not in the rows that are compared first
  EXPECT_THAT(pattern_of(found, expected), Not(HasSubstr("permuted")));
}

// Thousands of permuted rows, many of them equal, with rounding errors.
TEST(ComparePatterns, PermutedRows) {
  MLUOP_LABELS(kOnce);
  constexpr size_t kRows = 20000, kColumns = 5;
  std::vector<float> expected = random_floats(kRows * kColumns);
  std::fill_n(expected.begin() + 500 * kColumns, 1000 * kColumns, 0.0F);
  std::vector<size_t> order(kRows);
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random = seeded_random();
  std::shuffle(order.begin(), order.end(), random);
  std::vector<float> found(expected.size());
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t column = 0; column < kColumns; ++column) {
      const float rounding = 1 + static_cast<float>(random() % 3) * 1e-6F;
      found[order[row] * kColumns + column] = expected[row * kColumns + column] * rounding;
    }
  }
  EXPECT_THAT(pattern_of(found, expected, {kRows, kColumns}),
              HasSubstr("indices of index (dim 0) are permuted: "));
  found[7] += 0.5F;
  EXPECT_THAT(pattern_of(found, expected, {kRows, kColumns}), Not(HasSubstr("permuted")));
}

}  // namespace
}  // namespace mluop::test
