// mluOpMaskedCol2imForward with tensors of more than 2^31 elements: every element against the definition.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "large/large_memory.h"
#include "ops/masked_col2im_forward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using T = uint16_t;  // half

struct Col2im {
  explicit Col2im(const MaskedCol2imSizes& with)
      : sizes(with),
        col(sizes.input_count(), Pages::kDense),
        mask_h(sizes.mask_cnt, Pages::kSparse),
        mask_w(sizes.mask_cnt, Pages::kSparse),
        im(sizes.output_count(), Pages::kDense) {}

  mluOpStatus_t run() const {
    const Handle handle;
    const Descriptor col_desc(MLUOP_DTYPE_HALF, {sizes.channels, sizes.mask_cnt});
    const Descriptor mask_desc(MLUOP_DTYPE_INT32, {sizes.mask_cnt});
    const Descriptor im_desc(MLUOP_DTYPE_HALF, {1, sizes.channels, sizes.height, sizes.width}, MLUOP_LAYOUT_NCHW);
    im.poison();
    return mluOpMaskedCol2imForward(handle, col_desc, col.data(), mask_desc, mask_h.data(), mask_desc,
                                    mask_w.data(), 0, nullptr, im_desc, im.data());
  }

  MaskedCol2imSizes sizes;
  LargeBuffer<T> col;
  LargeBuffer<int32_t> mask_h, mask_w;
  LargeBuffer<T> im;
};

class LargeMaskedCol2imForward : public ::testing::Test {
 protected:
  std::mt19937 random = seeded_random();
  ScopedThreads threads{2};
};

TEST_F(LargeMaskedCol2imForward, Planes) {
  MLUOP_REQUIRE_MEMORY(6);
  const Col2im call({3, 26800, 26800, 5000});
  ASSERT_GT(call.sizes.output_count(), kLimit);
  // The last pixel, and others.
  for (int64_t k = 0; k < call.sizes.mask_cnt; ++k) {
    call.mask_h[k] = static_cast<int32_t>(26799 - k * 5);
    call.mask_w[k] = k == 0 ? 26799 : static_cast<int32_t>(random() % 26800);
  }
  for (int64_t i = 0; i < call.sizes.input_count(); ++i) call.col[i] = static_cast<T>(random() | 1U);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  for (int64_t c = 0; c < call.sizes.channels; ++c) {
    for (int64_t k = 0; k < call.sizes.mask_cnt; ++k) {
      T& element = call.im[(c * call.sizes.height + call.mask_h[k]) * call.sizes.width + call.mask_w[k]];
      ASSERT_EQ(element, call.col[c * call.sizes.mask_cnt + k]) << "channel " << c << ", mask " << k;
      element = 0;
    }
  }
  EXPECT_TRUE(all_zero(call.im.data(), call.im.byte_count()));
}

// Masks in row-major order and in another.
TEST_F(LargeMaskedCol2imForward, ColumnsOfManyChannels) {
  MLUOP_REQUIRE_MEMORY(10);
  constexpr int64_t kPlane = 270 * 270;
  const Col2im call({30'000, 270, 270, kPlane / 81 * 80});
  ASSERT_GT(call.sizes.input_count(), kLimit);
  for (int64_t i = 0; i < call.sizes.input_count(); ++i) call.col[i] = static_cast<T>(i % 65521 + 1);
  for (const bool row_major : {true, false}) {
    SCOPED_TRACE(row_major);
    std::vector<int64_t> mask_of(kPlane, -1);
    for (int64_t k = 0; k < call.sizes.mask_cnt; ++k) {
      // 7919 is a prime: the pixels are distinct.
      const int64_t pixel = row_major ? k * 81 / 80 : kPlane - 1 - k * 7919 % kPlane;
      mask_of[static_cast<size_t>(pixel)] = k;
      call.mask_h[k] = static_cast<int32_t>(pixel / 270);
      call.mask_w[k] = static_cast<int32_t>(pixel % 270);
    }
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const auto holds = [&](int64_t c) {
      for (int64_t pixel = 0; pixel < kPlane; ++pixel) {
        const int64_t k = mask_of[static_cast<size_t>(pixel)];
        const T expected = k < 0 ? T{0} : call.col[c * call.sizes.mask_cnt + k];
        if (call.im[c * kPlane + pixel] != expected) return false;
      }
      return true;
    };
    EXPECT_EQ(first_violation(call.sizes.channels, holds), call.sizes.channels);
  }
}

}  // namespace
}  // namespace mluop::test
