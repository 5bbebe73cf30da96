// mluOpOmpVoxelPoolingBackward with tensors of more than 2^31 elements: every element against the definition.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "large/large_memory.h"
#include "mlu_op_omp.h"
#include "ops/voxel_pooling_backward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using T = uint16_t;  // half

struct Backward {
  Backward(const VoxelPoolingBackwardSizes& with, Pages grad_output_pages)
      : sizes(with),
        grad_output(sizes.output_count(), grad_output_pages),
        memo(sizes.memo_count(), Pages::kDense),
        grad_input(sizes.input_count(), Pages::kDense) {}

  mluOpStatus_t run() const {
    const Handle handle;
    const auto& s = sizes;
    const Descriptor grad_output_desc(MLUOP_DTYPE_HALF,
                                      {s.batch_size, s.num_voxel_y, s.num_voxel_x, s.num_channels});
    const Descriptor memo_desc(MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3});
    const Descriptor grad_input_desc(MLUOP_DTYPE_HALF, {s.batch_size, s.num_points, s.num_channels});
    grad_input.poison();
    return mluOpOmpVoxelPoolingBackward(handle, grad_output_desc, grad_output.data(), memo_desc, memo.data(),
                                        grad_input_desc, grad_input.data());
  }

  int64_t cell(int64_t point) const {
    const int32_t* m = memo.data() + point * 3;
    return (m[0] * sizes.num_voxel_y + m[1]) * sizes.num_voxel_x + m[2];
  }

  // Whether the row of grad_input of a point is that of its cell, or zeros.
  bool holds(int64_t point) const {
    const auto row_bytes = static_cast<size_t>(sizes.num_channels) * sizeof(T);
    const T* row = grad_input.data() + point * sizes.num_channels;
    if (memo[point * 3] < 0) return all_zero(row, row_bytes);
    return std::memcmp(row, grad_output.data() + cell(point) * sizes.num_channels, row_bytes) == 0;
  }

  VoxelPoolingBackwardSizes sizes;
  LargeBuffer<T> grad_output;
  LargeBuffer<int32_t> memo;
  LargeBuffer<T> grad_input;
};

class LargeVoxelPoolingBackward : public ::testing::Test {
 protected:
  // One point in four has no cell. The last point has the last cell.
  void fill_memo(const Backward& call) {
    for (int64_t point = 0; point < call.sizes.points(); ++point) {
      const bool is_last = point == call.sizes.points() - 1;
      const bool has_cell = is_last || random() % 4 != 0;
      int32_t* memo = call.memo.data() + point * 3;
      for (const int64_t extent : {call.sizes.batch_size, call.sizes.num_voxel_y, call.sizes.num_voxel_x}) {
        const auto any = static_cast<int32_t>(random() % static_cast<uint64_t>(extent));
        *memo++ = has_cell ? is_last ? static_cast<int32_t>(extent - 1) : any : -1;
      }
    }
  }

  std::mt19937 random = seeded_random();
  ScopedThreads threads{2};
};

TEST_F(LargeVoxelPoolingBackward, Points) {
  MLUOP_REQUIRE_MEMORY(6);
  const Backward call({2, 14'000'000, 77, 50, 60}, Pages::kDense);
  ASSERT_GT(call.sizes.input_count(), kLimit);
  for (int64_t i = 0; i < call.sizes.output_count(); ++i) call.grad_output[i] = static_cast<T>(random() | 1U);
  fill_memo(call);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(first_violation(call.sizes.points(), [&](int64_t point) { return call.holds(point); }),
            call.sizes.points());
}

TEST_F(LargeVoxelPoolingBackward, Cells) {
  MLUOP_REQUIRE_MEMORY(2);
  const Backward call({3, 2000, 77, 3300, 3301}, Pages::kSparse);
  ASSERT_GT(call.sizes.output_count(), kLimit);
  fill_memo(call);
  for (int64_t point = 0; point < call.sizes.points(); ++point) {
    if (call.memo[point * 3] < 0) continue;
    for (int64_t c = 0; c < 77; ++c) {
      call.grad_output[call.cell(point) * 77 + c] = static_cast<T>(random() | 1U);
    }
  }
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(first_violation(call.sizes.points(), [&](int64_t point) { return call.holds(point); }),
            call.sizes.points());
}

}  // namespace
}  // namespace mluop::test
