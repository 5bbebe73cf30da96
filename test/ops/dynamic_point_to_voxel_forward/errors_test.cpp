// Requirements of mluOpDynamicPointToVoxelForward on its parameter, its sizes and the number of voxels.
#include <gtest/gtest.h>

#include <string>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

// Points of 6 channels in at most 27 voxels; outputs have `rows` rows.
cases::Case make_rows(int64_t rows, int64_t points = 50) {
  cases::Case made =
      make_case("dynamic_point_to_voxel_forward", MLUOP_DTYPE_FLOAT, {{"n", points}, {"c", 6}, {"grid", 3}});
  for (const size_t output : {0U, 1U, 3U}) made.outputs[output].dims[0] = rows;
  return made;
}

TEST(OpsDynamicPointToVoxelForwardErrors, Arguments) {
  expect_errors(make_rows(40),
                {{set("reduce_type", 3),
                  "reduce_type is 3, expected MLUOP_REDUCE_DSUM (0), MLUOP_REDUCE_DMEAN (1) or "
                  "MLUOP_REDUCE_DMAX (2)"}},
                {.query = Query::kSucceeds});
  expect_errors(make_rows(40),
                {{set_shape("feats", {int64_t{1} << 31, 6}),
                  "feats has 2147483648 points, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED}},
                {.query = Query::kFails});
}

TEST(OpsDynamicPointToVoxelForwardErrors, NumberOfVoxels) {
  const Handle handle;
  OperatorCall expected(handle, make_rows(50));
  expected.expect();
  const int32_t voxels = expected.int32s("voxel_num")[0];
  ASSERT_GT(voxels, 1);
  for (const int64_t rows : {voxels - 1, 0}) {
    const std::string message = "voxel_feats dim 0 is " + std::to_string(rows) +
                                ", expected at least the number of voxels, which is " + std::to_string(voxels);
    expect_errors(make_rows(rows), {{no_change, message}}, {.query = Query::kSucceeds});
  }
  expect_errors(make_rows(51),
                {{no_change, "voxel_feats dim 0 is 51, expected at most feats dim 0, which is 50"}});
}

// Without points, the call still checks the outputs.
TEST(OpsDynamicPointToVoxelForwardErrors, NoPoints) {
  const auto without = [](const std::string& tensor) {
    return [=](OperatorCall& call) { call[tensor].data = nullptr; };
  };
  expect_errors(make_rows(40, 0),
                {{without("voxel_coors"), "voxel_coors is null, expected the data of a tensor [40, 3]"},
                 {without("voxel_num"), "voxel_num is null, expected the data of a tensor [1]"}});
}

}  // namespace
}  // namespace mluop::test
