// Requirements of the operators of RoI-aware pooling on their scalars and on the points of voxels, and their
// deprecated names.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "support/api_errors.h"
#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kForward = "roiaware_pool3d_forward";
constexpr const char* kBackward = "roiaware_pool3d_backward";
constexpr const char* kSizes[] = {"boxes_num", "channels", "max_pts_each_voxel", "out_x", "out_y", "out_z"};

cases::Case make(const char* op, int64_t pool_method = 0) {
  return make_case(
      op, MLUOP_DTYPE_FLOAT,
      {{"r", 2}, {"n", 50}, {"c", 3}, {"x", 2}, {"y", 3}, {"z", 4}, {"p", 5}, {"pool_method", pool_method}});
}

TEST(OpsRoiawarePool3dErrors, Scalars) {
  for (const char* op : {kForward, kBackward}) {
    for (const int64_t method : {-1, 2}) {
      expect_errors(make(op), {{set("pool_method", method),
                                "pool_method is " + std::to_string(method) + ", expected 0 or 1"}});
    }
    for (const std::string size : kSizes) {
      expect_errors(make(op), {{set(size, 0), size + " is 0, expected at least 1"},
                               {set(size, -1), size + " is -1, expected at least 1"}});
    }
  }
  expect_errors(make(kForward), {{set("pts_num", 0), "pts_num is 0, expected at least 1"},
                                 {set("pts_num", 49), "pts dim 0 is 50, expected 49"},
                                 {set("boxes_num", 3), "rois dim 0 is 2, expected 3"},
                                 {set("out_y", 4), "argmax dim 2 is 3, expected 4"}});
  expect_errors(make(kBackward),
                {{set_shape("grad_in", {0, 3}), "grad_in dim 0 is 0, expected at least 1"},
                 {set_shape("grad_in", {int64_t{1} << 31, 3}),
                  "grad_in dim 0 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED}});
}

// Voxels are [2, 2, 3, 4]: element i of argmax is channel i % 3 of voxel i / 3. The message names the first of
// several bad elements.
TEST(OpsRoiawarePool3dErrors, Maxima) {
  const auto argmax = [](size_t i, double value) { return set_element("argmax", i, value); };
  expect_errors(make(kBackward), {{argmax(0, -2), "argmax[0, 0, 0, 0, 0] is -2, expected -1 to 49"},
                                  {argmax(143, 50), "argmax[1, 1, 2, 3, 2] is 50, expected -1 to 49"},
                                  {all_of({argmax(100, 60), argmax(52, 2147483647)}),
                                   "argmax[0, 1, 1, 1, 1] is 2147483647, expected -1 to 49"}});
}

// Element i of pts_idx_of_voxels is number i % 5 of voxel i / 5.
TEST(OpsRoiawarePool3dErrors, Lists) {
  const auto list = [](size_t i, double value) { return set_element("pts_idx_of_voxels", i, value); };
  expect_errors(make(kBackward, 1),
                {{list(0, 5), "pts_idx_of_voxels[0, 0, 0, 0, 0] is 5, expected 0 to 4, a count"},
                 {list(235, -1), "pts_idx_of_voxels[1, 1, 2, 3, 0] is -1, expected 0 to 4, a count"},
                 {all_of({list(5, 4), list(6, 0), list(7, 50), list(8, -1)}),
                  "pts_idx_of_voxels[0, 0, 0, 1, 2] is 50, expected 0 to 49"}});
}

// Each argument is passed to the right parameter.
TEST(OpsRoiawarePool3dErrors, DeprecatedNames) {
  const Handle handle;
  OperatorCall forward(handle, make(kForward)), backward(handle, make(kBackward));
  const auto run_forward = [&](int pool_method) {
    const cases::Arguments& a = forward.arguments;
    return mluOpRoiawarePool3dForward(handle, pool_method, 2, 50, 3, a[0].desc, a[0].data, a[1].desc, a[1].data,
                                      a[2].desc, a[2].data, a.workspace, a.workspace_size, 5, 2, 3, 4, a[3].desc,
                                      a[3].data, a[4].desc, a[4].data, a[5].desc, a[5].data);
  };
  const auto run_backward = [&](int pool_method) {
    const cases::Arguments& a = backward.arguments;
    return mluOpRoiawarePool3dBackward(handle, pool_method, 2, 2, 3, 4, 3, 5, a[0].desc, a[0].data, a[1].desc,
                                       a[1].data, a[2].desc, a[2].data, a[3].desc, a[3].data);
  };
  EXPECT_EQ(run_forward(0), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(Oracle(make(kForward)).agrees(forward, MLUOP_OMP_ALGORITHM_NATIVE));
  EXPECT_EQ(run_backward(0), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(Oracle(make(kBackward)).agrees(backward, MLUOP_OMP_ALGORITHM_NATIVE));
  expect_failure([&] { return run_forward(2); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpRoiawarePool3dForward] pool_method is 2, expected 0 or 1");
  expect_failure([&] { return run_backward(2); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpRoiawarePool3dBackward] pool_method is 2, expected 0 or 1");

  const cases::Arguments& a = forward.arguments;
  size_t bytes = 0;
  EXPECT_EQ(mluOpGetRoiawarePool3dForwardWorkspaceSize(handle, a[0].desc, a[1].desc, a[2].desc, &bytes),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(bytes, a.workspace_size);
  expect_failure(
      [&] { return mluOpGetRoiawarePool3dForwardWorkspaceSize(handle, a[1].desc, a[1].desc, a[2].desc, &bytes); },
      MLUOP_STATUS_BAD_PARAM, "[mluOpGetRoiawarePool3dForwardWorkspaceSize] rois dim 1 is 3, expected 7");
}

// The query uses only descriptors.
TEST(OpsRoiawarePool3dErrors, Query) {
  for (const auto& [tensor, dims, message] :
       {std::tuple{"rois", cases::Dims{0, 7}, "rois dim 0 is 0, expected at least 1"},
        std::tuple{"pts", cases::Dims{0, 3}, "pts dim 0 is 0, expected at least 1"},
        std::tuple{"pts_feature", cases::Dims{50, 0}, "pts_feature dim 1 is 0, expected at least 1"},
        std::tuple{"pts_feature", cases::Dims{49, 3}, "pts_feature dim 0 is 49, expected 50"}}) {
    const Handle handle;
    OperatorCall call(handle, make(kForward));
    set_shape(tensor, dims)(call);
    if (std::string(message).starts_with("pts dim")) set_shape("pts_feature", {0, 3})(call);
    expect_failure([&] { return call.query(); }, MLUOP_STATUS_BAD_PARAM,
                   std::string("[mluOpGetRoiAwarePool3dForwardWorkspaceSize] ") + message);
  }
}

}  // namespace
}  // namespace mluop::test
