// Every rule that mluOpVoxelization and its workspace query check.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ops/voxelization/call.h"
#include "support/environment.h"
#include "support/error_table.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using Call = VoxelizationCall;
using Table = ErrorTable<Call>;

constexpr auto kFloat = MLUOP_DTYPE_FLOAT, kHalf = MLUOP_DTYPE_HALF, kInt = MLUOP_DTYPE_INT32;
constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
const std::string kOwn = ", expected memory of its own";

// points [60, 4], voxels [20, 3, 4].
VoxelizationInputs valid_inputs(int64_t max_points = 3, int64_t max_voxels = 20) {
  auto random = seeded_random();
  return random_voxelization(voxelization_problem(60, 4, max_points, max_voxels, 4), random);
}

// The rules that operator and query share.
TEST(OpsVoxelizationErrors, Shapes) {
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null points desc", set(&Call::points_desc, nullptr), "points_desc is null"},
      {"null voxel_size desc", set(&Call::voxel_size_desc, nullptr), "voxel_size_desc is null"},
      {"null coors_range desc", set(&Call::coors_range_desc, nullptr), "coors_range_desc is null"},
      {"null voxels desc", set(&Call::voxels_desc, nullptr), "voxels_desc is null"},
      {"null coors desc", set(&Call::coors_desc, nullptr), "coors_desc is null"},
      {"null num_points desc", set(&Call::num_points_desc, nullptr), "num_points_per_voxel_desc is null"},
      {"null voxel_num desc", set(&Call::voxel_num_desc, nullptr), "voxel_num_desc is null"},
      {"half points", set(&Call::points_desc, Descriptor(kHalf, {60, 4})),
       "points has data type HALF, expected FLOAT"},
      {"empty descriptor", set(&Call::points_desc, Descriptor()), "points has data type INVALID, expected FLOAT"},
      {"half voxel_size", set(&Call::voxel_size_desc, Descriptor(kHalf, {3})),
       "voxel_size has data type HALF, expected FLOAT"},
      {"int coors_range", set(&Call::coors_range_desc, Descriptor(kInt, {6})),
       "coors_range has data type INT32, expected FLOAT"},
      {"int voxels", set(&Call::voxels_desc, Descriptor(kInt, {20, 3, 4})),
       "voxels has data type INT32, expected FLOAT"},
      {"float coors", set(&Call::coors_desc, Descriptor(kFloat, {20, 3})),
       "coors has data type FLOAT, expected INT32"},
      {"float num_points", set(&Call::num_points_desc, Descriptor(kFloat, {20})),
       "num_points_per_voxel has data type FLOAT, expected INT32"},
      {"long voxel_num", set(&Call::voxel_num_desc, Descriptor(MLUOP_DTYPE_INT64, {1})),
       "voxel_num has data type INT64, expected INT32"},
      {"points dims", set(&Call::points_desc, Descriptor(kFloat, {1, 60, 4})),
       "points has 3 dimensions, expected 2"},
      {"voxel_size dims", set(&Call::voxel_size_desc, Descriptor(kFloat, {1, 3})),
       "voxel_size has 2 dimensions, expected 1"},
      {"voxels dims", set(&Call::voxels_desc, Descriptor(kFloat, {60, 4})), "voxels has 2 dimensions, expected 3"},
      {"four sizes", set(&Call::voxel_size_desc, Descriptor(kFloat, {4})), "voxel_size dim 0 is 4, expected 3"},
      {"five limits", set(&Call::coors_range_desc, Descriptor(kFloat, {5})), "coors_range dim 0 is 5, expected 6"},
      {"voxels", set(&Call::voxels_desc, Descriptor(kFloat, {21, 3, 4})), "voxels dim 0 is 21, expected 20"},
      {"points of voxels", set(&Call::voxels_desc, Descriptor(kFloat, {20, 4, 4})),
       "voxels dim 1 is 4, expected 3"},
      {"columns of voxels", set(&Call::voxels_desc, Descriptor(kFloat, {20, 3, 3})),
       "voxels dim 2 is 3, expected 4"},
      {"coors voxels", set(&Call::coors_desc, Descriptor(kInt, {19, 3})), "coors dim 0 is 19, expected 20"},
      {"four coors", set(&Call::coors_desc, Descriptor(kInt, {20, 4})), "coors dim 1 is 4, expected 3"},
      {"num_points voxels", set(&Call::num_points_desc, Descriptor(kInt, {2})),
       "num_points_per_voxel dim 0 is 2, expected 20"},
      {"two numbers", set(&Call::voxel_num_desc, Descriptor(kInt, {2})), "voxel_num dim 0 is 2, expected 1"},
      {"points strides", set(&Call::points_desc, Descriptor::with_strides(kFloat, {60, 4}, {1, 60})),
       "points has strides [1, 60], expected a contiguous tensor of shape [60, 4]", kNotSupported},
      {"voxels strides", set(&Call::voxels_desc, Descriptor::with_strides(kFloat, {20, 3, 4}, {13, 4, 1})),
       "voxels has strides [13, 4, 1], expected a contiguous tensor of shape [20, 3, 4]", kNotSupported},
      {"coors strides", set(&Call::coors_desc, Descriptor::with_strides(kInt, {20, 3}, {4, 1})),
       "coors has strides [4, 1], expected a contiguous tensor of shape [20, 3]", kNotSupported},
      {"no points", set(&Call::points_desc, Descriptor(kFloat, {0, 4})), "points dim 0 is 0, expected at least 1"},
      {"two columns",
       set_all(set(&Call::points_desc, Descriptor(kFloat, {60, 2})),
               set(&Call::voxels_desc, Descriptor(kFloat, {20, 3, 2}))),
       "points dim 1 is 2, expected at least NDim, which is 3"},
      {"2^31 points", set(&Call::points_desc, Descriptor(kFloat, {int64_t{1} << 31, 4})),
       "points dim 0 is 2147483648, expected fewer than 2^31", kNotSupported},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

TEST(OpsVoxelizationErrors, Scalars) {
  const Table::Rows rows = {
      {"two dimensions", set(&Call::NDim, 2), "NDim is 2, expected 3"},
      {"not deterministic", set(&Call::deterministic, false), "deterministic is false, expected true"},
      {"negative max_points", set(&Call::max_points, -1), "max_points is -1, expected at least 0"},
      {"negative max_voxels", set(&Call::max_voxels, -1), "max_voxels is -1, expected at least 0"},
      {"other max_points", set(&Call::max_points, 4), "voxels dim 1 is 3, expected 4"},
      {"other max_voxels", set(&Call::max_voxels, 21), "voxels dim 0 is 20, expected 21"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

TEST(OpsVoxelizationErrors, Query) {
  const Table::Rows rows = {{"null size", set(&Call::queried_size, nullptr), "workspace_size is null"}};
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kQuery}, .rows = rows});
}

TEST(OpsVoxelizationErrors, Devices) {
  for (const char* name : {"mlu270", "mlu290"}) {
    const ScopedEnvironment device("MLUOP_OMP_DEVICE", name);
    const Handle of_default;
    mluOpHandle_t handle = of_default;
    auto inputs = valid_inputs();
    const Table::Rows rows = {{name, set(&Call::handle, handle),
                               "device is " + std::string(name) + ", expected mlu370 or mlu590",
                               MLUOP_STATUS_ARCH_MISMATCH}};
    // The handle of the construction has the default device, so that its query succeeds.
    const ScopedEnvironment default_device("MLUOP_OMP_DEVICE", nullptr);
    expect_errors(Table{.inputs = inputs, .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
  }
}

TEST(OpsVoxelizationErrors, Data) {
  const auto null = [](const char* name, const char* shape) {
    return std::string(name) + " is null, expected the data of a tensor " + shape;
  };
  const size_t needed = Call(Handle(), valid_inputs()).workspace_size;
  ASSERT_GT(needed, 0U);
  const std::string at_least = ", expected at least " + std::to_string(needed);
  const Table::Rows rows = {
      {"null points", set(&Call::points, nullptr), null("points", "[60, 4]")},
      {"null voxel_size", set(&Call::voxel_size, nullptr), null("voxel_size", "[3]")},
      {"null coors_range", set(&Call::coors_range, nullptr), null("coors_range", "[6]")},
      {"null voxels", set(&Call::voxels, nullptr), null("voxels", "[20, 3, 4]")},
      {"null coors", set(&Call::coors, nullptr), null("coors", "[20, 3]")},
      {"null num_points", set(&Call::num_points, nullptr), null("num_points_per_voxel", "[20]")},
      {"null voxel_num", set(&Call::voxel_num, nullptr), null("voxel_num", "[1]")},
      {"in place", [](auto& c) { c.voxels = c.points_buffer.data(); }, "voxels overlaps points" + kOwn},
      {"range in coors", [](auto& c) { c.coors_range = c.coors_buffer.data() + 50; },
       "coors overlaps coors_range" + kOwn},
      {"one output", [](auto& c) { c.coors = c.num_points_buffer.data(); },
       "coors overlaps num_points_per_voxel" + kOwn},
      {"number in voxels", [](auto& c) { c.voxel_num = c.voxels_buffer.data() + 239; },
       "voxels overlaps voxel_num" + kOwn},
      {"null workspace", set(&Call::workspace, nullptr), "workspace is null"},
      {"small workspace", [](auto& c) { --c.workspace_size; },
       "workspace_size is " + std::to_string(needed - 1) + at_least},
      {"no workspace", set_all(set(&Call::workspace, nullptr), set(&Call::workspace_size, size_t{0})),
       "workspace_size is 0" + at_least},
      {"workspace in voxels", [](auto& c) { c.workspace = c.voxels_buffer.data() + 10; },
       "voxels overlaps workspace" + kOwn},
      {"points in workspace", [](auto& c) { c.points = c.workspace; }, "workspace overlaps points" + kOwn},
  };
  expect_errors(Table{.inputs = valid_inputs(), .accepted_by = {Call::kQuery}, .rows = rows});
}

// The elements of voxel_size and coors_range.
TEST(OpsVoxelizationErrors, Grid) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const auto size = [](size_t i, float value) { return [=](auto& c) { c.voxel_size_buffer[i] = value; }; };
  const auto limit = [](size_t i, float value) { return [=](auto& c) { c.coors_range_buffer[i] = value; }; };
  const std::string positive = ", expected a positive finite number", finite = ", expected a finite number";
  const std::string too_many = " cells, expected at most 2^31";
  const Table::Rows rows = {
      {"no size", size(0, 0), "voxel_size[0] is 0" + positive},
      {"negative size", size(1, -0.5F), "voxel_size[1] is -0.5" + positive},
      {"NaN size", size(2, kNan), "voxel_size[2] is nan" + positive},
      {"infinite size", size(0, kInfinity), "voxel_size[0] is inf" + positive},
      {"the first size", set_all(size(2, 0), size(1, 0), limit(0, kNan)), "voxel_size[1] is 0" + positive},
      {"NaN minimum", limit(1, kNan), "coors_range[1] is nan" + finite},
      {"infinite minimum", limit(2, -kInfinity), "coors_range[2] is -inf" + finite},
      {"infinite maximum", limit(5, kInfinity), "coors_range[5] is inf" + finite},
      {"small cells", size(1, 0x1p-31F), "axis 1 has 4.29497e+09" + too_many, kNotSupported},
      {"infinite range", set_all(limit(0, -kMax), limit(3, kMax)), "axis 0 has inf" + too_many, kNotSupported},
      {"2^63 cells", set_all(size(0, 0x1p-20F), size(1, 0x1p-20F), size(2, 0x1p-20F)),
       "the grid has more than 2^62 cells", kNotSupported},
      {"3 * 2^61 cells", set_all(size(0, 0x1p-20F), size(1, 0x1p-20F), size(2, 0x1p-19F / 1.5F)),
       "the grid has more than 2^62 cells", kNotSupported},
      {"2^84 cells", set_all(size(0, 0x1p-27F), size(1, 0x1p-27F), size(2, 0x1p-27F)),
       "the grid has more than 2^62 cells", kNotSupported},
  };
  expect_errors(Table{.inputs = valid_inputs(), .accepted_by = {Call::kQuery}, .rows = rows});
}

TEST(OpsVoxelizationErrors, AnyLayout) {
  const Handle handle;
  Call call(handle, valid_inputs());
  const Descriptor points(kFloat, {60, 4}, MLUOP_LAYOUT_NC), size(kFloat, {3}, MLUOP_LAYOUT_NHWC),
      voxels(kFloat, {20, 3, 4}, MLUOP_LAYOUT_NLC);
  call.points_desc = points;
  call.voxel_size_desc = size;
  call.voxels_desc = voxels;
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// Without voxels the call writes voxel_num and reads nothing: inputs and workspace may be null.
TEST(OpsVoxelizationErrors, NoVoxels) {
  for (const int64_t max_points : {0, 3}) {
    const auto inputs = valid_inputs(max_points, 0);
    const Handle handle;
    Call call(handle, inputs);
    EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(*call.queried_size, 0U);
    call.points = call.voxel_size = call.coors_range = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.voxel_num_buffer[0], 0);
    EXPECT_TRUE(call.intact());
    expect_errors(Table{.inputs = inputs,
                        .rows = {{"NDim", set(&Call::NDim, 2), "NDim is 2, expected 3"},
                                 {"null voxel_num", set(&Call::voxel_num, nullptr),
                                  "voxel_num is null, expected the data of a tensor [1]"}}});
  }
}

// Without points of voxels, inputs and workspace are needed.
TEST(OpsVoxelizationErrors, NoPointsOfVoxels) {
  const Table::Rows rows = {
      {"null points", set(&Call::points, nullptr), "points is null, expected the data of a tensor [60, 4]"},
      {"null workspace", set(&Call::workspace, nullptr), "workspace is null"},
  };
  expect_errors(Table{.inputs = valid_inputs(0, 20), .rows = rows});
}

}  // namespace
}  // namespace mluop::test
