// Every rule of mluOpVoxelPoolingForward: one bad argument, one status, a message that names the parameter, and
// outputs that stay as they were.
#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <functional>
#include <string>

#include "ops/voxel_pooling_forward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr VoxelPoolingSizes kSizes = {2, 50, 6, 5, 4, 1};

struct BadCall {
  const char* rule;
  std::function<void(VoxelPoolingCall&)> spoil;
  mluOpStatus_t status;
  const char* message;  // after "[mluOpVoxelPoolingForward] "
};

Descriptor strided(mluOpDataType_t dtype, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  Descriptor desc;
  require(mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()),
                                        dims.data(), strides.data()));
  return desc;
}

void expect_refused(const BadCall& bad, const Handle& handle) {
  SCOPED_TRACE(bad.rule);
  auto random = seeded_random();
  VoxelPoolingCall call(handle, random_voxel_pooling(kSizes, random));
  const VoxelPoolingOutputs before = call.outputs();
  bad.spoil(call);
  EXPECT_EQ(call.run(), bad.status);
  EXPECT_EQ(mluOpOmpGetLastError(), std::string("[mluOpVoxelPoolingForward] ") + bad.message);
  // Bytes, not values: what an output held before may be a NaN.
  const VoxelPoolingOutputs after = call.outputs();
  EXPECT_EQ(std::memcmp(after.output_features.data(), before.output_features.data(),
                        before.output_features.size() * sizeof(float)),
            0);
  EXPECT_EQ(after.pos_memo, before.pos_memo);
  EXPECT_TRUE(call.intact());
}

TEST(OpsVoxelPoolingForwardErrors, Rules) {
  const auto kBad = MLUOP_STATUS_BAD_PARAM;
  const Descriptor float_geom(MLUOP_DTYPE_FLOAT, {2, 50, 3}), half_input(MLUOP_DTYPE_HALF, {2, 50, 6}),
      int_output(MLUOP_DTYPE_INT32, {2, 4, 5, 6}), long_memo(MLUOP_DTYPE_INT64, {2, 50, 3});
  const Descriptor nchw_geom(MLUOP_DTYPE_INT32, {2, 50, 3}, MLUOP_LAYOUT_NCHW),
      nhwc_output(MLUOP_DTYPE_FLOAT, {2, 4, 5, 6}, MLUOP_LAYOUT_NHWC);
  const Descriptor flat_geom(MLUOP_DTYPE_INT32, {100, 3}), deep_input(MLUOP_DTYPE_FLOAT, {2, 50, 6, 1}),
      flat_output(MLUOP_DTYPE_FLOAT, {2, 20, 6}), empty;
  const Descriptor four_geom(MLUOP_DTYPE_INT32, {2, 50, 4}), batch_geom(MLUOP_DTYPE_INT32, {3, 50, 3}),
      points_input(MLUOP_DTYPE_FLOAT, {2, 51, 6}), channels_input(MLUOP_DTYPE_FLOAT, {2, 50, 7}),
      swapped_output(MLUOP_DTYPE_FLOAT, {2, 5, 4, 6}), channels_output(MLUOP_DTYPE_FLOAT, {2, 4, 5, 5}),
      points_memo(MLUOP_DTYPE_INT32, {2, 49, 3}), zero_points(MLUOP_DTYPE_INT32, {2, 0, 3});
  const Descriptor strided_input = strided(MLUOP_DTYPE_FLOAT, {2, 50, 6}, {301, 6, 1});
  const Descriptor strided_memo = strided(MLUOP_DTYPE_INT32, {2, 50, 3}, {150, 1, 50});

  const BadCall kTable[] = {
      {"null handle", [](auto& c) { c.handle = nullptr; }, kBad, "handle is null"},
      {"zero batch", [](auto& c) { c.sizes.batch_size = 0; }, kBad, "batch_size is 0, expected at least 1"},
      {"negative points", [](auto& c) { c.sizes.num_points = -1; }, kBad, "num_points is -1, expected at least 1"},
      {"zero channels", [](auto& c) { c.sizes.num_channels = 0; }, kBad, "num_channels is 0, expected at least 1"},
      {"zero x", [](auto& c) { c.sizes.num_voxel_x = 0; }, kBad, "num_voxel_x is 0, expected at least 1"},
      {"least y", [](auto& c) { c.sizes.num_voxel_y = INT_MIN; }, kBad,
       "num_voxel_y is -2147483648, expected at least 1"},
      {"zero z", [](auto& c) { c.sizes.num_voxel_z = 0; }, kBad, "num_voxel_z is 0, expected at least 1"},
      {"null geom desc", [](auto& c) { c.geom_xyz_desc = nullptr; }, kBad, "geom_xyz_desc is null"},
      {"null input desc", [](auto& c) { c.input_features_desc = nullptr; }, kBad, "input_features_desc is null"},
      {"null output desc", [](auto& c) { c.output_features_desc = nullptr; }, kBad,
       "output_features_desc is null"},
      {"null memo desc", [](auto& c) { c.pos_memo_desc = nullptr; }, kBad, "pos_memo_desc is null"},
      {"geom dtype", [&](auto& c) { c.geom_xyz_desc = float_geom; }, kBad,
       "geom_xyz has data type FLOAT, expected INT32"},
      {"input dtype", [&](auto& c) { c.input_features_desc = half_input; }, kBad,
       "input_features has data type HALF, expected FLOAT"},
      {"output dtype", [&](auto& c) { c.output_features_desc = int_output; }, kBad,
       "output_features has data type INT32, expected FLOAT"},
      {"memo dtype", [&](auto& c) { c.pos_memo_desc = long_memo; }, kBad,
       "pos_memo has data type INT64, expected INT32"},
      {"empty descriptor", [&](auto& c) { c.geom_xyz_desc = empty; }, kBad,
       "geom_xyz has data type INVALID, expected INT32"},
      {"geom layout", [&](auto& c) { c.geom_xyz_desc = nchw_geom; }, kBad,
       "geom_xyz has layout NCHW, expected ARRAY"},
      {"output layout", [&](auto& c) { c.output_features_desc = nhwc_output; }, kBad,
       "output_features has layout NHWC, expected ARRAY"},
      {"geom dims", [&](auto& c) { c.geom_xyz_desc = flat_geom; }, kBad, "geom_xyz has 2 dimensions, expected 3"},
      {"input dims", [&](auto& c) { c.input_features_desc = deep_input; }, kBad,
       "input_features has 4 dimensions, expected 3"},
      {"output dims", [&](auto& c) { c.output_features_desc = flat_output; }, kBad,
       "output_features has 3 dimensions, expected 4"},
      {"geom not xyz", [&](auto& c) { c.geom_xyz_desc = four_geom; }, kBad, "geom_xyz dim 2 is 4, expected 3"},
      {"geom batch", [&](auto& c) { c.geom_xyz_desc = batch_geom; }, kBad, "geom_xyz dim 0 is 3, expected 2"},
      {"zero points in a tensor", [&](auto& c) { c.geom_xyz_desc = zero_points; }, kBad,
       "geom_xyz dim 1 is 0, expected 50"},
      {"input points", [&](auto& c) { c.input_features_desc = points_input; }, kBad,
       "input_features dim 1 is 51, expected 50"},
      {"input channels", [&](auto& c) { c.input_features_desc = channels_input; }, kBad,
       "input_features dim 2 is 7, expected 6"},
      {"output x and y swapped", [&](auto& c) { c.output_features_desc = swapped_output; }, kBad,
       "output_features dim 1 is 5, expected 4"},
      {"output channels", [&](auto& c) { c.output_features_desc = channels_output; }, kBad,
       "output_features dim 3 is 5, expected 6"},
      {"memo points", [&](auto& c) { c.pos_memo_desc = points_memo; }, kBad, "pos_memo dim 1 is 49, expected 50"},
      {"scalar contradicts tensors", [](auto& c) { c.sizes.num_points = 49; }, kBad,
       "geom_xyz dim 1 is 50, expected 49"},
      {"input strides", [&](auto& c) { c.input_features_desc = strided_input; }, kBad,
       "input_features has strides [301, 6, 1], expected a contiguous tensor of shape [2, 50, 6]"},
      {"memo strides", [&](auto& c) { c.pos_memo_desc = strided_memo; }, kBad,
       "pos_memo has strides [150, 1, 50], expected a contiguous tensor of shape [2, 50, 3]"},
      {"null geom", [](auto& c) { c.geom_xyz = nullptr; }, kBad,
       "geom_xyz is null, expected the data of a tensor [2, 50, 3]"},
      {"null input", [](auto& c) { c.input_features = nullptr; }, kBad,
       "input_features is null, expected the data of a tensor [2, 50, 6]"},
      {"null output", [](auto& c) { c.output_features = nullptr; }, kBad,
       "output_features is null, expected the data of a tensor [2, 4, 5, 6]"},
      {"null memo", [](auto& c) { c.pos_memo = nullptr; }, kBad,
       "pos_memo is null, expected the data of a tensor [2, 50, 3]"},
      {"memo in place of geom", [](auto& c) { c.pos_memo = c.geom_buffer.data(); }, kBad,
       "pos_memo overlaps geom_xyz, expected memory of its own"},
      {"output ends in input", [](auto& c) { c.input_features = c.output_buffer.data() + 239; }, kBad,
       "output_features overlaps input_features, expected memory of its own"},
      {"outputs overlap", [](auto& c) { c.pos_memo = c.output_buffer.data(); }, kBad,
       "output_features overlaps pos_memo, expected memory of its own"},
  };
  for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
    const Handle handle(mode);
    for (const BadCall& bad : kTable) expect_refused(bad, handle);
  }
}

TEST(OpsVoxelPoolingForwardErrors, TensorsOfTwoToThe31Elements) {
  const Handle handle;
  const int points = 1 << 15, channels = 1 << 16;
  const Descriptor geom(MLUOP_DTYPE_INT32, {1, points, 3}), input(MLUOP_DTYPE_FLOAT, {1, points, channels}),
      output(MLUOP_DTYPE_FLOAT, {1, 1, 1, channels});
  const BadCall large{"2^31 features",
                      [&](auto& c) {
                        c.sizes = {1, points, channels, 1, 1, 1};
                        c.geom_xyz_desc = geom;
                        c.pos_memo_desc = geom;
                        c.input_features_desc = input;
                        c.output_features_desc = output;
                      },
                      MLUOP_STATUS_NOT_SUPPORTED,
                      "input_features has 2147483648 elements, expected fewer than 2^31"};
  expect_refused(large, handle);
}

TEST(OpsVoxelPoolingForwardErrors, DevicesWithoutTheOperator) {
  for (const char* device : {"mlu270", "mlu290"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    const Handle handle;
    const std::string message = std::string("device is ") + device + ", expected mlu370 or mlu590";
    expect_refused({device, [](auto&) {}, MLUOP_STATUS_ARCH_MISMATCH, message.c_str()}, handle);
  }
  for (const char* device : {"mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    const Handle handle;
    auto random = seeded_random();
    const VoxelPoolingCall call(handle, random_voxel_pooling(kSizes, random));
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  }
}

// Scratch memory too small for the smallest tile: 1 KiB holds no row of 1024 channels.
TEST(OpsVoxelPoolingForwardErrors, ScratchTooSmall) {
  const ScopedEnvironment environment("MLUOP_OMP_NRAM_KB", "1");
  const Handle handle(MLUOP_ATOMICS_ALLOWED);
  auto random = seeded_random();
  const VoxelPoolingCall call(handle, random_voxel_pooling({1, 4, 1024, 2, 2, 1}, random));
  const auto before = call.outputs().pos_memo;
  EXPECT_EQ(call.run(), MLUOP_STATUS_ALLOC_FAILED);
  EXPECT_EQ(
      std::string(mluOpOmpGetLastError()).find("[mluOpVoxelPoolingForward] MLUOP_OMP_NRAM_KB is 1, expected"), 0U);
  EXPECT_EQ(call.outputs().pos_memo, before);
}

// Tensors that touch without sharing a byte are apart.
TEST(OpsVoxelPoolingForwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  auto random = seeded_random();
  VoxelPoolingCall call(handle, random_voxel_pooling({1, 4, 3, 2, 2, 1}, random));
  std::vector<int32_t> both(24);
  std::copy_n(call.geom_buffer.data(), 12, both.begin());
  call.geom_xyz = both.data();
  call.pos_memo = both.data() + 12;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
