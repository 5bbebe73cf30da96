// mluOpMaskedIm2colForward against the serial loop of its definition, bit for bit, at sizes that its kernels
// distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

struct Sizes {
  int64_t channels, height, width, mask_cnt;
  int kernel_h, kernel_w, pad_h, pad_w;
};

std::string name_of(const Sizes& s) {
  return product_text({s.channels, s.height, s.width}) + ", masks " + std::to_string(s.mask_cnt) + ", kernel " +
         product_text({s.kernel_h, s.kernel_w}) + ", pad " + product_text({s.pad_h, s.pad_w});
}

// Windows inside the feature, across its edges and outside it; elements have any bits, NaN among them.
Case make(mluOpDataType_t dtype, const Sizes& s) {
  return with_values(make_case("masked_im2col_forward", dtype,
                               {{"channels", s.channels},
                                {"height", s.height},
                                {"width", s.width},
                                {"mask_cnt", s.mask_cnt},
                                {"kernel_h", s.kernel_h},
                                {"kernel_w", s.kernel_w},
                                {"pad_h", s.pad_h},
                                {"pad_w", s.pad_w},
                                {"outside", 1}}),
                     Values::kAnyBits, 1);
}

constexpr Sizes kHostileSizes[] = {
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
    {3, 30, 40, 2001, 3, 3, 1, 1},          // one group, divided by masks
    {16, 20, 20, 203, 3, 3, 1, 1},          // whole groups, or parts of them
};

TEST(OpsMaskedIm2colForward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kHostileSizes) {
      SCOPED_TRACE(name_of(sizes));
      expect_oracle_everywhere(make(dtype, sizes));
    }
  }
}

// Outputs large enough for nontemporal stores. With 16 KiB the planes do not fit NRAM.
TEST(OpsMaskedIm2colForward, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    const int64_t masks = 27'000'000 / (65 * 9 * (dtype == MLUOP_DTYPE_FLOAT ? 4 : 2));
    const Case made = make(dtype, {65, 40, 50, masks, 3, 3, 1, 1});
    const Oracle oracle(made);
    for (const auto& [kib, placement] :
         {std::pair{"16", Placement::kMisaligned}, {"640", Placement::kAgainstEnd}}) {
      SCOPED_TRACE(kib);
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      expect_oracle(oracle, placement);
    }
  }
}

// Tiles of one line of masks to all masks, of packed and of direct kernels.
TEST(OpsMaskedIm2colForward, NramSizes) {
  MLUOP_LABELS(kOnce, kSlow);
  constexpr Sizes kSizes[] = {
      {9, 25, 31, 3000, 3, 3, 1, 1}, {20, 8, 8, 500, 3, 3, 1, 1}, {4, 40, 200, 4000, 2, 3, 1, 1}};
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kSizes) {
      const Case made = make(dtype, sizes);
      const Oracle oracle(made);
      for (const char* kib : {"1", "2", "3", "4", "14", "16", "17", "64", "384", "640", "1024"}) {
        SCOPED_TRACE(name_of(sizes) + ", NRAM " + kib);
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
        expect_oracle(oracle, Placement::kAgainstEnd);
      }
    }
  }
}

// Coordinates and paddings near the limits of int32 must not overflow into the feature.
TEST(OpsMaskedIm2colForward, ExtremeCoordinates) {
  MLUOP_LABELS(kNotEmulated);
  const int32_t extremes[] = {INT_MIN, INT_MIN + 1, INT_MIN + 5, -2,          -1,          0,
                              1,       4,           5,           INT_MAX - 5, INT_MAX - 1, INT_MAX};
  const int pads[] = {INT_MIN, INT_MIN + 3, -1, 0, 1, INT_MAX - 3, INT_MAX};
  std::vector<int32_t> rows, columns;
  for (const int32_t h : extremes) {
    for (const int32_t w : extremes) {
      rows.push_back(h);
      columns.push_back(w);
    }
  }
  for (const auto dtype : kFloatingDtypes) {
    for (const int pad_h : pads) {
      for (const int pad_w : pads) {
        const Sizes sizes{5, 5, 4, static_cast<int64_t>(rows.size()), 3, 2, pad_h, pad_w};
        SCOPED_TRACE(name_of(sizes));
        Case made = make(dtype, sizes);
        set_values(made, "mask_h_idx", rows);
        set_values(made, "mask_w_idx", columns);
        const Oracle oracle(made);
        expect_oracle(oracle);
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1");
        expect_oracle(oracle);
      }
    }
  }
}

// Windows inside the feature, across its edge and outside it.
TEST(OpsMaskedIm2colForward, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make(dtype, {2, 2, 3, 3, 2, 2, 1, 0});
    set_values(made, "feature", std::vector<float>{1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16});
    set_values(made, "mask_h_idx", std::vector<int32_t>{1, 0, 9});
    set_values(made, "mask_w_idx", std::vector<int32_t>{1, 2, 1});
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_THAT(call.floats("data_col"),
                  ::testing::ElementsAreArray({2,  0, 0, 3,  0, 0, 5,  3,  0, 6,  0, 0,  // channel 0
                                               12, 0, 0, 13, 0, 0, 15, 13, 0, 16, 0, 0}));
    }
  }
}

TEST(OpsMaskedIm2colForward, NativeAlgorithmNeedsNoWorkspace) {
  EXPECT_EQ(OperatorCall(Handle(), make(MLUOP_DTYPE_FLOAT, kHostileSizes[1])).arguments.workspace_size, 0U);
}

TEST(BigMaskedIm2colForward, NetworkSizes) {
  constexpr Sizes kSizes[] = {{256, 20, 20, 200, 3, 3, 1, 1},
                              {256, 20, 20, 200, 1, 1, 1, 1},
                              {256, 100, 152, 4000, 3, 3, 1, 1},
                              {256, 200, 304, 16000, 3, 3, 1, 1}};
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kSizes) {
      SCOPED_TRACE(name_of(sizes));
      expect_oracle_everywhere(make(dtype, sizes));
    }
  }
}

}  // namespace
}  // namespace mluop::test
