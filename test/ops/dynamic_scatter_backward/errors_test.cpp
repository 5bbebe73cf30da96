// Requirements of mluOpDynamicPointToVoxelBackward and its workspace query on the parameter, sizes and values.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "ops/dynamic_scatter_backward/scatter_case.h"
#include "support/api_errors.h"
#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

using cases::Case;

Case valid_case(mluOpReduceMode_t reduce_type = MLUOP_REDUCE_DMAX) {
  auto random = seeded_random();
  Case made = random_scatter({50, 20, 6, 18}, random);
  made.parameters.set("reduce_type", reduce_type);
  return made;
}

TEST(OpsDynamicScatterBackwardErrors, Arguments) {
  expect_errors(valid_case(), {{set_shape("grad_feats", {0, 6}), "grad_feats dim 0 is 0, expected 50"},
                               {all_of({set_shape("feats", {19, 6}), set_shape("grad_feats", {19, 6}),
                                        set_shape("point2voxel_map", {19})}),
                                "voxel_feats dim 0 is 20, expected at most feats dim 0, which is 19"}});
  expect_errors(
      valid_case(),
      {{set("reduce_type", 3),
        "reduce_type is 3, expected MLUOP_REDUCE_DSUM (0), MLUOP_REDUCE_DMEAN (1) or "
        "MLUOP_REDUCE_DMAX (2)"},
       {set_desc("feats", Descriptor(MLUOP_DTYPE_HALF, {50, 6})), "feats has data type HALF, expected FLOAT"},
       {set_shape("feats", {int64_t{1} << 31, 6}), "feats has 2147483648 points, expected fewer than 2^31",
        MLUOP_STATUS_NOT_SUPPORTED},
       {set_shape("feats", {1, int64_t{1} << 58}),
        "feats has 1152921504606846976 bytes, expected fewer than 2^60"}},
      {.query = Query::kFails});
}

TEST(OpsDynamicScatterBackwardErrors, Values) {
  const auto several = all_of({set_element("point2voxel_map", 30, 19), set_element("point2voxel_map", 7, 19),
                               set_element("point2voxel_map", 41, 19)});
  const std::string bound = ", expected -1 or a voxel below voxel_num[0], which is 18";
  for (const auto reduce_type : kReduceTypes) {
    SCOPED_TRACE(reduce_type);
    expect_errors(valid_case(reduce_type),
                  {{set_element("voxel_num", 0, -1), "voxel_num[0] is -1, expected 0 to 20"},
                   {set_element("voxel_num", 0, 21), "voxel_num[0] is 21, expected 0 to 20"},
                   {set_element("voxel_num", 0, INT_MIN), "voxel_num[0] is -2147483648, expected 0 to 20"},
                   {set_element("point2voxel_map", 0, 18), "point2voxel_map[0] is 18" + bound},
                   {set_element("point2voxel_map", 23, -2), "point2voxel_map[23] is -2" + bound},
                   {set_element("point2voxel_map", 49, INT_MAX), "point2voxel_map[49] is 2147483647" + bound},
                   {set_element("point2voxel_map", 48, INT_MIN), "point2voxel_map[48] is -2147483648" + bound},
                   {several, "point2voxel_map[7] is 19" + bound}});
  }
}

// The mean divides by the counts of the voxels with points: these are at least 1. The call does not read other
// counts.
TEST(OpsDynamicScatterBackwardErrors, Counts) {
  std::vector<int32_t> map(50, 2), counts(20);
  map[0] = map[9] = -1;
  map[7] = 11;
  map[8] = map[49] = 12;
  for (const size_t voxel : {2, 11, 12}) counts[voxel] = 1;
  Case made = valid_case(MLUOP_REDUCE_DMEAN);
  set_values(made, "point2voxel_map", map);
  set_values(made, "voxel_points_count", counts);
  expect_oracle(made);
  const auto count = [](size_t voxel, int32_t value) { return set_element("voxel_points_count", voxel, value); };
  const auto point = [](size_t n) { return set_element("point2voxel_map", n, 18); };
  const auto message = [](const std::string& found, int n) {
    return "voxel_points_count" + found + ", expected at least 1: point2voxel_map[" + std::to_string(n) +
           "] is this voxel";
  };
  expect_errors(made, {{count(2, 0), message("[2] is 0", 1)},
                       {count(11, -1), message("[11] is -1", 7)},
                       {all_of({count(12, INT_MIN), count(11, 0)}), message("[11] is 0", 7)},
                       {all_of({count(12, 0), point(20)}), message("[12] is 0", 8)},
                       {all_of({count(12, 0), point(3)}),
                        "point2voxel_map[3] is 18, expected -1 or a voxel below voxel_num[0], which is 18"}});
}

// The message names the first of several points out of range, for every number of tasks.
TEST(OpsDynamicScatterBackwardErrors, FirstPointOutOfRangeOfManyTasks) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  Case made = random_scatter({40000, 900, 2, 900}, random);
  std::vector<int32_t> map = int32s_of(made, "point2voxel_map");
  for (const size_t point : {39999, 31111, 12345, 12346, 20000}) map[point] = 900;
  set_values(made, "point2voxel_map", map);
  set_values(made, "voxel_points_count", std::vector<int32_t>(900, 1));
  for (const auto reduce_type : {MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}) {
    made.parameters.set("reduce_type", reduce_type);
    for (const int count : {1, 2, 7, 64}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_errors(made, {{no_change,
                            "point2voxel_map[12345] is 900, expected -1 or a voxel below "
                            "voxel_num[0], which is 900"}});
    }
  }
}

// The query only checks that descriptors other than feats are not null: mmcv passes the descriptor of grad_feats
// [N, C] for grad_voxel_feats [M, C].
TEST(OpsDynamicScatterBackwardErrors, QueryOfOtherDescriptors) {
  const std::string function = "[mluOpGetDynamicPointToVoxelBackwardWorkspaceSize] ";
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    for (const char* id :
         {"grad_voxel_feats", "voxel_feats", "point2voxel_map", "voxel_points_count", "voxel_num"}) {
      SCOPED_TRACE(id);
      OperatorCall call(handle, valid_case());
      for (const Change& change : {set_desc(id, Descriptor()), set_desc(id, Descriptor(MLUOP_DTYPE_HALF, {51, 7})),
                                   set_shape(id, {50, 6})}) {
        change(call);
        size_t bytes = 0;
        EXPECT_EQ(call.op().query(call.arguments, &bytes), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        EXPECT_EQ(bytes, call.arguments.workspace_size);
      }
      call[id].desc = nullptr;
      EXPECT_EQ(call.query(), MLUOP_STATUS_BAD_PARAM);
      EXPECT_EQ(mluOpOmpGetLastError(), function + id + "_desc is null");
    }
  }
}

// mluOpDynamicScatterBackward and its query, the earlier names of the operator, pass each argument to the right
// parameter.
TEST(OpsDynamicScatterBackwardErrors, EarlierName) {
  const auto reduce_type_of = [](const OperatorCall& call) {
    return static_cast<mluOpReduceMode_t>(call.parameters.int32("reduce_type"));
  };
  const auto run = [&](const OperatorCall& call) {
    const cases::Arguments& a = call.arguments;
    return mluOpDynamicScatterBackward(a.handle, reduce_type_of(call), a[0].desc, a[0].data, a[1].desc, a[1].data,
                                       a[2].desc, a[2].data, a[3].desc, a[3].data, a[4].desc, a[4].data, a[5].desc,
                                       a[5].data, a.workspace, a.workspace_size, a[6].desc, a[6].data);
  };
  const auto query = [&](const OperatorCall& call, size_t* bytes) {
    return mluOpGetDynamicScatterBackwardWorkspaceSize(call.arguments.handle, reduce_type_of(call),
                                                       call["feats"].desc, bytes);
  };
  size_t bytes = 0;
  for (const auto reduce_type : kReduceTypes) {
    const Case made = valid_case(reduce_type);
    for (const auto algorithm : kAlgorithms) {
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      EXPECT_EQ(query(call, &bytes), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(bytes, call.arguments.workspace_size);
      EXPECT_EQ(run(call), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(Oracle(made).agrees(call, algorithm));
    }
  }
  const Handle handle;
  const auto expect_error = [&](const Change& change, const std::string& message, bool of_query = false) {
    OperatorCall call(handle, valid_case());
    change(call);
    expect_failure([&] { return run(call); }, MLUOP_STATUS_BAD_PARAM, "[mluOpDynamicScatterBackward] " + message);
    if (!of_query) return;
    expect_failure([&] { return query(call, &bytes); }, MLUOP_STATUS_BAD_PARAM,
                   "[mluOpGetDynamicScatterBackwardWorkspaceSize] " + message);
  };
  expect_error([](OperatorCall& call) { call.arguments.handle = nullptr; }, "handle is null", true);
  expect_error(set("reduce_type", 3),
               "reduce_type is 3, expected MLUOP_REDUCE_DSUM (0), MLUOP_REDUCE_DMEAN (1) or MLUOP_REDUCE_DMAX (2)",
               true);
  expect_error([](OperatorCall& call) { call.arguments.workspace = nullptr; }, "workspace is null");
  const OperatorCall valid(handle, valid_case());
  for (size_t i = 0; i < valid.arguments.tensors.size(); ++i) {
    const std::string& id = valid.op().tensors[i].id;
    expect_error([i](OperatorCall& call) { call.arguments[i].desc = nullptr; }, id + "_desc is null",
                 id == "feats");
    expect_error([i](OperatorCall& call) { call.arguments[i].data = nullptr; },
                 id + " is null, expected the data of a tensor " + cases::text_of(valid.arguments[i].dims));
  }
  expect_failure([&] { return query(valid, nullptr); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpGetDynamicScatterBackwardWorkspaceSize] workspace_size is null");
}

}  // namespace
}  // namespace mluop::test
