// mluOpMaskedCol2imForward against the serial loop of its definition, bit for bit, for scattered and for expanded
// columns. test/ops/contract_test.cpp has the sizes of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/environment.h"
#include "support/operator_call.h"
#include "support/random_problem.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

struct Sizes {
  int64_t channels, height, width, mask_cnt;
};

std::string name_of(const Sizes& s) {
  return product_text({s.channels, s.height, s.width}) + ", masks " + std::to_string(s.mask_cnt);
}

void set_masks(Case& made, const std::vector<int32_t>& rows, const std::vector<int32_t>& columns) {
  set_values(made, "mask_h_idx", rows);
  set_values(made, "mask_w_idx", columns);
}

// Masks at any pixels, in any order, some of them equal; elements have any bits, NaN among them.
Case disordered(mluOpDataType_t dtype, const Sizes& s) {
  return with_values(make_case("masked_col2im_forward", dtype,
                               {{"channels", s.channels},
                                {"height", s.height},
                                {"width", s.width},
                                {"mask_cnt", s.mask_cnt},
                                {"ordered", 0}}),
                     Values::kAnyBits, 1);
}

// Distinct masks at random pixels in row-major order.
Case ascending(mluOpDataType_t dtype, const Sizes& s) {
  auto random = seeded_random();
  auto pixels = random_permutation(static_cast<int>(s.height * s.width), random);
  pixels.resize(static_cast<size_t>(s.mask_cnt));
  std::sort(pixels.begin(), pixels.end());
  std::vector<int32_t> rows, columns;
  for (const int32_t pixel : pixels) {
    rows.push_back(pixel / static_cast<int32_t>(s.width));
    columns.push_back(pixel % static_cast<int32_t>(s.width));
  }
  Case made = disordered(dtype, s);
  set_masks(made, rows, columns);
  return made;
}

// The last of equal masks remains, and pixels without a mask are zero.
TEST(OpsMaskedCol2imForward, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = disordered(dtype, {2, 2, 3, 4});
    set_masks(made, {0, 1, 0, 1}, {1, 2, 0, 2});
    set_values(made, "col", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_THAT(call.floats("im"), ::testing::ElementsAre(3, 1, 0, 0, 0, 4, 7, 5, 0, 0, 0, 8));
  }
}

TEST(OpsMaskedCol2imForward, DisorderedMasks) {
  constexpr Sizes kSizes[] = {
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
      {20, 40, 200, 4000},     // channels enough for expansion
  };
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kSizes) {
      SCOPED_TRACE(name_of(sizes));
      expect_oracle_everywhere(disordered(dtype, sizes));
    }
  }
}

// Vectors of the image are expanded from 16 channels on, and tasks that share a plane skip the masks of other
// tasks.
TEST(OpsMaskedCol2imForward, AscendingMasks) {
  constexpr Sizes kSizes[] = {
      {1, 300, 400, 40'000}, {7, 90, 110, 9'900}, {16, 90, 110, 9'900}, {19, 37, 41, 1'000}, {70, 20, 20, 200}};
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kSizes) {
      SCOPED_TRACE(name_of(sizes));
      expect_oracle_everywhere(ascending(dtype, sizes));
    }
  }
}

// Every width and number of masks around the lengths of vectors.
TEST(OpsMaskedCol2imForward, AscendingTails) {
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    for (int64_t width = 1; width <= 34; ++width) {
      for (int64_t masks = 1; masks <= 2 * width; masks += 1 + masks / 4) {
        const Sizes sizes{17, 2, width, masks};
        SCOPED_TRACE(name_of(sizes));
        expect_oracle(ascending(dtype, sizes), Placement::kAgainstEnd);
      }
    }
  }
}

// Masks in the first or the last rows only.
TEST(OpsMaskedCol2imForward, MasksInFewRows) {
  const ScopedThreads threads(3);
  for (const auto dtype : kFloatingDtypes) {
    const Case few_rows = ascending(dtype, {18, 3, 70, 205});
    Case made = disordered(dtype, {18, 40, 70, 205});
    std::vector<int32_t> rows = int32s_of(few_rows, "mask_h_idx");
    const std::vector<int32_t> columns = int32s_of(few_rows, "mask_w_idx");
    set_masks(made, rows, columns);
    expect_oracle(made, Placement::kAgainstEnd);
    for (int32_t& h : rows) h += 37;
    set_masks(made, rows, columns);
    expect_oracle(made, Placement::kAgainstEnd);
  }
}

// Masks in row-major order except for two consecutive masks, which are exchanged or equal.
TEST(OpsMaskedCol2imForward, OnePairInDisorder) {
  const ScopedThreads threads(3);
  for (const auto dtype : kFloatingDtypes) {
    const Case in_order = ascending(dtype, {16, 4, 300, 1100});
    const std::vector<int32_t> rows = int32s_of(in_order, "mask_h_idx"),
                               columns = int32s_of(in_order, "mask_w_idx");
    Case made = in_order;
    for (const size_t k : {0U, 1U, 15U, 16U, 500U, 510U, 511U, 512U, 1023U, 1097U, 1098U}) {
      SCOPED_TRACE(k);
      auto h = rows, w = columns;
      std::swap(h[k], h[k + 1]);
      std::swap(w[k], w[k + 1]);
      set_masks(made, h, w);
      expect_oracle(made, Placement::kAgainstEnd);
      h[k] = h[k + 1] = rows[k + 1];
      w[k] = w[k + 1] = columns[k + 1];
      set_masks(made, h, w);
      expect_oracle(made, Placement::kAgainstEnd);
    }
  }
}

TEST(BigMaskedCol2imForward, NetworkSizes) {
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : {Sizes{256, 20, 20, 200}, {256, 100, 152, 4000}, {163841, 20, 20, 200}}) {
      SCOPED_TRACE(name_of(sizes));
      expect_oracle_everywhere(ascending(dtype, sizes));
    }
  }
}

}  // namespace
}  // namespace mluop::test
