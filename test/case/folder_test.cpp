// Cases as folders: export and import of every operator; folders made by hand; folders that import refuses.
#include "case/case_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "case/data.h"
#include "case/files.h"
#include "case/npy.h"
#include "case/operators.h"
#include "case/read.h"
#include "case/reduce.h"
#include "case/runner.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// An empty folder of the running test.
std::string empty_folder() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = ::testing::TempDir() + "/mluop_folder_" + info->name();
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

Case generated(const Operator& op, mluOpDataType_t dtype) { return op.make(default_recipe(op, dtype)); }

// Elements with arbitrary bits: negative zeros, payloads of NaN, values of Booleans beyond 1.
Elements any_bits(const Tensor& tensor) {
  Elements elements{.source = Elements::Source::kInline, .bytes = Bytes(byte_count(tensor))};
  uint32_t state = 1;
  for (std::byte& byte : elements.bytes)
    byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  const auto count = static_cast<size_t>(element_count(tensor));
  const size_t top = 8 * element_size(tensor.dtype) - 1;
  if (count > 1) put_bits(elements.bytes.data(), tensor.dtype, 0, uint64_t{1} << top);
  if (count > 2) put_bits(elements.bytes.data(), tensor.dtype, 1, ~uint64_t{2});
  return elements;
}

void expect_same_elements(const std::optional<Elements>& a, const std::optional<Elements>& b,
                          const Tensor& tensor) {
  ASSERT_EQ(a.has_value(), b.has_value());
  // A file has no elements for an empty tensor.
  if (!a || element_count(tensor) == 0) return;
  ASSERT_EQ(a->source, b->source);
  if (a->source == Elements::Source::kNone) return;
  EXPECT_EQ(load(tensor, *a, ""), load(tensor, *b, ""));
}

void expect_same_tensors(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(a[i].id);
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(a[i].layout, b[i].layout);
    EXPECT_EQ(a[i].dtype, b[i].dtype);
    EXPECT_EQ(a[i].dims, b[i].dims);
    EXPECT_EQ(a[i].strides, b[i].strides);
    EXPECT_EQ(a[i].onchip_dtype, b[i].onchip_dtype);
    expect_same_elements(a[i].elements, b[i].elements, a[i]);
    expect_same_elements(a[i].initial, b[i].initial, a[i]);
    expect_same_elements(a[i].result, b[i].result, a[i]);
  }
}

void expect_same(const Case& a, const Case& b) {
  EXPECT_EQ(a.op_name, b.op_name);
  EXPECT_EQ(a.algorithm, b.algorithm);
  EXPECT_EQ(a.tasks, b.tasks);
  ASSERT_EQ(a.criteria.size(), b.criteria.size());
  for (size_t i = 0; i < a.criteria.size(); ++i) {
    EXPECT_EQ(a.criteria[i].metric, b.criteria[i].metric);
    EXPECT_EQ(a.criteria[i].threshold, b.criteria[i].threshold);
    EXPECT_EQ(a.criteria[i].imaginary_threshold, b.criteria[i].imaginary_threshold);
  }
  for (const Parameter& parameter : a.parameters.all) {
    SCOPED_TRACE(parameter.name);
    const Parameter* other = b.parameters.find(parameter.name);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(parameter.present, other->present);
    EXPECT_EQ(parameter.integer, other->integer);
    EXPECT_EQ(static_cast<float>(parameter.real), static_cast<float>(other->real));
    EXPECT_EQ(parameter.text, other->text);
    EXPECT_EQ(parameter.list, other->list);
  }
  expect_same_tensors(a.inputs, b.inputs);
  expect_same_tensors(a.outputs, b.outputs);
}

// Converts the case to a folder and back, then to text and to binary.
void expect_round_trip(const Case& the_case, const std::string& folder) {
  for (const FolderFormat format : {FolderFormat::kNpy, FolderFormat::kRaw}) {
    SCOPED_TRACE(format == FolderFormat::kNpy ? "npy" : "bin+json");
    fs::remove_all(folder);
    write_folder(the_case, folder, format, FolderResults::kStated);
    const Case read = read_folder(folder, {});
    expect_same(the_case, read);
    for (const char* name : {"/x.pb", "/x.prototxt"}) {
      write_case(read, folder + name);
      expect_same(the_case, read_case(folder + name));
    }
  }
}

// Every text of a parameter that the command line would have.
std::map<std::string, std::vector<std::string>> texts_of(const Parameters& parameters) {
  constexpr int kDigits = 17;
  std::map<std::string, std::vector<std::string>> texts;
  for (const Parameter& parameter : parameters.all) {
    std::vector<std::string>& values = texts[parameter.name];
    switch (parameter.kind) {
      case Parameter::Kind::kInteger: values = {std::to_string(parameter.integer)}; break;
      case Parameter::Kind::kReal: values = {text_of(parameter.real, kDigits)}; break;
      case Parameter::Kind::kText: values = {parameter.text}; break;
      case Parameter::Kind::kList:
        for (const int64_t value : parameter.list) values.push_back(std::to_string(value));
        break;
    }
  }
  return texts;
}

void expect_passes(const Case& the_case, bool has_results) {
  for (const Outcome& outcome : run_case(the_case, {.algorithms = {"native", "device"}})) {
    EXPECT_EQ(outcome.status, Status::kPassed) << outcome.message;
    const auto stored = std::count_if(outcome.outputs.begin(), outcome.outputs.end(),
                                      [](const OutputOutcome& output) { return output.baseline == "stored"; });
    EXPECT_EQ(stored > 0, has_results);
  }
}

TEST(CaseFolder, EveryOperatorBitForBit) {
  const std::string folder = empty_folder();
  for (const Operator& op : operators()) {
    SCOPED_TRACE(op.name);
    Case made = self_contained(generated(op, op.dtypes.back()));
    made.parameters = parse_parameters(op, texts_of(made.parameters), {});
    made.criteria = {{Metric::kDiff1, 0.1, 0.25}, {Metric::kDiff3_2, 1e-300, 0}};
    made.algorithm = "device";
    made.tasks = 3;
    for (size_t i = 0; i < made.inputs.size(); ++i) {
      Tensor& input = made.inputs[i];
      input.elements = any_bits(input);
      input.onchip_dtype = input.dtype;
      input.strides.assign(input.dims.size(), 1);
      for (size_t dim = input.dims.size() - 1; dim > 0; --dim) {
        input.strides[dim - 1] = input.strides[dim] * input.dims[dim];
      }
      if (bind(made, op)[i].tensor == &input && op.tensors[i].role == Role::kInOut) input.result = any_bits(input);
    }
    for (Tensor& output : made.outputs) {
      output.elements = any_bits(output);
      output.initial = any_bits(output);
    }
    expect_round_trip(made, folder);
  }
}

TEST(CaseFolder, EveryDataTypeBitForBit) {
  const std::string folder = empty_folder();
  Case made = self_contained(generated(operator_of("three_nn_forward", {}), MLUOP_DTYPE_FLOAT));
  for (int dtype = 0; dtype <= MLUOP_DTYPE_BFLOAT16; ++dtype) {
    Tensor& input = made.inputs[0];
    input.dtype = static_cast<mluOpDataType_t>(dtype);
    if (dtype_name(input.dtype) == "invalid") continue;
    SCOPED_TRACE(dtype_name(input.dtype));
    for (const Dims& dims : {Dims{3, 5, 2}, Dims{0, 2}, Dims{1}}) {
      input.dims = dims;
      input.elements = any_bits(input);
      expect_round_trip(made, folder);
    }
  }
}

// Tensor names that differ from the operator's names, in the operator's order; tensors that the call receives as
// null.
TEST(CaseFolder, OtherNamesOfTensors) {
  const std::string folder = empty_folder();
  Case made = self_contained(generated(operator_of("ball_query", {}), MLUOP_DTYPE_HALF));
  made.parameters = parse_parameters(operator_of("ball_query", {}), texts_of(made.parameters), {});
  made.inputs[0].id = "input1";
  made.inputs[1].id = "../input2";
  expect_round_trip(made, folder);
  EXPECT_TRUE(fs::exists(folder + "/new_xyz.bin"));
  made.inputs[1] = {.id = "NULL", .dtype = MLUOP_DTYPE_HALF};
  expect_round_trip(made, folder);
}

// The results that export computes are the results that run expects.
TEST(CaseFolder, ResultsOfTheOracle) {
  const std::string folder = empty_folder();
  for (const Operator& op : operators()) {
    for (const mluOpDataType_t dtype : op.dtypes) {
      SCOPED_TRACE(op.name + ' ' + std::string(dtype_name(dtype)));
      fs::remove_all(folder);
      write_folder(generated(op, dtype), folder, FolderFormat::kNpy, FolderResults::kAll);
      expect_passes(read_folder(folder, {}), true);
    }
  }
}

TEST(CaseFolder, WhichResults) {
  const std::string folder = empty_folder();
  Case stated = generated(operator_of("three_nn_forward", {}), MLUOP_DTYPE_FLOAT);
  stated.outputs[0].elements = any_bits(stated.outputs[0]);
  const Bytes bits = stated.outputs[0].elements.bytes;
  const struct {
    FolderResults results;
    bool states_first, has_first, has_second;
  } rows[] = {{FolderResults::kAll, true, true, true},
              {FolderResults::kStated, true, true, false},
              {FolderResults::kOracle, false, true, true},
              {FolderResults::kNone, false, false, false}};
  for (const auto& row : rows) {
    fs::remove_all(folder);
    write_folder(stated, folder, FolderFormat::kRaw, row.results);
    const Case read = read_folder(folder, {});
    EXPECT_EQ(read.outputs[0].elements.bytes == bits, row.states_first);
    EXPECT_EQ(fs::exists(folder + "/dist2.bin"), row.has_first);
    EXPECT_EQ(fs::exists(folder + "/idx.bin"), row.has_second);
  }
  stated.outputs[0].dims = {2, 2};
  stated.outputs[0].elements = {};
  EXPECT_THAT(
      [&] { write_folder(stated, folder, FolderFormat::kRaw, FolderResults::kAll); },
      ThrowsMessage<Problem>(HasSubstr("the call is rejected, so that there are no results: MLUOP_STATUS")));
}

// Only the inputs have arrays: the description of the operator determines the rest.
TEST(CaseFolder, InputsAlone) {
  const std::string folder = empty_folder();
  std::set<std::string> with_free_shapes;
  for (const Operator& op : operators()) {
    for (const mluOpDataType_t dtype : op.dtypes) {
      SCOPED_TRACE(op.name + ' ' + std::string(dtype_name(dtype)));
      fs::remove_all(folder);
      const Case made = generated(op, dtype);
      write_folder(made, folder, FolderFormat::kNpy, FolderResults::kNone);
      fs::remove(folder + "/case.json");
      FolderSettings settings{.op = op.name, .parameters = texts_of(made.parameters)};
      try {
        read_folder(folder, settings);
      } catch (const Problem& problem) {
        EXPECT_THAT(problem.what(), HasSubstr("does not follow from the inputs"));
        with_free_shapes.insert(op.name);
        for (const Tensor& output : made.outputs) settings.shapes[output.id] = output.dims;
      }
      const Case read = read_folder(folder, settings);
      expect_passes(read, false);
      for (size_t i = 0; i < made.outputs.size(); ++i) {
        EXPECT_EQ(read.outputs[i].dims, made.outputs[i].dims);
        EXPECT_EQ(read.outputs[i].dtype, made.outputs[i].dtype);
      }
    }
  }
  EXPECT_THAT(with_free_shapes, ::testing::ElementsAreArray({"bev_pool_forward",
                                                             "bezier_align_backward",
                                                             "border_align_backward",
                                                             "dcn_backward_data",
                                                             "dcn_backward_weight",
                                                             "dcn_forward",
                                                             "furthest_point_sample",
                                                             "furthest_point_sample_with_dist",
                                                             "gather_points_backward",
                                                             "indice_convolution_backward_filter",
                                                             "indice_maxpool_forward",
                                                             "masked_col2im_forward",
                                                             "pixel_group",
                                                             "prroi_pool_backward",
                                                             "prroi_pool_forward",
                                                             "ps_roi_pool_backward",
                                                             "riroi_align_rotated_backward",
                                                             "roi_align_backward_v2",
                                                             "roi_align_rotated_backward",
                                                             "roi_crop_backward",
                                                             "roi_pool_forward",
                                                             "roi_pooling_backward",
                                                             "roi_pooling_forward",
                                                             "roiaware_pool3d_backward",
                                                             "stack_group_points_backward",
                                                             "three_interpolate_backward"}));
}

// A folder made by hand with results, initial contents, and settings that other cases of the operator have.
TEST(CaseFolder, ByHand) {
  const std::string folder = empty_folder();
  const Operator& op = operator_of("nms", {});
  Recipe recipe = default_recipe(op, MLUOP_DTYPE_HALF);
  recipe.sizes["mode"] = 1;
  write_folder(op.make(recipe), folder, FolderFormat::kNpy, FolderResults::kAll);
  const Case described = read_folder(folder, {});
  fs::remove(folder + "/case.json");
  const Case read = read_folder(folder, {.op = "nms", .parameters = texts_of(described.parameters)});
  EXPECT_EQ(read.outputs[0].dtype, MLUOP_DTYPE_HALF);
  expect_same_tensors(read.outputs, described.outputs);
  expect_passes(read, true);
}

struct Refusal {
  const char* name;
  std::function<void(const std::string& folder)> spoil;
  const char* message;
};

void replace(const std::string& file, const std::string& from, const std::string& to) {
  std::string text = read_file(file, {});
  const size_t position = text.find(from);
  ASSERT_NE(position, text.npos) << from;
  write_file(file, text.replace(position, from.size(), to));
}

std::string nested_lists() {
  constexpr size_t kDepth = 200000;
  return std::string(kDepth, '[') + std::string(kDepth, ']');
}

// Bytes of a header of version 1.0 with this dictionary.
std::string header(std::string text) {
  text.resize((text.size() + 10 + 63) / 64 * 64 - 10, ' ');
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text;
}

TEST(CaseFolder, Refusals) {
  const std::string folder = empty_folder();
  const auto json = [](const char* from, const char* to) {
    return [=](const std::string& path) { replace(path + "/case.json", from, to); };
  };
  const auto xyz = [](const std::string& contents) {
    return [=](const std::string& path) { write_file(path + "/xyz.npy", contents); };
  };
  const std::string elements(2 * 8 * 3 * 4, 'x');
  const Refusal refusals[] = {
      {"missing file", [](const std::string& path) { fs::remove(path + "/xyz.npy"); }, "xyz.npy: is missing"},
      {"folder", json("\"xyz.npy\"", "\".npy\""), "/.npy: is missing"},
      {"null character", json("\"xyz.npy\"", "\"xyz\\u0000.npy\""), "expected no null character"},
      {"outside", json("\"xyz.npy\"", "\"../xyz.npy\""), "file ../xyz.npy is outside the folder of the case"},
      {"absolute", json("\"xyz.npy\"", "\"/dev/zero\""), "file /dev/zero is outside"},
      {"data type", json("\"dtype\":\"float\"", "\"dtype\":\"half\""),
       "holds '<f4' [2, 4, 3], expected '<f2' [2, 4, 3], half of case.json"},
      {"unknown data type", json("\"dtype\":\"float\"", "\"dtype\":\"f32\""),
       "dtype: found \"f32\", expected a data"},
      {"shape", json("[2,4,3]", "[2,3,4]"), "holds '<f4' [2, 4, 3], expected '<f4' [2, 3, 4]"},
      {"huge shape", json("[2,4,3]", "[9223372036854775807,4,3]"), "the number of elements exceeds int64"},
      {"negative shape", json("[2,4,3]", "[-2,4,3]"), "expected no negative dimension"},
      {"shape of text", json("[2,4,3]", "[2,\"4\",3]"), "inputs[0].shape[1]: found \"4\", expected an integer"},
      {"layout", json("\"layout\":\"ARRAY\"", "\"layout\":\"NWHC\""), "expected a layout"},
      {"version", json("\"version\": 1", "\"version\": 2"), "version: found 2, expected 1"},
      {"operator", json("ball_query", "ball"), "unknown operator 'ball'"},
      {"parameter", json("nsample", "nsamples"),
       "ball_query has no parameter 'nsamples', expected some of min_radius"},
      {"value", json("\"nsample\":16", "\"nsample\":1e99"), "parameter nsample is '1e+99'"},
      {"several values", json("\"nsample\":16", "\"nsample\":[1,2]"), "nsample has 2 values, expected 1"},
      {"criterion", json("\"criteria\": []", "\"criteria\": [{\"metric\":\"diff9\",\"threshold\":0}]"),
       "criteria[0].metric: found \"diff9\", expected diff1"},
      {"no id", json("\"id\":\"xyz\"", "\"i\":\"xyz\""), "inputs[1]: id is missing"},
      {"deep lists",
       [](const std::string& path) { replace(path + "/case.json", "\"ball_query\"", nested_lists()); },
       "operator: found a list, expected a text"},
      {"cut JSON", [](const std::string& path) { fs::resize_file(path + "/case.json", 99); }, "parse error"},
      {"empty", xyz(""), "xyz.npy: is truncated"},
      {"other file", xyz(elements), "is not a file of numpy.save"},
      {"truncated",
       xyz(header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 8, 3), }") + elements.substr(1)),
       "has 191 bytes of elements, expected 192 for '<f4' [2, 8, 3]"},
      {"trailing bytes",
       xyz(header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 8, 3), }") + elements + 'x'),
       "has 193 bytes of elements, expected 192"},
      {"Fortran order", xyz(header("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 8, 3), }") + elements),
       "is in Fortran order, expected C order"},
      {"objects", xyz(header("{'descr': '|O', 'fortran_order': False, 'shape': (2, 8, 3), }") + elements),
       "holds Python objects, expected numbers"},
      {"structure", xyz(header("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }") + elements),
       "has a structured type"},
      {"big-endian", xyz(header("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 8, 3), }") + elements),
       "holds big-endian elements, '>f4', expected '<f4'"},
      {"complex", xyz(header("{'descr': '<c16', 'fortran_order': False, 'shape': (2, 8, 3), }") + elements),
       "holds elements of type '<c16'"},
      {"on-chip type", json("\"layout\":\"ARRAY\"", "\"onchip_dtype\":\"f32\""), "onchip_dtype: found \"f32\""},
      {"huge array",
       xyz(header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }") + elements),
       "the number of elements exceeds int64"},
      {"no shape", xyz(header("{'descr': '<f4', 'fortran_order': False}") + elements), "expected descr, fortran"},
      {"negative extent", xyz(header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}") + elements),
       "expected a tuple of integers"},
      {"expression", xyz(header("{'descr': f(), 'fortran_order': False, 'shape': (1,)}") + elements),
       "expected ' before 'f()"},
      {"unended text", xyz(header("{'descr")), "a text does not end"},
  };
  Case made = generated(operator_of("ball_query", {}), MLUOP_DTYPE_FLOAT);
  made.inputs[0].dims = {2, 4, 3};
  made.inputs[1].dims = {2, 8, 3};
  made.outputs[0].dims = {2, 4, 16};
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    fs::remove_all(folder);
    write_folder(made, folder, FolderFormat::kNpy, FolderResults::kAll);
    refusal.spoil(folder);
    EXPECT_THAT([&] { read_folder(folder, {}); }, ThrowsMessage<Problem>(HasSubstr(refusal.message)));
  }
  fs::create_symlink("/dev/zero", folder + "/device.bin");
  write_folder(made, folder, FolderFormat::kRaw, FolderResults::kAll);
  replace(folder + "/case.json", "\"xyz.bin\"", "\"device.bin\"");
  EXPECT_THAT([&] { read_folder(folder, {}); }, ThrowsMessage<Problem>(HasSubstr("outside the folder")));
  EXPECT_THAT([&] { read_folder(folder, {.op = "knn"}); }, ThrowsMessage<Problem>(HasSubstr("expected knn")));
}

TEST(CaseFolder, RefusalsByHand) {
  const std::string folder = empty_folder();
  const auto array = [&](const char* name, const char* type, const Dims& dims) {
    size_t bytes = static_cast<size_t>(type[2] - '0');
    for (const int64_t extent : dims) bytes *= static_cast<size_t>(extent);
    write_npy(folder + '/' + name + ".npy", type, dims, Bytes(bytes));
  };
  const auto expect_refusal = [&](const FolderSettings& settings, const char* message) {
    EXPECT_THAT([&] { read_folder(folder, settings); }, ThrowsMessage<Problem>(HasSubstr(message)));
  };
  const FolderSettings query{.op = "ball_query"};
  expect_refusal({}, "has no case.json, expected the name of an operator");
  expect_refusal({.op = "ball"}, "unknown operator 'ball'");
  expect_refusal(query, "new_xyz.npy: is missing, an input of ball_query");
  array("new_xyz", "<f8", {2, 4, 3});
  array("xyz", "<f4", {2, 8, 3});
  expect_refusal(query, "new_xyz.npy: holds double, '<f8', expected bfloat16 or float or half");
  array("new_xyz", "<f4", {4, 3});
  expect_refusal(query, "new_xyz.npy: has shape [4, 3], expected 3 dimensions");
  array("new_xyz", "<f2", {2, 4, 3});
  expect_refusal(query, "data types or numbers of dimensions do not belong together");
  array("new_xyz", "<f4", {2, 4, 3});
  expect_refusal({.op = "ball_query", .parameters = {{"nsample", {"x"}}}},
                 "parameter nsample is 'x': Expected integer");
  expect_refusal({.op = "ball_query", .parameters = {{"nsample", {"1 2"}}}}, "parameter nsample is '1 2'");
  expect_refusal({.op = "ball_query", .shapes = {{"idx", {2, 4, 2}}}},
                 "the shape of idx is [2, 4, 2], expected [2, 4, 1]");
  expect_refusal({.op = "ball_query", .shapes = {{"xyz", {2, 4, 2}}}}, "xyz is an input of ball_query");
  expect_refusal({.op = "ball_query", .layouts = {{"xyz", "NWC"}}}, "layout of xyz is 'NWC'");
  expect_refusal({.op = "ball_query", .layouts = {{"x", "NCHW"}}}, "no tensor 'x'");
  array("idx", "<i8", {2, 4, 1});
  expect_refusal(query, "idx.npy: holds int64, expected int32");
  array("idx", "<i4", {2, 4, 9});
  expect_refusal(query, "the shape of idx is [2, 4, 9], expected [2, 4, 1] for these inputs and parameters");
  array("idx", "<i4", {2, 4, 1});
  EXPECT_EQ(read_folder(folder, query).outputs[0].elements.bytes.size(), 32U);
  array("idx.initial", "<i4", {2, 4, 2});
  expect_refusal(query, "idx.initial.npy: has shape [2, 4, 2], expected [2, 4, 1]");
  fs::remove(folder + "/idx.initial.npy");
  array("idx.results", "<i4", {2, 4, 1});
  expect_refusal(query, "idx.results.npy: is not a file of idx, expected idx.npy");
  fs::remove(folder + "/idx.results.npy");
  const FolderSettings huge{.op = "masked_im2col_forward",
                            .parameters = {{"kernel_h", {"2147483647"}}, {"kernel_w", {"2147483647"}}}};
  array("xyz_", "<i4", {1});
  expect_refusal(query, "xyz_.npy: ball_query has no tensor 'xyz_', expected some of new_xyz, xyz, idx");
  fs::remove_all(folder);
  fs::create_directory(folder);
  array("feature", "<f4", {1, 8, 2, 2});
  for (const char* name : {"mask_h_idx", "mask_w_idx"}) array(name, "<i4", {3});
  expect_refusal(huge, "a product of them exceeds");
}

// Headers of other writers: versions 2.0 and 3.0, other spaces, quotes and order, long integers of Python 2.
TEST(CaseFolder, HeadersOfOtherWriters) {
  const std::string file = empty_folder() + "/x.npy";
  for (const std::string text : {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }",
                                 "{\"shape\":(2L,1L),\"descr\":\"<f4\",\"fortran_order\":False}"}) {
    for (const char version : {'\1', '\2', '\3'}) {
      std::string contents = header(text) + "12345678";
      if (version > '\1') contents.replace(6, 4, {version, '\0', contents[8], '\0', '\0', '\0'});
      write_file(file, contents);
      const NpyArray array = read_npy(file);
      EXPECT_EQ(array.dims, (Dims{2, 1}));
      EXPECT_EQ(array.dtype, MLUOP_DTYPE_FLOAT);
      EXPECT_EQ(array.bytes.size(), 8U);
    }
  }
  write_file(file, header("{'descr': '<V4', 'fortran_order': False, 'shape': (1,), }") + "1234");
  EXPECT_EQ(read_npy(file).dtype, MLUOP_DTYPE_COMPLEX_HALF);
  write_file(file, header("{'descr': '<V2', 'fortran_order': True, 'shape': (), }") + "12");
  EXPECT_EQ(read_npy(file).dtype, MLUOP_DTYPE_BFLOAT16);
}

}  // namespace
}  // namespace mluop::cases
