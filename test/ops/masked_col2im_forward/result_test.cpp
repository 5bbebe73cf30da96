// mluOpMaskedCol2imForward against the serial loop of its definition, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ops/masked_col2im_forward/call.h"
#include "support/environment.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

std::string name_of(const MaskedCol2imSizes& s) {
  return std::to_string(s.channels) + " x " + std::to_string(s.height) + " x " + std::to_string(s.width) +
         ", masks " + std::to_string(s.mask_cnt);
}

// With distinct masks in row-major order.
template <class T>
MaskedCol2imInputs<T> ascending_masked_col2im(const MaskedCol2imSizes& sizes, std::mt19937& random) {
  auto inputs = random_masked_col2im<T>(sizes, random);
  auto pixels = random_permutation(static_cast<int>(sizes.height * sizes.width), random);
  std::sort(pixels.begin(), pixels.begin() + sizes.mask_cnt);
  for (size_t k = 0; k < inputs.mask_h_idx.size(); ++k) {
    inputs.mask_h_idx[k] = pixels[k] / static_cast<int32_t>(sizes.width);
    inputs.mask_w_idx[k] = pixels[k] % static_cast<int32_t>(sizes.width);
  }
  return inputs;
}

template <class T>
void expect_reference(const MaskedCol2imInputs<T>& inputs, Placement placement = Placement::kAligned) {
  const std::vector<T> expected = masked_col2im_reference(inputs);
  const Handle handle;
  const MaskedCol2imCall<T> call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  ASSERT_EQ(call.im_buffer.values(), expected);
  EXPECT_TRUE(call.intact());
}

// uint16_t represents half, uint32_t represents float.
template <class T>
class OpsMaskedCol2imForward : public ::testing::Test {
 protected:
  std::mt19937 random_ = seeded_random();
};

using ElementTypes = ::testing::Types<uint16_t, uint32_t>;
TYPED_TEST_SUITE(OpsMaskedCol2imForward, ElementTypes);

constexpr MaskedCol2imSizes kHostileSizes[] = {
    {1, 1, 1, 1},            // one of everything
    {1, 1, 1, 40},           // equal masks: the last one remains
    {3, 5, 6, 0},            // no masks: zeros
    {2, 1, 50, 17},          // an image of one row
    {2, 50, 1, 17},          // an image of one column
    {7, 9, 11, 31},          // odd extents
    {1, 300, 400, 5000},     // one channel: tasks share a plane
    {2, 2, 1, 9},            // fewer pixels than tasks
    {500, 3, 3, 4},          // many channels
    {4, 10, 13, 60},         // a group of planes
    {5, 10, 13, 60},         // a group plus one
    {5, 20, 30, 3000},       // more masks than pixels
    {1, 3, 100'000, 7'000},  // long rows
    {6, 30, 40, 511},        // a chunk of masks minus one
    {6, 30, 40, 513},        // a chunk plus one
};

TYPED_TEST(OpsMaskedCol2imForward, HostileSizes) {
  for (const MaskedCol2imSizes& sizes : kHostileSizes) {
    const auto inputs = random_masked_col2im<TypeParam>(sizes, this->random_);
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(name_of(sizes) + ", threads " + std::to_string(count));
      const ScopedThreads threads(count);
      expect_reference(inputs);
    }
  }
}

TYPED_TEST(OpsMaskedCol2imForward, Placements) {
  const ScopedThreads threads(2);
  for (const MaskedCol2imSizes& sizes : {MaskedCol2imSizes{13, 20, 20, 200}, {1, 100, 300, 33}}) {
    const auto inputs = random_masked_col2im<TypeParam>(sizes, this->random_);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
      SCOPED_TRACE(name_of(sizes));
      expect_reference(inputs, placement);
    }
  }
}

TYPED_TEST(OpsMaskedCol2imForward, NramSizes) {
  const ScopedThreads threads(2);
  const auto inputs = random_masked_col2im<TypeParam>({20, 40, 200, 4000}, this->random_);
  for (const char* kib : {"1", "16", "384", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference(inputs);
  }
}

// Masks in row-major order: vectors of the image are expanded from 16 channels on, and tasks that share a plane
// skip the masks of others.
TYPED_TEST(OpsMaskedCol2imForward, AscendingMasks) {
  for (const MaskedCol2imSizes& sizes : {MaskedCol2imSizes{1, 300, 400, 40'000},
                                         {7, 90, 110, 9'900},
                                         {16, 90, 110, 9'900},
                                         {19, 37, 41, 1'000},
                                         {70, 20, 20, 200}}) {
    const auto inputs = ascending_masked_col2im<TypeParam>(sizes, this->random_);
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(name_of(sizes) + ", threads " + std::to_string(count));
      const ScopedThreads threads(count);
      expect_reference(inputs);
    }
  }
}

// Every width and number of masks around the lengths of vectors.
TYPED_TEST(OpsMaskedCol2imForward, AscendingTails) {
  const ScopedThreads threads(2);
  for (int64_t width = 1; width <= 50; ++width) {
    for (int64_t masks = 1; masks <= 2 * width; masks += 1 + masks / 6) {
      const MaskedCol2imSizes sizes{17, 2, width, masks};
      SCOPED_TRACE(name_of(sizes));
      expect_reference(ascending_masked_col2im<TypeParam>(sizes, this->random_), Placement::kAgainstEnd);
    }
  }
}

// Masks in the first or the last rows only.
TYPED_TEST(OpsMaskedCol2imForward, MasksInFewRows) {
  const ScopedThreads threads(3);
  auto inputs = ascending_masked_col2im<TypeParam>({18, 3, 70, 205}, this->random_);
  inputs.sizes.height = 40;
  expect_reference(inputs);
  for (int32_t& h : inputs.mask_h_idx) h += 37;
  expect_reference(inputs);
}

// Masks in row-major order except for two consecutive ones, which are exchanged or equal.
TYPED_TEST(OpsMaskedCol2imForward, OnePairInDisorder) {
  const ScopedThreads threads(3);
  const auto ascending = ascending_masked_col2im<TypeParam>({16, 40, 1000, 1100}, this->random_);
  for (const size_t k : {0U, 1U, 15U, 16U, 500U, 510U, 511U, 512U, 1023U, 1097U, 1098U}) {
    SCOPED_TRACE(k);
    auto exchanged = ascending;
    std::swap(exchanged.mask_h_idx[k], exchanged.mask_h_idx[k + 1]);
    std::swap(exchanged.mask_w_idx[k], exchanged.mask_w_idx[k + 1]);
    expect_reference(exchanged);
    auto equal = ascending;
    equal.mask_h_idx[k] = equal.mask_h_idx[k + 1];
    equal.mask_w_idx[k] = equal.mask_w_idx[k + 1];
    expect_reference(equal);
  }
}

// Quiet and signaling NaN, infinities, zeros of both signs and subnormals are copied unchanged.
TYPED_TEST(OpsMaskedCol2imForward, NanPayloadsAndInfinity) {
  auto inputs = ascending_masked_col2im<TypeParam>({16, 16, 16, 250}, this->random_);
  constexpr auto kInfinity = static_cast<TypeParam>(sizeof(TypeParam) == 2 ? 0x7C00U : 0x7F800000U);
  for (size_t i = 0; i < inputs.col.size(); ++i) {
    const auto low = static_cast<TypeParam>(i % 3);
    inputs.col[i] = static_cast<TypeParam>((i % 2 == 0 ? kInfinity : 0) | low);
  }
  expect_reference(inputs);
}

// No workspace: the query returns 0, and one that is passed does not change.
TYPED_TEST(OpsMaskedCol2imForward, Workspace) {
  const Handle handle;
  const auto inputs = random_masked_col2im<TypeParam>({9, 20, 20, 200}, this->random_);
  MaskedCol2imCall<TypeParam> call(handle, inputs);
  ASSERT_EQ(call.query(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(call.queried_buffer[0], 0U);
  const std::vector<int> before(1000, 5);
  std::vector<int> workspace = before;
  call.workspace = workspace.data();
  call.workspace_size = workspace.size() * sizeof(int);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(workspace, before);
  EXPECT_EQ(call.im_buffer.values(), masked_col2im_reference(inputs));
}

template <class T>
class BigMaskedCol2imForward : public OpsMaskedCol2imForward<T> {};
TYPED_TEST_SUITE(BigMaskedCol2imForward, ElementTypes);

TYPED_TEST(BigMaskedCol2imForward, NetworkSizes) {
  for (const MaskedCol2imSizes& sizes :
       {MaskedCol2imSizes{256, 20, 20, 200}, {256, 100, 152, 4000}, {163841, 20, 20, 200}}) {
    const auto inputs = ascending_masked_col2im<TypeParam>(sizes, this->random_);
    for (const int count : {1, 2, 16}) {
      SCOPED_TRACE(name_of(sizes) + ", threads " + std::to_string(count));
      const ScopedThreads threads(count);
      expect_reference(inputs, Placement::kAgainstEnd);
    }
  }
}

}  // namespace
}  // namespace mluop::test
