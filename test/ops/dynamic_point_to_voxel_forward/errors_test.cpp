// Every rule that mluOpDynamicPointToVoxelForward and its workspace query check.
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>

#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = PointToVoxelCall;
using Table = ErrorTable<Call>;

constexpr auto kFloat = MLUOP_DTYPE_FLOAT, kInt = MLUOP_DTYPE_INT32;
constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;

// 50 points of 6 channels, room for 40 voxels, of which there are at most 27.
PointToVoxelInputs valid_inputs() {
  auto random = seeded_random();
  auto inputs = random_point_to_voxel(50, 6, 3, MLUOP_REDUCE_DMAX, random);
  inputs.max_voxels = 40;
  return inputs;
}

// Rules of feats and coors, which the query checks too.
TEST(OpsDynamicPointToVoxelForwardErrors, Points) {
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null feats desc", set(&Call::feats_desc, nullptr), "feats_desc is null"},
      {"null coors desc", set(&Call::coors_desc, nullptr), "coors_desc is null"},
      {"feats dtype", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_HALF, {50, 6})),
       "feats has data type HALF, expected FLOAT"},
      {"feats dims", set(&Call::feats_desc, Descriptor(kFloat, {50, 6, 1})), "feats has 3 dimensions, expected 2"},
      {"empty descriptor", set(&Call::feats_desc, Descriptor()), "feats has data type INVALID, expected FLOAT"},
      {"feats strides", set(&Call::feats_desc, Descriptor::with_strides(kFloat, {50, 6}, {7, 1})),
       "feats has strides [7, 1], expected a contiguous tensor of shape [50, 6]", kNotSupported},
      {"coors dtype", set(&Call::coors_desc, Descriptor(MLUOP_DTYPE_INT64, {50, 3})),
       "coors has data type INT64, expected INT32"},
      {"coors dims", set(&Call::coors_desc, Descriptor(kInt, {150})), "coors has 1 dimensions, expected 2"},
      {"coors points", set(&Call::coors_desc, Descriptor(kInt, {49, 3})), "coors dim 0 is 49, expected 50"},
      {"coors with batch", set(&Call::coors_desc, Descriptor(kInt, {50, 4})), "coors dim 1 is 4, expected 3"},
      {"coors strides", set(&Call::coors_desc, Descriptor::with_strides(kInt, {50, 3}, {1, 50})),
       "coors has strides [1, 50], expected a contiguous tensor of shape [50, 3]", kNotSupported},
      {"2^31 points", set(&Call::feats_desc, Descriptor(kFloat, {int64_t{1} << 31, 6})),
       "feats has 2147483648 points, expected fewer than 2^31", kNotSupported},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

TEST(OpsDynamicPointToVoxelForwardErrors, Voxels) {
  const Table::Rows rows = {
      {"reduce type", set(&Call::reduce_type, static_cast<mluOpReduceMode_t>(3)),
       "reduce_type is 3, expected MLUOP_REDUCE_DSUM (0), MLUOP_REDUCE_DMEAN (1) or MLUOP_REDUCE_DMAX (2)"},
      {"null voxel_feats desc", set(&Call::voxel_feats_desc, nullptr), "voxel_feats_desc is null"},
      {"null voxel_coors desc", set(&Call::voxel_coors_desc, nullptr), "voxel_coors_desc is null"},
      {"null map desc", set(&Call::point2voxel_map_desc, nullptr), "point2voxel_map_desc is null"},
      {"null count desc", set(&Call::voxel_points_count_desc, nullptr), "voxel_points_count_desc is null"},
      {"null num desc", set(&Call::voxel_num_desc, nullptr), "voxel_num_desc is null"},
      {"voxel_feats dtype", set(&Call::voxel_feats_desc, Descriptor(kInt, {40, 6})),
       "voxel_feats has data type INT32, expected FLOAT"},
      {"voxel_feats channels", set(&Call::voxel_feats_desc, Descriptor(kFloat, {40, 7})),
       "voxel_feats dim 1 is 7, expected 6"},
      {"voxel_feats dims", set(&Call::voxel_feats_desc, Descriptor(kFloat, {240})),
       "voxel_feats has 1 dimensions, expected 2"},
      {"voxel_feats strides", set(&Call::voxel_feats_desc, Descriptor::with_strides(kFloat, {40, 6}, {8, 1})),
       "voxel_feats has strides [8, 1], expected a contiguous tensor of shape [40, 6]", kNotSupported},
      {"voxel_coors dtype", set(&Call::voxel_coors_desc, Descriptor(kFloat, {40, 3})),
       "voxel_coors has data type FLOAT, expected INT32"},
      {"voxel_coors rows", set(&Call::voxel_coors_desc, Descriptor(kInt, {39, 3})),
       "voxel_coors dim 0 is 39, expected 40"},
      {"voxel_coors axes", set(&Call::voxel_coors_desc, Descriptor(kInt, {40, 4})),
       "voxel_coors dim 1 is 4, expected 3"},
      {"map dtype", set(&Call::point2voxel_map_desc, Descriptor(kFloat, {50})),
       "point2voxel_map has data type FLOAT, expected INT32"},
      {"map points", set(&Call::point2voxel_map_desc, Descriptor(kInt, {51})),
       "point2voxel_map dim 0 is 51, expected 50"},
      {"map dims", set(&Call::point2voxel_map_desc, Descriptor(kInt, {50, 1})),
       "point2voxel_map has 2 dimensions, expected 1"},
      {"count dtype", set(&Call::voxel_points_count_desc, Descriptor(MLUOP_DTYPE_INT64, {40})),
       "voxel_points_count has data type INT64, expected INT32"},
      {"count rows", set(&Call::voxel_points_count_desc, Descriptor(kInt, {41})),
       "voxel_points_count dim 0 is 41, expected 40"},
      {"num dtype", set(&Call::voxel_num_desc, Descriptor(MLUOP_DTYPE_INT64, {1})),
       "voxel_num has data type INT64, expected INT32"},
      {"two nums", set(&Call::voxel_num_desc, Descriptor(kInt, {2})), "voxel_num dim 0 is 2, expected 1"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .accepted_by = {Call::kQuery}, .rows = rows});
}

TEST(OpsDynamicPointToVoxelForwardErrors, NumberOfVoxels) {
  auto inputs = valid_inputs();
  const int32_t voxels = point_to_voxel_reference(inputs).voxel_num;
  ASSERT_GT(voxels, 1);
  inputs.max_voxels = voxels - 1;
  const std::string few = "voxel_feats dim 0 is " + std::to_string(voxels - 1) +
                          ", expected at least the number of voxels, which is " + std::to_string(voxels);
  expect_errors(Table{.inputs = inputs, .accepted_by = {Call::kQuery}, .rows = {{"one too few", no_change, few}}});
  inputs.max_voxels = 0;
  const std::string none =
      "voxel_feats dim 0 is 0, expected at least the number of voxels, which is " + std::to_string(voxels);
  expect_errors(Table{.inputs = inputs, .rows = {{"none", no_change, none}}});
  inputs.max_voxels = 51;
  expect_errors(Table{.inputs = inputs,
                      .rows = {{"more than points", no_change,
                                "voxel_feats dim 0 is 51, expected at most feats dim 0, which is 50"}}});
}

TEST(OpsDynamicPointToVoxelForwardErrors, Memory) {
  const size_t needed = point_to_voxel_workspace(Handle(), 50, 6);
  const Table::Rows rows = {
      {"null feats", set(&Call::feats, nullptr), "feats is null, expected the data of a tensor [50, 6]"},
      {"null coors", set(&Call::coors, nullptr), "coors is null, expected the data of a tensor [50, 3]"},
      {"null voxel_feats", set(&Call::voxel_feats, nullptr),
       "voxel_feats is null, expected the data of a tensor [40, 6]"},
      {"null voxel_coors", set(&Call::voxel_coors, nullptr),
       "voxel_coors is null, expected the data of a tensor [40, 3]"},
      {"null map", set(&Call::point2voxel_map, nullptr),
       "point2voxel_map is null, expected the data of a tensor [50]"},
      {"null count", set(&Call::voxel_points_count, nullptr),
       "voxel_points_count is null, expected the data of a tensor [40]"},
      {"null num", set(&Call::voxel_num, nullptr), "voxel_num is null, expected the data of a tensor [1]"},
      {"null workspace", set(&Call::workspace, nullptr), "workspace is null"},
      {"small workspace", [](Call& call) { --call.workspace_size; },
       "workspace_size is " + std::to_string(needed - 1) + ", expected at least " + std::to_string(needed)},
      {"voxel_feats in feats", [](Call& call) { call.voxel_feats = call.feats_buffer.data() + 1; },
       "voxel_feats overlaps feats", MLUOP_STATUS_BAD_PARAM, Match::kBeginning},
      {"voxel_coors in coors", [](Call& call) { call.voxel_coors = call.coors_buffer.data() + 30; },
       "coors overlaps voxel_coors", MLUOP_STATUS_BAD_PARAM, Match::kBeginning},
      {"coors in feats", [](Call& call) { call.coors = call.feats_buffer.data(); }, "coors overlaps feats",
       MLUOP_STATUS_BAD_PARAM, Match::kBeginning},
      {"workspace in coors", [](Call& call) { call.workspace = call.coors_buffer.data(); },
       "coors overlaps workspace", MLUOP_STATUS_BAD_PARAM, Match::kBeginning},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

// Without points, the outputs are checked.
TEST(OpsDynamicPointToVoxelForwardErrors, NoPoints) {
  auto random = seeded_random();
  auto inputs = random_point_to_voxel(0, 6, 1, MLUOP_REDUCE_DMAX, random);
  inputs.max_voxels = 40;
  const Table::Rows rows = {
      {"null voxel_coors", set(&Call::voxel_coors, nullptr),
       "voxel_coors is null, expected the data of a tensor [40, 3]"},
      {"null num", set(&Call::voxel_num, nullptr), "voxel_num is null, expected the data of a tensor [1]"},
      {"num in counts", [](Call& call) { call.voxel_num = call.count_buffer.data() + 39; },
       "voxel_points_count overlaps voxel_num, expected memory of its own"},
  };
  expect_errors(Table{.inputs = inputs, .rows = rows});
}

TEST(OpsDynamicPointToVoxelForwardErrors, Query) {
  expect_errors(Table{.inputs = valid_inputs(),
                      .functions = {Call::kQuery},
                      .rows = {{"null size", set(&Call::queried_size, nullptr), "workspace_size is null"}}});
}

TEST(OpsDynamicPointToVoxelForwardErrors, Architecture) {
  for (const char* device : {"mlu270", "mlu290"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    const Handle of_200_series;
    const mluOpHandle_t handle = of_200_series;
    const ScopedEnvironment usual("MLUOP_OMP_DEVICE", nullptr);
    expect_errors(Table{.inputs = valid_inputs(),
                        .functions = {Call::kOperator, Call::kQuery},
                        .rows = {{device, set(&Call::handle, handle),
                                  std::string("device is ") + device + ", expected mlu370 or mlu590",
                                  MLUOP_STATUS_ARCH_MISMATCH}}});
  }
}

}  // namespace
}  // namespace mluop::test
