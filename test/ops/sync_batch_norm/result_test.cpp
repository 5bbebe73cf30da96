// Synchronized batch normalization: worked examples, large means, long channels, functions without workspace, and
// rules. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

constexpr auto kFloat = MLUOP_DTYPE_FLOAT;

Change without(const char* tensor) {
  return [=](OperatorCall& call) {
    call[tensor].desc = nullptr;
    call[tensor].data = nullptr;
  };
}

TEST(OpsSyncBatchNorm, GatheredExample) {
  cases::Case made = make_case("sync_batch_norm_gather_stats_with_counts", kFloat, {{"w", 2}, {"c", 1}});
  set_values(made, "mean_all", std::vector<float>{1, 3});
  set_values(made, "invstd_all", std::vector<float>{2, 1});
  set_values(made, "count_all", std::vector<float>{2, 6});
  set_values(made, "moving_mean", std::vector<float>{0});
  set_values(made, "moving_var", std::vector<float>{1});
  const Handle handle;
  OperatorCall call(handle, made);
  set_real("momentum", 0.1)(call);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.floats("mean"), std::vector<float>{2.5F});
  EXPECT_NEAR(call.floats("invstd")[0], 0.8, 1e-7);
  EXPECT_NEAR(call.floats("moving_mean")[0], 0.25, 1e-7);
  EXPECT_NEAR(call.floats("moving_var")[0], 1.0785703, 1e-6);
}

// The variance of one element is not corrected.
TEST(OpsSyncBatchNorm, GatherOfOneElement) {
  cases::Case made = make_case("sync_batch_norm_gather_stats_with_counts", kFloat, {{"w", 1}, {"c", 1}});
  set_values(made, "invstd_all", std::vector<float>{0.5});
  set_values(made, "count_all", std::vector<float>{1});
  set_values(made, "moving_var", std::vector<float>{0});
  const Handle handle;
  OperatorCall call(handle, made);
  set_real("momentum", 0.5)(call);
  set_real("eps", 0)(call);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.floats("moving_var"), std::vector<float>{2});
}

TEST(OpsSyncBatchNorm, GatherOfNoElements) {
  cases::Case made = make_case("sync_batch_norm_gather_stats_with_counts", kFloat, {{"w", 2}, {"c", 1}});
  set_values(made, "count_all", std::vector<float>{0, 0});
  set_values(made, "moving_mean", std::vector<float>{3});
  set_values(made, "moving_var", std::vector<float>{5});
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  for (const char* id : {"mean", "invstd"}) EXPECT_EQ(call.floats(id), std::vector<float>{0});
  EXPECT_EQ(call.floats("moving_mean"), std::vector<float>{3});
  EXPECT_EQ(call.floats("moving_var"), std::vector<float>{5});
}

TEST(OpsSyncBatchNorm, BackwardExample) {
  cases::Case made =
      make_case("sync_batch_norm_backward_elemt", kFloat, {{"n", 1}, {"s", 1}, {"c", 1}, {"affine", 1}});
  float value = 1;
  for (const char* id : {"diff_y", "x", "mean", "invstd", "filter", "mean_dy", "mean_dy_xmu"}) {
    set_values(made, id, std::vector<float>{value++});
  }
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.floats("diff_x"), std::vector<float>{2140});
}

// mean(x^2) - mean(x)^2 in fp32 is 0 here.
TEST(OpsSyncBatchNorm, LargeMeans) {
  for (const char* op : {"sync_batch_norm_stats_v2", "sync_bn_forward_mean"}) {
    cases::Case made = make_case(op, kFloat, {{"n", 1}, {"s", 1000}, {"c", 1}});
    std::vector<float> numbers;
    for (int i = 0; i < 1000; ++i) numbers.push_back(i % 2 == 0 ? 9999 : 10001);
    set_values(made, made.inputs[0].id, numbers);
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.floats("mean"), std::vector<float>{10000});
    if (made.outputs.size() > 1) {
      EXPECT_NEAR(call.floats("invstd")[0], 1 / std::sqrt(1 + 0x1p-17), 1e-7);
    }
  }
}

TEST(OpsSyncBatchNorm, InfinityIsFirstOrLast) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& numbers : {std::vector<float>{infinity, 1}, std::vector<float>{1, infinity}}) {
    cases::Case made = make_case("sync_batch_norm_stats_v2", kFloat, {{"n", 1}, {"s", 2}, {"c", 1}});
    set_values(made, "x", numbers);
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.floats("mean")[0], infinity);
    EXPECT_TRUE(std::isnan(call.floats("invstd")[0]));
  }
}

// Channels of several pieces and blocks, and outputs that bypass the caches.
TEST(OpsSyncBatchNorm, LargeImages) {
  MLUOP_LABELS(kNetworkSize, kNotEmulated);
  const ScopedThreads threads(3);
  for (const cases::Operator& op : cases::operators()) {
    if (!op.name.starts_with("sync_b") || op.name.ends_with("counts")) continue;
    for (const auto dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_BFLOAT16}) {
      SCOPED_TRACE(op.name);
      expect_oracle(make_case(op.name, dtype, {{"n", 1}, {"s", 20000}, {"c", 64}}));
      expect_oracle(make_case(op.name, dtype, {{"n", 1}, {"s", 70}, {"c", 600}}));
    }
  }
}

TEST(OpsSyncBatchNorm, FunctionsWithoutWorkspace) {
  const Handle handle;
  OperatorCall stats(handle, make_case("sync_batch_norm_stats_v2", kFloat, {}));
  ASSERT_EQ(stats.run(), MLUOP_STATUS_SUCCESS);
  const std::vector<std::byte> outputs = stats.outputs();
  const auto pass = [](cases::Operand& tensor) { return tensor.data; };
  std::fill_n(stats["mean"].as<float>(), stats["mean"].count(), 0.0F);
  EXPECT_EQ(mluOpSyncBatchNormStats(handle, stats["x"].desc, pass(stats["x"]), 0x1p-17F, stats["mean"].desc,
                                    pass(stats["mean"]), stats["invstd"].desc, pass(stats["invstd"])),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(stats.outputs(), outputs);

  OperatorCall reduced(handle, make_case("sync_batch_norm_backward_reduce_v2", kFloat, {}));
  const auto run = [&](auto* function, auto... workspace) {
    const auto& a = reduced.arguments;
    return function(handle, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc, a[2].data, a[3].desc, a[3].data,
                    workspace..., a[4].desc, a[4].data, a[5].desc, a[5].data, a[6].desc, a[6].data, a[7].desc,
                    a[7].data, true, true, true);
  };
  ASSERT_EQ(reduced.run(), MLUOP_STATUS_SUCCESS);
  const std::vector<std::byte> sums = reduced.outputs();
  for (const bool is_v2 : {false, true}) {
    for (const size_t i : {4, 5, 6, 7})
      std::fill_n(reduced.arguments[i].as<float>(), reduced.arguments[i].count(), 0.0F);
    EXPECT_EQ(is_v2 ? run(mluOpSyncBatchnormBackwardReduce_v2, static_cast<void*>(nullptr), size_t{0})
                    : run(mluOpSyncBatchNormBackwardReduce),
              MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(reduced.outputs(), sums);
  }
  EXPECT_EQ(run(mluOpSyncBatchnormBackwardReduce), MLUOP_STATUS_NOT_SUPPORTED);
  size_t size = 1;
  EXPECT_EQ(mluOpGetSyncBatchnormBackwardReduceWorkspaceSize(handle, reduced["x"].desc, &size),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(size, 0U);
}

TEST(OpsSyncBatchNormErrors, Rules) {
  const Change no_workspace = [](OperatorCall& call) {
    call.arguments.workspace = nullptr;
    call.arguments.workspace_size = 1;
  };
  for (const char* op : {"sync_batch_norm_stats_v2", "sync_batch_norm_backward_reduce_v2"}) {
    expect_errors(make_case(op, kFloat, {}), {{no_workspace, "workspace is null"}});
  }
  expect_errors(make_case("sync_batch_norm_elemt", kFloat, {}),
                {{without("filter"), "filter is missing, expected filter and bias, or neither"},
                 {without("bias"), "bias is missing, expected filter and bias, or neither"}});
  expect_errors(
      make_case("sync_batch_norm_gather_stats_with_counts", kFloat, {}),
      {{without("moving_mean"), "moving_mean is missing, expected moving_mean and moving_var, or neither"},
       {without("moving_var"), "moving_var is missing, expected moving_mean and moving_var, or neither"}});
  expect_errors(make_case("sync_bn_forward_output", kFloat, {}),
                {{set("group_size", 0), "group_size is 0, expected at least 1"}});
  expect_errors(make_case("sync_bn_forward_mean", kFloat, {}),
                {{set_shape("input", {5}), "input has 1 dimensions, expected 2 or 3"}});
}

}  // namespace
}  // namespace mluop::test
