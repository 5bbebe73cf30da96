// mluOpMaskedIm2colForward against the serial loop of its definition, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <string>

#include "ops/masked_im2col_forward/call.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

std::string name_of(const MaskedIm2colSizes& s) {
  const auto pair = [](auto a, auto b) { return std::to_string(a) + " x " + std::to_string(b); };
  return std::to_string(s.channels) + " x " + pair(s.height, s.width) + ", masks " + std::to_string(s.mask_cnt) +
         ", kernel " + pair(s.kernel_h, s.kernel_w) + ", pad " + pair(s.pad_h, s.pad_w);
}

template <class T>
void expect_columns(const MaskedIm2colInputs<T>& inputs, const std::vector<T>& expected, Placement placement) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    const MaskedIm2colCall<T> call(handle, inputs, placement);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const T* const columns = call.data_col_buffer.data();
    if (!std::equal(expected.begin(), expected.end(), columns)) {
      const auto wrong = std::mismatch(expected.begin(), expected.end(), columns).first - expected.begin();
      FAIL() << "row " << wrong / inputs.sizes.mask_cnt << ", mask " << wrong % inputs.sizes.mask_cnt << " is "
             << columns[wrong] << ", expected " << expected[wrong];
    }
    EXPECT_TRUE(call.intact());
  }
}

template <class T>
void expect_reference(const MaskedIm2colInputs<T>& inputs, Placement placement = Placement::kAligned) {
  expect_columns(inputs, masked_im2col_reference(inputs), placement);
}

// uint16_t represents half, uint32_t represents float.
template <class T>
class OpsMaskedIm2colForward : public ::testing::Test {
 protected:
  std::mt19937 random_ = seeded_random();
};

using ElementTypes = ::testing::Types<uint16_t, uint32_t>;
TYPED_TEST_SUITE(OpsMaskedIm2colForward, ElementTypes);

constexpr MaskedIm2colSizes kHostileSizes[] = {
    {1, 1, 1, 1, 1, 1, 0, 0},               // one of everything
    {4, 5, 6, 7, 3, 3, 1, 1},               // a group of channels in float
    {8, 5, 6, 7, 3, 3, 1, 1},               // a group in half
    {3, 9, 4, 15, 3, 3, 1, 1},              // a group minus one in float; a vector of masks minus one
    {5, 9, 4, 16, 3, 3, 1, 1},              // a group plus one in float; a cache line of masks
    {7, 9, 8, 17, 2, 3, 1, 1},              // a group minus one in half; a cache line plus one
    {9, 8, 9, 31, 3, 2, 0, 1},              // a group plus one in half; rows a pixel longer than a block
    {4, 6, 7, 33, 3, 3, 2, 2},              // rows shorter than a block in half, longer in float
    {8, 6, 3, 64, 3, 3, 1, 1},              // rows shorter than a block
    {8, 7, 5, 65, 1, 1, 0, 0},              // no zeros between rows: contiguous planes with a tail
    {8, 1, 3, 65, 1, 1, 1, 1},              // the same, smaller than a block; padding that excludes pixels
    {17, 1, 50, 40, 1, 5, 0, 2},            // a feature of one row
    {17, 50, 1, 40, 5, 1, 2, 0},            // a feature of one column
    {6, 4, 3, 30, 9, 11, 4, 5},             // a kernel larger than the feature
    {2, 3, 3, 9, 40, 1, 20, 0},             // much larger, in one dimension
    {2, 3, 3, 9, 1, 40, 0, 20},             // much larger, in the other dimension
    {6, 12, 14, 50, 2, 2, -3, -5},          // negative padding
    {6, 4, 5, 50, 3, 3, 100, 200},          // padding larger than the feature
    {5, 4, 5, 50, 3, 2, INT_MIN, INT_MAX},  // masks near the limits of int32 are inside the feature
    {5, 4, 5, 50, 2, 3, INT_MAX, INT_MIN},  // signs exchanged
    {1, 30, 40, 5000, 3, 3, 1, 1},          // one channel: tasks share a group
    {12, 40, 40, 5, 3, 3, 1, 1},            // too few masks for packing
    {300, 6, 7, 3, 1, 2, 0, 0},             // many channels, few masks
    {11, 20, 30, 1500, 3, 3, 1, 1},         // several tiles of masks
};

TYPED_TEST(OpsMaskedIm2colForward, HostileSizes) {
  const ScopedThreads threads(3);
  for (const MaskedIm2colSizes& sizes : kHostileSizes) {
    SCOPED_TRACE(name_of(sizes));
    expect_reference(random_masked_im2col<TypeParam>(sizes, this->random_));
  }
}

// Every number of masks and channels around the lengths of vectors, groups and cache lines.
TYPED_TEST(OpsMaskedIm2colForward, Tails) {
  const ScopedThreads threads(2);
  for (int64_t masks = 1; masks <= 70; ++masks) {
    for (int64_t channels = 1; channels <= 9; ++channels) {
      const MaskedIm2colSizes sizes{channels, 6, 9, masks, 2, 2, 1, 0};
      SCOPED_TRACE(name_of(sizes));
      expect_reference(random_masked_im2col<TypeParam>(sizes, this->random_));
    }
  }
}

TYPED_TEST(OpsMaskedIm2colForward, Placements) {
  const ScopedThreads threads(2);
  for (const MaskedIm2colSizes& sizes : {MaskedIm2colSizes{13, 20, 20, 200, 3, 3, 1, 1},
                                         {8, 7, 8, 33, 1, 1, 0, 0},
                                         {5, 50, 50, 17, 3, 3, 1, 1},
                                         {4, 3, 3, 16, 2, 2, 1, 1}}) {
    const auto inputs = random_masked_im2col<TypeParam>(sizes, this->random_);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
      SCOPED_TRACE(name_of(sizes));
      expect_reference(inputs, placement);
    }
  }
}

// Outputs large enough for nontemporal stores. With 16 KiB the planes do not fit NRAM.
TYPED_TEST(OpsMaskedIm2colForward, StreamedOutputs) {
  const ScopedThreads threads(2);
  const auto masks = static_cast<int64_t>(27'000'000 / (65 * 9 * sizeof(TypeParam)));
  const auto inputs = random_masked_im2col<TypeParam>({65, 40, 50, masks, 3, 3, 1, 1}, this->random_);
  const auto expected = masked_im2col_reference(inputs);
  for (const char* kib : {"16", "640"}) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
      SCOPED_TRACE(kib);
      expect_columns(inputs, expected, placement);
    }
  }
}

TYPED_TEST(OpsMaskedIm2colForward, ThreadCounts) {
  for (const MaskedIm2colSizes& sizes :
       {MaskedIm2colSizes{3, 30, 40, 9001, 3, 3, 1, 1},      // one group, divided by masks
        MaskedIm2colSizes{70, 20, 20, 203, 3, 3, 1, 1},      // parts of groups
        MaskedIm2colSizes{128, 20, 20, 200, 3, 3, 1, 1}}) {  // whole groups
    const auto inputs = random_masked_im2col<TypeParam>(sizes, this->random_);
    for (const int count : {1, 2, 3, 5, 7, 16, 64}) {
      SCOPED_TRACE(name_of(sizes) + ", threads " + std::to_string(count));
      const ScopedThreads threads(count);
      expect_reference(inputs);
    }
  }
}

TYPED_TEST(OpsMaskedIm2colForward, NramSizes) {
  const ScopedThreads threads(2);
  for (const MaskedIm2colSizes& sizes : {MaskedIm2colSizes{9, 25, 31, 3000, 3, 3, 1, 1},
                                         {20, 8, 8, 500, 3, 3, 1, 1},
                                         {4, 40, 200, 4000, 2, 3, 1, 1}}) {
    const auto inputs = random_masked_im2col<TypeParam>(sizes, this->random_);
    for (const char* kib : {"1", "2", "3", "4", "14", "16", "17", "64", "384", "640", "1024"}) {
      SCOPED_TRACE(name_of(sizes) + ", NRAM " + kib);
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      expect_reference(inputs);
    }
  }
}

// Consecutive calls of different sizes with one handle: each writes its own zeros to NRAM.
TYPED_TEST(OpsMaskedIm2colForward, ReusedHandle) {
  const ScopedThreads threads(3);
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    for (const MaskedIm2colSizes& sizes : {MaskedIm2colSizes{40, 20, 20, 200, 3, 3, 1, 1},
                                           {8, 5, 5, 60, 5, 5, 2, 2},
                                           {40, 20, 20, 200, 1, 1, 0, 0},
                                           {3, 60, 50, 2, 3, 3, 1, 1},
                                           {16, 18, 21, 300, 2, 4, 1, 1}}) {
      SCOPED_TRACE(std::string(text_of(algorithm)) + ", " + name_of(sizes));
      const auto inputs = random_masked_im2col<TypeParam>(sizes, this->random_);
      const MaskedIm2colCall<TypeParam> call(handle, inputs);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
      EXPECT_EQ(call.data_col_buffer.values(), masked_im2col_reference(inputs));
    }
  }
}

// Quiet and signaling NaN with every payload bit, infinities, zeros of both signs and subnormals are copied
// unchanged.
TYPED_TEST(OpsMaskedIm2colForward, NanPayloadsAndInfinity) {
  using T = TypeParam;
  constexpr int kBits = sizeof(T) * CHAR_BIT;
  constexpr auto kSign = static_cast<T>(T{1} << (kBits - 1));
  constexpr auto kInfinity = static_cast<T>(sizeof(T) == 2 ? 0x7C00U : 0x7F800000U);
  auto inputs = random_masked_im2col<T>({16, 16, 16, 400, 3, 3, 1, 1}, this->random_);
  for (size_t i = 0; i < inputs.feature.size(); ++i) {
    const auto one_bit = static_cast<T>(T{1} << i % (kBits - 1));
    const T kinds[] = {static_cast<T>(kInfinity | one_bit), one_bit, kInfinity, kSign, 0};
    inputs.feature[i] = static_cast<T>(kinds[i % 5] | (i % 2 == 0 ? kSign : 0));
  }
  expect_reference(inputs);
}

// Coordinates and paddings near the limits of int32 must not overflow into the feature.
TYPED_TEST(OpsMaskedIm2colForward, ExtremeCoordinates) {
  const int32_t extremes[] = {INT_MIN, INT_MIN + 1, INT_MIN + 5, -2,          -1,          0,
                              1,       4,           5,           INT_MAX - 5, INT_MAX - 1, INT_MAX};
  const int pads[] = {INT_MIN, INT_MIN + 3, -1, 0, 1, INT_MAX - 3, INT_MAX};
  MaskedIm2colInputs<TypeParam> inputs{{5, 5, 4, 0, 3, 2, 0, 0}, {}, {}, {}};
  inputs.feature.assign(static_cast<size_t>(inputs.sizes.feature_count()), TypeParam{7});
  for (const int32_t h : extremes) {
    for (const int32_t w : extremes) {
      inputs.mask_h_idx.push_back(h);
      inputs.mask_w_idx.push_back(w);
    }
  }
  inputs.sizes.mask_cnt = static_cast<int64_t>(inputs.mask_h_idx.size());
  for (const int pad_h : pads) {
    for (const int pad_w : pads) {
      inputs.sizes.pad_h = pad_h;
      inputs.sizes.pad_w = pad_w;
      SCOPED_TRACE(name_of(inputs.sizes));
      expect_reference(inputs);
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1");
      expect_reference(inputs);
    }
  }
}

TYPED_TEST(OpsMaskedIm2colForward, MasksOutsideTheFeature) {
  auto inputs = random_masked_im2col<TypeParam>({10, 6, 6, 90, 3, 3, 1, 1}, this->random_);
  for (size_t k = 0; k < inputs.mask_h_idx.size(); ++k)
    (k % 2 == 0 ? inputs.mask_h_idx : inputs.mask_w_idx)[k] = -2;
  expect_reference(inputs);
  EXPECT_EQ(masked_im2col_reference(inputs),
            std::vector<TypeParam>(static_cast<size_t>(inputs.sizes.output_count())));
}

TYPED_TEST(OpsMaskedIm2colForward, EqualMasks) {
  auto inputs = random_masked_im2col<TypeParam>({10, 6, 6, 300, 3, 3, 1, 1}, this->random_);
  inputs.mask_h_idx.assign(300, 0);
  inputs.mask_w_idx.assign(300, 5);
  expect_reference(inputs);
}

// Without masks the call needs neither masks nor output.
TYPED_TEST(OpsMaskedIm2colForward, NoMasks) {
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    MaskedIm2colCall<TypeParam> call(handle,
                                     random_masked_im2col<TypeParam>({3, 4, 5, 0, 3, 3, 1, 1}, this->random_));
    call.mask_h_idx = call.mask_w_idx = nullptr;
    call.data_col = nullptr;
    EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.queried_buffer[0], 0U);
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
}

// The query of the native algorithm returns 0. A call with a workspace does not change it.
TYPED_TEST(OpsMaskedIm2colForward, WorkspaceOfTheNativeAlgorithm) {
  const Handle handle;
  const auto inputs = random_masked_im2col<TypeParam>({9, 20, 20, 200, 3, 3, 1, 1}, this->random_);
  MaskedIm2colCall<TypeParam> call(handle, inputs);
  ASSERT_EQ(call.query(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(call.queried_buffer[0], 0U);
  const std::vector<int> before(1000, 5);
  std::vector<int> workspace = before;
  call.workspace = workspace.data();
  call.workspace_size = workspace.size() * sizeof(int);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(workspace, before);
  call.workspace = nullptr;
  call.workspace_size = 0;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(call.data_col_buffer.values(), masked_im2col_reference(inputs));
}

template <class T>
class BigMaskedIm2colForward : public OpsMaskedIm2colForward<T> {};
TYPED_TEST_SUITE(BigMaskedIm2colForward, ElementTypes);

TYPED_TEST(BigMaskedIm2colForward, NetworkSizes) {
  for (const MaskedIm2colSizes& sizes : {MaskedIm2colSizes{256, 20, 20, 200, 3, 3, 1, 1},
                                         {256, 20, 20, 200, 1, 1, 1, 1},
                                         {256, 100, 152, 4000, 3, 3, 1, 1},
                                         {256, 200, 304, 16000, 3, 3, 1, 1}}) {
    const auto inputs = random_masked_im2col<TypeParam>(sizes, this->random_);
    for (const int count : {1, 2, 16}) {
      SCOPED_TRACE(name_of(sizes) + ", threads " + std::to_string(count));
      const ScopedThreads threads(count);
      expect_reference(inputs, Placement::kAgainstEnd);
    }
  }
}

}  // namespace
}  // namespace mluop::test
