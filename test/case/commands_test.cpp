// Commands on failing and invalid cases.
#include "case/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <climits>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "case/call.h"
#include "case/data.h"
#include "case/read.h"
#include "case/report.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kCases = std::string(MLUOP_OMP_SOURCE_DIR) + "/test/cases";

// An empty folder of the running test.
std::string folder() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = ::testing::TempDir() + "/mluop_case_" + info->name();
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

struct Result {
  int status;
  std::string output;
};

Result run(RunCommand command) {
  ::testing::internal::CaptureStdout();
  const int status = run_command(command);
  return {status, ::testing::internal::GetCapturedStdout()};
}

// The results that the library has, as what the case states, with channel 5 changed.
Case with_broken_channel() {
  Case broken = read_case(kCases + "/voxel_pooling_forward/small_float.prototxt");
  const std::string saved = folder();
  RunCommand command;
  command.paths = {broken.file};
  command.options.save_output = saved;
  run(command);
  const std::string raw = read_file(saved + "/small_float.prototxt.native.output_features.bin", {});
  Elements& stated = broken.outputs[0].elements;
  stated.source = Elements::Source::kInline;
  stated.bytes.resize(raw.size());
  std::memcpy(stated.bytes.data(), raw.data(), raw.size());
  for (size_t i = 5; i < raw.size() / sizeof(float); i += 8) {
    put_bits(stated.bytes.data(), MLUOP_DTYPE_FLOAT, i,
             bits_at(stated.bytes.data(), MLUOP_DTYPE_FLOAT, i) + (1 << 20));
  }
  return broken;
}

TEST(CaseCommands, ReportNamesTheBrokenChannel) {
  const Case broken = with_broken_channel();
  const std::string file = folder() + "/broken.prototxt";
  write_case(broken, file);
  RunCommand command;
  command.paths = {file};
  const Result result = run(command);
  EXPECT_EQ(result.status, kFailed);
  EXPECT_THAT(result.output, HasSubstr("output_features against the stored: bits differ"));
  EXPECT_THAT(result.output, HasSubstr("distribution: one channel: 5 of 8 (dim 3)"));
  EXPECT_THAT(result.output, HasSubstr("1 run: 0 passed, 1 failed, 0 invalid"));
}

// Reports hold the same.
TEST(CaseCommands, ReportsInFiles) {
  const Case broken = with_broken_channel();
  const std::string path = folder();
  write_case(broken, path + "/broken.pb");
  std::ofstream(path + "/invalid.prototxt") << "op_name: \"<unknown>\"";
  fs::copy_file(kCases + "/ball_query/by_hand.prototxt", path + "/good.prototxt");
  RunCommand command;
  command.paths = {path};
  command.options.algorithms = {"native", "device"};
  command.options.repeat = 1;
  command.junit = path + "/junit.xml";
  command.json = path + "/report.json";
  EXPECT_EQ(run(command).status, kInvalid);
  const std::string junit = read_file(command.junit, {});
  EXPECT_THAT(junit, HasSubstr("tests=\"5\" failures=\"2\" errors=\"1\""));
  EXPECT_THAT(junit, HasSubstr("unknown operator '&lt;unknown&gt;'"));
  EXPECT_THAT(junit, HasSubstr("one channel: 5 of 8 (dim 3)"));
  const auto report = nlohmann::json::parse(read_file(command.json, {}));
  ASSERT_EQ(report.at("cases").size(), 5U);
  const auto& first = report.at("cases")[0];
  EXPECT_EQ(first.at("status"), "failed");
  EXPECT_EQ(first.at("outputs")[1].at("baseline"), "stored");
  EXPECT_EQ(first.at("outputs")[1].at("errors").at("worst").size(), 5U);
  EXPECT_EQ(report.at("cases")[2].at("status"), "passed");
  EXPECT_GT(report.at("cases")[2].at("latency"), 0);
  EXPECT_EQ(report.at("cases")[4].at("status"), "invalid");
}

// Outputs that a call may leave in part start at 0, others at values that show elements that the call does not
// write.
TEST(CaseCommands, OutputsBeforeTheCall) {
  const Case query = read_case(kCases + "/ball_query/small_half.prototxt");
  const Case neighbors = read_case(kCases + "/three_nn_forward/small_half.prototxt");
  const LoadedCase kept(query), written(neighbors);
  EXPECT_EQ(kept.before(2), Bytes(kept.before(2).size(), std::byte{0}));
  EXPECT_TRUE(std::isnan(number_at(written.before(2).data(), MLUOP_DTYPE_HALF, 7)));
  EXPECT_LT(number_at(written.before(3).data(), MLUOP_DTYPE_INT32, 7), 0);
}

// A call that the library rejects fails; the other cases run.
TEST(CaseCommands, RejectedCall) {
  Case rejected = read_case(kCases + "/masked_im2col_forward/by_hand.prototxt");
  rejected.outputs[0].dims = {17, 2};
  const std::string path = folder();
  write_case(rejected, path + "/rejected.prototxt");
  fs::copy_file(kCases + "/ball_query/by_hand.prototxt", path + "/z.prototxt");
  RunCommand command;
  command.paths = {path};
  const Result result = run(command);
  EXPECT_EQ(result.status, kFailed);
  EXPECT_THAT(result.output, HasSubstr("data_col dim 0 is 17, expected 18"));
  EXPECT_THAT(result.output, HasSubstr("2 runs: 1 passed, 1 failed, 0 invalid"));
}

// Host arrays and the arrays of descriptors have the lengths that the library reads.
TEST(CaseCommands, ArraysOfOtherLengths) {
  Case convolution = read_case(kCases + "/indice_convolution_forward/small_float.prototxt");
  convolution.parameters.set("indice_num", std::vector<int64_t>{1, 2});
  Case pairs = read_case(kCases + "/get_indice_pairs/small.prototxt");
  pairs.parameters.set("stride", std::vector<int64_t>{1});
  RunOptions options;
  EXPECT_THAT(run_case(convolution, options).front().message, HasSubstr("indice_num has 2 values, expected 9"));
  EXPECT_EQ(run_case(convolution, options).front().status, Status::kInvalid);
  EXPECT_THAT(run_case(pairs, options).front().message, HasSubstr("stride has 1 values, expected 3"));
}

TEST(CaseCommands, StatedNumberOfOutputSites) {
  Case pairs = read_case(kCases + "/get_indice_pairs/small.prototxt");
  pairs.parameters.set("num_act_out", 3);
  EXPECT_THAT(run_case(pairs, {}).front().message, HasSubstr("num_act_out is"));
  EXPECT_EQ(run_case(pairs, {}).front().status, Status::kFailed);
}

TEST(CaseCommands, MissingAndShortRawFiles) {
  const std::string path = folder();
  const std::string file = path + "/by_hand.prototxt";
  fs::copy_file(kCases + "/three_interpolate_backward/by_hand.prototxt", file);
  EXPECT_THAT(run_file(file, {}).front().message, HasSubstr("by_hand.prototxt:22: input[2] (weights).path: file"));
  std::ofstream(path + "/weights.bin.zst") << "x";
  EXPECT_THAT(run_file(file, {}).front().message, HasSubstr("zstd -d"));
  std::ofstream(path + "/weights.bin") << "12345";
  EXPECT_THAT(run_file(file, {}).front().message, HasSubstr("has 5 bytes, expected 18 for half [1, 3, 3]"));
  EXPECT_EQ(run_file(file, {}).front().status, Status::kInvalid);
}

// Paths that lead to no file of elements: the field is named, and nothing blocks.
TEST(CaseCommands, PathsOfNoFile) {
  const std::string path = folder();
  fs::create_directory(path + "/folder");
  ASSERT_EQ(mkfifo((path + "/pipe").c_str(), 0600), 0);
  fs::create_symlink("loop", path + "/loop");
  fs::create_symlink("/dev/zero", path + "/device");
  const std::string longest(NAME_MAX, 'x');
  for (const auto& [file, message] : std::vector<std::pair<std::string, std::string>>{
           {"folder", "is not a regular file"},
           {"pipe", "is not a regular file"},
           {"device", "is not a regular file"},
           {"", "is not a regular file"},
           {"loop", "Too many levels of symbolic links"},
           {"loop/x.bin.zst", "Too many levels of symbolic links"},
           {longest, "is missing"},
           {longest + "x", "File name too long"},
           {std::string(PATH_MAX, '/') + "x", "File name too long"},
           {"folder/x", "is missing"},
           {"pipe/x", "is missing"},
       }) {
    SCOPED_TRACE(file);
    Case named = read_case(kCases + "/three_interpolate_backward/by_hand.prototxt");
    named.inputs[2].elements.path = file;
    write_case(named, path + "/x.prototxt");
    const auto outcome = run_file(path + "/x.prototxt", {}).front();
    EXPECT_EQ(outcome.status, Status::kInvalid);
    EXPECT_THAT(outcome.message, ::testing::MatchesRegex(".*/x.prototxt:[0-9]+: input.2. .weights..path: .*"));
    EXPECT_THAT(outcome.message, HasSubstr(message));
  }
}

// Absolute, upwards and through links, of elements before and after the call.
TEST(CaseCommands, FilesOutsideTheFolder) {
  const std::string path = folder();
  for (const char* name : {"/own/sub", "/owner"}) fs::create_directories(path + name);
  const std::string weights = kCases + "/three_interpolate_backward/weights.bin";
  for (const char* name : {"/w.bin", "/owner/w.bin", "/own/w.bin", "/own/sub/w.bin", "/own/z"})
    fs::copy_file(weights, path + name);
  fs::create_symlink("../w.bin", path + "/own/link.bin");
  fs::create_symlink("../w.bin", path + "/own/packed");
  fs::create_symlink("..", path + "/own/up");
  fs::create_symlink("own", path + "/alias");
  RunOptions options;
  options.own_files = true;
  const auto is_rejected = [&](const std::string& file, const std::string& case_folder) {
    Case named = read_case(kCases + "/three_interpolate_backward/by_hand.prototxt");
    named.inputs[2].elements.path = file;
    write_case(named, path + "/own/x.prototxt");
    EXPECT_EQ(run_file(case_folder + "/x.prototxt", {}).front().status, Status::kPassed);
    const Outcome outcome = run_file(case_folder + "/x.prototxt", options).front();
    if (outcome.status == Status::kPassed) return false;
    EXPECT_EQ(outcome.status, Status::kInvalid);
    EXPECT_THAT(outcome.message, HasSubstr(".path: file " + file + " is outside the folder of the case"));
    return true;
  };
  for (const std::string& file :
       {std::string("../w.bin"), path + "/w.bin", std::string("sub/../../w.bin"), std::string("link.bin"),
        std::string("up/w.bin"), std::string("../owner/w.bin"), std::string("packed.zst")}) {
    EXPECT_TRUE(is_rejected(file, path + "/own")) << file;
  }
  for (const std::string& file :
       {std::string("w.bin"), path + "/own/w.bin", std::string("sub/../w.bin"), std::string("../own/w.bin"),
        std::string("up/own/w.bin"), std::string("z.zst")}) {
    EXPECT_FALSE(is_rejected(file, path + "/own")) << file;
    EXPECT_FALSE(is_rejected(file, path + "/alias")) << file;
  }
  Case contents = read_case(kCases + "/ball_query/by_hand.prototxt");
  contents.file = path + "/own/x.prototxt";
  Elements outside;
  outside.source = Elements::Source::kFile;
  outside.path = "../w.bin";
  for (std::optional<Elements>* elements : {&contents.outputs[0].initial, &contents.inputs[0].result}) {
    const std::optional<Elements> own = *elements;
    *elements = outside;
    EXPECT_THROW(require_own_files(contents), Problem);
    *elements = own;
    EXPECT_NO_THROW(require_own_files(contents));
  }
  contents.outputs[0].elements = outside;
  EXPECT_THROW(require_own_files(contents), Problem);
}

// What a killed run leaves: a line for each outcome, which "]}" makes a list.
TEST(CaseCommands, JsonOfAnUnfinishedRun) {
  const std::string file = folder() + "/report.json";
  JsonReport report(file);
  for (const char* name : {"a", "b\n"}) {
    Outcome outcome;
    outcome.file = name;
    report.add(outcome);
    const std::string contents = read_file(file, {});
    EXPECT_EQ(nlohmann::json::parse(contents + "]}").at("cases").back().at("file"), name);
    EXPECT_EQ(nlohmann::json::parse(contents.substr(contents.rfind('\n'))).at("file"), name);
  }
  report.finish();
  EXPECT_EQ(nlohmann::json::parse(read_file(file, {})).at("cases").size(), 2U);
  // A run that an exception ends.
  { const JsonReport unfinished(file); }
  EXPECT_EQ(nlohmann::json::parse(read_file(file, {})).at("cases").size(), 0U);
}

// One outcome is reported before the next algorithm runs.
TEST(CaseCommands, OutcomesAreReportedInTurn) {
  size_t reported = 0;
  RunOptions options;
  options.algorithms = {"native", "device"};
  const Report report = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.algorithm, options.algorithms[reported++]);
  };
  run_file(kCases + "/ball_query/by_hand.prototxt", options, report);
  EXPECT_EQ(reported, 2U);
}

// Three features of the value, weights 1: the sum is rounded to the data type once.
Case sum_of_three(mluOpDataType_t dtype, double value) {
  Recipe recipe;
  recipe.sizes = {{"b", 1}, {"c", 1}, {"m", 3}, {"n", 5}};
  recipe.dtype = dtype;
  Case sum = operator_of("three_interpolate_forward", {}).make(recipe);
  for (const size_t i : {size_t{0}, size_t{2}}) {
    Elements& elements = sum.inputs[i].elements;
    elements.source = Elements::Source::kInline;
    elements.bytes.resize(byte_count(sum.inputs[i]));
    for (size_t k = 0; k < static_cast<size_t>(element_count(sum.inputs[i])); ++k) {
      put_bits(elements.bytes.data(), dtype, k, bits_of_number(dtype, i == 0 ? value : value < 1 ? value : 1));
    }
  }
  return sum;
}

TEST(CaseCommands, SumsBeyondTheRangeOfTheDataType) {
  RunOptions options;
  options.algorithms = {"native", "device"};
  for (const Metric metric :
       {Metric::kDiff1, Metric::kDiff2, Metric::kDiff3, Metric::kDiff3_2, Metric::kDiff4, Metric::kBits}) {
    for (const double value : {60000.0, -60000.0, 0x1p-14, 0x1.8p-13}) {
      Case sum = sum_of_three(MLUOP_DTYPE_HALF, value);
      sum.criteria = {{metric, 0}};
      for (const Outcome& outcome : run_case(sum, options)) {
        SCOPED_TRACE(std::string(name_of(metric)) + ' ' + std::to_string(value) + ' ' + outcome.algorithm);
        EXPECT_EQ(outcome.status, Status::kPassed);
      }
    }
  }
  for (const double value : {3e38, -3e38, 1e-30}) {
    for (const Outcome& outcome : run_case(sum_of_three(MLUOP_DTYPE_FLOAT, value), options)) {
      EXPECT_EQ(outcome.status, Status::kPassed) << value;
      EXPECT_EQ(outcome.outputs[0].judgments[0].value, "0") << value;
    }
  }
}

// A stated finite value of an element that overflows: the element is named.
TEST(CaseCommands, OneInfinity) {
  Case sum = sum_of_three(MLUOP_DTYPE_HALF, 60000);
  Elements& stated = sum.outputs[0].elements;
  stated.source = Elements::Source::kInline;
  for (size_t i = 0; i < 5; ++i) {
    stated.bytes.resize((i + 1) * 2);
    put_bits(stated.bytes.data(), MLUOP_DTYPE_HALF, i,
             bits_of_number(MLUOP_DTYPE_HALF, i == 3 ? 65504 : HUGE_VAL));
  }
  const Outcome outcome = run_case(sum, {}).front();
  EXPECT_EQ(outcome.status, Status::kFailed);
  EXPECT_TRUE(outcome.outputs[0].passed());
  EXPECT_EQ(outcome.outputs[1].judgments[0].value, "NaN or infinity");
  EXPECT_EQ(outcome.outputs[1].errors->wrong, 1);
  EXPECT_EQ(outcome.outputs[1].errors->worst[0].position, (Dims{0, 0, 3}));
}

TEST(CaseCommands, DiffOfRawFiles) {
  const std::string path = folder();
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2, 3, 4, 5, 7};
  write_file(path + "/a", reinterpret_cast<const char*>(a), sizeof(a));
  write_file(path + "/b", reinterpret_cast<const char*>(b), sizeof(b));
  write_file(path + "/c", reinterpret_cast<const char*>(b), 7);
  DiffCommand command{path + "/a", path + "/b"};
  command.shape = {2, 3};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(diff_command(command), kFailed);
  const std::string output = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(output, HasSubstr("diff1 0.0455"));
  EXPECT_THAT(output, HasSubstr("[1, 2]"));
  EXPECT_THROW(diff_command({path + "/a", path + "/c"}), Problem);
  command.shape = {4};
  EXPECT_THROW(diff_command(command), Problem);
}

// Stated results must have the same bits if --bits requires it, in either algorithm whose result they are.
TEST(CaseCommands, BitsOfStatedResults) {
  Case stated = read_case(kCases + "/three_interpolate_backward/small_float.prototxt");
  const std::string saved = folder();
  RunCommand command;
  command.paths = {stated.file};
  command.options.save_output = saved;
  run(command);
  stated.outputs[0].elements.source = Elements::Source::kFile;
  stated.outputs[0].elements.path = "small_float.prototxt.native.grad_features.bin";
  const std::string file = saved + "/stated.prototxt";
  write_case(stated, file);
  command.paths = {file};
  command.options = {};
  command.options.bits = true;
  EXPECT_EQ(run(command).status, kPassed);
  std::fstream raw(saved + "/small_float.prototxt.native.grad_features.bin",
                   std::ios::in | std::ios::out | std::ios::binary);
  const int last_bit = raw.get() ^ 1;
  raw.seekp(0).put(static_cast<char>(last_bit));
  raw.close();
  EXPECT_EQ(run(command).status, kFailed);
  command.options.bits = false;
  EXPECT_EQ(run(command).status, kPassed);
}

}  // namespace
}  // namespace mluop::cases
