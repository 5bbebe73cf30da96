// The microkernels of tile registers, on an emulation of tile registers and, if the machine has AMX, on AMX:
// products of whole numbers, whose sums are exact, compared to their definition.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "core/simd.h"
#include "core/sizes.h"
#include "primitives/gemm/amx_microkernels-inl.h"
#include "support/element.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace mluop::test {
namespace {

using mluop::HWY_NAMESPACE::amx_gemm_panel;
using mluop::HWY_NAMESPACE::amx_outer_product_panel;
using mluop::HWY_NAMESPACE::AmxOuterProductArgs;
using mluop::HWY_NAMESPACE::kMaxPanelTiles;
using mluop::HWY_NAMESPACE::MicrokernelArgs;

// Executes the operations of AMX in the order of its manual, except for subnormal numbers.
class EmulatedTiles {
 public:
  template <int kTile>
  void zero() {
    tiles_[kTile] = {};
  }
  template <int kTile>
  void load(const void* from, int64_t stride) {
    for (int64_t row = 0; row < kAmxRows; ++row) {
      std::memcpy(tiles_[kTile].rows[row], static_cast<const char*>(from) + row * stride, kAmxRowBytes);
    }
  }
  template <int kTile>
  void store(void* to, int64_t stride) const {
    for (int64_t row = 0; row < kAmxRows; ++row) {
      std::memcpy(static_cast<char*>(to) + row * stride, tiles_[kTile].rows[row], kAmxRowBytes);
    }
  }
  template <int kSums, int kA, int kB>
  void multiply_add() {
    for (int64_t r = 0; r < kAmxRows; ++r) {
      for (int64_t j = 0; j < kAmxColumns; ++j) {
        float even = 0, odd = 0;
        for (int64_t i = 0; i < kAmxRows; ++i) {
          even += element(kA, r, 2 * i) * element(kB, i, 2 * j);
          odd += element(kA, r, 2 * i + 1) * element(kB, i, 2 * j + 1);
        }
        tiles_[kSums].rows[r][j] += even + odd;
      }
    }
  }

 private:
  struct Registers {
    float rows[kAmxRows][kAmxColumns];
  };

  float element(int tile, int64_t row, int64_t column) const {
    mluop::BFloat16 value;
    std::memcpy(&value, reinterpret_cast<const mluop::BFloat16*>(tiles_[tile].rows[row]) + column, sizeof(value));
    return mluop::to_f32(value);
  }

  Registers tiles_[kAmxTileCount];
};

mluop::BFloat16 random_integer(std::mt19937& random) {
  return mluop::f32_to_bf16(static_cast<float>(random() % 17) - 8);
}

std::vector<mluop::BFloat16> random_matrix(int64_t count, std::mt19937& random) {
  std::vector<mluop::BFloat16> values(static_cast<size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return random_integer(random); });
  return values;
}

int64_t lane_element(int64_t row, int64_t column, int64_t width) {
  return (row / 2 * width + column) * 2 + row % 2;
}

// Multiplies some rows of A, with repetitions, and adds the products to `count` rows of C in any order.
template <class Tiles>
void expect_gemm(int64_t count, int64_t kc, int64_t width, std::mt19937& random) {
  SCOPED_TRACE(testing::Message() << count << " rows, " << kc << " x " << width);
  constexpr int32_t kFirstRow = 5;
  const int64_t stride = kc + 3, c_stride = width + 7;
  // The last row ends at the end of A.
  const GuardedBuffer<mluop::BFloat16> a(random_matrix((count - 1) * stride + kc, random), Placement::kAgainstEnd);
  std::vector<mluop::BFloat16> panel(static_cast<size_t>(round_up(kc, kAmxStep) * width), mluop::BFloat16{});
  for (int64_t k = 0; k < kc; ++k) {
    for (int64_t j = 0; j < width; ++j) {
      panel[static_cast<size_t>(lane_element(k, j, width))] = random_integer(random);
    }
  }
  std::vector<int32_t> a_rows(static_cast<size_t>(count)), c_rows(a_rows.size());
  for (auto& row : a_rows) row = static_cast<int32_t>(random() % static_cast<uint32_t>(count));
  std::iota(c_rows.begin(), c_rows.end(), kFirstRow);
  std::shuffle(c_rows.begin(), c_rows.end(), random);
  const GuardedBuffer<float> c(std::vector<float>(static_cast<size_t>((count - 1) * c_stride + width), 1),
                               Placement::kAgainstEnd);
  std::vector<float> expected = c.values();
  for (size_t i = 0; i < a_rows.size(); ++i) {
    for (int64_t j = 0; j < width; ++j) {
      float& sum = expected[static_cast<size_t>((c_rows[i] - kFirstRow) * c_stride + j)];
      for (int64_t k = 0; k < kc; ++k) {
        sum += mluop::to_f32(a[static_cast<size_t>(a_rows[i] * stride + k)]) *
               mluop::to_f32(panel[static_cast<size_t>(lane_element(k, j, width))]);
      }
    }
  }
  Tiles tiles;
  int blocks = 0;
  const MicrokernelArgs<mluop::BFloat16> args{panel.data(), kc, a.data(), stride, c.data(), c_stride, kFirstRow};
  amx_gemm_panel(tiles, width, args, a_rows.data(), c_rows.data(), count, [&] { ++blocks; });
  EXPECT_EQ(c.values(), expected);
  EXPECT_EQ(blocks, ceil_div(count, kAmxRows));
  EXPECT_TRUE(a.intact() && c.intact());
}

// The sums of `rows` rows over some lanes, from 0 or from 1.
template <class Tiles>
void expect_outer_product(int64_t lanes, int64_t rows, int64_t width, bool starts, std::mt19937& random) {
  SCOPED_TRACE(testing::Message() << lanes << " lanes, " << rows << " x " << width << ", starts: " << starts);
  const int64_t padded = round_up(rows, kAmxRows), a_stride = padded + 16, b_stride = width + 16;
  const std::vector<mluop::BFloat16> a = random_matrix(2 * lanes * padded, random);
  const std::vector<mluop::BFloat16> b = random_matrix(2 * lanes * b_stride, random);
  // Lane i of channel r is at line r, column i of its square.
  std::vector<mluop::BFloat16> transposed(static_cast<size_t>(2 * lanes * a_stride), mluop::BFloat16{});
  for (int64_t i = 0; i < lanes; ++i) {
    for (int64_t r = 0; r < padded; ++r) {
      const int64_t line = i / kAmxRows * kAmxRows + r % kAmxRows, column = r / kAmxRows * kAmxRows + i % kAmxRows;
      std::copy_n(a.data() + 2 * (i * padded + r), 2, transposed.data() + 2 * (line * a_stride + column));
    }
  }
  const GuardedBuffer<float> sums(std::vector<float>(static_cast<size_t>(padded * width), 1),
                                  Placement::kAgainstEnd);
  std::vector<float> expected(sums.size(), starts ? 0.0F : 1.0F);
  for (int64_t i = 0; i < 2 * lanes; ++i) {
    for (int64_t r = 0; r < padded; ++r) {
      for (int64_t j = 0; j < width; ++j) {
        expected[static_cast<size_t>(r * width + j)] +=
            mluop::to_f32(a[static_cast<size_t>(lane_element(i, r, padded))]) *
            mluop::to_f32(b[static_cast<size_t>(lane_element(i, j, b_stride))]);
      }
    }
  }
  Tiles tiles;
  const AmxOuterProductArgs args{reinterpret_cast<const float*>(transposed.data()),
                                 a_stride,
                                 reinterpret_cast<const float*>(b.data()),
                                 b_stride,
                                 lanes,
                                 starts,
                                 sums.data(),
                                 width};
  amx_outer_product_panel(tiles, width, args, rows, [] {});
  EXPECT_EQ(sums.values(), expected);
  EXPECT_TRUE(sums.intact());
}

template <class Tiles>
void expect_products() {
  auto random = seeded_random();
  for (int64_t panel_tiles = 1; panel_tiles <= kMaxPanelTiles; ++panel_tiles) {
    const int64_t width = panel_tiles * kAmxColumns;
    for (const int64_t count : {1, 15, 16, 17, 40}) {
      for (const int64_t kc : {1, 2, 31, 32, 33, 100}) expect_gemm<Tiles>(count, kc, width, random);
    }
    for (const int64_t lanes : {16, 48}) {
      for (const int64_t rows : {1, 16, 33}) {
        for (const bool starts : {false, true}) expect_outer_product<Tiles>(lanes, rows, width, starts, random);
      }
    }
  }
}

TEST(PrimitivesAmxMicrokernels, Emulated) { expect_products<EmulatedTiles>(); }

TEST(PrimitivesAmxMicrokernels, OfTheMachine) {
#if defined(__x86_64__)
  if (has_bf16_tiles()) return expect_products<AmxTiles>();
#endif
  GTEST_SKIP() << "no AMX";
}

}  // namespace
}  // namespace mluop::test
