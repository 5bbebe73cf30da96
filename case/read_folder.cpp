#include <filesystem>
#include <limits>
#include <optional>

#include "case/assemble.h"
#include "case/case_folder.h"
#include "case/data.h"
#include "case/files.h"
#include "case/json.h"
#include "case/npy.h"
#include "case/operators.h"
#include "case/read.h"
#include "case/values.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;

// A value of case.json and its place, such as inputs[0].shape.
class Value {
 public:
  Value(const Json& json, Place place) : json_(json), place_(std::move(place)) {}

  const Place& place() const { return place_; }

  std::optional<Value> find(const std::string& key) const {
    if (!json_.is_object()) expected("an object");
    const auto found = json_.find(key);
    if (found == json_.end()) return std::nullopt;
    return Value(*found, nested(place_.field.empty() ? key : '.' + key));
  }
  Value at(const std::string& key) const {
    if (std::optional<Value> value = find(key)) return *value;
    cases::fail(place_, key + " is missing");
  }

  std::vector<Value> list() const {
    if (!json_.is_array()) expected("a list");
    std::vector<Value> values;
    for (size_t i = 0; i < json_.size(); ++i) {
      values.emplace_back(json_[i], nested('[' + std::to_string(i) + ']'));
    }
    return values;
  }
  std::map<std::string, Value> members() const {
    if (!json_.is_object()) expected("an object");
    std::map<std::string, Value> values;
    for (const auto& [key, value] : json_.items()) values.emplace(key, Value(value, nested('.' + key)));
    return values;
  }

  std::string text() const {
    if (!json_.is_string()) expected("a text");
    return json_.get<std::string>();
  }
  int64_t integer() const {
    const bool too_large = json_.is_number_unsigned() && json_.get<uint64_t>() > INT64_MAX;
    if (!json_.is_number_integer() || too_large) expected("an integer");
    return json_.get<int64_t>();
  }
  double number() const {
    if (json_.is_number()) return json_.get<double>();
    const std::string name = json_.is_string() ? json_.get<std::string>() : "";
    if (name == "inf") return std::numeric_limits<double>::infinity();
    expected("a number");
  }
  Dims integers() const {
    Dims dims;
    for (const Value& value : list()) dims.push_back(value.integer());
    return dims;
  }
  // As texts of the schema: one value, or several.
  std::vector<std::string> parameter() const {
    if (!json_.is_array()) return {scalar()};
    std::vector<std::string> texts;
    for (const Value& value : list()) texts.push_back(value.scalar());
    return texts;
  }

  [[noreturn]] void expected(const std::string& what) const {
    constexpr size_t kShown = 40;
    // Lists may be nested more deeply than dump() can recurse.
    const std::string found = json_.is_structured() ? json_.is_array() ? "a list" : "an object" : json_.dump();
    cases::fail(place_, "found " + found.substr(0, kShown) + ", expected " + what);
  }

 private:
  Place nested(const std::string& part) const { return {place_.file, 0, place_.field + part}; }

  std::string scalar() const {
    if (json_.is_string()) return text();
    if (!json_.is_number() && !json_.is_boolean()) expected("a number");
    return json_.dump();
  }

  const Json& json_;
  Place place_;
};

// Elements from a file of the folder.
Elements read_elements(const Value& value, const Tensor& tensor, const std::string& folder) {
  Elements elements{.source = Elements::Source::kFile, .path = value.text(), .place = value.place()};
  if (elements.path.find('\0') != std::string::npos) value.expected("no null character");
  Case file;
  file.file = (fs::path(folder) / kFolderDescription).string();
  file.inputs = {tensor};
  file.inputs[0].elements = elements;
  require_own_files(file);
  elements.source = Elements::Source::kInline;
  if (!elements.path.ends_with(".npy")) {
    elements.bytes = load(tensor, file.inputs[0].elements, folder);
    return elements;
  }
  const std::string path = (fs::path(folder) / elements.path).string();
  NpyArray array = read_npy(path);
  // Complex numbers of halves may be pairs.
  if (tensor.dtype == MLUOP_DTYPE_COMPLEX_HALF && array.dtype == MLUOP_DTYPE_HALF && !array.dims.empty() &&
      array.dims.back() == 2) {
    array.dtype = tensor.dtype;
    array.dims.pop_back();
  }
  const bool same_type = array.type == npy_type(tensor.dtype) || array.dtype == tensor.dtype;
  if (!same_type || array.dims != tensor.dims) {
    fail({path}, "holds '" + array.type + "' " + text_of(array.dims) + ", expected '" + npy_type(tensor.dtype) +
                     "' " + text_of(tensor.dims) + ", " + std::string(dtype_name(tensor.dtype)) + " of " +
                     kFolderDescription);
  }
  elements.bytes = std::move(array.bytes);
  return elements;
}

Tensor read_tensor(const Value& value, const std::string& folder, bool is_output) {
  Tensor tensor;
  tensor.id = value.at("id").text();
  tensor.place = value.place();
  tensor.place.field += " (" + tensor.id + ')';
  const Value dtype = value.at("dtype");
  tensor.dtype = dtype_of_name(dtype.text());
  if (tensor.dtype == MLUOP_DTYPE_INVALID) dtype.expected("a data type such as float, half, int32");
  if (const auto layout = value.find("layout")) {
    if (!is_layout_name(layout->text())) layout->expected("a layout such as NCHW, ARRAY");
    tensor.layout = layout_of_name(layout->text());
  }
  tensor.dims = value.at("shape").integers();
  if (const auto strides = value.find("strides")) tensor.strides = strides->integers();
  if (const auto onchip = value.find("onchip_dtype")) {
    tensor.onchip_dtype = dtype_of_name(onchip->text());
    if (tensor.onchip_dtype == MLUOP_DTYPE_INVALID) onchip->expected("a data type such as float, half, int32");
  }
  if (tensor.is_null()) return tensor;
  if (tensor.dims.empty()) value.at("shape").expected("at least one dimension");
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.dims.size()) {
    value.at("strides").expected(std::to_string(tensor.dims.size()) + " integers");
  }
  byte_count(tensor);
  const auto read = [&](const char* key) -> std::optional<Elements> {
    const std::optional<Value> file = value.find(key);
    if (!file) return std::nullopt;
    return read_elements(*file, tensor, folder);
  };
  std::optional<Elements> elements = read("file");
  if (!elements && !is_output) fail(tensor.place, "file is missing");
  if (elements) tensor.elements = *std::move(elements);
  if (is_output) {
    tensor.initial = read("initial");
  } else {
    tensor.result = read("result");
  }
  return tensor;
}

Criterion read_criterion(const Value& value) {
  const Value metric = value.at("metric"), threshold = value.at("threshold");
  const std::string name = metric.text();
  for (const Metric each : kMetrics) {
    if (each == Metric::kBits || name_of(each) != name) continue;
    if (!(threshold.number() >= 0)) threshold.expected("0 or more");
    Criterion criterion{each, threshold.number()};
    if (const auto imaginary = value.find("imaginary_threshold")) {
      if (!(imaginary->number() >= 0)) imaginary->expected("0 or more");
      criterion.imaginary_threshold = imaginary->number();
    }
    return criterion;
  }
  metric.expected("diff1, diff2, diff3, diff3_2 or diff4");
}

Case read_description(const Value& root, const std::string& folder, const FolderSettings& settings) {
  if (const Value version = root.at("version"); version.integer() != kFolderVersion) {
    version.expected(std::to_string(kFolderVersion));
  }
  Case result;
  result.file = root.place().file;
  result.place = root.place();
  const Value name = root.at("operator");
  result.op_name = name.text();
  const Operator& op = operator_of(result.op_name, name.place());
  if (!settings.op.empty() && &operator_of(settings.op, {}) != &op) name.expected(settings.op);
  if (!settings.shapes.empty() || !settings.layouts.empty()) {
    fail(result.place, "states shapes and layouts, expected no others");
  }
  std::map<std::string, std::vector<std::string>> parameters = settings.parameters;
  if (const auto stated = root.find("parameters")) {
    for (const auto& [key, value] : stated->members()) parameters.emplace(key, value.parameter());
  }
  result.parameters = parse_parameters(op, parameters, {result.file, 0, "parameters"});
  if (const auto criteria = root.find("criteria")) {
    for (const Value& criterion : criteria->list()) result.criteria.push_back(read_criterion(criterion));
  }
  if (const auto algorithm = root.find("algorithm")) {
    result.algorithm = algorithm->text();
    if (*result.algorithm != "native" && *result.algorithm != "device") algorithm->expected("native or device");
  }
  if (const auto tasks = root.find("tasks")) {
    if (tasks->integer() < 1 || tasks->integer() > INT32_MAX) tasks->expected("an int32, at least 1");
    result.tasks = static_cast<int>(tasks->integer());
  }
  for (const Value& tensor : root.at("inputs").list()) {
    result.inputs.push_back(read_tensor(tensor, folder, false));
  }
  for (const Value& tensor : root.at("outputs").list()) {
    result.outputs.push_back(read_tensor(tensor, folder, true));
  }
  bind(result, op);
  return result;
}

}  // namespace

Case read_folder(const std::string& folder, const FolderSettings& settings) {
  if (!fs::is_directory(folder)) fail({folder}, "is not a folder");
  const std::string file = (fs::path(folder) / kFolderDescription).string();
  if (!fs::exists(file)) {
    if (settings.op.empty()) fail({folder}, "has no case.json, expected the name of an operator");
    return assemble(folder, settings);
  }
  Json json;
  try {
    json = parse_json(read_file(file, {file}), {file});
  } catch (const Json::parse_error& error) {
    fail({file}, error.what());
  }
  return read_description(Value(json, {file}), folder, settings);
}

}  // namespace mluop::cases
