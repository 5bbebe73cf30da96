// mluOpMaskedIm2colForward with tensors of more than 2^31 elements: every element against the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "large/large_memory.h"
#include "ops/masked_im2col_forward/call.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using T = uint16_t;  // half

struct Im2col {
  Im2col(const MaskedIm2colSizes& with, Pages feature_pages)
      : sizes(with),
        feature(sizes.feature_count(), feature_pages),
        mask_h(sizes.mask_cnt, Pages::kSparse),
        mask_w(sizes.mask_cnt, Pages::kSparse),
        data_col(sizes.output_count(), Pages::kDense) {}

  mluOpStatus_t run(mluOpOmpAlgorithm_t algorithm) const {
    const Handle handle(algorithm);
    const size_t bytes = masked_im2col_workspace<T>(handle, sizes);
    const LargeMemory workspace(bytes, Pages::kDense);
    const Descriptor feature_desc(MLUOP_DTYPE_HALF, {1, sizes.channels, sizes.height, sizes.width},
                                  MLUOP_LAYOUT_NCHW);
    const Descriptor mask_desc(MLUOP_DTYPE_INT32, {sizes.mask_cnt});
    const Descriptor data_col_desc(MLUOP_DTYPE_HALF, {sizes.row_count(), sizes.mask_cnt});
    return mluOpMaskedIm2colForward(handle, feature_desc, feature.data(), mask_desc, mask_h.data(), mask_desc,
                                    mask_w.data(), sizes.kernel_h, sizes.kernel_w, sizes.pad_h, sizes.pad_w,
                                    bytes == 0 ? nullptr : workspace.bytes(), bytes, data_col_desc,
                                    data_col.data());
  }

  // The definition of columns [begin, end) of a row.
  bool holds(int64_t row, int64_t begin, int64_t end) const {
    const int64_t c = row / (sizes.kernel_h * sizes.kernel_w);
    const int64_t i = row / sizes.kernel_w % sizes.kernel_h, j = row % sizes.kernel_w;
    for (int64_t k = begin; k < end; ++k) {
      const int64_t h = int64_t{mask_h[k]} - sizes.pad_h + i, w = int64_t{mask_w[k]} - sizes.pad_w + j;
      const bool inside = h >= 0 && w >= 0 && h < sizes.height && w < sizes.width;
      const T expected = inside ? feature[(c * sizes.height + h) * sizes.width + w] : T{0};
      if (data_col[row * sizes.mask_cnt + k] != expected) return false;
    }
    return true;
  }

  void expect_definition() const {
    constexpr int64_t kColumns = 1 << 20;
    const int64_t parts = (sizes.mask_cnt + kColumns - 1) / kColumns;
    const int64_t all = sizes.row_count() * parts;
    EXPECT_EQ(first_violation(all,
                              [&](int64_t n) {
                                const int64_t begin = n % parts * kColumns;
                                return holds(n / parts, begin, std::min(begin + kColumns, sizes.mask_cnt));
                              }),
              all)
        << "times " << kColumns << " columns";
  }

  void expect_results() const {
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      data_col.poison();
      ASSERT_EQ(run(algorithm), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      expect_definition();
    }
  }

  MaskedIm2colSizes sizes;
  LargeBuffer<T> feature;
  LargeBuffer<int32_t> mask_h, mask_w;
  LargeBuffer<T> data_col;
};

class LargeMaskedIm2colForward : public ::testing::Test {
 protected:
  // A coordinate from outside the feature on one side to outside on the other.
  int32_t coordinate(int64_t extent) {
    return static_cast<int32_t>(random() % static_cast<uint64_t>(extent + 4)) - 2;
  }

  std::mt19937 random = seeded_random();
  ScopedThreads threads{2};
};

TEST_F(LargeMaskedIm2colForward, DataColOfManyRows) {
  MLUOP_REQUIRE_MEMORY(10);
  const Im2col call({256, 30, 40, 932100, 3, 3, 1, 1}, Pages::kDense);
  ASSERT_GT(call.sizes.output_count(), kLimit);
  for (int64_t i = 0; i < call.sizes.feature_count(); ++i) call.feature[i] = static_cast<T>(random());
  for (int64_t k = 0; k < call.sizes.mask_cnt; ++k) {
    call.mask_h[k] = coordinate(call.sizes.height);
    call.mask_w[k] = coordinate(call.sizes.width);
  }
  call.expect_results();
}

// Almost all masks are (0, 0).
TEST_F(LargeMaskedIm2colForward, DataColOfManyMasks) {
  MLUOP_REQUIRE_MEMORY(10);
  const Im2col call({1, 5, 7, kLimit + 77, 1, 1, 0, 0}, Pages::kDense);
  for (int64_t i = 0; i < call.sizes.feature_count(); ++i) call.feature[i] = static_cast<T>(random() | 1U);
  for (int i = 0; i < 1000; ++i) {
    // The last masks, and others.
    const int64_t k = i < 100 ? call.sizes.mask_cnt - 1 - i : static_cast<int64_t>(random()) % call.sizes.mask_cnt;
    call.mask_h[k] = coordinate(call.sizes.height);
    call.mask_w[k] = coordinate(call.sizes.width);
  }
  call.expect_results();
}

// The feature is zero outside the windows.
TEST_F(LargeMaskedIm2colForward, Feature) {
  MLUOP_REQUIRE_MEMORY(6);
  const Im2col call({3, 26800, 26800, 500, 3, 2, 1, 0}, Pages::kSparse);
  ASSERT_GT(call.sizes.feature_count(), kLimit);
  for (int64_t k = 0; k < call.sizes.mask_cnt; ++k) {
    // The last corner, and random places.
    call.mask_h[k] =
        k < 100 ? static_cast<int32_t>(call.sizes.height - 1 - k % 10) : coordinate(call.sizes.height);
    call.mask_w[k] = k < 100 ? static_cast<int32_t>(call.sizes.width - 1 - k / 10) : coordinate(call.sizes.width);
    for (int64_t c = 0; c < call.sizes.channels; ++c) {
      for (int64_t i = -1; i < 2; ++i) {
        for (int64_t j = 0; j < 2; ++j) {
          const int64_t h = call.mask_h[k] + i, w = call.mask_w[k] + j;
          const bool inside = h >= 0 && w >= 0 && h < call.sizes.height && w < call.sizes.width;
          if (inside) call.feature[(c * call.sizes.height + h) * call.sizes.width + w] = static_cast<T>(random());
        }
      }
    }
  }
  call.expect_results();
}

}  // namespace
}  // namespace mluop::test
