// Every rule that mluOpVoxelPoolingForward checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/voxel_pooling_forward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = VoxelPoolingCall<float>;
using Table = ErrorTable<Call>;

VoxelPoolingInputs<float> valid_inputs() {
  auto random = seeded_random();
  return random_voxel_pooling<float>({2, 50, 6, 5, 4, 1}, random);
}

TEST(OpsVoxelPoolingForwardErrors, Rules) {
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"zero batch", [](auto& c) { c.sizes.batch_size = 0; }, "batch_size is 0, expected at least 1"},
      {"negative points", [](auto& c) { c.sizes.num_points = -1; }, "num_points is -1, expected at least 1"},
      {"zero channels", [](auto& c) { c.sizes.num_channels = 0; }, "num_channels is 0, expected at least 1"},
      {"zero x", [](auto& c) { c.sizes.num_voxel_x = 0; }, "num_voxel_x is 0, expected at least 1"},
      {"smallest y", [](auto& c) { c.sizes.num_voxel_y = INT_MIN; },
       "num_voxel_y is -2147483648, expected at least 1"},
      {"zero z", [](auto& c) { c.sizes.num_voxel_z = 0; }, "num_voxel_z is 0, expected at least 1"},
      {"null geom desc", set(&Call::geom_xyz_desc, nullptr), "geom_xyz_desc is null"},
      {"null input desc", set(&Call::input_features_desc, nullptr), "input_features_desc is null"},
      {"null output desc", set(&Call::output_features_desc, nullptr), "output_features_desc is null"},
      {"null memo desc", set(&Call::pos_memo_desc, nullptr), "pos_memo_desc is null"},
      {"geom dtype", set(&Call::geom_xyz_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 50, 3})),
       "geom_xyz has data type FLOAT, expected INT32"},
      {"input dtype", set(&Call::input_features_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 50, 6})),
       "input_features has data type INT32, expected FLOAT or HALF"},
      {"input bfloat16", set(&Call::input_features_desc, Descriptor(MLUOP_DTYPE_BFLOAT16, {2, 50, 6})),
       "input_features has data type BFLOAT16, expected FLOAT or HALF"},
      {"double",
       set_all(set(&Call::input_features_desc, Descriptor(MLUOP_DTYPE_DOUBLE, {2, 50, 6})),
               set(&Call::output_features_desc, Descriptor(MLUOP_DTYPE_DOUBLE, {2, 4, 5, 6}))),
       "input_features has data type DOUBLE, expected FLOAT or HALF"},
      {"half input, float output", set(&Call::input_features_desc, Descriptor(MLUOP_DTYPE_HALF, {2, 50, 6})),
       "output_features has data type FLOAT, expected HALF"},
      {"float input, half output", set(&Call::output_features_desc, Descriptor(MLUOP_DTYPE_HALF, {2, 4, 5, 6})),
       "output_features has data type HALF, expected FLOAT"},
      {"output dtype", set(&Call::output_features_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 4, 5, 6})),
       "output_features has data type INT32, expected FLOAT"},
      {"memo dtype", set(&Call::pos_memo_desc, Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3})),
       "pos_memo has data type INT64, expected INT32"},
      {"empty descriptor", set(&Call::geom_xyz_desc, Descriptor()),
       "geom_xyz has data type INVALID, expected INT32"},
      {"geom layout", set(&Call::geom_xyz_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 50, 3}, MLUOP_LAYOUT_NCHW)),
       "geom_xyz has layout NCHW, expected ARRAY"},
      {"output layout",
       set(&Call::output_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 4, 5, 6}, MLUOP_LAYOUT_NHWC)),
       "output_features has layout NHWC, expected ARRAY"},
      {"geom dims", set(&Call::geom_xyz_desc, Descriptor(MLUOP_DTYPE_INT32, {100, 3})),
       "geom_xyz has 2 dimensions, expected 3"},
      {"input dims", set(&Call::input_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 50, 6, 1})),
       "input_features has 4 dimensions, expected 3"},
      {"output dims", set(&Call::output_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 20, 6})),
       "output_features has 3 dimensions, expected 4"},
      {"geom not xyz", set(&Call::geom_xyz_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 50, 4})),
       "geom_xyz dim 2 is 4, expected 3"},
      {"geom batch", set(&Call::geom_xyz_desc, Descriptor(MLUOP_DTYPE_INT32, {3, 50, 3})),
       "geom_xyz dim 0 is 3, expected 2"},
      {"zero points in a tensor", set(&Call::geom_xyz_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 0, 3})),
       "geom_xyz dim 1 is 0, expected 50"},
      {"input points", set(&Call::input_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 51, 6})),
       "input_features dim 1 is 51, expected 50"},
      {"input channels", set(&Call::input_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 50, 7})),
       "input_features dim 2 is 7, expected 6"},
      {"output x and y swapped", set(&Call::output_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 5, 4, 6})),
       "output_features dim 1 is 5, expected 4"},
      {"output channels", set(&Call::output_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 4, 5, 5})),
       "output_features dim 3 is 5, expected 6"},
      {"memo points", set(&Call::pos_memo_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 49, 3})),
       "pos_memo dim 1 is 49, expected 50"},
      {"scalar contradicts tensors", [](auto& c) { c.sizes.num_points = 49; },
       "geom_xyz dim 1 is 50, expected 49"},
      {"input strides",
       set(&Call::input_features_desc, Descriptor::with_strides(MLUOP_DTYPE_FLOAT, {2, 50, 6}, {301, 6, 1})),
       "input_features has strides [301, 6, 1], expected a contiguous tensor of shape [2, 50, 6]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"memo strides",
       set(&Call::pos_memo_desc, Descriptor::with_strides(MLUOP_DTYPE_INT32, {2, 50, 3}, {150, 1, 50})),
       "pos_memo has strides [150, 1, 50], expected a contiguous tensor of shape [2, 50, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"null geom", set(&Call::geom_xyz, nullptr), "geom_xyz is null, expected the data of a tensor [2, 50, 3]"},
      {"null input", set(&Call::input_features, nullptr),
       "input_features is null, expected the data of a tensor [2, 50, 6]"},
      {"null output", set(&Call::output_features, nullptr),
       "output_features is null, expected the data of a tensor [2, 4, 5, 6]"},
      {"null memo", set(&Call::pos_memo, nullptr), "pos_memo is null, expected the data of a tensor [2, 50, 3]"},
      {"memo in place of geom", [](auto& c) { c.pos_memo = c.geom_buffer.data(); },
       "pos_memo overlaps geom_xyz, expected memory of its own"},
      {"output ends in input", [](auto& c) { c.input_features = c.output_buffer.data() + 239; },
       "output_features overlaps input_features, expected memory of its own"},
      {"outputs overlap", [](auto& c) { c.pos_memo = c.output_buffer.data(); },
       "output_features overlaps pos_memo, expected memory of its own"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

// Overlaps in half, whose tensors have half the bytes.
TEST(OpsVoxelPoolingForwardErrors, Half) {
  using HalfCall = VoxelPoolingCall<Half>;
  const ErrorTable<HalfCall>::Rows rows = {
      {"float input", set(&HalfCall::input_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 50, 6})),
       "output_features has data type HALF, expected FLOAT"},
      {"float output", set(&HalfCall::output_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 4, 5, 6})),
       "output_features has data type FLOAT, expected HALF"},
      {"null input", set(&HalfCall::input_features, nullptr),
       "input_features is null, expected the data of a tensor [2, 50, 6]"},
      {"output ends in input", [](auto& c) { c.input_features = c.output_buffer.data() + 239; },
       "output_features overlaps input_features, expected memory of its own"},
  };
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling<Half>({2, 50, 6, 5, 4, 1}, random);
  expect_errors(ErrorTable<HalfCall>{.inputs = inputs, .rows = rows});
}

// The arguments of a call of these sizes. The data are at addresses that are apart; the call accesses none.
auto with_sizes(const VoxelPoolingSizes& s) {
  const auto at = [](uintptr_t tensor) { return reinterpret_cast<void*>(tensor << 44); };
  return set_all(
      set(&Call::sizes, s),
      set(&Call::geom_xyz_desc, Descriptor(MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3})),
      set(&Call::pos_memo_desc, Descriptor(MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3})),
      set(&Call::input_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {s.batch_size, s.num_points, s.num_channels})),
      set(&Call::output_features_desc,
          Descriptor(MLUOP_DTYPE_FLOAT, {s.batch_size, s.num_voxel_y, s.num_voxel_x, s.num_channels})),
      [=](Call& c) {
        c.geom_xyz = at(1);
        c.pos_memo = at(2);
        c.input_features = at(3);
        c.output_features = at(4);
      });
}

TEST(OpsVoxelPoolingForwardErrors, Limits) {
  const Table::Rows rows = {
      {"2^31 points", with_sizes({2, 1 << 30, 1, 1, 1, 1}),
       "input_features has 2147483648 points, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
      {"2^31 cells", with_sizes({2, 1, 1, 1 << 15, 1 << 15, 1}),
       "output_features has 2147483648 cells, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
  const std::string expected = " elements, expected fewer than 2^31 with the device algorithm";
  const Table::Rows device_rows = {
      {"2^31 coordinates", with_sizes({1, 715827883, 1, 1, 1, 1}), "geom_xyz has 2147483649" + expected,
       MLUOP_STATUS_NOT_SUPPORTED},
      {"2^31 features", with_sizes({1, 1 << 15, 1 << 16, 1, 1, 1}), "input_features has 2147483648" + expected,
       MLUOP_STATUS_NOT_SUPPORTED},
      {"2^31 sums", with_sizes({1, 1, 1 << 16, 1 << 7, 1 << 8, 1}), "output_features has 2147483648" + expected,
       MLUOP_STATUS_NOT_SUPPORTED},
  };
  expect_errors(Table{.inputs = valid_inputs(), .algorithms = {MLUOP_OMP_ALGORITHM_DEVICE}, .rows = device_rows});
}

TEST(OpsVoxelPoolingForwardErrors, DevicesWithoutTheOperator) {
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

// The smallest NRAM holds the smallest tile of both algorithms.
TEST(OpsVoxelPoolingForwardErrors, SmallestNramIsAccepted) {
  const ScopedEnvironment environment("MLUOP_OMP_NRAM_KB", "1");
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling<float>({1, 4, 1024, 2, 2, 1}, random);
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    EXPECT_EQ(Call(handle, inputs).run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
}

// Tensors that are adjacent in memory do not overlap.
TEST(OpsVoxelPoolingForwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  auto random = seeded_random();
  Call call(handle, random_voxel_pooling<float>({1, 4, 3, 2, 2, 1}, random));
  std::vector<int32_t> both(24);
  std::copy_n(call.geom_buffer.data(), 12, both.begin());
  call.geom_xyz = both.data();
  call.pos_memo = both.data() + 12;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
