// The recording of calls: MLUOP_GEN_CASE and the variables that begin with its name, how elements are recorded,
// and tensors and parameters of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "api/recording_test.h"
#include "core/dtype.h"
#include "ops/operator_cases.h"
#include "support/labels.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;
using ::testing::ElementsAre;
using ::testing::MatchesRegex;

using ApiGenCase = RecordingTest;

// <op>_<date>_<h>_<m>_<s>_<us>_tid<thread>_device<n>.prototxt
TEST_F(ApiGenCase, NameAndText) {
  record(pooling);
  const fs::path file = case_files(folder()).at(0);
  EXPECT_THAT(file.filename().string(),
              MatchesRegex("voxel_pooling_forward_[0-9]{8}_[0-9]{2}_[0-9]{2}_[0-9]{2}_[0-9]{6}_tid[0-9]+_device0"
                           "\\.prototxt"));
  EXPECT_THAT(files_below(folder()), ElementsAre(file));
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  EXPECT_THAT(line, MatchesRegex("# mluop-omp [0-9.]+: native, [0-9]+ tasks, mlu370, NRAM [0-9]+ KiB, .+"));
}

TEST_F(ApiGenCase, Modes) {
  for (const char* mode : {static_cast<const char*>(nullptr), "", "0"}) {
    const auto variable = set_mode(mode);
    require(OperatorCall(Handle(), pooling).run());
    EXPECT_FALSE(fs::exists(folder()));
  }
  const ScopedThreads threads(3);
  const auto variable = set_mode("1");
  const RecordedCase recorded = record(pooling, MLUOP_OMP_ALGORITHM_DEVICE);
  ASSERT_EQ(recorded.tensors().size(), 4U);
  for (const TextMessage& tensor : recorded.tensors()) {
    EXPECT_THAT(tensor.names(), ElementsAre("id", "layout", "dtype", "shape"));
    EXPECT_EQ(tensor.value("layout"), "LAYOUT_ARRAY");
  }
  EXPECT_THAT(recorded.tensor("input_features").message("shape").numbers("dims"), ElementsAre(2, 50, 3));
  EXPECT_EQ(recorded.parameters().value("num_points"), "50");
  const TextMessage settings = recorded.node.message("omp_settings");
  EXPECT_EQ(settings.value("algorithm"), "device");
  EXPECT_EQ(settings.value("tasks"), "3");
}

TEST_F(ApiGenCase, Prints) {
  const auto mode = set_mode("3");
  for (const char* level : {"off", "error"}) {
    const ScopedEnvironment log("MLUOP_LOG_LEVEL", level);
    const Handle handle;
    ::testing::internal::CaptureStderr();
    require(OperatorCall(handle, pooling).run());
    const std::string text = ::testing::internal::GetCapturedStderr();
    const TextMessage node = TextMessage::parse(text);
    EXPECT_EQ(node.value("op_name"), "voxel_pooling_forward");
    EXPECT_EQ(node.messages("input").size(), 2U);
    EXPECT_FALSE(node.messages("input")[0].has("value_i"));
    EXPECT_EQ(node.message("voxel_pooling_forward_param").value("num_points"), "50");
  }
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(ApiGenCase, Filter) {
  const cases::Case voxelization = make_case("voxelization", MLUOP_DTYPE_FLOAT, {});
  const struct {
    const char* names;
    std::vector<std::string> recorded;
  } kTable[] = {
      {"", {"voxel_pooling_forward", "voxelization"}},
      {"voxelization", {"voxelization"}},
      {"ball_query; voxelization ;", {"voxelization"}},
      {"voxel_pooling_forward;voxelization", {"voxel_pooling_forward", "voxelization"}},
      {"-voxelization", {"voxel_pooling_forward"}},
      {"-voxelization;-voxel_pooling_forward", {}},
      {"-ball_query", {"voxel_pooling_forward", "voxelization"}},
      {"voxelization;-voxelization", {}},
      {"voxel", {}},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.names);
    fs::remove_all(folder());
    const ScopedEnvironment names("MLUOP_GEN_CASE_OP_NAME", row.names);
    const Handle handle;
    require(OperatorCall(handle, pooling).run());
    require(OperatorCall(handle, voxelization).run());
    std::vector<std::string> recorded;
    for (const fs::path& file : case_files(folder())) recorded.push_back(file.parent_path().filename());
    EXPECT_EQ(recorded, row.recorded);
  }
}

// The default, gen_case, is in the working directory.
TEST_F(ApiGenCase, Directory) {
  const TemporaryFolder other;
  const fs::path before = fs::current_path();
  fs::current_path(other.path());
  {
    const ScopedEnvironment directory("MLUOP_GEN_CASE_DIR", nullptr);
    require(OperatorCall(Handle(), pooling).run());
  }
  {
    const ScopedEnvironment directory("MLUOP_GEN_CASE_DIR", "a/b");
    require(OperatorCall(Handle(), pooling).run());
  }
  fs::current_path(before);
  EXPECT_EQ(case_files(other.path() / "gen_case" / "voxel_pooling_forward").size(), 1U);
  EXPECT_EQ(case_files(other.path() / "a" / "b" / "voxel_pooling_forward").size(), 1U);
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(ApiGenCase, Representations) {
  constexpr struct {
    const char *input, *output, *file;   // values of the variables
    const char *features, *memo, *sums;  // the fields with elements of input_features, pos_memo, output_features
  } kTable[] = {
      {nullptr, nullptr, nullptr, "value_h", "value_i", "value_h"},
      {"0", nullptr, "0", "", "value_i", "value_h"},
      {"1", nullptr, nullptr, "value_f", "value_i", "value_h"},
      {"2", "0", nullptr, "value_h", "", ""},
      {nullptr, "1", nullptr, "value_h", "value_i", "value_f"},
      {"1", "2", "0", "value_f", "value_i", "value_h"},
      {nullptr, nullptr, "1", "path", "path", "path"},
      {"0", "1", "1", "", "path", "path"},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(&row - kTable);
    fs::remove_all(folder());
    const ScopedEnvironment variables[] = {{"MLUOP_GEN_CASE_DUMP_DATA", row.input},
                                           {"MLUOP_GEN_CASE_DUMP_DATA_OUTPUT", row.output},
                                           {"MLUOP_GEN_CASE_DUMP_DATA_FILE", row.file}};
    const Handle handle;
    const OperatorCall call(handle, pooling);
    const RecordedCase recorded = record(call);
    const auto expect = [&](const char* id, const std::string& field) {
      const TextMessage tensor = recorded.tensor(id);
      for (const char* other : {"value_h", "value_i", "value_f", "path"}) {
        EXPECT_EQ(tensor.has(other), field == other) << id << ' ' << other;
      }
      EXPECT_EQ(recorded.elements(tensor), field.empty() ? Bytes() : bytes_of(call[id])) << id;
    };
    expect("input_features", row.features);
    expect("pos_memo", row.memo);
    expect("output_features", row.sums);
  }
}

// Tensors of more than 65536 elements are in files, unless the format is stated.
TEST_F(ApiGenCase, LargeTensors) {
  MLUOP_LABELS(kNotEmulated);
  constexpr int kInline = 65536;
  for (const char* format : {static_cast<const char*>(nullptr), "1", "2"}) {
    for (const int points : {kInline / 16, kInline / 16 + 1}) {
      SCOPED_TRACE(points);
      fs::remove_all(folder());
      const ScopedEnvironment input("MLUOP_GEN_CASE_DUMP_DATA", format);
      const Handle handle;
      const OperatorCall call(handle,
                              make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                                        {{"batch_size", 1}, {"num_points", points}, {"num_channels", 16}}));
      const RecordedCase recorded = record(call);
      const TextMessage features = recorded.tensor("input_features");
      EXPECT_EQ(features.has("path"), format == nullptr && points * 16 > kInline);
      EXPECT_EQ(recorded.elements(features), bytes_of(call["input_features"]));
    }
  }
}

// Bits of numbers, and the texts of the first elements: NaN with payloads, infinities, zeros and subnormals of
// both signs; decimals that have all bits.
TEST_F(ApiGenCase, Values) {
  const struct {
    const char *format, *field;
    std::vector<uint32_t> bits;
    std::vector<std::string> texts;
  } kTable[] = {
      {"2",
       "value_h",
       {0x7FC00001, 0xFF800123, 0x7F800000, 0xFF800000, 0x80000000, 0, 1, 0x807FFFFF, 0x7F7FFFFF, 0xFFFFFFFF, 0xA},
       {"7fc00001", "ff800123", "7f800000", "ff800000", "80000000", "0", "1", "807fffff", "7f7fffff", "ffffffff",
        "a"}},
      {"1",
       "value_f",
       {0x3DCCCCCD, 0xFF800000, 0x7F800000, 0x80000000, 1, 0x7F7FFFFF, 0x4B800000},
       {"0.1", "-inf", "inf", "-0", "1e-45", "3.4028235e+38", "16777216"}},
  };
  for (const auto& row : kTable) {
    fs::remove_all(folder());
    const ScopedEnvironment format("MLUOP_GEN_CASE_DUMP_DATA", row.format);
    const Handle handle;
    const OperatorCall call(handle, pooling);
    const cases::Operand& input = call["input_features"];
    for (int64_t i = 0; i < input.count(); ++i) {
      input.as<uint32_t>()[i] = row.bits[static_cast<size_t>(i) % row.bits.size()];
    }
    const RecordedCase recorded = record(call);
    const TextMessage features = recorded.tensor("input_features");
    EXPECT_EQ(recorded.elements(features), bytes_of(input));
    std::vector<std::string> texts = features.values(row.field);
    texts.resize(row.texts.size());
    EXPECT_EQ(texts, row.texts);
  }
}

// Strides that dimensions of size 1 make possible.
TEST_F(ApiGenCase, Strides) {
  const Handle handle;
  OperatorCall call(handle, make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                                      {{"batch_size", 1}, {"num_points", 50}, {"num_channels", 3}}));
  const Descriptor strided = Descriptor::with_strides(MLUOP_DTYPE_FLOAT, {1, 50, 3}, {7, 3, 1});
  call["input_features"].desc = strided;
  const RecordedCase recorded = record(call);
  EXPECT_THAT(recorded.tensor("input_features").message("shape").numbers("dim_stride"), ElementsAre(7, 3, 1));
  EXPECT_FALSE(recorded.tensor("geom_xyz").message("shape").has("dim_stride"));
  EXPECT_EQ(recorded.elements(recorded.tensor("input_features")), bytes_of(call["input_features"]));
}

// `before` holds the bytes of the tensors before the call.
void expect_tensors(const RecordedCase& recorded, const OperatorCall& call, const std::vector<Bytes>& before) {
  const std::vector<TextMessage> tensors[2] = {recorded.node.messages("input"), recorded.node.messages("output")};
  size_t seen[2] = {};
  for (size_t i = 0; i < before.size(); ++i) {
    const cases::TensorRule& rule = call.op().tensors[i];
    SCOPED_TRACE(rule.id);
    const cases::Operand& operand = call.arguments[i];
    const size_t list = rule.is_written() ? 1 : 0;
    const TextMessage tensor = tensors[list].at(seen[list]++);
    EXPECT_EQ(tensor.value("id"), rule.id);
    EXPECT_EQ(tensor.value("dtype"), "DTYPE_" + std::string(name_of(operand.dtype)));
    EXPECT_EQ(tensor.message("shape").numbers("dims"), operand.dims);
    EXPECT_TRUE(recorded.elements(tensor) == bytes_of(operand));
    const bool is_kept = rule.role == cases::Role::kKeptOutput || rule.role == cases::Role::kInOut;
    EXPECT_EQ(tensor.has("initial"), is_kept);
    EXPECT_TRUE(!is_kept || recorded.elements(tensor, tensor.message("initial")) == before[i]);
  }
  EXPECT_EQ(recorded.tensors().size(), before.size());
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

TEST_F(ApiGenCase, EveryOperator) {
  MLUOP_LABELS(kSlow);
  for (const char* files : {"0", "1"}) {
    const ScopedEnvironment variable("MLUOP_GEN_CASE_DUMP_DATA_FILE", files);
    for (const OperatorCase& test : operator_cases()) {
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

TEST_F(ApiGenCase, Radii) {
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
TEST_F(ApiGenCase, SparseConvolutions) {
  for (const bool has_depth : {false, true}) {
    SCOPED_TRACE(has_depth);
    fs::remove_all(folder());
    cases::Case made = make_case(
        "get_indice_pairs", MLUOP_DTYPE_INT32,
        {{"depth", 7}, {"height", 8}, {"width", 9}, {"sites", 30}, {"two_dimensions", has_depth ? 0 : 1}});
    const auto set = [&](const char* name, std::vector<int64_t> values) {
      if (!has_depth) values.erase(values.begin());
      made.parameters.set(name, values);
    };
    set("pad", {0, 1, 2});
    set("stride", {1, 2, 1});
    set("filter_space", {3, 2, 3});
    set("output_space", {5, 5, 11});
    made.outputs[1].dims[0] = made.outputs[2].dims[0] = has_depth ? 18 : 6;
    made.outputs[0].dims[0] = has_depth ? 540 : 110;
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

// A call that reads nothing, so that the data of inputs may be null, has written its outputs.
TEST_F(ApiGenCase, CallsThatReadNothing) {
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
TEST_F(ApiGenCase, DynamicScatterBackward) {
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
