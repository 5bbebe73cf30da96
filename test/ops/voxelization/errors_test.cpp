// Requirements of mluOpVoxelization and its workspace query on the scalars, the sizes and the grid.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
const ErrorOptions kQueryFails{.query = Query::kFails}, kQuerySucceeds{.query = Query::kSucceeds};

// points [60, 4], voxels [20, 3, 4].
Case make(int64_t max_points = 3, int64_t max_voxels = 20) {
  return make_case("voxelization", MLUOP_DTYPE_FLOAT,
                   {{"n", 60}, {"f", 4}, {"max_points", max_points}, {"max_voxels", max_voxels}});
}

Change without_data(const char* tensor) {
  return [=](OperatorCall& call) { call[tensor].data = nullptr; };
}
void without_workspace(OperatorCall& call) { call.arguments.workspace = nullptr; }

// The rules shared by the operator and its query.
TEST(OpsVoxelizationErrors, Scalars) {
  expect_errors(make(),
                {{set("ndim", 2), "NDim is 2, expected 3"},
                 {set("deterministic", 0), "deterministic is false, expected true"},
                 {set("max_points", -1), "max_points is -1, expected at least 0"},
                 {set("max_voxels", -1), "max_voxels is -1, expected at least 0"},
                 {set("max_points", 4), "voxels dim 1 is 3, expected 4"},
                 {set("max_voxels", 21), "voxels dim 0 is 20, expected 21"},
                 {set_shape("points", {0, 4}), "points dim 0 is 0, expected at least 1"},
                 {all_of({set_shape("points", {60, 2}), set_shape("voxels", {20, 3, 2})}),
                  "points dim 1 is 2, expected at least NDim, which is 3"},
                 {set_shape("points", {int64_t{1} << 31, 4}),
                  "points dim 0 is 2147483648, expected fewer than 2^31", kNotSupported}},
                kQueryFails);
}

// Rules for the elements of voxel_size and coors_range.
TEST(OpsVoxelizationErrors, Grid) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const auto size = [](size_t i, float value) { return set_element("voxel_size", i, value); };
  const auto limit = [](size_t i, float value) { return set_element("coors_range", i, value); };
  const auto sizes = [&](float x, float y, float z) { return all_of({size(0, x), size(1, y), size(2, z)}); };
  const std::string positive = ", expected a positive finite number", finite = ", expected a finite number";
  const std::string too_many = " cells, expected at most 2^31", all = "the grid has more than 2^62 cells";
  Case made = make();
  set_values(made, "coors_range", std::vector<float>{-1, -1, -1, 1, 1, 1});
  expect_errors(made,
                {{size(0, 0), "voxel_size[0] is 0" + positive},
                 {size(1, -0.5F), "voxel_size[1] is -0.5" + positive},
                 {size(2, kNan), "voxel_size[2] is nan" + positive},
                 {size(0, kInfinity), "voxel_size[0] is inf" + positive},
                 {all_of({size(2, 0), size(1, 0), limit(0, kNan)}), "voxel_size[1] is 0" + positive},
                 {limit(1, kNan), "coors_range[1] is nan" + finite},
                 {limit(2, -kInfinity), "coors_range[2] is -inf" + finite},
                 {limit(5, kInfinity), "coors_range[5] is inf" + finite},
                 {size(1, 0x1p-31F), "axis 1 has 4.29497e+09" + too_many, kNotSupported},
                 {all_of({limit(0, -kMax), limit(3, kMax)}), "axis 0 has inf" + too_many, kNotSupported},
                 {sizes(0x1p-20F, 0x1p-20F, 0x1p-20F), all, kNotSupported},         // 2^63
                 {sizes(0x1p-20F, 0x1p-20F, 0x1p-19F / 1.5F), all, kNotSupported},  // 3 * 2^61
                 {sizes(0x1p-27F, 0x1p-27F, 0x1p-27F), all, kNotSupported}},        // 2^84
                kQuerySucceeds);
}

// Without voxels the call writes voxel_num and reads nothing: inputs and workspace may be null.
TEST(OpsVoxelizationErrors, NoVoxels) {
  for (const int64_t max_points : {0, 3}) {
    const Case made = make(max_points, 0);
    const Handle handle;
    OperatorCall call(handle, made);
    EXPECT_EQ(call.arguments.workspace_size, 0U);
    EXPECT_EQ(call.arguments.workspace, nullptr);
    for (const char* id : {"points", "voxel_size", "coors_range"}) without_data(id)(call);
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.int32s("voxel_num"), std::vector<int32_t>{0});
    EXPECT_TRUE(call.intact());
    expect_errors(made, {{set("ndim", 2), "NDim is 2, expected 3"},
                         {without_data("voxel_num"), "voxel_num is null, expected the data of a tensor [1]"}});
  }
  // With max_points 0, inputs and workspace are still required.
  expect_errors(make(0, 20), {{without_data("points"), "points is null, expected the data of a tensor [60, 4]"},
                              {without_workspace, "workspace is null"}});
}

}  // namespace
}  // namespace mluop::test
