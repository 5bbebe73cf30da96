// The recording of calls: MLUOP_GEN_CASE and the variables that begin with its name, the text of a case, and how
// elements are recorded. test/case/record_and_replay.cmake records and reads cases of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/recording_test.h"
#include "case/values.h"
#include "recording/case_settings.h"
#include "support/api_errors.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

cases::Case pooling_of(int points, int channels, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT) {
  return make_case("voxel_pooling_forward", dtype,
                   {{"batch_size", 1},
                    {"num_points", points},
                    {"num_channels", channels},
                    {"num_voxel_x", 1},
                    {"num_voxel_y", 1}});
}

// The elements of the tensors of a case.
struct Elements {
  std::string geom_xyz = "value_i: [0, 0, 0, 0, -1, 0]";
  std::string input_features = R"(value_h: ["3dcccccd", "c0000000", "3fc00000", "40400000"])";
  std::string output_features = R"(value_h: ["3dcccccd", "c0000000"])";
  std::string pos_memo = "value_i: [0, 0, 0, -1, -1, -1]";
};

class ApiGenCase : public RecordingTest {
 protected:
  ApiGenCase() {
    set_values(pooling, "geom_xyz", std::vector<int32_t>{0, 0, 0, 0, -1, 0});
    set_values(pooling, "input_features", std::vector<float>{0.1F, -2, 1.5F, 3});
  }

  // The recorded text of `pooling`.
  static std::string text_with(const Elements& elements, const std::string& settings = "") {
    const auto tensor = [](const std::string& id, const std::string& shape, const std::string& dtype,
                           const std::string& contents) {
      return "{ id: \"" + id + "\" shape { " + shape + " } layout: LAYOUT_ARRAY dtype: DTYPE_" + dtype +
             (contents.empty() ? "" : " ") + contents + " } ";
    };
    return "op_name: \"voxel_pooling_forward\" input " +
           tensor("geom_xyz", "dims: 1 dims: 2 dims: 3", "INT32", elements.geom_xyz) + "input " +
           tensor("input_features", "dims: 1 dims: 2 dims: 2", "FLOAT", elements.input_features) + "output " +
           tensor("output_features", "dims: 1 dims: 1 dims: 1 dims: 2", "FLOAT", elements.output_features) +
           "output " + tensor("pos_memo", "dims: 1 dims: 2 dims: 3", "INT32", elements.pos_memo) + settings +
           "voxel_pooling_forward_param { batch_size: 1 num_points: 2 num_channels: 2 num_voxel_x: 1 "
           "num_voxel_y: 1 num_voxel_z: 1 }";
  }

  cases::Case pooling = pooling_of(2, 2);
};

// <op>_<date>_<h>_<m>_<s>_<us>_tid<thread>_device<n>.prototxt
TEST_F(ApiGenCase, NameAndComment) {
  record(pooling);
  const fs::path file = case_files(folder()).at(0);
  EXPECT_EQ(file.parent_path(), folder() / "gen_case" / "voxel_pooling_forward");
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
  EXPECT_EQ(record(pooling), text_with({}));
  const ScopedThreads threads(3);
  const auto only_shapes = set_mode("1");
  const std::string text = text_with({"", "", "", ""}, "omp_settings { algorithm: \"device\" tasks: 3 } ");
  EXPECT_EQ(record(pooling, MLUOP_OMP_ALGORITHM_DEVICE), text);
  fs::remove_all(folder());
  const auto print = set_mode("3");
  for (const char* level : {"off", "error"}) {
    const ScopedEnvironment log("MLUOP_LOG_LEVEL", level);
    const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
    ::testing::internal::CaptureStderr();
    require(OperatorCall(handle, pooling).run());
    EXPECT_EQ(one_line(::testing::internal::GetCapturedStderr()), text);
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

// gen_case is in the directory of the variable; by default in the working directory.
TEST_F(ApiGenCase, Directory) {
  const TemporaryFolder other;
  const fs::path before = fs::current_path();
  fs::current_path(other.path());
  for (const char* name : {static_cast<const char*>(nullptr), "a/b"}) {
    const ScopedEnvironment directory("MLUOP_GEN_CASE_DIR", name);
    require(OperatorCall(Handle(), pooling).run());
  }
  fs::current_path(before);
  EXPECT_EQ(case_files(other.path() / "gen_case" / "voxel_pooling_forward").size(), 1U);
  EXPECT_EQ(case_files(other.path() / "a" / "b" / "gen_case" / "voxel_pooling_forward").size(), 1U);
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(ApiGenCase, PlaceholdersOfTheDirectory) {
  const ScopedEnvironment directory("MLUOP_GEN_CASE_DIR", (folder() / "{pid}-{deviceid}-{pid}").c_str());
  require(OperatorCall(Handle(), pooling).run());
  const fs::path expected = folder() / ("pid" + std::to_string(getpid()) + "-deviceid0-{pid}");
  EXPECT_EQ(case_files(expected / "gen_case" / "voxel_pooling_forward").size(), 1U);
  char found[1000];
  size_t length = 0;
  EXPECT_EQ(mluOpGetGenCaseDirectory(found, sizeof found, &length, nullptr), found);
  EXPECT_EQ(found, expected.native());
  EXPECT_EQ(length, expected.native().size());
}

// The calls of mluOpGetGenCaseDirectory before mluOpSetGenCaseDirectory; ApiGenCaseProcess tests the latter.
TEST_F(ApiGenCase, GetDirectory) {
  const ScopedEnvironment directory("MLUOP_GEN_CASE_DIR", "a/b");
  size_t length = 7;
  auto status = MLUOP_STATUS_INTERNAL_ERROR;
  char found[5] = "####";
  EXPECT_EQ(mluOpGetGenCaseDirectory(found, 4, &length, &status), found);
  EXPECT_STREQ(found, "a/b");
  EXPECT_EQ(length, 3U);
  EXPECT_EQ(status, MLUOP_STATUS_SUCCESS);
  // The terminator does not fit: the buffer is not written.
  char small[4] = "###";
  for (const size_t size : {size_t{0}, size_t{3}}) {
    EXPECT_EQ(mluOpGetGenCaseDirectory(small, size, &length, &status), small);
    EXPECT_STREQ(small, "###");
    EXPECT_EQ(length, 0U);
    EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpOmpGetLastError(),
              "[mluOpGetGenCaseDirectory] bufferSize is " + std::to_string(size) + ", expected at least 4");
  }
  // Null for the buffer: the caller frees the memory. The size is then not read.
  const auto allocated = [&] {
    const std::unique_ptr<const char, void (*)(const char*)> path(
        mluOpGetGenCaseDirectory(nullptr, 0, nullptr, &status),
        [](const char* memory) { std::free(const_cast<char*>(memory)); });
    EXPECT_EQ(status, MLUOP_STATUS_SUCCESS);
    return std::string(path.get());
  };
  EXPECT_EQ(allocated(), "a/b");
  const ScopedEnvironment unset("MLUOP_GEN_CASE_DIR", nullptr);
  EXPECT_EQ(allocated(), fs::current_path().native());
  expect_failure([] { return mluOpSetGenCaseDirectory(nullptr); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpSetGenCaseDirectory] path is null");
}

// The on-chip data type is recorded if it is set.
TEST_F(ApiGenCase, OnchipDataType) {
  const Handle handle;
  OperatorCall call(handle, pooling);
  require(mluOpSetTensorDescriptorOnchipDataType(call["input_features"].desc, MLUOP_DTYPE_INT31));
  EXPECT_THAT(record(call),
              HasSubstr("layout: LAYOUT_ARRAY dtype: DTYPE_FLOAT onchip_dtype: DTYPE_INT31 value_h"));
}

TEST_F(ApiGenCase, Representations) {
  const Elements bits;
  const std::string decimals = "value_f: [0.1, -2, 1.5, 3]", decimal_sums = "value_f: [0.1, -2]";
  const auto file = [](const std::string& id) { return "path: \"*_" + id + ".bin\""; };
  const std::string output_files[] = {file("output_features"), file("pos_memo")};
  const struct {
    const char *input, *output, *file;  // values of the variables
    Elements elements;
  } kTable[] = {
      {nullptr, nullptr, nullptr, bits},
      {"0", nullptr, "0", {"", "", bits.output_features, bits.pos_memo}},
      {"1", nullptr, nullptr, {bits.geom_xyz, decimals, bits.output_features, bits.pos_memo}},
      {"2", "0", nullptr, {bits.geom_xyz, bits.input_features, "", ""}},
      {nullptr, "1", nullptr, {bits.geom_xyz, bits.input_features, decimal_sums, bits.pos_memo}},
      {"1", "2", "0", {bits.geom_xyz, decimals, bits.output_features, bits.pos_memo}},
      {nullptr, nullptr, "1", {file("geom_xyz"), file("input_features"), output_files[0], output_files[1]}},
      {"0", "1", "1", {"", "", output_files[0], output_files[1]}},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(&row - kTable);
    const ScopedEnvironment variables[] = {{"MLUOP_GEN_CASE_DUMP_DATA", row.input},
                                           {"MLUOP_GEN_CASE_DUMP_DATA_OUTPUT", row.output},
                                           {"MLUOP_GEN_CASE_DUMP_DATA_FILE", row.file}};
    const Handle handle;
    const OperatorCall call(handle, pooling);
    EXPECT_EQ(record(call), text_with(row.elements));
    if (row.file != nullptr && *row.file == '1') {
      EXPECT_EQ(bytes_of(raw_file("pos_memo")), bytes_of(call["pos_memo"]));
    }
  }
}

// Tensors of more than 65536 elements are in files, unless the format is stated.
TEST_F(ApiGenCase, LargeTensors) {
  constexpr int kInline = 65536, kChannels = 16;
  for (const char* format : {static_cast<const char*>(nullptr), "2"}) {
    for (const int points : {kInline / kChannels, kInline / kChannels + 1}) {
      SCOPED_TRACE(points);
      const ScopedEnvironment input("MLUOP_GEN_CASE_DUMP_DATA", format);
      const Handle handle;
      const OperatorCall call(handle, pooling_of(points, kChannels));
      const cases::Operand& features = call["input_features"];
      std::ostringstream bits;
      for (int i = 0; i < points * kChannels; ++i) {
        features.as<int32_t>()[i] = i;
        bits << (i == 0 ? "" : ", ") << '"' << std::hex << i << '"';
      }
      const std::string text = record(call);
      if (format == nullptr && points * kChannels > kInline) {
        EXPECT_THAT(text, HasSubstr("path: \"*_input_features.bin\""));
        EXPECT_EQ(bytes_of(raw_file("input_features")), bytes_of(features));
      } else {
        EXPECT_TRUE(text.find("value_h: [" + bits.str() + ']') != text.npos);
      }
    }
  }
}

// Bits of numbers, and decimals that have all bits: NaN with payloads, infinities, zeros and subnormals of both
// signs.
TEST_F(ApiGenCase, Values) {
  const struct {
    const char* format;
    mluOpDataType_t dtype;
    std::vector<uint32_t> bits;
    const char* text;
  } kTable[] = {
      {"2",
       MLUOP_DTYPE_FLOAT,
       {0x7FC00001, 0xFF800123, 0x7F800000, 0xFF800000, 0x80000000, 0, 1, 0x807FFFFF, 0x7F7FFFFF, 0xFFFFFFFF, 0xA},
       R"(value_h: ["7fc00001", "ff800123", "7f800000", "ff800000", "80000000", "0", "1", "807fffff", )"
       R"("7f7fffff", "ffffffff", "a"])"},
      {"1",
       MLUOP_DTYPE_FLOAT,
       {0x3DCCCCCD, 0xFF800000, 0x7F800000, 0x80000000, 1, 0x7F7FFFFF, 0x4B800000},
       "value_f: [0.1, -inf, inf, -0, 1e-45, 3.4028235e+38, 16777216]"},
      {"1", MLUOP_DTYPE_HALF, {0x2E66, 0xFC00, 1}, "value_f: [0.099975586, -inf, 5.9604645e-08]"},
  };
  for (const auto& row : kTable) {
    const ScopedEnvironment format("MLUOP_GEN_CASE_DUMP_DATA", row.format);
    const Handle handle;
    const OperatorCall call(handle, pooling_of(static_cast<int>(row.bits.size()), 1, row.dtype));
    for (size_t i = 0; i < row.bits.size(); ++i) {
      cases::put_bits(call["input_features"].data, row.dtype, i, row.bits[i]);
    }
    EXPECT_THAT(record(call), HasSubstr(row.text));
  }
}

// Strides that dimensions of size 1 make possible.
TEST_F(ApiGenCase, Strides) {
  const Handle handle;
  OperatorCall call(handle, pooling);
  const Descriptor strided = Descriptor::with_strides(MLUOP_DTYPE_FLOAT, {1, 2, 2}, {7, 2, 1});
  call["input_features"].desc = strided;
  EXPECT_THAT(record(call),
              HasSubstr("dims: 1 dims: 2 dims: 2 dim_stride: 7 dim_stride: 2 dim_stride: 1 } layout:"));
}

// Outputs that are read, or partly left unchanged, are recorded with the contents before the call.
TEST_F(ApiGenCase, ContentsBeforeTheCall) {
  for (const char* file : {"0", "1"}) {
    const ScopedEnvironment files("MLUOP_GEN_CASE_DUMP_DATA_FILE", file);
    const Handle handle;
    const OperatorCall call(
        handle, make_case("ball_query", MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", 1}, {"n", 2}, {"nsample", 2}}));
    std::fill_n(call["new_xyz"].as<float>(), 3, 0.0F);
    std::fill_n(call["xyz"].as<float>(), 6, 0.0F);
    std::fill_n(call["idx"].as<int32_t>(), 2, 7);
    const auto before = bytes_of(call["idx"]);
    const std::string text = record(call);
    if (*file == '0') {
      EXPECT_THAT(text, HasSubstr("dtype: DTYPE_INT32 initial { value_i: [7, 7] } value_i: [0, 1] }"));
    } else {
      EXPECT_THAT(text, HasSubstr("INT32 initial { path: \"*_idx_initial.bin\" } path: \"*_idx.bin\" }"));
      EXPECT_EQ(bytes_of(raw_file("idx_initial")), before);
    }
  }
}

// A call with null inputs, which it does not read, has its outputs recorded.
TEST_F(ApiGenCase, CallsThatReadNothing) {
  const Handle handle;
  OperatorCall call(handle, make_case("voxelization", MLUOP_DTYPE_FLOAT,
                                      {{"n", 30}, {"f", 4}, {"max_points", 3}, {"max_voxels", 0}}));
  call["points"].data = nullptr;
  const std::string text = record(call);
  EXPECT_THAT(text, HasSubstr(R"({ id: "points" shape { dims: 30 dims: 4 } layout: LAYOUT_ARRAY dtype: )"
                              R"(DTYPE_FLOAT } )"));
  EXPECT_THAT(text, HasSubstr(R"({ id: "voxels" shape { dims: 0 dims: 3 dims: 4 } layout: LAYOUT_ARRAY dtype: )"
                              R"(DTYPE_FLOAT } )"));
  EXPECT_THAT(text, HasSubstr(R"({ id: "voxel_num" shape { dims: 1 } layout: LAYOUT_ARRAY dtype: DTYPE_INT32 )"
                              R"(value_i: [0] })"));
}

// Numbers, booleans, enumerations, a host array, and an empty array.
TEST_F(ApiGenCase, Parameters) {
  const struct {
    const char* op;
    std::map<std::string, int64_t> sizes;
    const char* end;
  } kTable[] = {
      {"voxelization",
       {{"n", 30}, {"f", 4}, {"max_points", 3}, {"max_voxels", 2}},
       " } voxelization_param { max_points: 3 max_voxels: 2 ndim: 3 deterministic: true }"},
      {"dynamic_point_to_voxel_forward",
       {},
       " } dynamic_point_to_voxel_forward_param { reduce_type: REDUCE_MODE_MAX }"},
      {"indice_convolution_forward",
       {{"num_act_in", 2}, {"num_act_out", 3}, {"ci", 1}, {"co", 1}, {"d", 1}, {"h", 1}, {"w", 2}},
       " } indice_convolution_forward_param { num_active_out: 3 inverse: 0 sub_m: 0 indice_num: 2 indice_num: 2 "
       "}"},
  };
  for (const auto& row : kTable) {
    EXPECT_THAT(record(make_case(row.op, MLUOP_DTYPE_FLOAT, row.sizes)), EndsWith(row.end));
  }
  EXPECT_THAT(record(make_case("three_nn_forward", MLUOP_DTYPE_FLOAT, {})), Not(HasSubstr("_param")));
  cases::Case means = make_case("dynamic_point_to_voxel_forward", MLUOP_DTYPE_FLOAT, {});
  means.parameters.set("reduce_type", MLUOP_REDUCEMODE_MEAN);
  EXPECT_THAT(record(means), EndsWith("{ reduce_type: REDUCE_MODE_MEAN }"));
}

// The decimals of the double that equals the float.
TEST_F(ApiGenCase, Radii) {
  cases::Case made = make_case("ball_query", MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", 3}, {"n", 4}, {"nsample", 2}});
  constexpr struct {
    float radius;
    const char* text;
  } kTable[] = {{0.1F, "0.10000000149011612"},
                {1.0F / 3, "0.3333333432674408"},
                {0x1p-149F, "1.401298464324817e-45"},
                {16777215, "16777215"},
                {kInfinity, "inf"}};
  for (const auto& row : kTable) {
    made.parameters.set_real("max_radius", double{row.radius});
    EXPECT_THAT(record(made), EndsWith(" } ball_query_param { min_radius: 0 max_radius: " + std::string(row.text) +
                                       " nsample: 2 }"));
  }
}

// The sparse convolution descriptor, with other values along each axis, and the number of output sites that the
// call has found.
TEST_F(ApiGenCase, SparseConvolutions) {
  for (const bool has_depth : {false, true}) {
    SCOPED_TRACE(has_depth);
    cases::Case made = make_case(
        "get_indice_pairs", MLUOP_DTYPE_INT32,
        {{"depth", 7}, {"height", 8}, {"width", 9}, {"sites", 30}, {"two_dimensions", has_depth ? 0 : 1}});
    std::string parameters = has_depth ? "{ dimnb: 5 batch: 2" : "{ dimnb: 4 batch: 2";
    for (auto [name, values] :
         std::vector<std::pair<std::string, std::vector<int64_t>>>{{"pad", {0, 1, 2}},
                                                                   {"stride", {1, 2, 1}},
                                                                   {"dilation", {1, 1, 1}},
                                                                   {"input_space", {7, 8, 9}},
                                                                   {"filter_space", {3, 2, 3}},
                                                                   {"output_space", {5, 5, 11}}}) {
      if (!has_depth) values.erase(values.begin());
      made.parameters.set(name, values);
      for (const int64_t value : values) parameters += ' ' + name + ": " + std::to_string(value);
    }
    parameters += " sub_m: 0 num_act_out: ";
    made.outputs[1].dims[0] = made.outputs[2].dims[0] = has_depth ? 18 : 6;
    made.outputs[0].dims[0] = has_depth ? 540 : 110;
    const std::string text = record(made);
    const size_t at = text.find(parameters);
    ASSERT_NE(at, text.npos) << text;
    const int found = std::stoi(text.substr(at + parameters.size()));
    EXPECT_GT(found, 0);
    // A call that finds another number throws an exception.
    made.parameters.set("num_act_out", found);
    const Handle handle;
    EXPECT_EQ(OperatorCall(handle, made).run(), MLUOP_STATUS_SUCCESS);
  }
}

// The operator of two names is recorded under the name of the called function.
TEST_F(ApiGenCase, DynamicScatterBackward) {
  const Handle handle;
  const OperatorCall call(handle, make_case("dynamic_point_to_voxel_backward", MLUOP_DTYPE_FLOAT, {}));
  const cases::Arguments& a = call.arguments;
  require(mluOpDynamicScatterBackward(handle, MLUOP_REDUCE_DMAX, a[0].desc, a[0].data, a[1].desc, a[1].data,
                                      a[2].desc, a[2].data, a[3].desc, a[3].data, a[4].desc, a[4].data, a[5].desc,
                                      a[5].data, a.workspace, a.workspace_size, a[6].desc, a[6].data));
  const std::string text = text_of_recording(case_files(folder()).at(0));
  EXPECT_THAT(text, StartsWith("op_name: \"dynamic_scatter_backward\" "));
  EXPECT_THAT(text, EndsWith(" } dynamic_scatter_backward_param { reduce_type: REDUCE_MODE_MAX }"));
}

TEST(RecordingCaseSettings, OperatorNames) {
  constexpr struct {
    const char *function, *name;
  } kTable[] = {
      {"mluOpVoxelPoolingForward", "voxel_pooling_forward"},
      {"mluOpOmpVoxelPoolingBackward", "voxel_pooling_backward"},
      {"mluOpThreeNNForward", "three_nn_forward"},
      {"mluOpMaskedIm2colForward", "masked_im2col_forward"},
      {"mluOpGetIndicePairs", "get_indice_pairs"},
      {"mluOpRoiPointPool3d", "roipoint_pool3d"},
      {"mluOpExecFFT", "fft"},
      {"mluOpAB", "ab"},
      {"example", "example"},
      {"mluOp", ""},
  };
  for (const auto& row : kTable) EXPECT_EQ(op_name_of(row.function), row.name);
}

}  // namespace
}  // namespace mluop::test
