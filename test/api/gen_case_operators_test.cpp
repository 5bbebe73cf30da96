// What the recording of a call contains: tensors and parameters of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "api/recording_test.h"
#include "ops/ball_query/call.h"
#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "ops/dynamic_scatter_backward/call.h"
#include "ops/get_indice_pairs/call.h"
#include "ops/operator_cases.h"
#include "ops/voxelization/call.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;
using ::testing::ElementsAre;

using ApiGenCaseOperators = RecordingTest;

// Removes one occurrence of `part`.
bool take(Bytes& bytes, const Bytes& part) {
  const auto at = std::search(bytes.begin(), bytes.end(), part.begin(), part.end());
  if (at == bytes.end()) return false;
  bytes.erase(at, at + static_cast<std::ptrdiff_t>(part.size()));
  return true;
}

// `before` and `after` are the bytes of inputs and outputs: those of the recorded tensors in another order.
void expect_tensors(const RecordedCase& recorded, const cases::Operator& op, const Bytes& before, Bytes after) {
  std::vector<std::string> inputs, outputs, initial, expected_inputs, expected_outputs, expected_initial;
  for (const cases::TensorRule& rule : op.tensors) {
    (rule.is_written() ? expected_outputs : expected_inputs).push_back(rule.id);
    const bool is_kept = rule.role == cases::Role::kKeptOutput || rule.role == cases::Role::kInOut;
    if (is_kept) expected_initial.push_back(rule.id);
  }
  for (const TextMessage& tensor : recorded.node.messages("input")) inputs.push_back(tensor.value("id"));
  for (const TextMessage& tensor : recorded.node.messages("output")) {
    outputs.push_back(tensor.value("id"));
    if (tensor.has("initial")) initial.push_back(tensor.value("id"));
  }
  EXPECT_EQ(inputs, expected_inputs);
  EXPECT_EQ(outputs, expected_outputs);
  EXPECT_EQ(initial, expected_initial);
  Bytes before_call = before;
  std::vector<Bytes> parts;
  for (const TextMessage& tensor : recorded.tensors()) {
    const std::string id = tensor.value("id");
    int64_t count = 1;
    for (const int64_t dim : tensor.message("shape").numbers("dims")) count *= dim;
    parts.push_back(recorded.elements(tensor));
    EXPECT_EQ(parts.back().size(), static_cast<size_t>(count) * (tensor.value("dtype") == "DTYPE_HALF" ? 2 : 4))
        << id;
    if (tensor.has("initial")) {
      EXPECT_TRUE(take(before_call, recorded.elements(tensor, tensor.message("initial")))) << id;
    }
  }
  // Large tensors first: the elements of a small one may occur in another.
  std::sort(parts.begin(), parts.end(), [](const Bytes& a, const Bytes& b) { return a.size() > b.size(); });
  for (const Bytes& part : parts) EXPECT_TRUE(take(after, part)) << part.size() << " bytes";
}

TEST_F(ApiGenCaseOperators, EveryOperator) {
  for (const auto magnitude : {Magnitude::kUsual, Magnitude::kOverflow}) {
    for (const OperatorCase& test : operator_cases(magnitude)) {
      SCOPED_TRACE(test.name);
      fs::remove_all(folder());
      const Handle handle;
      const auto call = test.make_call(handle);
      const Bytes before = call->contents();
      require(call->run());
      const RecordedCase recorded = only_case(folder());
      EXPECT_EQ(recorded.node.value("op_name"), test.made.op_name);
      EXPECT_EQ(recorded.folder.filename(), test.made.op_name);
      expect_tensors(recorded, call->op(), before, call->contents());
      // What the call found is recorded too.
      std::vector<std::string> names = {"num_act_out"};
      for (const cases::Parameter& parameter : test.made.parameters.all) names.push_back(parameter.name);
      for (const std::string& name : recorded.parameters().names()) EXPECT_THAT(names, ::testing::Contains(name));
      EXPECT_FALSE(recorded.node.has("omp_settings"));
    }
  }
}

TEST_F(ApiGenCaseOperators, Parameters) {
  const RecordedCase recorded = record<VoxelPoolingCall<float>>(pooling);
  const TextMessage parameters = recorded.parameters();
  EXPECT_EQ(parameters.value("batch_size"), "2");
  EXPECT_EQ(parameters.value("num_points"), "50");
  EXPECT_EQ(parameters.value("num_channels"), "3");
  EXPECT_EQ(parameters.value("num_voxel_x"), "5");
  EXPECT_EQ(parameters.value("num_voxel_y"), "4");
  EXPECT_EQ(parameters.value("num_voxel_z"), "1");
}

TEST_F(ApiGenCaseOperators, ReductionsAndFlags) {
  auto random = seeded_random();
  const std::pair<mluOpReduceMode_t, const char*> kReduceModes[] = {{MLUOP_REDUCE_DSUM, "REDUCE_MODE_SUM"},
                                                                    {MLUOP_REDUCE_DMEAN, "REDUCE_MODE_MEAN"},
                                                                    {MLUOP_REDUCE_DMAX, "REDUCE_MODE_MAX"}};
  for (const auto& [mode, name] : kReduceModes) {
    fs::remove_all(folder());
    const auto recorded = record<PointToVoxelCall>(random_point_to_voxel(20, 3, 4, mode, random));
    EXPECT_EQ(recorded.parameters().value("reduce_type"), name);
  }
  fs::remove_all(folder());
  const auto recorded =
      record<VoxelizationCall>(random_voxelization(voxelization_problem(30, 4, 3, 9, 5), random));
  EXPECT_EQ(recorded.parameters().value("max_points"), "3");
  EXPECT_EQ(recorded.parameters().value("max_voxels"), "9");
  EXPECT_EQ(recorded.parameters().value("ndim"), "3");
  EXPECT_EQ(recorded.parameters().value("deterministic"), "true");
}

// Radii have all bits, also after a parser's detour through double.
TEST_F(ApiGenCaseOperators, Radii) {
  auto random = seeded_random();
  constexpr float kSubnormal = std::numeric_limits<float>::denorm_min();
  for (const float radius : {0.1F, 1.0F / 3, kSubnormal, 16777215.0F, kInfinity}) {
    fs::remove_all(folder());
    auto inputs = random_ball_query<float>({1, 3, 4, 2, 0, radius}, random);
    const std::string decimal = record<BallQueryCall<float>>(inputs).parameters().value("max_radius");
    EXPECT_EQ(static_cast<float>(std::strtod(decimal.c_str(), nullptr)), radius);
  }
}

// The sparse convolution descriptor, and the number of output sites that the call has found.
TEST_F(ApiGenCaseOperators, SparseConvolutions) {
  auto random = seeded_random();
  for (const bool two_dimensions : {false, true}) {
    SCOPED_TRACE(two_dimensions);
    fs::remove_all(folder());
    IndicePairsProblem problem{.batch_size = 2,
                               .input_space = {two_dimensions ? 1 : 7, 8, 9},
                               .output_space = {},
                               .kernel = {two_dimensions ? 1 : 3, 2, 3},
                               .stride = {1, 2, 1},
                               .pad = {0, 1, 2},
                               .sub_m = false,
                               .sites = {}};
    problem.output_space = output_space_of(problem);
    auto inputs = random_get_indice_pairs(problem, 30, random);
    inputs.two_dimensions = two_dimensions;
    const Handle handle;
    const GetIndicePairsCall call(handle, inputs);
    require(call.run());
    const TextMessage parameters = only_case(folder()).parameters();
    const auto without_depth = [&](const IndicePairsProblem::Extent& extent) {
      return std::vector<int64_t>(extent.begin() + (two_dimensions ? 1 : 0), extent.end());
    };
    EXPECT_EQ(parameters.value("dimnb"), two_dimensions ? "4" : "5");
    EXPECT_EQ(parameters.value("batch"), "2");
    EXPECT_EQ(parameters.numbers("pad"), without_depth(problem.pad));
    EXPECT_EQ(parameters.numbers("stride"), without_depth(problem.stride));
    EXPECT_EQ(parameters.numbers("input_space"), without_depth(problem.input_space));
    EXPECT_EQ(parameters.numbers("filter_space"), without_depth(problem.kernel));
    EXPECT_EQ(parameters.numbers("output_space"), without_depth(problem.output_space));
    EXPECT_EQ(parameters.value("sub_m"), "0");
    EXPECT_GT(call.num_act_out(), 0);
    EXPECT_EQ(parameters.value("num_act_out"), std::to_string(call.num_act_out()));
  }
}

TEST_F(ApiGenCaseOperators, TasksOfTheDeviceAlgorithm) {
  const ScopedThreads threads(3);
  const TextMessage settings =
      record<VoxelPoolingCall<float>>(pooling, MLUOP_OMP_ALGORITHM_DEVICE).node.message("omp_settings");
  EXPECT_EQ(settings.value("algorithm"), "device");
  EXPECT_EQ(settings.value("tasks"), "3");
}

// Rows of idx without a member keep what they hold before the call.
TEST_F(ApiGenCaseOperators, InitialContents) {
  auto random = seeded_random();
  const auto inputs = random_ball_query<float>({1, 40, 30, 4, 0, 0.4F}, random);
  for (const char* file : {"0", "1"}) {
    fs::remove_all(folder());
    const ScopedEnvironment variable("MLUOP_GEN_CASE_DUMP_DATA_FILE", file);
    const Handle handle;
    const BallQueryCall<float> call(handle, inputs);
    const Bytes before = bytes_of(call.result());
    require(call.run());
    const RecordedCase recorded = only_case(folder());
    const TextMessage idx = recorded.tensor("idx");
    EXPECT_FALSE(before == bytes_of(call.result()));
    EXPECT_THAT(call.result(), ::testing::Contains(kNoMember));
    EXPECT_EQ(recorded.elements(idx, idx.message("initial")), before);
    EXPECT_EQ(recorded.elements(idx), bytes_of(call.result()));
  }
}

// A call that reads nothing, so that the data of inputs may be null, has written its outputs.
TEST_F(ApiGenCaseOperators, CallsThatReadNothing) {
  auto random = seeded_random();
  const Handle handle;
  VoxelizationCall call(handle, random_voxelization(voxelization_problem(30, 4, 3, 0, 5), random));
  call.points = nullptr;
  require(call.run());
  const RecordedCase recorded = only_case(folder());
  EXPECT_THAT(recorded.tensor("points").names(), ElementsAre("id", "layout", "dtype", "shape"));
  EXPECT_THAT(recorded.tensor("points").message("shape").numbers("dims"), ElementsAre(30, 4));
  const TextMessage voxel_num = recorded.tensor("voxel_num");
  EXPECT_FALSE(voxel_num.has("initial"));
  EXPECT_EQ(recorded.elements(voxel_num), Bytes(sizeof(int32_t)));
  EXPECT_THAT(recorded.tensor("voxels").message("shape").numbers("dims"), ElementsAre(0, 3, 4));
  EXPECT_THAT(recorded.tensor("voxels").names(), ElementsAre("id", "layout", "dtype", "shape"));
}

// The operator of two names records the name of the call.
TEST_F(ApiGenCaseOperators, DynamicPointToVoxelBackward) {
  auto random = seeded_random();
  auto inputs = random_dynamic_scatter({30, 9, 4, 8}, random);
  inputs.reduce_type = MLUOP_REDUCE_DMEAN;
  const Handle handle;
  const DynamicScatterCall call(handle, inputs);
  require((call.*DynamicScatterCall::kAlias.run)());
  const RecordedCase recorded = only_case(folder());
  EXPECT_EQ(recorded.node.value("op_name"), "dynamic_point_to_voxel_backward");
  EXPECT_EQ(recorded.parameters().value("reduce_type"), "REDUCE_MODE_MEAN");
}

}  // namespace
}  // namespace mluop::test
