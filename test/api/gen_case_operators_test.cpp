// What the recording of a call contains: tensors and parameters of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "api/recording_test.h"
#include "ops/operator_cases.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;
using ::testing::ElementsAre;

using ApiGenCaseOperators = RecordingTest;

// `before` holds the bytes of the tensors before the call.
void expect_tensors(const RecordedCase& recorded, const OperatorCall& call, const std::vector<Bytes>& before) {
  std::vector<std::string> ids[2], expected_ids[2];
  for (const TextMessage& tensor : recorded.node.messages("input")) ids[0].push_back(tensor.value("id"));
  for (const TextMessage& tensor : recorded.node.messages("output")) ids[1].push_back(tensor.value("id"));
  for (size_t i = 0; i < before.size(); ++i) {
    const cases::TensorRule& rule = call.op().tensors[i];
    SCOPED_TRACE(rule.id);
    expected_ids[rule.is_written() ? 1 : 0].push_back(rule.id);
    const cases::Operand& operand = call.arguments[i];
    const TextMessage tensor = recorded.tensor(rule.id);
    EXPECT_EQ(tensor.value("dtype"), operand.is_half()                    ? "DTYPE_HALF"
                                     : operand.dtype == MLUOP_DTYPE_FLOAT ? "DTYPE_FLOAT"
                                                                          : "DTYPE_INT32");
    EXPECT_EQ(tensor.message("shape").numbers("dims"), operand.dims);
    EXPECT_TRUE(recorded.elements(tensor) == bytes_of(operand));
    const bool is_kept = rule.role == cases::Role::kKeptOutput || rule.role == cases::Role::kInOut;
    EXPECT_EQ(tensor.has("initial"), is_kept);
    if (is_kept) {
      EXPECT_TRUE(recorded.elements(tensor, tensor.message("initial")) == before[i]);
    }
  }
  EXPECT_EQ(ids[0], expected_ids[0]);
  EXPECT_EQ(ids[1], expected_ids[1]);
}

std::string recorded_text(const cases::Parameter& parameter) {
  constexpr const char* kReduceModes[] = {"REDUCE_MODE_SUM", "REDUCE_MODE_MEAN", "REDUCE_MODE_MAX"};
  if (parameter.name == "reduce_type") return kReduceModes[parameter.integer];
  if (parameter.name == "deterministic") return parameter.integer != 0 ? "true" : "false";
  return std::to_string(parameter.integer);
}

// Real numbers have all bits of a float, also after a parser's detour through double. A number that must be 0 may
// be absent.
void expect_parameters(const TextMessage& recorded, const cases::Parameters& parameters) {
  std::vector<std::string> names = {"num_act_out"};
  for (const cases::Parameter& parameter : parameters.all) {
    SCOPED_TRACE(parameter.name);
    names.push_back(parameter.name);
    if (parameter.kind == cases::Parameter::Kind::kList) {
      EXPECT_EQ(recorded.numbers(parameter.name), parameter.list);
    } else if (parameter.kind == cases::Parameter::Kind::kReal) {
      const double value = std::strtod(recorded.value(parameter.name).c_str(), nullptr);
      EXPECT_EQ(static_cast<float>(value), static_cast<float>(parameter.real));
    } else if (recorded.has(parameter.name) || parameter.integer != 0) {
      EXPECT_EQ(recorded.value(parameter.name), recorded_text(parameter));
    }
  }
  for (const std::string& name : recorded.names()) EXPECT_THAT(names, ::testing::Contains(name));
}

TEST_F(ApiGenCaseOperators, EveryOperator) {
  for (const auto magnitude : {Magnitude::kUsual, Magnitude::kOverflow}) {
    for (const OperatorCase& test : operator_cases(magnitude)) {
      SCOPED_TRACE(test.name);
      fs::remove_all(folder());
      const Handle handle;
      const OperatorCall call(handle, test.made);
      std::vector<Bytes> before;
      for (const cases::Operand& tensor : call.arguments.tensors) before.push_back(bytes_of(tensor));
      const RecordedCase recorded = record(call);
      EXPECT_EQ(recorded.node.value("op_name"), test.made.op_name);
      EXPECT_EQ(recorded.folder.filename(), test.made.op_name);
      expect_tensors(recorded, call, before);
      expect_parameters(recorded.parameters(), call.parameters);
      EXPECT_FALSE(recorded.node.has("omp_settings"));
    }
  }
}

TEST_F(ApiGenCaseOperators, Radii) {
  cases::Case made = make_case("ball_query", MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", 3}, {"n", 4}, {"nsample", 2}});
  constexpr float kSubnormal = std::numeric_limits<float>::denorm_min();
  for (const float radius : {0.1F, 1.0F / 3, kSubnormal, 16777215.0F, kInfinity}) {
    fs::remove_all(folder());
    made.parameters.set_real("max_radius", double{radius});
    expect_parameters(record(made).parameters(), made.parameters);
  }
}

// The sparse convolution descriptor, with other values along each axis, and the number of output sites that the
// call has found.
TEST_F(ApiGenCaseOperators, SparseConvolutions) {
  for (const bool has_depth : {false, true}) {
    SCOPED_TRACE(has_depth);
    fs::remove_all(folder());
    cases::Case made =
        make_case("get_indice_pairs", MLUOP_DTYPE_INT32,
                  {{"batch", 2}, {"depth", has_depth ? 7 : 1}, {"height", 8}, {"width", 9}, {"sites", 30}});
    const std::vector<int32_t> sites = int32s_of(made, "indices");
    const auto set = [&](const char* name, std::vector<int64_t> values) {
      if (!has_depth) values.erase(values.begin());
      made.parameters.set(name, values);
    };
    set("pad", {0, 1, 2});
    set("stride", {1, 2, 1});
    set("dilation", {1, 1, 1});
    set("input_space", {7, 8, 9});
    set("filter_space", {3, 2, 3});
    set("output_space", {5, 5, 11});
    made.outputs[1].dims[0] = made.outputs[2].dims[0] = has_depth ? 18 : 6;
    made.outputs[0].dims = {has_depth ? 540 : 110, has_depth ? 4 : 3};
    if (!has_depth) {
      made.parameters.set("dimnb", 4);
      made.inputs[0].dims = {30, 3};
      std::vector<int32_t> rows;
      for (size_t i = 0; i < sites.size(); i += 4) rows.insert(rows.end(), {sites[i], sites[i + 2], sites[i + 3]});
      set_values(made, "indices", rows);
    }
    const TextMessage parameters = record(made).parameters();
    expect_parameters(parameters, made.parameters);
    const std::vector<int64_t> found = parameters.numbers("num_act_out");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_GT(found[0], 0);
    // A call that finds another number throws.
    made.parameters.set("num_act_out", found[0]);
    const Handle handle;
    EXPECT_EQ(OperatorCall(handle, made).run(), MLUOP_STATUS_SUCCESS);
  }
}

TEST_F(ApiGenCaseOperators, TasksOfTheDeviceAlgorithm) {
  const ScopedThreads threads(3);
  const TextMessage settings = record(pooling, MLUOP_OMP_ALGORITHM_DEVICE).node.message("omp_settings");
  EXPECT_EQ(settings.value("algorithm"), "device");
  EXPECT_EQ(settings.value("tasks"), "3");
}

// Rows of idx without a member keep what they hold before the call.
TEST_F(ApiGenCaseOperators, InitialContents) {
  const auto made = make_case("ball_query", MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", 40}, {"n", 30}, {"nsample", 4}});
  for (const char* file : {"0", "1"}) {
    fs::remove_all(folder());
    const ScopedEnvironment variable("MLUOP_GEN_CASE_DUMP_DATA_FILE", file);
    const Handle handle;
    const OperatorCall call(handle, made);
    const Bytes before = bytes_of(call["idx"]);
    const int32_t kept = call.int32s("idx").front();
    const RecordedCase recorded = record(call);
    const TextMessage idx = recorded.tensor("idx");
    EXPECT_FALSE(before == bytes_of(call["idx"]));
    EXPECT_THAT(call.int32s("idx"), ::testing::Contains(kept));
    EXPECT_EQ(recorded.elements(idx, idx.message("initial")), before);
    EXPECT_EQ(recorded.elements(idx), bytes_of(call["idx"]));
  }
}

// A call that reads nothing, so that the data of inputs may be null, has written its outputs.
TEST_F(ApiGenCaseOperators, CallsThatReadNothing) {
  const Handle handle;
  OperatorCall call(handle, make_case("voxelization", MLUOP_DTYPE_FLOAT,
                                      {{"n", 30}, {"f", 4}, {"max_points", 3}, {"max_voxels", 0}}));
  call["points"].data = nullptr;
  const RecordedCase recorded = record(call);
  EXPECT_THAT(recorded.tensor("points").names(), ElementsAre("id", "layout", "dtype", "shape"));
  EXPECT_THAT(recorded.tensor("points").message("shape").numbers("dims"), ElementsAre(30, 4));
  const TextMessage voxel_num = recorded.tensor("voxel_num");
  EXPECT_FALSE(voxel_num.has("initial"));
  EXPECT_EQ(recorded.elements(voxel_num), Bytes(sizeof(int32_t)));
  EXPECT_THAT(recorded.tensor("voxels").message("shape").numbers("dims"), ElementsAre(0, 3, 4));
  EXPECT_THAT(recorded.tensor("voxels").names(), ElementsAre("id", "layout", "dtype", "shape"));
}

// The operator of two names records that of the function.
TEST_F(ApiGenCaseOperators, DynamicScatterBackward) {
  const Handle handle;
  const OperatorCall call(handle, make_case("dynamic_point_to_voxel_backward", MLUOP_DTYPE_FLOAT, {}));
  const cases::Arguments& a = call.arguments;
  require(mluOpDynamicScatterBackward(handle, MLUOP_REDUCE_DMAX, a[0].desc, a[0].data, a[1].desc, a[1].data,
                                      a[2].desc, a[2].data, a[3].desc, a[3].data, a[4].desc, a[4].data, a[5].desc,
                                      a[5].data, a.workspace, a.workspace_size, a[6].desc, a[6].data));
  const RecordedCase recorded = only_case(folder());
  EXPECT_EQ(recorded.node.value("op_name"), "dynamic_scatter_backward");
  expect_parameters(recorded.parameters(), call.parameters);
}

}  // namespace
}  // namespace mluop::test
