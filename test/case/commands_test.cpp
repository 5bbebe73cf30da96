// Commands on failing and invalid cases.
#include "case/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "case/call.h"
#include "case/data.h"
#include "case/files.h"
#include "case/read.h"
#include "case/report.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const std::string kCases = std::string(MLUOP_OMP_SOURCE_DIR) + "/test/cases";

// An empty folder of the running test.
std::string folder() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = ::testing::TempDir() + "/mluop_case_" + info->name();
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

Case stored_case(const std::string& name) { return read_case(kCases + "/" + name + ".prototxt"); }

void expect_outcome(const Outcome& outcome, Status status, const std::string& message) {
  EXPECT_EQ(outcome.status, status);
  EXPECT_THAT(outcome.message, HasSubstr(message));
}

// Sets the elements to these numbers.
void state(Elements& elements, mluOpDataType_t dtype, const std::vector<double>& numbers) {
  elements.source = Elements::Source::kInline;
  elements.bytes.resize(numbers.size() * element_size(dtype));
  for (size_t i = 0; i < numbers.size(); ++i) {
    put_bits(elements.bytes.data(), dtype, i, bits_of_number(dtype, numbers[i]));
  }
}

// A stored case that states the library's result as the result of its first output.
Case with_stated_result(const std::string& name) {
  Case stated = stored_case(name);
  const LoadedCase loaded(stated);
  Run library(loaded, MLUOP_OMP_ALGORITHM_NATIVE);
  library.call();
  const Operand& result = library[stated.inputs.size()];
  stated.outputs[0].elements = {.source = Elements::Source::kInline,
                                .bytes = Bytes(result.data, result.data + result.bytes())};
  return stated;
}

Case with_broken_channel() {
  Case broken = with_stated_result("voxel_pooling_forward/small_float");
  std::byte* data = broken.outputs[0].elements.bytes.data();
  for (size_t i = 5; i < static_cast<size_t>(element_count(broken.outputs[0])); i += 8) {
    const double number = number_at(data, MLUOP_DTYPE_FLOAT, i);
    put_bits(data, MLUOP_DTYPE_FLOAT, i, bits_of_number(MLUOP_DTYPE_FLOAT, number + 1));
  }
  return broken;
}

RunOptions both_algorithms() { return {.algorithms = {"native", "device"}}; }

// The outcome of a stored case, written to `path`, that names this file of weights.
Outcome outcome_of(const std::string& path, const std::string& weights, const RunOptions& options = {}) {
  Case named = stored_case("three_interpolate_backward/by_hand");
  named.inputs[2].elements.path = weights;
  write_case(named, path + "/x.prototxt");
  return run_file(path + "/x.prototxt", options).front();
}

// A failing case in both algorithms, an invalid one, and one that passes.
TEST(CaseCommands, Reports) {
  const std::string path = folder();
  write_case(with_broken_channel(), path + "/broken.pb");
  std::ofstream(path + "/invalid.prototxt") << "op_name: \"<unknown>\"";
  fs::copy_file(kCases + "/ball_query/by_hand.prototxt", path + "/good.prototxt");
  RunCommand command;
  command.paths = {path};
  command.options = both_algorithms();
  command.options.repeat = 1;
  command.junit = path + "/junit.xml";
  command.json = path + "/report.json";
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_command(command), kInvalid);
  const std::string output = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(output, AllOf(HasSubstr("output_features against the stored: bits differ"),
                            HasSubstr("distribution: one channel: 5 of 8 (dim 3)"),
                            HasSubstr("5 runs: 2 passed, 2 failed, 1 invalid")));
  EXPECT_THAT(read_file(command.junit, {}),
              AllOf(HasSubstr("tests=\"5\" failures=\"2\" errors=\"1\""),
                    HasSubstr("unknown operator '&lt;unknown&gt;'"), HasSubstr("one channel: 5 of 8 (dim 3)")));
  const auto cases = nlohmann::json::parse(read_file(command.json, {})).at("cases");
  ASSERT_EQ(cases.size(), 5U);
  const auto& stated = cases[0].at("outputs")[1];
  EXPECT_EQ(stated.at("baseline"), "stored");
  EXPECT_EQ(stated.at("errors").at("worst").size(), 5U);
  EXPECT_GT(cases[2].at("latency"), 0);
  for (const auto& [i, status] : {std::pair(0, "failed"), {2, "passed"}, {4, "invalid"}}) {
    EXPECT_EQ(cases[static_cast<size_t>(i)].at("status"), status);
  }
}

// The elements of outputs that a call may leave unchanged start at 0; other outputs start at values that show
// unwritten elements.
TEST(CaseCommands, OutputsBeforeTheCall) {
  const Case query = stored_case("ball_query/small_half"), neighbors = stored_case("three_nn_forward/small_half");
  const LoadedCase kept(query), written(neighbors);
  EXPECT_EQ(kept.before(2), Bytes(kept.before(2).size(), std::byte{0}));
  EXPECT_TRUE(std::isnan(number_at(written.before(2).data(), MLUOP_DTYPE_HALF, 7)));
  EXPECT_LT(number_at(written.before(3).data(), MLUOP_DTYPE_INT32, 7), 0);
}

TEST(CaseCommands, MessagesOfCalls) {
  // A call that the library rejects.
  Case rejected = stored_case("masked_im2col_forward/by_hand");
  rejected.outputs[0].dims = {17, 2};
  expect_outcome(run_case(rejected, {}).front(), Status::kFailed, "data_col dim 0 is 17, expected 18");
  // A stated number of output sites.
  Case pairs = stored_case("get_indice_pairs/small");
  pairs.parameters.set("num_act_out", 3);
  expect_outcome(run_case(pairs, {}).front(), Status::kFailed, "num_act_out is");
  // Host arrays and the arrays of descriptors have the lengths that the library reads.
  pairs.parameters.set("stride", std::vector<int64_t>{1});
  expect_outcome(run_case(pairs, {}).front(), Status::kInvalid, "stride has 1 values, expected 3");
  Case convolution = stored_case("indice_convolution_forward/small_float");
  convolution.parameters.set("indice_num", std::vector<int64_t>{1, 2});
  expect_outcome(run_case(convolution, {}).front(), Status::kInvalid, "indice_num has 2 values, expected 9");
}

// Paths without a file of elements: the message names the field, and no command blocks.
TEST(CaseCommands, PathsOfNoFile) {
  const std::string path = folder();
  std::ofstream(path + "/short.bin") << "12345";
  std::ofstream(path + "/packed.bin.zst") << "x";
  fs::create_directory(path + "/folder");
  ASSERT_EQ(mkfifo((path + "/pipe").c_str(), 0600), 0);
  fs::create_symlink("loop", path + "/loop");
  fs::create_symlink("/dev/zero", path + "/device");
  const std::string longest(NAME_MAX, 'x');
  const std::pair<const char*, std::vector<std::string>> files_of_messages[] = {
      {"has 5 bytes, expected 18 for half [1, 3, 3]", {"short.bin"}},
      {"zstd -d", {"packed.bin"}},
      {"is not a regular file", {"folder", "pipe", "device", ""}},
      {"is missing", {longest, "folder/x", "pipe/x"}},
      {"Too many levels of symbolic links", {"loop", "loop/x.bin.zst"}},
      {"File name too long", {longest + "x", std::string(PATH_MAX, '/') + "x"}},
  };
  for (const auto& [message, files] : files_of_messages) {
    for (const std::string& file : files) {
      SCOPED_TRACE(file);
      const Outcome outcome = outcome_of(path, file);
      expect_outcome(outcome, Status::kInvalid, message);
      EXPECT_THAT(outcome.message, MatchesRegex(".*/x.prototxt:[0-9]+: input.2. .weights..path: .*"));
    }
  }
}

// Paths of elements before and after the call: absolute, with "..", and through links.
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
  const RunOptions own_files{.own_files = true};
  const std::vector<std::string> inside = {"w.bin",        path + "/own/w.bin", "sub/../w.bin",
                                           "../own/w.bin", "up/own/w.bin",      "z.zst"};
  const std::vector<std::string> outside = {"../w.bin", path + "/w.bin",  "sub/../../w.bin", "link.bin",
                                            "up/w.bin", "../owner/w.bin", "packed.zst"};
  const auto expect_status = [&](const std::string& file, Status status, const std::string& message) {
    SCOPED_TRACE(file);
    for (const std::string& of_case : {path + "/own", path + "/alias"}) {
      expect_outcome(outcome_of(of_case, file), Status::kPassed, "");
      expect_outcome(outcome_of(of_case, file, own_files), status, message);
    }
  };
  for (const std::string& file : inside) expect_status(file, Status::kPassed, "");
  for (const std::string& file : outside) {
    expect_status(file, Status::kInvalid, ".path: file " + file + " is outside the folder of the case");
  }
  Case contents = stored_case("ball_query/by_hand");
  contents.file = path + "/own/x.prototxt";
  const Elements elsewhere{.source = Elements::Source::kFile, .path = "../w.bin"};
  for (std::optional<Elements>* elements : {&contents.outputs[0].initial, &contents.inputs[0].result}) {
    const std::optional<Elements> own = *elements;
    *elements = elsewhere;
    EXPECT_THROW(require_own_files(contents), Problem);
    *elements = own;
    EXPECT_NO_THROW(require_own_files(contents));
  }
  contents.outputs[0].elements = elsewhere;
  EXPECT_THROW(require_own_files(contents), Problem);
}

// A killed run leaves a line for each outcome; appending "]}" makes the report valid.
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
  const RunOptions options = both_algorithms();
  const Report report = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.algorithm, options.algorithms[reported++]);
  };
  run_file(kCases + "/ball_query/by_hand.prototxt", options, report);
  EXPECT_EQ(reported, 2U);
}

// Three features of the value, weights 1, or the value if that is less: the sum is rounded to the data type once.
Case sum_of_three(mluOpDataType_t dtype, double value) {
  const Recipe recipe{.sizes = {{"b", 1}, {"c", 1}, {"m", 3}, {"n", 5}}, .dtype = dtype};
  Case sum = operator_of("three_interpolate_forward", {}).make(recipe);
  state(sum.inputs[0].elements, dtype, std::vector<double>(3, value));
  state(sum.inputs[2].elements, dtype, std::vector<double>(15, std::min(value, 1.0)));
  return sum;
}

TEST(CaseCommands, SumsBeyondTheRangeOfTheDataType) {
  const RunOptions options = both_algorithms();
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

// A stated finite value of an element that overflows: the message names the element.
TEST(CaseCommands, OneInfinity) {
  Case sum = sum_of_three(MLUOP_DTYPE_HALF, 60000);
  state(sum.outputs[0].elements, MLUOP_DTYPE_HALF, {HUGE_VAL, HUGE_VAL, HUGE_VAL, 65504, HUGE_VAL});
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
  write_file(path + "/a", {reinterpret_cast<const char*>(a), sizeof(a)});
  write_file(path + "/b", {reinterpret_cast<const char*>(b), sizeof(b)});
  write_file(path + "/c", {reinterpret_cast<const char*>(b), 7});
  DiffCommand command{path + "/a", path + "/b"};
  command.shape = {2, 3};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(diff_command(command), kFailed);
  const std::string output = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(output, HasSubstr("diff1 0.0455"));
  EXPECT_THAT(output, HasSubstr("[1, 2]"));
  EXPECT_THAT(output, HasSubstr("  max absolute     1\n"));
  EXPECT_THAT(output, HasSubstr("0: 5, 1048577 to 2097152: 1\n"));
  command.rtol = 0.1;
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(diff_command(command), kFailed);
  command.atol = 0.3;
  EXPECT_EQ(diff_command(command), kPassed);
  command.atol = -1;
  EXPECT_THROW(diff_command(command), CallFailed);
  // Two empty files, and a case that states that there are no elements.
  std::ofstream(path + "/none").close();
  DiffCommand empty{path + "/none", path + "/none"};
  EXPECT_THROW(diff_command(empty), Problem);
  empty.shape = {0, 3};
  EXPECT_EQ(diff_command(empty), kPassed);
  ::testing::internal::GetCapturedStdout();
  command.rtol = command.atol = std::nullopt;
  EXPECT_THROW(diff_command({path + "/a", path + "/c"}), Problem);
  command.shape = {4};
  EXPECT_THROW(diff_command(command), Problem);
}

// With --bits, a result must have the bits of the stated result of its algorithm.
TEST(CaseCommands, BitsOfStatedResults) {
  Case stated = with_stated_result("three_interpolate_backward/small_float");
  const RunOptions bits{.bits = true};
  EXPECT_EQ(run_case(stated, bits).front().status, Status::kPassed);
  stated.outputs[0].elements.bytes[0] ^= std::byte{1};
  EXPECT_EQ(run_case(stated, bits).front().status, Status::kFailed);
  EXPECT_EQ(run_case(stated, {}).front().status, Status::kPassed);
}

}  // namespace
}  // namespace mluop::cases
