// The output to stderr at each MLUOP_LOG_LEVEL. Messages, debug lines and traces do not depend on the locale of
// the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <functional>
#include <locale>
#include <map>
#include <string>

#include "core/text.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/temporary_folder.h"
#include "support/trace_file.h"

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
    EXPECT_THAT(logged(level, [](const Handle&) { mluOpDestroy(nullptr); }),
                ::testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} "
                                        "mluop-omp error \\[mluOpDestroy\\] handle is null\n"))
        << level;
  }
  EXPECT_EQ(logged("off", [](const Handle&) { mluOpDestroy(nullptr); }), "");
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpDestroy] handle is null");
}

TEST_F(ApiLog, SuccessIsSilentUnlessDebug) {
  for (const char* level : {"off", "error", "warn", "info"}) {
    const auto run_all = [](const Handle& handle) {
      for (const cases::Operator& op : cases::operators()) {
        require(OperatorCall(handle, op.make(default_recipe(op, op.dtypes.front()))).run());
      }
    };
    EXPECT_EQ(logged(level, run_all), "") << level;
  }
}

// The arguments, and the decisions of the plan of each operator and algorithm.
TEST_F(ApiLog, OperatorsAtDebug) {
  using Sizes = std::map<std::string, int64_t>;
  const Sizes pooling = {{"num_points", 3000}, {"num_channels", 20}};
  const Sizes grid = {
      {"num_points", 5000}, {"num_channels", 6}, {"num_voxel_x", 5}, {"num_voxel_y", 4}, {"num_voxel_z", 7}};
  const Sizes scatter = {{"n", 3000}, {"c", 20}, {"grid", 10}};
  const Sizes interpolation = {{"c", 20}, {"m", 90}, {"n", 500}};
  const Sizes masks = {{"channels", 20}, {"height", 15}, {"mask_cnt", 200}, {"kernel_w", 2}, {"pad_w", 0}};
  const Sizes pairs = {{"num_act_in", 500}, {"num_act_out", 400}, {"ci", 16}, {"co", 24}};
  const Sizes sites = {{"depth", 20}, {"height", 30}, {"width", 40}, {"sites", 500}, {"stride", 2}};
  const Sizes few_sites = {{"depth", 1 << 20}, {"height", 1 << 20}, {"width", 1 << 20}, {"sites", 500}};
  constexpr auto kNative = MLUOP_OMP_ALGORITHM_NATIVE, kDevice = MLUOP_OMP_ALGORITHM_DEVICE;
  const struct {
    mluOpOmpAlgorithm_t algorithm;
    const char* op;
    Sizes sizes;
    const char* details;  // "#" stands for a number
  } kTable[] = {
      {kNative, "voxel_pooling_forward", grid,
       "geom_xyz INT32 \\[2, 5000, 3\\] ARRAY, input_features FLOAT \\[2, 5000, 6\\] ARRAY, output_features FLOAT "
       "\\[2, 4, 5, 6\\] ARRAY, "
       "pos_memo INT32 \\[2, 5000, 3\\] ARRAY, batch_size 2, num_points 5000, num_channels 6, num_voxel_x 5, "
       "num_voxel_y 4, num_voxel_z 7, native, taskDim 3, tile of 1024 points"},
      {kDevice, "voxel_pooling_forward", pooling,
       "num_voxel_z 1, device, taskDim 3, tile of # points, chunks of # channels"},
      {kNative, "voxel_pooling_backward", pooling,
       "grad_input_features FLOAT \\[2, 3000, 20\\] ARRAY, native, taskDim #"},
      {kDevice, "voxel_pooling_backward", pooling, "native, taskDim #"},
      {kNative, "dynamic_point_to_voxel_backward", scatter, "voxel_num\\[0\\] #, native, taskDim #"},
      {kDevice, "dynamic_point_to_voxel_backward", scatter,
       "voxel_num\\[0\\] #, device, taskDim 3, tile of # points x # channels"},
      {kNative, "dynamic_point_to_voxel_backward", {{"n", 0}}, "nothing to do"},
      {kNative, "three_interpolate_backward", interpolation, "taskDim #, tile of # features"},
      {kDevice, "three_interpolate_backward", interpolation,
       "device, taskDim 3, tile of # channels, # points, # features"},
      {kNative, "masked_im2col_forward", masks,
       "kernel_h 3, kernel_w 2, pad_h 1, pad_w 0, packed, taskDim #, tile of # masks"},
      {kDevice, "masked_im2col_forward", masks, "kernel_h 3, kernel_w 2, pad_h 1, pad_w 0, device, taskDim 3"},
      {kNative, "masked_im2col_forward", {{"mask_cnt", 0}}, "nothing to do"},
      {kNative,
       "dynamic_point_to_voxel_forward",
       {{"n", 3000}, {"c", 20}, {"grid", 2}},
       "voxel_num INT32 \\[1\\] ARRAY, reduce_type 2, voxels 8, native, taskDim #"},
      {kNative,
       "masked_col2im_forward",
       {{"channels", 20}, {"height", 15}, {"mask_cnt", 200}},
       "im FLOAT \\[1, 20, 15, 16\\] NCHW, native, expand, taskDim #"},
      {kDevice, "masked_col2im_forward", {}, "native, scatter, taskDim #"},
      {kNative, "indice_convolution_forward", pairs, "native, taskDim #, tile of # x #, # pairs at once"},
      {kDevice, "indice_convolution_forward", pairs, "device, taskDim 3, tile of # x # by # x #"},
      {kNative, "indice_convolution_forward", {{"num_act_in", 0}}, "nothing to do"},
      {kDevice, "indice_convolution_forward", {{"num_act_in", 0}}, "nothing to do"},
      {kNative, "indice_convolution_backward_filter", pairs,
       "native, taskDim #, # segments, tile of # x #, # pairs at once"},
      {kNative, "indice_convolution_backward_filter", {{"num_act_in", 0}}, "nothing to do"},
      {kNative, "three_interpolate_forward", interpolation, "packed, taskDim #, chunks of # points"},
      {kNative, "three_nn_forward", {{"n", 200}, {"m", 100}}, "native, comparison with all known points"},
      {kNative, "three_nn_forward", {{"n", 200}, {"m", 1100}}, "native, tree"},
      {kNative, "ball_query", {{"m", 300}, {"n", 900}}, "native, taskDim #"},
      {kNative, "voxelization", {{"n", 900}, {"max_voxels", 500}}, "native, buckets #, voxels #"},
      {kNative, "get_indice_pairs", sites, "native, direct cells, taskDim #"},
      {kNative, "get_indice_pairs", few_sites, "native, hashed cells, taskDim #"},
      {kNative, "get_indice_pairs", {{"sites", 0}}, "nothing to do"},
  };
  const ScopedThreads threads(3);
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.op);
    const cases::Operator& op = cases::operator_of(row.op, {});
    const cases::Case made = make_case(row.op, op.dtypes.front(), row.sizes);
    std::string details;
    for (const char* c = row.details; *c != '\0'; ++c) details += *c == '#' ? "[1-9][0-9]*" : std::string(1, *c);
    const std::string lines = logged("debug", [&](const Handle& handle) {
      require(mluOpOmpSetAlgorithm(handle, row.algorithm));
      require(OperatorCall(handle, made).run());
    });
    EXPECT_THAT(lines, ::testing::ContainsRegex(" mluop-omp debug \\[" + op.function + "\\] (.*, )?" + details +
                                                ", [A-Z0-9_-]+, [0-9.e-]+ ms\n"));
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

// 1.234,5
class GroupedNumbers : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_F(ApiLog, IgnoresTheLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new GroupedNumbers));
  // The C library has a separate locale. The C locale remains if no locale with a decimal comma is installed.
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
  }
  EXPECT_EQ(text(1234567, ' ', 0.5, ' ', size_t{1000}), "1234567 0.5 1000");

  const cases::Case made =
      make_case("three_interpolate_backward", MLUOP_DTYPE_FLOAT, {{"c", 20}, {"m", 1500}, {"n", 2000}});
  EXPECT_THAT(logged("debug", [&](const Handle& handle) { require(OperatorCall(handle, made).run()); }),
              ::testing::ContainsRegex("grad_output FLOAT \\[2, 20, 2000\\] ARRAY.*, [0-9]+\\.?[0-9]* ms"));

  const TemporaryFolder folder;
  const std::string name = (folder.path() / "trace").string();
  const ScopedEnvironment trace("MLUOP_OMP_TRACE", name.c_str());
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  int64_t items = 0;
  for (const auto& event : read_trace(name)) {
    // Since the clock's epoch: more than a millisecond, so that the locale would group its digits.
    EXPECT_GT(event.at("ts").get<double>(), 1000.0);
    if (event.at("args").contains("items")) items += event.at("args").at("items").get<int64_t>();
  }
  EXPECT_GE(items, 2000 * 3 * 2);

  call["indices"].as<int32_t>()[1234 * 3 + 1] = -5678;
  EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(mluOpOmpGetLastError(),
               "[mluOpThreeInterpolateBackward] indices[0, 1234, 1] is -5678, expected 0 to 1499");
  std::setlocale(LC_NUMERIC, "C");
  std::locale::global(before);
}

}  // namespace
}  // namespace mluop::test
