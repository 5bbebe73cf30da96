// mluOpMaskedIm2colForward against the serial loop of its definition, bit for bit, at sizes that its kernels treat
// apart. test/ops/contract_test.cpp has those of every operator.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "support/environment.h"
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

// Windows inside the feature, across its edges and outside it; elements are any bits, NaN among them.
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
};

TEST(OpsMaskedIm2colForward, HostileSizes) {
  const ScopedThreads threads(3);
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kHostileSizes) {
      SCOPED_TRACE(name_of(sizes));
      expect_oracle(make(dtype, sizes));
    }
  }
}

// Outputs large enough for nontemporal stores. With 16 KiB the planes do not fit NRAM.
TEST(OpsMaskedIm2colForward, StreamedOutputs) {
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    const int64_t masks = 27'000'000 / (65 * 9 * (dtype == MLUOP_DTYPE_HALF ? 2 : 4));
    const Case made = make(dtype, {65, 40, 50, masks, 3, 3, 1, 1});
    const Oracle oracle(made);
    for (const char* kib : {"16", "640"}) {
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
        SCOPED_TRACE(kib);
        expect_oracle(oracle, placement);
      }
    }
  }
}

TEST(OpsMaskedIm2colForward, ThreadCounts) {
  constexpr Sizes kSizes[] = {
      {3, 30, 40, 9001, 3, 3, 1, 1},   // one group, divided by masks
      {70, 20, 20, 203, 3, 3, 1, 1},   // parts of groups
      {128, 20, 20, 200, 3, 3, 1, 1},  // whole groups
  };
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kSizes) {
      const Case made = make(dtype, sizes);
      const Oracle oracle(made);
      for (const int count : {1, 2, 3, 5, 7, 16, 64}) {
        SCOPED_TRACE(name_of(sizes) + ", threads " + std::to_string(count));
        const ScopedThreads threads(count);
        expect_oracle(oracle);
      }
    }
  }
}

// Tiles of one line of masks to all masks, of packed and of direct kernels.
TEST(OpsMaskedIm2colForward, NramSizes) {
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

TEST(OpsMaskedIm2colForward, MasksOutsideTheFeature) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make(dtype, {10, 6, 6, 90, 3, 3, 1, 1});
    for (const char* id : {"mask_h_idx", "mask_w_idx"}) {
      std::vector<int32_t> coordinates = int32s_of(made, id);
      for (size_t k = id == std::string("mask_w_idx") ? 1 : 0; k < coordinates.size(); k += 2) coordinates[k] = -2;
      set_values(made, id, coordinates);
    }
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.outputs(), std::vector<std::byte>(call.outputs().size()));
    }
  }
}

// The query of the native algorithm returns 0. A call with a workspace does not change it.
TEST(OpsMaskedIm2colForward, WorkspaceOfTheNativeAlgorithm) {
  const Case made = make(MLUOP_DTYPE_FLOAT, {9, 20, 20, 200, 3, 3, 1, 1});
  const Handle handle;
  OperatorCall call(handle, made);
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  const std::vector<int> before(1000, 5);
  std::vector<int> workspace = before;
  call.arguments.workspace = workspace.data();
  call.arguments.workspace_size = workspace.size() * sizeof(int);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(workspace, before);
  EXPECT_TRUE(Oracle(made).agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
}

TEST(BigMaskedIm2colForward, NetworkSizes) {
  constexpr Sizes kSizes[] = {{256, 20, 20, 200, 3, 3, 1, 1},
                              {256, 20, 20, 200, 1, 1, 1, 1},
                              {256, 100, 152, 4000, 3, 3, 1, 1},
                              {256, 200, 304, 16000, 3, 3, 1, 1}};
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kSizes) {
      const Case made = make(dtype, sizes);
      const Oracle oracle(made);
      for (const int count : {1, 2, 16}) {
        SCOPED_TRACE(name_of(sizes) + ", threads " + std::to_string(count));
        const ScopedThreads threads(count);
        expect_oracle(oracle, Placement::kAgainstEnd);
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
