#include "case/case_folder.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "case/assemble.h"
#include "case/call.h"
#include "case/data.h"
#include "case/npy.h"
#include "case/read.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;
// To write, and to read: objects of the former copy their members, by recursion, as they grow.
using OrderedJson = nlohmann::ordered_json;
using Json = nlohmann::json;

constexpr const char* kDescription = "case.json";
constexpr int64_t kVersion = 1;

// The oracle's results by tensor of the operator, of arguments that the library accepts.
std::vector<Bytes> oracle_results(const Case& the_case, const LoadedCase& loaded) {
  try {
    Run(loaded, MLUOP_OMP_ALGORITHM_NATIVE).call();
  } catch (const Problem&) {
    throw;
  } catch (const std::runtime_error& error) {
    fail({the_case.file}, std::string("the call is rejected, so that there are no results: ") + error.what());
  }
  Run oracle(loaded, MLUOP_OMP_ALGORITHM_NATIVE);
  oracle.expect();
  std::vector<Bytes> results(loaded.bound().size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!loaded.op().tensors[i].is_written() || oracle[i].data == nullptr) continue;
    results[i].assign(oracle[i].data, oracle[i].data + oracle[i].bytes());
  }
  return results;
}

class FolderWriter {
 public:
  FolderWriter(const Case& the_case, const std::string& folder, FolderFormat format, FolderResults results)
      : case_(the_case), folder_(folder), format_(format), loaded_(the_case) {
    results_.resize(loaded_.bound().size());
    bool complete = true;
    for (size_t i = 0; i < results_.size(); ++i) {
      const BoundTensor& bound = loaded_.bound()[i];
      const bool stated = bound.after != nullptr;
      if (stated && (results == FolderResults::kAll || results == FolderResults::kStated)) {
        results_[i] = loaded_.after(i);
      } else if (loaded_.op().tensors[i].is_written() && !bound.tensor->is_null()) {
        complete = false;
      }
    }
    if (complete || results == FolderResults::kStated || results == FolderResults::kNone) return;
    std::vector<Bytes> computed = oracle_results(the_case, loaded_);
    for (size_t i = 0; i < results_.size(); ++i) {
      const bool is_written = loaded_.op().tensors[i].is_written() && !loaded_.bound()[i].tensor->is_null();
      if (is_written && !results_[i]) results_[i] = std::move(computed[i]);
    }
  }

  void write() const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) fail({}, "cannot create " + folder_.string() + ": " + error.message());
    std::string text = "{\n \"version\": " + std::to_string(kVersion) + ",\n";
    const auto add = [&](const char* key, const OrderedJson& value) {
      text += " \"" + std::string(key) + "\": " + value.dump() + ",\n";
    };
    add("operator", case_.op_name);
    add("parameters", parameters(true));
    add("defaults", parameters(false));
    OrderedJson criteria = OrderedJson::array();
    for (const Criterion& criterion : case_.criteria) {
      criteria.push_back({{"metric", name_of(criterion.metric)}, {"threshold", number(criterion.threshold)}});
    }
    add("criteria", criteria);
    if (case_.algorithm) add("algorithm", *case_.algorithm);
    if (case_.tasks) add("tasks", *case_.tasks);
    text += tensors("inputs", case_.inputs, false) + ",\n" + tensors("outputs", case_.outputs, true) + "\n}\n";
    write_file((folder_ / kDescription).string(), text);
  }

 private:
  // JSON has no infinity or NaN: their names.
  static OrderedJson number(double value) {
    return std::isfinite(value) ? OrderedJson(value) : OrderedJson(std::to_string(value));
  }

  OrderedJson parameters(bool present) const {
    OrderedJson json = OrderedJson::object();
    for (const Parameter& parameter : case_.parameters.all) {
      if (parameter.present != present || (!present && parameter.kind == Parameter::Kind::kText)) continue;
      switch (parameter.kind) {
        case Parameter::Kind::kInteger: json[parameter.name] = parameter.integer; break;
        case Parameter::Kind::kReal: json[parameter.name] = number(parameter.real); break;
        case Parameter::Kind::kText: json[parameter.name] = parameter.text; break;
        case Parameter::Kind::kList: json[parameter.name] = parameter.list; break;
      }
    }
    return json;
  }

  std::string tensors(const char* key, const std::vector<Tensor>& tensors, bool are_outputs) const {
    std::string text = " \"" + std::string(key) + "\": [";
    for (size_t i = 0; i < tensors.size(); ++i) {
      text += (i == 0 ? "\n  " : ",\n  ") + description(tensors[i], are_outputs).dump();
    }
    return text + "\n ]";
  }

  // Writes the elements of a tensor.
  OrderedJson description(const Tensor& tensor, bool is_output) const {
    OrderedJson json = {{"id", tensor.id},
                        {"dtype", dtype_name(tensor.dtype)},
                        {"shape", tensor.dims},
                        {"layout", layout_name(tensor.layout)}};
    if (!tensor.strides.empty()) json["strides"] = tensor.strides;
    if (tensor.is_null()) return json;
    size_t i = 0;
    while (loaded_.bound()[i].tensor != &tensor) ++i;
    const bool has_before = loaded_.bound()[i].before != nullptr;
    if (is_output) {
      if (results_[i]) json["file"] = write_elements(i, "", *results_[i]);
      if (has_before) json["initial"] = write_elements(i, ".initial", loaded_.before(i));
    } else {
      json["file"] = write_elements(i, "", loaded_.before(i));
      if (results_[i]) json["result"] = write_elements(i, ".result", *results_[i]);
    }
    return json;
  }

  // Returns the name of the file.
  std::string write_elements(size_t i, const char* suffix, const Bytes& bytes) const {
    const Tensor& tensor = *loaded_.bound()[i].tensor;
    const bool is_npy = format_ == FolderFormat::kNpy;
    const std::string name = loaded_.op().tensors[i].id + suffix + (is_npy ? ".npy" : ".bin");
    const std::string file = (folder_ / name).string();
    if (is_npy) {
      write_npy(file, npy_type(tensor.dtype), tensor.dims, bytes);
    } else {
      write_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    return name;
  }

  const Case& case_;
  fs::path folder_;
  FolderFormat format_;
  LoadedCase loaded_;
  std::vector<std::optional<Bytes>> results_;  // by tensor of the operator
};

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
  // As texts of the schema: a number, or several.
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

// Elements of a file of the folder.
Elements read_elements(const Value& value, const Tensor& tensor, const std::string& folder) {
  Elements elements{.source = Elements::Source::kFile, .path = value.text(), .place = value.place()};
  if (elements.path.find('\0') != std::string::npos) value.expected("no null character");
  Case file;
  file.file = (fs::path(folder) / kDescription).string();
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
  const bool same_type = array.type == npy_type(tensor.dtype) || array.dtype == tensor.dtype;
  if (!same_type || array.dims != tensor.dims) {
    fail({path}, "holds '" + array.type + "' " + text_of(array.dims) + ", expected '" + npy_type(tensor.dtype) +
                     "' " + text_of(tensor.dims) + ", " + std::string(dtype_name(tensor.dtype)) + " of " +
                     kDescription);
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
  for (const Metric each : {Metric::kDiff1, Metric::kDiff2, Metric::kDiff3, Metric::kDiff3_2, Metric::kDiff4}) {
    if (name_of(each) != name) continue;
    if (!(threshold.number() >= 0)) threshold.expected("0 or more");
    return {each, threshold.number()};
  }
  metric.expected("diff1, diff2, diff3, diff3_2 or diff4");
}

Case read_description(const Value& root, const std::string& folder, const FolderSettings& settings) {
  if (const Value version = root.at("version"); version.integer() != kVersion) {
    version.expected(std::to_string(kVersion));
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

void write_folder(const Case& the_case, const std::string& folder, FolderFormat format, FolderResults results) {
  FolderWriter(the_case, folder, format, results).write();
}

Case read_folder(const std::string& folder, const FolderSettings& settings) {
  if (!fs::is_directory(folder)) fail({folder}, "is not a folder");
  const std::string file = (fs::path(folder) / kDescription).string();
  if (!fs::exists(file)) {
    if (settings.op.empty()) fail({folder}, "has no case.json, expected the name of an operator");
    return assemble(folder, settings);
  }
  Json json;
  try {
    json = Json::parse(read_file(file, {file}));
  } catch (const Json::parse_error& error) {
    fail({file}, error.what());
  }
  return read_description(Value(json, {file}), folder, settings);
}

}  // namespace mluop::cases
