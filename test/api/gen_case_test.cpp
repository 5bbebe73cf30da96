// The recording of calls: MLUOP_GEN_CASE and the variables that begin with its name, and how elements are
// recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "api/recording_test.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;
using ::testing::ElementsAre;

using ApiGenCase = RecordingTest;

// <op>_<date>_<h>_<m>_<s>_<us>_tid<thread>_device<n>.prototxt
TEST_F(ApiGenCase, NameAndText) {
  record(pooling);
  const fs::path file = case_files(folder()).at(0);
  EXPECT_THAT(file.filename(), ::testing::ResultOf([](const fs::path& name) { return name.string(); },
                                                   ::testing::MatchesRegex(
                                                       "voxel_pooling_forward_[0-9]{8}_[0-9]{2}_[0-9]{2}_[0-9]{2}_"
                                                       "[0-9]{6}_tid[0-9]+_device0\\.prototxt")));
  EXPECT_THAT(files_below(folder()), ElementsAre(file));
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  EXPECT_THAT(line,
              ::testing::MatchesRegex("# mluop-omp [0-9.]+: native, [0-9]+ tasks, mlu370, NRAM [0-9]+ KiB, .+"));
}

TEST_F(ApiGenCase, Modes) {
  for (const char* mode : {static_cast<const char*>(nullptr), "", "0"}) {
    const auto variable = set_mode(mode);
    require(OperatorCall(Handle(), pooling).run());
    EXPECT_FALSE(fs::exists(folder()));
  }
  const auto variable = set_mode("1");
  const RecordedCase recorded = record(pooling);
  ASSERT_EQ(recorded.tensors().size(), 4U);
  for (const TextMessage& tensor : recorded.tensors()) {
    EXPECT_THAT(tensor.names(), ElementsAre("id", "layout", "dtype", "shape"));
    EXPECT_EQ(tensor.value("layout"), "LAYOUT_ARRAY");
  }
  EXPECT_THAT(recorded.tensor("input_features").message("shape").numbers("dims"), ElementsAre(2, 50, 3));
  EXPECT_EQ(recorded.parameters().value("num_points"), "50");
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

// The fields that hold elements of input_features, pos_memo and output_features.
struct Representation {
  const char *input, *output, *file;  // values of the variables
  const char *features, *memo, *sums;
};

TEST_F(ApiGenCase, Representations) {
  constexpr Representation kTable[] = {
      {nullptr, nullptr, nullptr, "value_h", "value_i", "value_h"},
      {"0", nullptr, "0", "", "value_i", "value_h"},
      {"1", nullptr, nullptr, "value_f", "value_i", "value_h"},
      {"2", "0", nullptr, "value_h", "", ""},
      {nullptr, "1", nullptr, "value_h", "value_i", "value_f"},
      {"1", "2", "0", "value_f", "value_i", "value_h"},
      {nullptr, nullptr, "1", "path", "path", "path"},
      {"0", "1", "1", "", "path", "path"},
  };
  for (const Representation& row : kTable) {
    SCOPED_TRACE(::testing::Message() << &row - kTable);
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

// All bits: NaN with payloads, infinities, zeros and subnormals of both signs.
TEST_F(ApiGenCase, SpecialBits) {
  constexpr uint32_t kBits[] = {0x7FC00001, 0xFF800123, 0x7F800000, 0xFF800000, 0x80000000, 0,
                                1,          0x807FFFFF, 0x7F7FFFFF, 0x3F800000, 0xFFFFFFFF, 0xA};
  const Handle handle;
  const OperatorCall call(handle, pooling);
  for (int64_t i = 0; i < call["input_features"].count(); ++i) {
    call["input_features"].as<uint32_t>()[i] = kBits[static_cast<size_t>(i) % std::size(kBits)];
  }
  const RecordedCase recorded = record(call);
  EXPECT_EQ(recorded.elements(recorded.tensor("input_features")), bytes_of(call["input_features"]));
  const std::vector<std::string> hexadecimal = recorded.tensor("input_features").values("value_h");
  EXPECT_EQ(hexadecimal[1], "ff800123");
  EXPECT_EQ(hexadecimal[5], "0");
  EXPECT_EQ(hexadecimal[11], "a");
}

TEST_F(ApiGenCase, Decimals) {
  const ScopedEnvironment format("MLUOP_GEN_CASE_DUMP_DATA", "1");
  const float kValues[] = {0.1F, -kInfinity, kInfinity, -0.0F, 1e-45F, 3.4e38F, 16777217.0F};
  const Handle handle;
  const OperatorCall call(handle, pooling);
  const cases::Operand& input = call["input_features"];
  for (int64_t i = 0; i < input.count(); ++i) input.as<float>()[i] = kValues[i % 7];
  const RecordedCase recorded = record(call);
  const TextMessage features = recorded.tensor("input_features");
  EXPECT_EQ(recorded.elements(features), bytes_of(input));
  EXPECT_EQ(features.values("value_f")[0], "0.1");
  EXPECT_EQ(features.values("value_f")[1], "-inf");
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

}  // namespace
}  // namespace mluop::test
