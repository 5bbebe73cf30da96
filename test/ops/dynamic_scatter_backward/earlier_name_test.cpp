// mluOpDynamicScatterBackward and its workspace query: mluOpDynamicPointToVoxelBackward, which the description of
// the operator calls, under its earlier name.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/dynamic_scatter_backward/scatter_case.h"
#include "support/call_errors.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

mluOpReduceMode_t reduce_type(const OperatorCall& call) {
  return static_cast<mluOpReduceMode_t>(call.parameters.int32("reduce_type"));
}

mluOpStatus_t run(const OperatorCall& call) {
  const cases::Arguments& a = call.arguments;
  return mluOpDynamicScatterBackward(a.handle, reduce_type(call), a[0].desc, a[0].data, a[1].desc, a[1].data,
                                     a[2].desc, a[2].data, a[3].desc, a[3].data, a[4].desc, a[4].data, a[5].desc,
                                     a[5].data, a.workspace, a.workspace_size, a[6].desc, a[6].data);
}

mluOpStatus_t query(const OperatorCall& call, size_t* bytes) {
  return mluOpGetDynamicScatterBackwardWorkspaceSize(call.arguments.handle, reduce_type(call), call["feats"].desc,
                                                     bytes);
}

Case make(mluOpReduceMode_t reduce_type) {
  auto random = seeded_random();
  Case made = random_scatter({700, 200, 33, 190}, random);
  made.parameters.set("reduce_type", reduce_type);
  // Other counts are not read.
  set_values(made, "voxel_points_count", std::vector<int32_t>(200, 3));
  return made;
}

TEST(OpsDynamicScatterBackwardEarlierName, Result) {
  for (const auto reduce_type : {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}) {
    const Case made = make(reduce_type);
    for (const auto algorithm : kAlgorithms) {
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      size_t bytes = 1;
      EXPECT_EQ(query(call, &bytes), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(bytes, call.arguments.workspace_size);
      EXPECT_EQ(run(call), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(Oracle(made).agrees(call, algorithm));
      EXPECT_TRUE(call.intact());
    }
  }
}

// Each argument reaches its parameter.
TEST(OpsDynamicScatterBackwardEarlierName, Errors) {
  const Handle handle;
  const Case made = make(MLUOP_REDUCE_DMAX);
  const auto expect_error = [&](const Change& change, const std::string& message, bool of_query = false) {
    OperatorCall call(handle, made);
    change(call);
    const auto before = call.contents();
    EXPECT_EQ(run(call), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpDynamicScatterBackward] " + message);
    EXPECT_TRUE(call.contents() == before);
    size_t bytes = 0;
    EXPECT_EQ(query(call, &bytes), of_query ? MLUOP_STATUS_BAD_PARAM : MLUOP_STATUS_SUCCESS);
    if (!of_query) return;
    EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpGetDynamicScatterBackwardWorkspaceSize] " + message);
  };
  expect_error([](OperatorCall& call) { call.arguments.handle = nullptr; }, "handle is null", true);
  expect_error(set("reduce_type", 3),
               "reduce_type is 3, expected MLUOP_REDUCE_DSUM (0), MLUOP_REDUCE_DMEAN (1) or MLUOP_REDUCE_DMAX (2)",
               true);
  expect_error(set_desc("feats", Descriptor(MLUOP_DTYPE_HALF, {700, 33})),
               "feats has data type HALF, expected FLOAT", true);
  expect_error(set_shape("feats", {700}), "feats has 1 dimensions, expected 2", true);
  expect_error([](OperatorCall& call) { call.arguments.workspace = nullptr; }, "workspace is null");
  const size_t needed = OperatorCall(handle, made).arguments.workspace_size;
  expect_error(
      [](OperatorCall& call) { --call.arguments.workspace_size; },
      "workspace_size is " + std::to_string(needed - 1) + ", expected at least " + std::to_string(needed));
  const OperatorCall valid(handle, made);
  for (size_t i = 0; i < 7; ++i) {
    const std::string id = valid.op().tensors[i].id;
    expect_error([i](OperatorCall& call) { call.arguments[i].desc = nullptr; }, id + "_desc is null",
                 id == "feats");
    expect_error([i](OperatorCall& call) { call.arguments[i].data = nullptr; },
                 id + " is null, expected the data of a tensor " + cases::text_of(valid.arguments[i].dims));
  }
  EXPECT_EQ(query(valid, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpOmpGetLastError(),
            std::string("[mluOpGetDynamicScatterBackwardWorkspaceSize] workspace_size is null"));
}

}  // namespace
}  // namespace mluop::test
