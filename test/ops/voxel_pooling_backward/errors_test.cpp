// Every rule that mluOpOmpVoxelPoolingBackward checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "ops/voxel_pooling_backward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = VoxelPoolingBackwardCall<uint32_t>;
using Table = ErrorTable<Call>;

// grad_output_features is [2, 4, 5, 6].
constexpr VoxelPoolingBackwardSizes kSizes = {2, 50, 6, 5, 4};

VoxelPoolingBackwardInputs<uint32_t> valid_inputs(const VoxelPoolingBackwardSizes& sizes = kSizes) {
  auto random = seeded_random();
  return random_voxel_pooling_backward<uint32_t>(sizes, random);
}

TEST(OpsVoxelPoolingBackwardErrors, Shapes) {
  const auto kFloat = MLUOP_DTYPE_FLOAT, kHalf = MLUOP_DTYPE_HALF, kInt = MLUOP_DTYPE_INT32;
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null grad_output desc", set(&Call::grad_output_desc, nullptr), "grad_output_features_desc is null"},
      {"null memo desc", set(&Call::pos_memo_desc, nullptr), "pos_memo_desc is null"},
      {"null grad_input desc", set(&Call::grad_input_desc, nullptr), "grad_input_features_desc is null"},
      {"empty descriptor", set(&Call::grad_output_desc, Descriptor()),
       "grad_output_features has data type INVALID, expected HALF or FLOAT"},
      {"int gradients", set(&Call::grad_output_desc, Descriptor(kInt, {2, 4, 5, 6})),
       "grad_output_features has data type INT32, expected HALF or FLOAT"},
      {"half grad_output, float grad_input", set(&Call::grad_output_desc, Descriptor(kHalf, {2, 4, 5, 6})),
       "grad_input_features has data type FLOAT, expected HALF"},
      {"memo dtype", set(&Call::pos_memo_desc, Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3})),
       "pos_memo has data type INT64, expected INT32"},
      {"grad_input dtype", set(&Call::grad_input_desc, Descriptor(kHalf, {2, 50, 6})),
       "grad_input_features has data type HALF, expected FLOAT"},
      {"grad_output layout", set(&Call::grad_output_desc, Descriptor(kFloat, {2, 4, 5, 6}, MLUOP_LAYOUT_NHWC)),
       "grad_output_features has layout NHWC, expected ARRAY"},
      {"memo layout", set(&Call::pos_memo_desc, Descriptor(kInt, {2, 50, 3}, MLUOP_LAYOUT_NCHW)),
       "pos_memo has layout NCHW, expected ARRAY"},
      {"grad_input layout", set(&Call::grad_input_desc, Descriptor(kFloat, {2, 50, 6}, MLUOP_LAYOUT_NHWC)),
       "grad_input_features has layout NHWC, expected ARRAY"},
      {"grad_output dims", set(&Call::grad_output_desc, Descriptor(kFloat, {2, 20, 6})),
       "grad_output_features has 3 dimensions, expected 4"},
      {"memo dims", set(&Call::pos_memo_desc, Descriptor(kInt, {100, 3})),
       "pos_memo has 2 dimensions, expected 3"},
      {"grad_input dims", set(&Call::grad_input_desc, Descriptor(kFloat, {2, 50, 6, 1})),
       "grad_input_features has 4 dimensions, expected 3"},
      {"memo not of 3", set(&Call::pos_memo_desc, Descriptor(kInt, {2, 50, 4})),
       "pos_memo dim 2 is 4, expected 3"},
      {"memo batch", set(&Call::pos_memo_desc, Descriptor(kInt, {3, 50, 3})), "pos_memo dim 0 is 3, expected 2"},
      {"memo points", set(&Call::pos_memo_desc, Descriptor(kInt, {2, 49, 3})),
       "grad_input_features dim 1 is 50, expected 49"},
      {"grad_input batch", set(&Call::grad_input_desc, Descriptor(kFloat, {1, 50, 6})),
       "grad_input_features dim 0 is 1, expected 2"},
      {"grad_input points", set(&Call::grad_input_desc, Descriptor(kFloat, {2, 51, 6})),
       "grad_input_features dim 1 is 51, expected 50"},
      {"grad_input channels", set(&Call::grad_input_desc, Descriptor(kFloat, {2, 50, 7})),
       "grad_input_features dim 2 is 7, expected 6"},
      {"grad_output strides",
       set(&Call::grad_output_desc, Descriptor::with_strides(kFloat, {2, 4, 5, 6}, {120, 1, 4, 20})),
       "grad_output_features has strides [120, 1, 4, 20], expected a contiguous tensor of shape [2, 4, 5, 6]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"memo strides", set(&Call::pos_memo_desc, Descriptor::with_strides(kInt, {2, 50, 3}, {150, 1, 50})),
       "pos_memo has strides [150, 1, 50], expected a contiguous tensor of shape [2, 50, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"grad_input strides",
       set(&Call::grad_input_desc, Descriptor::with_strides(kFloat, {2, 50, 6}, {301, 6, 1})),
       "grad_input_features has strides [301, 6, 1], expected a contiguous tensor of shape [2, 50, 6]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"no rows", set(&Call::grad_output_desc, Descriptor(kFloat, {2, 0, 5, 6})),
       "grad_output_features has shape [2, 0, 5, 6], expected no dimension of 0"},
      {"no columns", set(&Call::grad_output_desc, Descriptor(kFloat, {2, 4, 0, 6})),
       "grad_output_features has shape [2, 4, 0, 6], expected no dimension of 0"},
      {"no channels",
       set_all(set(&Call::grad_output_desc, Descriptor(kFloat, {2, 4, 5, 0})),
               set(&Call::grad_input_desc, Descriptor(kFloat, {2, 50, 0}))),
       "grad_output_features has shape [2, 4, 5, 0], expected no dimension of 0"},
      {"no batches",
       set_all(set(&Call::grad_output_desc, Descriptor(kFloat, {0, 4, 5, 6})),
               set(&Call::pos_memo_desc, Descriptor(kInt, {0, 50, 3})),
               set(&Call::grad_input_desc, Descriptor(kFloat, {0, 50, 6}))),
       "grad_output_features has shape [0, 4, 5, 6], expected no dimension of 0"},
      {"no points",
       set_all(set(&Call::pos_memo_desc, Descriptor(kInt, {2, 0, 3})),
               set(&Call::grad_input_desc, Descriptor(kFloat, {2, 0, 6}))),
       "pos_memo has shape [2, 0, 3], expected no dimension of 0"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

TEST(OpsVoxelPoolingBackwardErrors, Data) {
  const Table::Rows rows = {
      {"null grad_output", set(&Call::grad_output, nullptr),
       "grad_output_features is null, expected the data of a tensor [2, 4, 5, 6]"},
      {"null memo", set(&Call::pos_memo, nullptr), "pos_memo is null, expected the data of a tensor [2, 50, 3]"},
      {"null grad_input", set(&Call::grad_input, nullptr),
       "grad_input_features is null, expected the data of a tensor [2, 50, 6]"},
      {"grad_output ends in grad_input", [](auto& c) { c.grad_output = c.grad_input_buffer.data() + 599; },
       "grad_input_features overlaps grad_output_features, expected memory of its own"},
      {"memo in grad_input", [](auto& c) { c.pos_memo = c.grad_input_buffer.data(); },
       "grad_input_features overlaps pos_memo, expected memory of its own"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

// Changes pos_memo of a point.
auto memo(size_t point, int32_t b, int32_t y, int32_t x) {
  return [=](Call& c) {
    c.memo_buffer[point * 3] = b;
    c.memo_buffer[point * 3 + 1] = y;
    c.memo_buffer[point * 3 + 2] = x;
  };
}

// In vectors and in the points after them.
TEST(OpsVoxelPoolingBackwardErrors, PosMemo) {
  const Table::Rows rows = {
      {"batch too large", memo(0, 2, 0, 0), "pos_memo[0, 0, 0] is 2, expected -1 to 1"},
      {"batch below -1", memo(99, -2, -1, -1), "pos_memo[1, 49, 0] is -2, expected -1 to 1"},
      {"largest batch", memo(31, INT_MAX, 9, 9), "pos_memo[0, 31, 0] is 2147483647, expected -1 to 1"},
      {"smallest batch", memo(98, INT_MIN, 0, 0), "pos_memo[1, 48, 0] is -2147483648, expected -1 to 1"},
      {"y of the height", memo(50, 1, 4, 0), "pos_memo[1, 0, 1] is 4, expected 0 to 3"},
      {"negative y", memo(49, 0, -1, 0), "pos_memo[0, 49, 1] is -1, expected 0 to 3"},
      {"x of the width", memo(3, 0, 0, 5), "pos_memo[0, 3, 2] is 5, expected 0 to 4"},
      {"negative x", memo(97, 1, 3, INT_MIN), "pos_memo[1, 47, 2] is -2147483648, expected 0 to 4"},
      {"y and x of -1", memo(20, 0, -1, -1), "pos_memo[0, 20, 1] is -1, expected 0 to 3"},
      {"y without batch", memo(20, -1, 0, -1), "pos_memo[0, 20, 1] is 0, expected -1"},
      {"x without batch", memo(21, -1, -1, 0), "pos_memo[0, 21, 2] is 0, expected -1"},
      {"x without batch in the last point", memo(99, -1, -1, 3), "pos_memo[1, 49, 2] is 3, expected -1"},
      {"-1 and -2", memo(5, -1, -2, -1), "pos_memo[0, 5, 1] is -2, expected -1"},
      {"the first of several", set_all(memo(60, 7, 0, 0), memo(10, 0, 0, 9), memo(11, 9, 0, 0)),
       "pos_memo[0, 10, 2] is 9, expected 0 to 4"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

// Points of a call of several tasks: one bad point, and one more in the last task.
TEST(OpsVoxelPoolingBackwardErrors, PosMemoOfSeveralTasks) {
  const ScopedThreads threads(3);
  const Handle handle;
  Call call(handle, valid_inputs({1, 70'000, 1, 3, 3}));
  const auto expect_first_bad = [&](size_t point) {
    expect_failure(
        [&] { return call.run(); }, MLUOP_STATUS_BAD_PARAM,
        "[mluOpOmpVoxelPoolingBackward] pos_memo[0, " + std::to_string(point) + ", 2] is 3, expected 0 to 2");
  };
  for (size_t point = 0; point < 69'999; point += point % 5000 < 40 ? 1 : 331) {
    memo(point, 0, 1, 3)(call);
    expect_first_bad(point);
    memo(69'999, 0, 1, 3)(call);
    expect_first_bad(point);
    memo(69'999, -1, -1, -1)(call);
    memo(point, 0, 1, 2)(call);
  }
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

TEST(OpsVoxelPoolingBackwardErrors, DevicesWithoutTheOperator) {
  for (const char* device : {"mlu270", "mlu290"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    const Table::Rows rows = {{device, no_change,
                               std::string("device is ") + device + ", expected mlu370 or mlu590",
                               MLUOP_STATUS_ARCH_MISMATCH}};
    expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
  }
  for (const char* device : {"mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    const Handle handle;
    EXPECT_EQ(Call(handle, valid_inputs()).run(), MLUOP_STATUS_SUCCESS);
  }
}

// Tensors that are adjacent in memory do not overlap.
TEST(OpsVoxelPoolingBackwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  Call call(handle, valid_inputs({1, 4, 3, 2, 2}));
  std::vector<uint32_t> both(24);
  std::copy_n(call.grad_output_buffer.data(), 12, both.begin());
  call.grad_output = both.data();
  call.grad_input = both.data() + 12;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
