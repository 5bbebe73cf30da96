// Every rule that mluOpDynamicScatterBackward, its workspace query and their aliases check.
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <string>

#include "ops/dynamic_scatter_backward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = DynamicScatterCall;
using Table = ErrorTable<Call>;

constexpr DynamicScatterSizes kSizes = {50, 20, 6, 18};

const std::string kReduceTypesExpected =
    ", expected MLUOP_REDUCE_DSUM (0), MLUOP_REDUCE_DMEAN (1) or MLUOP_REDUCE_DMAX (2)";

const auto kNoReduceType = set(&Call::reduce_type, static_cast<mluOpReduceMode_t>(3));

DynamicScatterInputs valid_inputs(mluOpReduceMode_t reduction = MLUOP_REDUCE_DMAX) {
  auto random = seeded_random();
  auto inputs = random_dynamic_scatter(kSizes, random);
  inputs.reduce_type = reduction;
  return inputs;
}

// Checks the rows with the operator under both names.
void expect_operator_errors(const Table::Rows& rows, const DynamicScatterInputs& inputs = valid_inputs()) {
  expect_errors(Table{.inputs = inputs, .functions = {Call::kOperator, Call::kAlias}, .rows = rows});
}

TEST(OpsDynamicScatterBackwardErrors, Descriptors) {
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"reduce type", kNoReduceType, "reduce_type is 3" + kReduceTypesExpected},
      {"null grad_voxel_feats desc", set(&Call::grad_voxel_feats_desc, nullptr), "grad_voxel_feats_desc is null"},
      {"null feats desc", set(&Call::feats_desc, nullptr), "feats_desc is null"},
      {"null voxel_feats desc", set(&Call::voxel_feats_desc, nullptr), "voxel_feats_desc is null"},
      {"null map desc", set(&Call::point2voxel_map_desc, nullptr), "point2voxel_map_desc is null"},
      {"null count desc", set(&Call::voxel_points_count_desc, nullptr), "voxel_points_count_desc is null"},
      {"null num desc", set(&Call::voxel_num_desc, nullptr), "voxel_num_desc is null"},
      {"null grad_feats desc", set(&Call::grad_feats_desc, nullptr), "grad_feats_desc is null"},
      {"feats dtype", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_HALF, {50, 6})),
       "feats has data type HALF, expected FLOAT"},
      {"grad_voxel_feats dtype", set(&Call::grad_voxel_feats_desc, Descriptor(MLUOP_DTYPE_INT32, {20, 6})),
       "grad_voxel_feats has data type INT32, expected FLOAT"},
      {"voxel_feats dtype", set(&Call::voxel_feats_desc, Descriptor(MLUOP_DTYPE_INT32, {20, 6})),
       "voxel_feats has data type INT32, expected FLOAT"},
      {"map dtype", set(&Call::point2voxel_map_desc, Descriptor(MLUOP_DTYPE_INT64, {50})),
       "point2voxel_map has data type INT64, expected INT32"},
      {"count dtype", set(&Call::voxel_points_count_desc, Descriptor(MLUOP_DTYPE_FLOAT, {20})),
       "voxel_points_count has data type FLOAT, expected INT32"},
      {"num dtype", set(&Call::voxel_num_desc, Descriptor(MLUOP_DTYPE_FLOAT, {1})),
       "voxel_num has data type FLOAT, expected INT32"},
      {"grad_feats dtype", set(&Call::grad_feats_desc, Descriptor(MLUOP_DTYPE_HALF, {50, 6})),
       "grad_feats has data type HALF, expected FLOAT"},
      {"empty descriptor", set(&Call::feats_desc, Descriptor()), "feats has data type INVALID, expected FLOAT"},
      {"feats dims", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {50, 6, 1})),
       "feats has 3 dimensions, expected 2"},
      {"voxel_feats dims", set(&Call::voxel_feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {120})),
       "voxel_feats has 1 dimensions, expected 2"},
      {"map dims", set(&Call::point2voxel_map_desc, Descriptor(MLUOP_DTYPE_INT32, {50, 1})),
       "point2voxel_map has 2 dimensions, expected 1"},
      {"num dims", set(&Call::voxel_num_desc, Descriptor(MLUOP_DTYPE_INT32, {1, 1})),
       "voxel_num has 2 dimensions, expected 1"},
      {"voxel_feats channels", set(&Call::voxel_feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {20, 7})),
       "voxel_feats dim 1 is 7, expected 6"},
      {"grad_voxel_feats voxels", set(&Call::grad_voxel_feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {21, 6})),
       "grad_voxel_feats dim 0 is 21, expected 20"},
      {"map points", set(&Call::point2voxel_map_desc, Descriptor(MLUOP_DTYPE_INT32, {49})),
       "point2voxel_map dim 0 is 49, expected 50"},
      {"count voxels", set(&Call::voxel_points_count_desc, Descriptor(MLUOP_DTYPE_INT32, {21})),
       "voxel_points_count dim 0 is 21, expected 20"},
      {"two nums", set(&Call::voxel_num_desc, Descriptor(MLUOP_DTYPE_INT32, {2})),
       "voxel_num dim 0 is 2, expected 1"},
      {"grad_feats points", set(&Call::grad_feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {49, 6})),
       "grad_feats dim 0 is 49, expected 50"},
      {"grad_feats channels", set(&Call::grad_feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {50, 5})),
       "grad_feats dim 1 is 5, expected 6"},
      {"grad_feats empty, feats not", set(&Call::grad_feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {0, 6})),
       "grad_feats dim 0 is 0, expected 50"},
      {"feats strides", set(&Call::feats_desc, Descriptor::with_strides(MLUOP_DTYPE_FLOAT, {50, 6}, {7, 1})),
       "feats has strides [7, 1], expected a contiguous tensor of shape [50, 6]", MLUOP_STATUS_NOT_SUPPORTED},
      {"grad_feats strides",
       set(&Call::grad_feats_desc, Descriptor::with_strides(MLUOP_DTYPE_FLOAT, {50, 6}, {1, 50})),
       "grad_feats has strides [1, 50], expected a contiguous tensor of shape [50, 6]",
       MLUOP_STATUS_NOT_SUPPORTED},
  };
  expect_operator_errors(rows);
}

TEST(OpsDynamicScatterBackwardErrors, Memory) {
  const auto needed_by = [](mluOpOmpAlgorithm_t algorithm) {
    return dynamic_scatter_workspace(Handle(algorithm), kSizes.points, kSizes.channels);
  };
  const std::string missing = " is null, expected the data of a tensor ";
  const std::string overlap = ", expected memory of its own";
  const Table::Rows rows = {
      {"null grad_voxel_feats", set(&Call::grad_voxel_feats, nullptr), "grad_voxel_feats" + missing + "[20, 6]"},
      {"null feats", set(&Call::feats, nullptr), "feats" + missing + "[50, 6]"},
      {"null voxel_feats", set(&Call::voxel_feats, nullptr), "voxel_feats" + missing + "[20, 6]"},
      {"null map", set(&Call::point2voxel_map, nullptr), "point2voxel_map" + missing + "[50]"},
      {"null count", set(&Call::voxel_points_count, nullptr), "voxel_points_count" + missing + "[20]"},
      {"null num", set(&Call::voxel_num, nullptr), "voxel_num" + missing + "[1]"},
      {"null grad_feats", set(&Call::grad_feats, nullptr), "grad_feats" + missing + "[50, 6]"},
      {"null workspace", set(&Call::workspace, nullptr), "workspace is null"},
      {"in place", [](auto& c) { c.feats = c.grad_feats; }, "grad_feats overlaps feats" + overlap},
      {"output ends in voxel_feats", [](auto& c) { c.voxel_feats = c.output_buffer.data() + 299; },
       "grad_feats overlaps voxel_feats" + overlap},
      {"output ends in grad_voxel_feats", [](auto& c) { c.grad_voxel_feats = c.output_buffer.data() + 299; },
       "grad_feats overlaps grad_voxel_feats" + overlap},
      {"map in output", [](auto& c) { c.point2voxel_map = c.grad_feats; },
       "grad_feats overlaps point2voxel_map" + overlap},
      {"count in output", [](auto& c) { c.voxel_points_count = c.grad_feats; },
       "grad_feats overlaps voxel_points_count" + overlap},
      {"num in output", [](auto& c) { c.voxel_num = c.grad_feats; }, "grad_feats overlaps voxel_num" + overlap},
      {"output in workspace", [](auto& c) { c.workspace = c.grad_feats; },
       "grad_feats overlaps workspace" + overlap},
      {"feats in workspace", [](auto& c) { c.feats = c.workspace; }, "workspace overlaps feats" + overlap},
      {"map in workspace", [](auto& c) { c.point2voxel_map = c.workspace; },
       "workspace overlaps point2voxel_map" + overlap},
  };
  expect_operator_errors(rows);
  for (const auto algorithm : kAlgorithms) {
    const size_t needed = needed_by(algorithm);
    const Table::Rows sizes = {
        {"small workspace", [](auto& c) { --c.workspace_size; },
         "workspace_size is " + std::to_string(needed - 1) + ", expected at least " + std::to_string(needed)}};
    expect_errors(Table{.inputs = valid_inputs(),
                        .functions = {Call::kOperator, Call::kAlias},
                        .algorithms = {algorithm},
                        .rows = sizes});
  }
}

TEST(OpsDynamicScatterBackwardErrors, Values) {
  const auto num = [](int32_t value) { return [=](Call& c) { c.num_buffer[0] = value; }; };
  const auto map = [](size_t point, int32_t value) { return [=](Call& c) { c.map_buffer[point] = value; }; };
  const std::string bound = ", expected -1 or a voxel below voxel_num[0], which is 18";
  const Table::Rows rows = {
      {"negative num", num(-1), "voxel_num[0] is -1, expected 0 to 20"},
      {"num above M", num(21), "voxel_num[0] is 21, expected 0 to 20"},
      {"smallest num", num(INT_MIN), "voxel_num[0] is -2147483648, expected 0 to 20"},
      {"first point", map(0, 18), "point2voxel_map[0] is 18" + bound},
      {"in the middle", map(23, -2), "point2voxel_map[23] is -2" + bound},
      {"last point", map(49, INT_MAX), "point2voxel_map[49] is 2147483647" + bound},
      {"smallest value", map(48, INT_MIN), "point2voxel_map[48] is -2147483648" + bound},
      {"several",
       [](auto& c) {
         for (const size_t point : {30, 7, 41}) c.map_buffer[point] = 19;
       },
       "point2voxel_map[7] is 19" + bound},
  };
  for (const auto reduction : {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}) {
    SCOPED_TRACE(reduction);
    expect_operator_errors(rows, valid_inputs(reduction));
  }
}

// The mean divides by the counts of the voxels that points have: these are at least 1. Other counts are not read.
TEST(OpsDynamicScatterBackwardErrors, Counts) {
  auto inputs = valid_inputs(MLUOP_REDUCE_DMEAN);
  inputs.point2voxel_map.assign(50, 2);
  inputs.point2voxel_map[0] = inputs.point2voxel_map[9] = -1;
  inputs.point2voxel_map[7] = 11;
  inputs.point2voxel_map[8] = inputs.point2voxel_map[49] = 12;
  inputs.voxel_points_count.assign(20, 0);
  for (const size_t voxel : {2, 11, 12}) inputs.voxel_points_count[voxel] = 1;
  const Handle handle;
  const Call valid(handle, inputs);
  EXPECT_EQ(valid.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const auto count = [](size_t voxel, int32_t value) { return [=](Call& c) { c.count_buffer[voxel] = value; }; };
  expect_operator_errors(
      {
          {"first point", count(2, 0),
           "voxel_points_count[2] is 0, expected at least 1: point2voxel_map[1] is this voxel"},
          {"one point", count(11, -1),
           "voxel_points_count[11] is -1, expected at least 1: point2voxel_map[7] is this voxel"},
          {"several points", set_all(count(12, INT_MIN), count(11, 0)),
           "voxel_points_count[11] is 0, expected at least 1: point2voxel_map[7] is this voxel"},
          {"map and count", set_all(count(12, 0), [](Call& c) { c.map_buffer[20] = 18; }),
           "voxel_points_count[12] is 0, expected at least 1: point2voxel_map[8] is this voxel"},
          {"count and map", set_all(count(12, 0), [](Call& c) { c.map_buffer[3] = 18; }),
           "point2voxel_map[3] is 18, expected -1 or a voxel below voxel_num[0], which is 18"},
      },
      inputs);
}

// The message names the first of several points out of range, for every number of tasks.
TEST(OpsDynamicScatterBackwardErrors, FirstPointOutOfRangeOfManyTasks) {
  auto random = seeded_random();
  auto inputs = random_dynamic_scatter({40000, 900, 16, 900}, random);
  for (const size_t point : {39999, 31111, 12345, 12346, 20000}) inputs.point2voxel_map[point] = 900;
  const Table::Rows rows = {
      {"several points", no_change,
       "point2voxel_map[12345] is 900, expected -1 or a voxel below voxel_num[0], which is 900"}};
  for (const int count : {1, 2, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    for (const auto reduction : {MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}) {
      inputs.reduce_type = reduction;
      std::fill(inputs.voxel_points_count.begin(), inputs.voxel_points_count.end(), 1);
      expect_operator_errors(rows, inputs);
    }
  }
}

TEST(OpsDynamicScatterBackwardErrors, MoreVoxelsThanPoints) {
  expect_operator_errors({{"N < M",
                           set_all(set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {19, 6})),
                                   set(&Call::grad_feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {19, 6})),
                                   set(&Call::point2voxel_map_desc, Descriptor(MLUOP_DTYPE_INT32, {19}))),
                           "voxel_feats dim 0 is 20, expected at most feats dim 0, which is 19"}});
}

TEST(OpsDynamicScatterBackwardErrors, LargeTensors) {
  const int64_t points = int64_t{1} << 31;
  expect_operator_errors({
      {"2^31 points", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {points, 6})),
       "feats has 2147483648 points, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
      {"2^60 bytes", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {1, int64_t{1} << 58})),
       "feats has 1152921504606846976 bytes, expected fewer than 2^60"},
  });
}

TEST(OpsDynamicScatterBackwardErrors, Query) {
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"reduce type", kNoReduceType, "reduce_type is 3" + kReduceTypesExpected},
      {"null feats desc", set(&Call::feats_desc, nullptr), "feats_desc is null"},
      {"feats dtype", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_HALF, {50, 6})),
       "feats has data type HALF, expected FLOAT"},
      {"feats dims", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {300})),
       "feats has 1 dimensions, expected 2"},
      {"2^31 points", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {int64_t{1} << 31, 1})),
       "feats has 2147483648 points, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
      {"null workspace_size", set(&Call::queried_size, nullptr), "workspace_size is null"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kQuery}, .rows = rows});
}

// Descriptors other than that of feats are checked for null only.
TEST(OpsDynamicScatterBackwardErrors, AliasOfTheQuery) {
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"reduce type", kNoReduceType, "reduce_type is 3" + kReduceTypesExpected},
      {"null grad_voxel_feats desc", set(&Call::grad_voxel_feats_desc, nullptr), "grad_voxel_feats_desc is null"},
      {"null feats desc", set(&Call::feats_desc, nullptr), "feats_desc is null"},
      {"null voxel_feats desc", set(&Call::voxel_feats_desc, nullptr), "voxel_feats_desc is null"},
      {"null map desc", set(&Call::point2voxel_map_desc, nullptr), "point2voxel_map_desc is null"},
      {"null count desc", set(&Call::voxel_points_count_desc, nullptr), "voxel_points_count_desc is null"},
      {"null num desc", set(&Call::voxel_num_desc, nullptr), "voxel_num_desc is null"},
      {"feats dtype", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_HALF, {50, 6})),
       "feats has data type HALF, expected FLOAT"},
      {"feats dims", set(&Call::feats_desc, Descriptor(MLUOP_DTYPE_FLOAT, {300})),
       "feats has 1 dimensions, expected 2"},
      {"feats strides", set(&Call::feats_desc, Descriptor::with_strides(MLUOP_DTYPE_FLOAT, {50, 6}, {7, 1})),
       "feats has strides [7, 1], expected a contiguous tensor of shape [50, 6]", MLUOP_STATUS_NOT_SUPPORTED},
      {"null workspace_size", set(&Call::queried_size, nullptr), "workspace_size is null"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kAliasQuery}, .rows = rows});
}

TEST(OpsDynamicScatterBackwardErrors, AliasOfTheQueryAcceptsAnyOtherDescriptor) {
  const Table::Rows rows = {
      {"grad_voxel_feats", set(&Call::grad_voxel_feats_desc, Descriptor(MLUOP_DTYPE_HALF, {20, 7})), ""},
      {"voxel_feats", set(&Call::voxel_feats_desc, Descriptor(MLUOP_DTYPE_INT32, {51, 7})), ""},
      {"map", set(&Call::point2voxel_map_desc, Descriptor(MLUOP_DTYPE_FLOAT, {20})), ""},
      {"count", set(&Call::voxel_points_count_desc, Descriptor(MLUOP_DTYPE_INT32, {21, 1})), ""},
      {"num", set(&Call::voxel_num_desc, Descriptor()), ""},
  };
  expect_errors(
      Table{.inputs = valid_inputs(), .functions = {}, .accepted_by = {Call::kAliasQuery}, .rows = rows});
}

// The call of mmcv: the descriptor of grad_feats [N, C] takes the place of grad_voxel_feats [M, C], and N is not
// M.
TEST(OpsDynamicScatterBackwardErrors, AliasOfTheQueryAsMmcvCallsIt) {
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    Call call(handle, valid_inputs());
    call.grad_voxel_feats_desc = call.grad_feats_desc;
    ASSERT_EQ(call.query_alias(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.queried_buffer[0], dynamic_scatter_workspace(handle, kSizes.points, kSizes.channels));
  }
}

// Tensors may have any layout.
TEST(OpsDynamicScatterBackwardErrors, Layouts) {
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    Call call(handle, valid_inputs());
    const Descriptor voxels(MLUOP_DTYPE_FLOAT, {20, 6}, MLUOP_LAYOUT_NC);
    const Descriptor feats(MLUOP_DTYPE_FLOAT, {50, 6}, MLUOP_LAYOUT_NHWC);
    const Descriptor map(MLUOP_DTYPE_INT32, {50}, MLUOP_LAYOUT_NCHW);
    const Descriptor count(MLUOP_DTYPE_INT32, {20}, MLUOP_LAYOUT_NCL);
    const Descriptor num(MLUOP_DTYPE_INT32, {1}, MLUOP_LAYOUT_NDHWC);
    call.grad_voxel_feats_desc = call.voxel_feats_desc = voxels;
    call.feats_desc = call.grad_feats_desc = feats;
    call.point2voxel_map_desc = map;
    call.voxel_points_count_desc = count;
    call.voxel_num_desc = num;
    for (const auto function : {Call::kOperator, Call::kAlias, Call::kQuery, Call::kAliasQuery}) {
      SCOPED_TRACE(function.name);
      EXPECT_EQ((call.*function.run)(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    }
  }
}

// The operator exists on every device.
TEST(OpsDynamicScatterBackwardErrors, Devices) {
  for (const char* device : {"mlu270", "mlu290", "mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    const Handle handle;
    EXPECT_EQ(Call(handle, valid_inputs()).run(), MLUOP_STATUS_SUCCESS);
  }
}

}  // namespace
}  // namespace mluop::test
