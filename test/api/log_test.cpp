// The output to stderr at each MLUOP_LOG_LEVEL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "ops/ball_query/call.h"
#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "ops/dynamic_scatter_backward/call.h"
#include "ops/get_indice_pairs/call.h"
#include "ops/indice_convolution_backward_filter/call.h"
#include "ops/indice_convolution_forward/call.h"
#include "ops/masked_col2im_forward/call.h"
#include "ops/masked_im2col_forward/call.h"
#include "ops/three_interpolate_backward/call.h"
#include "ops/three_interpolate_forward/call.h"
#include "ops/three_nn_forward/call.h"
#include "ops/voxel_pooling_backward/call.h"
#include "ops/voxel_pooling_forward/call.h"
#include "ops/voxelization/call.h"
#include "support/api.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

class ApiLog : public ::testing::Test {
 protected:
  // Restores the level, which is global.
  ~ApiLog() override { Handle(); }

  // The text that `body` writes to stderr at a level, without the text of the creation of the handle.
  static std::string logged(const char* level, const std::function<void(const Handle&)>& body) {
    const ScopedEnvironment log("MLUOP_LOG_LEVEL", level);
    ::testing::internal::CaptureStderr();
    const Handle handle;
    ::testing::internal::GetCapturedStderr();
    ::testing::internal::CaptureStderr();
    body(handle);
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(ApiLog, ErrorsAppearUnlessOff) {
  for (const char* level : {"error", "warn", "info", "debug", ""}) {
    std::string lines = logged(level, [](const Handle&) { mluOpDestroy(nullptr); });
    // Date and time vary.
    std::replace_if(
        lines.begin(), lines.end(), [](char c) { return c >= '0' && c <= '9'; }, '#');
    EXPECT_EQ(lines, "####-##-## ##:##:##.### mluop-omp error [mluOpDestroy] handle is null\n") << level;
  }
}

TEST_F(ApiLog, NothingAppearsAtOff) {
  EXPECT_EQ(logged("off", [](const Handle&) { mluOpDestroy(nullptr); }), "");
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpDestroy] handle is null");
}

TEST_F(ApiLog, SuccessIsSilentUnlessDebug) {
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling<float>({1, 10, 3, 2, 2, 1}, random);
  for (const char* level : {"off", "error", "warn", "info"}) {
    EXPECT_EQ(logged(level, [&](const Handle& handle) { require(VoxelPoolingCall(handle, inputs).run()); }), "")
        << level;
  }
}

TEST_F(ApiLog, OperatorAtDebug) {
  auto random = seeded_random();
  // Enough work for three tasks.
  const auto inputs = random_voxel_pooling<float>({2, 5000, 6, 5, 4, 7}, random);
  const ScopedThreads threads(3);
  const std::string lines =
      logged("debug", [&](const Handle& handle) { require(VoxelPoolingCall(handle, inputs).run()); });
  EXPECT_THAT(lines,
              ::testing::ContainsRegex(
                  " mluop-omp debug \\[mluOpVoxelPoolingForward\\] geom_xyz INT32 \\[2, 5000, 3\\] ARRAY, "
                  "input_features FLOAT \\[2, 5000, 6\\] ARRAY, output_features FLOAT \\[2, 4, 5, 6\\] "
                  "ARRAY, pos_memo INT32 \\[2, 5000, 3\\] ARRAY, batch_size 2, num_points 5000, num_channels 6, "
                  "num_voxel_x 5, num_voxel_y 4, num_voxel_z 7, native, taskDim 3, tile of 1024 points, "
                  "[A-Z0-9_]+, [0-9.e-]+ ms\n"));
}

// What the plan of each operator and algorithm has decided.
TEST_F(ApiLog, PlansAtDebug) {
  auto random = seeded_random();
  const auto voxels = random_voxel_pooling<float>({2, 3000, 20, 9, 8, 1}, random);
  const auto gradients = random_voxel_pooling_backward<uint32_t>({2, 3000, 20, 9, 8}, random);
  const auto scatter = random_dynamic_scatter({3000, 900, 20, 800}, random);
  const auto no_points = random_dynamic_scatter({0, 0, 20, 0}, random);
  const auto interpolation = random_three_interpolate<float>({2, 20, 500, 90}, random);
  const auto masks = random_masked_im2col<uint32_t>({20, 15, 16, 200, 3, 2, 1, 0}, random);
  const auto points = random_point_to_voxel(3000, 20, 2, MLUOP_REDUCE_DMAX, random);
  const auto no_masks = random_masked_im2col<uint32_t>({20, 15, 16, 0, 3, 2, 1, 0}, random);
  const auto columns = random_masked_col2im<uint32_t>({20, 15, 16, 200}, random);
  const auto pairs = random_indice_convolution<float>({500, 400, 16, 24, 3, 1, 2}, FilterLayout::kNdhwc, random);
  const auto no_rows = random_indice_convolution<float>({0, 400, 16, 24, 3, 1, 2}, FilterLayout::kNdhwc, random);
  const auto known = random_three_nn<float>({2, 200, 100}, random);
  const auto many_known = random_three_nn<float>({2, 200, 1100}, random);
  const auto balls = random_ball_query<float>({2, 300, 900, 4, 0, 0.5F}, random);
  const auto cloud = random_voxelization(voxelization_problem(900, 5, 4, 500, 8), random);
  const auto features = random_three_interpolate_forward<float>({2, 20, 90, 500}, random);
  const auto grads = random_indice_convolution_backward_filter<float>({400, 300, 16, 24, 3, 1, 2}, random);
  const auto no_grads = random_indice_convolution_backward_filter<float>({0, 300, 16, 24, 3, 1, 2}, random);
  IndicePairsProblem convolved = {2,         {20, 30, 40}, {10, 15, 20}, {3, 3, 3}, {2, 2, 2},
                                  {1, 1, 1}, {1, 1, 1},    false,        {}};
  const auto sites = random_get_indice_pairs(convolved, 500, random);
  const auto no_sites = random_get_indice_pairs(convolved, 0, random);
  convolved.input_space = convolved.output_space = {512, 256, 256};
  const auto few_sites = random_get_indice_pairs(convolved, 500, random);
  const auto voxel_pooling = [&](const Handle& h) { require(VoxelPoolingCall(h, voxels).run()); };
  const auto pooling_backward = [&](const Handle& h) {
    require(VoxelPoolingBackwardCall<uint32_t>(h, gradients).run());
  };
  const auto dynamic_scatter = [&](const Handle& h) { require(DynamicScatterCall(h, scatter).run()); };
  const auto empty_scatter = [&](const Handle& h) { require(DynamicScatterCall(h, no_points).run()); };
  const auto point_to_voxel = [&](const Handle& h) { require(PointToVoxelCall(h, points).run()); };
  const auto interpolate = [&](const Handle& h) { require(ThreeInterpolateCall<float>(h, interpolation).run()); };
  const auto im2col = [&](const Handle& h) { require(MaskedIm2colCall<uint32_t>(h, masks).run()); };
  const auto empty_im2col = [&](const Handle& h) { require(MaskedIm2colCall<uint32_t>(h, no_masks).run()); };
  const auto col2im = [&](const Handle& h) { require(MaskedCol2imCall<uint32_t>(h, columns).run()); };
  const auto convolution = [&](const Handle& h) { require(IndiceConvolutionCall<float>(h, pairs).run()); };
  const auto filter = [&](const Handle& h) {
    require(IndiceConvolutionBackwardFilterCall<float>(h, grads).run());
  };
  const auto forward = [&](const Handle& h) { require(ThreeInterpolateForwardCall<float>(h, features).run()); };
  const auto three_nn = [&](const Handle& h) { require(ThreeNNCall<float>(h, known).run()); };
  const auto tree = [&](const Handle& h) { require(ThreeNNCall<float>(h, many_known).run()); };
  const auto ball_query = [&](const Handle& h) { require(BallQueryCall<float>(h, balls).run()); };
  const auto voxelization = [&](const Handle& h) { require(VoxelizationCall(h, cloud).run()); };
  const auto indice_pairs = [&](const Handle& h) { require(GetIndicePairsCall(h, sites).run()); };
  const auto hashed_pairs = [&](const Handle& h) { require(GetIndicePairsCall(h, few_sites).run()); };
  const auto empty_pairs = [&](const Handle& h) { require(GetIndicePairsCall(h, no_sites).run()); };
  const auto empty_convolution = [&](const Handle& h) { require(IndiceConvolutionCall<float>(h, no_rows).run()); };
  const auto empty_filter = [&](const Handle& h) {
    require(IndiceConvolutionBackwardFilterCall<float>(h, no_grads).run());
  };
  const struct {
    mluOpOmpAlgorithm_t algorithm;
    std::function<void(const Handle&)> body;
    const char* details;  // "#" stands for a number
  } kTable[] = {
      {MLUOP_OMP_ALGORITHM_DEVICE, voxel_pooling,
       "num_voxel_z 1, device, taskDim 3, tile of # points, chunks of # channels"},
      {MLUOP_OMP_ALGORITHM_NATIVE, pooling_backward,
       "grad_input_features FLOAT \\[2, 3000, 20\\] ARRAY, native, taskDim #"},
      {MLUOP_OMP_ALGORITHM_DEVICE, pooling_backward, "native, taskDim #"},
      {MLUOP_OMP_ALGORITHM_NATIVE, dynamic_scatter, "voxel_num\\[0\\] 800, native, taskDim #"},
      {MLUOP_OMP_ALGORITHM_DEVICE, dynamic_scatter,
       "voxel_num\\[0\\] 800, device, taskDim 3, tile of # points x # channels"},
      {MLUOP_OMP_ALGORITHM_NATIVE, empty_scatter, "nothing to do"},
      {MLUOP_OMP_ALGORITHM_NATIVE, interpolate, "taskDim #, tile of # features"},
      {MLUOP_OMP_ALGORITHM_DEVICE, interpolate, "device, taskDim 3, tile of # channels, # points, # features"},
      {MLUOP_OMP_ALGORITHM_NATIVE, im2col,
       "kernel_h 3, kernel_w 2, pad_h 1, pad_w 0, packed, taskDim #, tile of # masks"},
      {MLUOP_OMP_ALGORITHM_DEVICE, im2col, "kernel_h 3, kernel_w 2, pad_h 1, pad_w 0, device, taskDim 3"},
      {MLUOP_OMP_ALGORITHM_NATIVE, empty_im2col, "nothing to do"},
      {MLUOP_OMP_ALGORITHM_NATIVE, point_to_voxel,
       "voxel_num INT32 \\[1\\] ARRAY, reduce_type 2, voxels 8, native, taskDim #"},
      {MLUOP_OMP_ALGORITHM_NATIVE, col2im, "im FLOAT \\[1, 20, 15, 16\\] NCHW, native, scatter, taskDim #"},
      {MLUOP_OMP_ALGORITHM_DEVICE, col2im, "native, scatter, taskDim #"},
      {MLUOP_OMP_ALGORITHM_NATIVE, convolution, "native, taskDim #, tile of # x #, # pairs at once"},
      {MLUOP_OMP_ALGORITHM_DEVICE, convolution, "device, taskDim 3, tile of # x # by # x #"},
      {MLUOP_OMP_ALGORITHM_NATIVE, filter, "native, taskDim #, # segments, tile of # x #, # pairs at once"},
      {MLUOP_OMP_ALGORITHM_NATIVE, forward, "packed, taskDim #, chunks of # points"},
      {MLUOP_OMP_ALGORITHM_NATIVE, three_nn, "native, comparison with all known points"},
      {MLUOP_OMP_ALGORITHM_NATIVE, tree, "native, tree"},
      {MLUOP_OMP_ALGORITHM_NATIVE, ball_query, "native, taskDim #"},
      {MLUOP_OMP_ALGORITHM_NATIVE, voxelization, "native, buckets #, voxels #"},
      {MLUOP_OMP_ALGORITHM_NATIVE, indice_pairs, "native, direct cells, taskDim #"},
      {MLUOP_OMP_ALGORITHM_NATIVE, hashed_pairs, "native, hashed cells, taskDim #"},
      {MLUOP_OMP_ALGORITHM_NATIVE, empty_pairs, "nothing to do"},
      {MLUOP_OMP_ALGORITHM_NATIVE, empty_convolution, "nothing to do"},
      {MLUOP_OMP_ALGORITHM_DEVICE, empty_convolution, "nothing to do"},
      {MLUOP_OMP_ALGORITHM_NATIVE, empty_filter, "nothing to do"},
  };
  const ScopedThreads threads(3);
  for (const auto& row : kTable) {
    std::string details;
    for (const char* c = row.details; *c != '\0'; ++c) details += *c == '#' ? "[1-9][0-9]*" : std::string(1, *c);
    const std::string lines = logged("debug", [&](const Handle& handle) {
      require(mluOpOmpSetAlgorithm(handle, row.algorithm));
      row.body(handle);
    });
    EXPECT_THAT(lines, ::testing::ContainsRegex(", " + details + ", [A-Z0-9_]+, [0-9.e-]+ ms\n"));
  }
}

TEST_F(ApiLog, ContextAtDebug) {
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", "mlu590");
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "77");
  const std::string lines =
      logged("debug", [](const Handle& handle) { require(mluOpUpdateContextInformation(handle)); });
  EXPECT_NE(lines.find(" mluop-omp debug device mlu590, NRAM 77 KiB, "), std::string::npos) << lines;
}

TEST_F(ApiLog, InvalidSettingKeepsTheLevel) {
  EXPECT_EQ(logged("off",
                   [](const Handle& handle) {
                     const ScopedEnvironment log("MLUOP_LOG_LEVEL", "debug");
                     const ScopedEnvironment device("MLUOP_OMP_DEVICE", "mlu100");
                     EXPECT_EQ(mluOpUpdateContextInformation(handle), MLUOP_STATUS_BAD_PARAM);
                   }),
            "");
}

TEST_F(ApiLog, DefaultLevelHoldsWhereTheVariableIsNotSet) {
  const auto logged_error = [](const char* level) {
    return !logged(level, [](const Handle&) { mluOpDestroy(nullptr); }).empty();
  };
  EXPECT_EQ(mluOpOmpSetDefaultLogLevel("off"), MLUOP_STATUS_SUCCESS);
  EXPECT_FALSE(logged_error(""));
  EXPECT_TRUE(logged_error("error"));
  EXPECT_EQ(mluOpOmpSetDefaultLogLevel("error"), MLUOP_STATUS_SUCCESS);
  EXPECT_TRUE(logged_error(""));
  EXPECT_FALSE(logged_error("off"));
}

// In a process whose first call fails, no handle has read the level.
using ApiLogDeathTest = ApiLog;

TEST_F(ApiLogDeathTest, LevelHoldsBeforeTheFirstHandle) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto fail_at = [](const char* level) {
    setenv("MLUOP_LOG_LEVEL", level, 1);
    mluOpDestroy(nullptr);
    std::exit(0);
  };
  EXPECT_EXIT(fail_at("error"), ::testing::ExitedWithCode(0), "handle is null");
  EXPECT_EXIT(fail_at("off"), ::testing::ExitedWithCode(0), "^$");
  // Errors are logged if the level is invalid.
  EXPECT_EXIT(fail_at("loud"), ::testing::ExitedWithCode(0), "handle is null");
}

}  // namespace
}  // namespace mluop::test
