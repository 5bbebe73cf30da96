#include "case/read.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "case/case_folder.h"
#include "case/elements.h"
#include "case/files.h"
#include "case/operators.h"
#include "case/text_parser.h"
#include "mlu_op_test.pb.h"

namespace mluop::cases {
namespace {

namespace pb = google::protobuf;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

mluOpDataType_t dtype_of(mluoptest::DataType dtype) {
  return dtype_of_name(lower(mluoptest::DataType_Name(dtype).substr(std::strlen("DTYPE_"))));
}

mluOpTensorLayout_t layout_of(mluoptest::TensorLayout layout) {
  return layout_of_name(mluoptest::TensorLayout_Name(layout).substr(std::strlen("LAYOUT_")));
}

Metric metric_of(mluoptest::EvaluationCriterion criterion, const Place& place) {
  for (const Metric metric : kMetrics) {
    if (lower(mluoptest::EvaluationCriterion_Name(criterion)) == name_of(metric)) return metric;
  }
  fail(place, "DIFF_KL is not supported, expected DIFF1, DIFF2, DIFF3, DIFF3_2 or DIFF4");
}

// If several fields state the elements, reads the first in the order of MLU-OPS. T: Tensor or Contents.
template <class T>
Elements read_elements(const T& from, const Part& part, const Tensor& tensor) {
  Elements elements;
  const auto is_read = [&] { return elements.source != Elements::Source::kNone; };
  const auto read = [&](const char* name, const auto& values) {
    if (!is_read() && !values.empty()) elements = ElementsReader(tensor, part.of(name)).read(values);
  };
  read("value_h", from.value_h());
  read("value_f", from.value_f());
  read("value_i", from.value_i());
  read("value_l", from.value_l());
  read("value_ui", from.value_ui());
  read("value_ul", from.value_ul());
  if (!is_read() && from.has_path()) {
    elements = {.source = Elements::Source::kFile, .path = from.path(), .place = part.of("path")};
    if (elements.path.find('\0') != std::string::npos) fail(elements.place, "contains a null character");
  }
  return elements;
}

Elements read_random(const mluoptest::RandomData& from, Place place) {
  Elements elements{.source = Elements::Source::kRandom, .place = place};
  Random& random = elements.random;
  random.seed = from.seed();
  const bool doubles = !from.has_lower_bound() && !from.has_upper_bound() &&
                       (from.has_lower_bound_double() || from.has_upper_bound_double());
  random.lower = doubles ? from.lower_bound_double() : double{from.lower_bound()};
  random.upper = doubles ? from.upper_bound_double() : double{from.upper_bound()};
  random.mu = from.has_mu_double() ? from.mu_double() : double{from.mu()};
  random.sigma = from.has_sigma_double() ? from.sigma_double() : double{from.sigma()};
  if (from.distribution() != mluoptest::UNIFORM && from.distribution() != mluoptest::GAUSSIAN) {
    place.field += ".distribution";
    fail(place, mluoptest::RandomDistribution_Name(from.distribution()) +
                    " is not supported, expected UNIFORM or GAUSSIAN");
  }
  const bool uniform = from.distribution() == mluoptest::UNIFORM;
  random.distribution = uniform ? Distribution::kUniform : Distribution::kGaussian;
  for (const double bound : {random.lower, random.upper, random.mu, random.sigma}) {
    if (!std::isfinite(bound)) fail(place, "a bound is not finite");
  }
  if (!uniform && !(random.sigma > 0))
    fail(place, "sigma is " + std::to_string(random.sigma) + ", expected above 0");
  return elements;
}

std::optional<Elements> read_contents(const Part& tensor_part, const char* name, bool present,
                                      const mluoptest::Contents& from, const Tensor& tensor) {
  if (!present) return std::nullopt;
  return read_elements(from, tensor_part.nested(from, name), tensor);
}

Tensor read_tensor(const mluoptest::Tensor& from, const Part& part) {
  Tensor tensor;
  tensor.id = from.id();
  tensor.place = part.place;
  tensor.layout = layout_of(from.layout());
  tensor.dtype = dtype_of(from.dtype());
  if (!from.has_dtype()) fail(part.place, "has no dtype");
  if (tensor.dtype == MLUOP_DTYPE_INVALID) fail(part.of("dtype"), "is not a data type of elements");
  tensor.onchip_dtype = dtype_of(from.onchip_dtype());
  tensor.dims.assign(from.shape().dims().begin(), from.shape().dims().end());
  tensor.strides.assign(from.shape().dim_stride().begin(), from.shape().dim_stride().end());
  if (tensor.is_null()) return tensor;
  Place shape = part.place;
  if (from.has_shape()) shape = part.of("shape");
  if (tensor.dims.empty()) fail(shape, "has no shape: shape { dims: ... }");
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.dims.size()) {
    fail(shape, std::to_string(tensor.strides.size()) + " values of dim_stride, expected " +
                    std::to_string(tensor.dims.size()));
  }
  std::swap(tensor.place, shape);  // place for messages about the shape
  byte_count(tensor);
  std::swap(tensor.place, shape);
  tensor.elements = read_elements(from, part, tensor);
  if (tensor.elements.source == Elements::Source::kNone && from.has_random_data()) {
    tensor.elements = read_random(from.random_data(), part.of("random_data"));
  }
  tensor.initial = read_contents(part, "initial", from.has_initial(), from.initial(), tensor);
  tensor.result = read_contents(part, "result", from.has_result(), from.result(), tensor);
  return tensor;
}

void read_parameter(const pb::Message& message, const pb::FieldDescriptor& field, Parameters& parameters) {
  const pb::Reflection& values = *message.GetReflection();
  Parameter parameter;
  parameter.name = field.name();
  using Field = pb::FieldDescriptor;
  if (field.is_repeated()) {
    parameter.kind = Parameter::Kind::kList;
    for (int i = 0; i < values.FieldSize(message, &field); ++i) {
      parameter.list.push_back(field.cpp_type() == Field::CPPTYPE_INT64
                                   ? values.GetRepeatedInt64(message, &field, i)
                                   : values.GetRepeatedInt32(message, &field, i));
    }
    parameter.present = !parameter.list.empty();
    parameters.all.push_back(std::move(parameter));
    return;
  }
  parameter.present = values.HasField(message, &field);
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32: parameter.integer = values.GetInt32(message, &field); break;
    case Field::CPPTYPE_INT64: parameter.integer = values.GetInt64(message, &field); break;
    case Field::CPPTYPE_BOOL: parameter.integer = values.GetBool(message, &field) ? 1 : 0; break;
    case Field::CPPTYPE_ENUM: parameter.integer = values.GetEnumValue(message, &field); break;
    case Field::CPPTYPE_FLOAT:
      parameter.kind = Parameter::Kind::kReal;
      parameter.real = values.GetFloat(message, &field);
      break;
    default:
      parameter.kind = Parameter::Kind::kText;
      parameter.text = values.GetString(message, &field);
      break;
  }
  parameters.all.push_back(std::move(parameter));
}

void read_fields(const pb::Message& message, Parameters& parameters) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    read_parameter(message, *message.GetDescriptor()->field(i), parameters);
  }
}

bool has_defaults(const pb::Descriptor& message) {
  for (int i = 0; i < message.field_count(); ++i) {
    if (!message.field(i)->has_default_value()) return false;
  }
  return true;
}

// The message among the parameters that belongs to the operator. place: the place of the operator's name.
Parameters read_parameters(const Part& node, const Operator& op, const Place& place) {
  Parameters parameters;
  parameters.place = place;
  const pb::Reflection& fields = *node.message.GetReflection();
  for (const std::string& name : op.parameter_messages) {
    const pb::FieldDescriptor* field = node.message.GetDescriptor()->FindFieldByName(name);
    if (!fields.HasField(node.message, field)) continue;
    parameters.message = name;
    parameters.place = node.of(name.c_str());
    read_fields(fields.GetMessage(node.message, field), parameters);
    return parameters;
  }
  if (op.parameter_messages.empty()) return parameters;
  const std::string& name = op.parameter_messages.front();
  const pb::FieldDescriptor* field = node.message.GetDescriptor()->FindFieldByName(name);
  if (!has_defaults(*field->message_type())) fail(place, name + " is missing");
  parameters.message = name;
  read_fields(fields.GetMessage(node.message, field), parameters);
  return parameters;
}

// Sets a field, or appends to a list.
void set_field(pb::Message& message, const pb::FieldDescriptor& field, const std::string& text,
               const Place& place) {
  if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) {
    message.GetReflection()->SetString(&message, &field, text);
    return;
  }
  TextError error;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFieldValueFromString(text, &field, &message)) {
    fail(place, "parameter " + std::string(field.name()) + " is '" + text +
                    "': " + (error.message.empty() ? "expected one value" : error.message));
  }
}

// What MLU-OPS writes for no threshold of the imaginary part.
constexpr double kNoThreshold = -1;

// Pairs `criteria` and `thresholds` by position; likewise the thresholds of imaginary parts, which may be fewer.
template <class Criteria, class Thresholds>
void read_criteria(const Part& part, const char* name, const char* threshold_name, const Criteria& criteria,
                   const Thresholds& thresholds, const Thresholds& imaginary, Case& result) {
  if (criteria.size() != thresholds.size()) {
    const Place place = criteria.empty() ? part.of(threshold_name, 0) : part.of(name, 0);
    fail(place, std::to_string(criteria.size()) + ' ' + name + " and " + std::to_string(thresholds.size()) + ' ' +
                    threshold_name + ", expected equal numbers");
  }
  const std::string imaginary_name = std::string(threshold_name) + "_imag";
  if (imaginary.size() > criteria.size()) {
    fail(part.of(imaginary_name.c_str(), 0), std::to_string(criteria.size()) + ' ' + name + " and " +
                                                 std::to_string(imaginary.size()) + ' ' + imaginary_name +
                                                 ", expected at most as many");
  }
  const auto check = [&](const char* field, int i, double threshold) {
    if (!(threshold >= 0))
      fail(part.of(field, i), "threshold is " + std::to_string(threshold) + ", expected 0 or more");
  };
  for (int i = 0; i < criteria.size(); ++i) {
    check(threshold_name, i, thresholds[i]);
    Criterion& criterion = result.criteria.emplace_back(Criterion{
        metric_of(static_cast<mluoptest::EvaluationCriterion>(criteria[i]), part.of(name, i)), thresholds[i]});
    if (i >= imaginary.size()) continue;
    if (imaginary[i] == kNoThreshold) continue;
    check(imaginary_name.c_str(), i, imaginary[i]);
    criterion.imaginary_threshold = imaginary[i];
  }
}

// The thresholds that outputs state. They must be equal.
mluoptest::Thresholds thresholds_of_outputs(const mluoptest::Node& node, const Part& part) {
  const mluoptest::Thresholds* stated = nullptr;
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).has_thresholds()) continue;
    const mluoptest::Thresholds& thresholds = node.output(i).thresholds();
    if (stated != nullptr && stated->SerializeAsString() != thresholds.SerializeAsString()) {
      fail(part.of("output", i), "has other thresholds than another output, expected the same");
    }
    stated = &thresholds;
  }
  return stated == nullptr ? mluoptest::Thresholds() : *stated;
}

// MLU-OPS states a null input for operators without inputs.
void drop_surplus_nulls(std::vector<Tensor>& inputs, ptrdiff_t count) {
  while (static_cast<ptrdiff_t>(inputs.size()) > count && inputs.back().is_null()) inputs.pop_back();
}

Case read_node(const mluoptest::Node& node, const Part& part) {
  Case result;
  result.file = part.place.file;
  if (!node.has_op_name()) fail(part.place, "op_name is missing");
  const Operator& op = operator_of(node.op_name(), part.of("op_name"));
  result.place = {part.place.file, part.of("op_name").line};
  result.op_name = node.op_name();
  const auto read_tensors = [&](const char* name, const auto& tensors, std::vector<Tensor>& to) {
    for (int i = 0; i < tensors.size(); ++i) {
      Part tensor = part.nested(tensors[i], name, i);
      tensor.place.field += " (" + tensors[i].id() + ')';
      to.push_back(read_tensor(tensors[i], tensor));
    }
  };
  read_tensors("input", node.input(), result.inputs);
  read_tensors("output", node.output(), result.outputs);
  for (Tensor& output : result.outputs) {
    // MLU-OPS computes the results of such outputs.
    if (output.elements.source == Elements::Source::kRandom) output.elements = {};
  }
  drop_surplus_nulls(result.inputs, std::count_if(op.tensors.begin(), op.tensors.end(),
                                                  [](const TensorRule& rule) { return rule.is_read(); }));
  join_inouts(result, op);
  if (node.has_test_param()) {
    read_criteria(part.nested(node.test_param(), "test_param"), "error_func", "error_threshold",
                  node.test_param().error_func(), node.test_param().error_threshold(),
                  node.test_param().error_threshold_imag(), result);
  }
  const auto read_evaluation = [&](const auto& from) {
    read_criteria(part, "evaluation_criterion", "evaluation_threshold", node.evaluation_criterion(),
                  from.evaluation_threshold(), from.evaluation_threshold_imag(), result);
  };
  if (node.evaluation_threshold_size() > 0 || node.evaluation_criterion_size() == 0) {
    read_evaluation(node);
  } else if (result.criteria.empty()) {
    read_evaluation(thresholds_of_outputs(node, part));
  }
  result.parameters = read_parameters(part, op, result.place);
  if (node.omp_settings().has_algorithm()) {
    result.algorithm = node.omp_settings().algorithm();
    if (*result.algorithm != "native" && *result.algorithm != "device") {
      fail(part.of("omp_settings"), "algorithm is '" + *result.algorithm + "', expected native or device");
    }
  }
  if (node.omp_settings().has_tasks()) result.tasks = node.omp_settings().tasks();
  return result;
}

}  // namespace

Format format_of(const std::string& file) { return file.ends_with(".pb") ? Format::kBinary : Format::kText; }

Case parse_case(const std::string& contents, Format format, const std::string& file) {
  silence_protobuf();
  mluoptest::Node node;
  if (format == Format::kBinary) {
    if (!node.ParseFromString(contents)) fail({file}, "is not a binary message of the schema");
    return read_node(node, {node, nullptr, {file}});
  }
  TextError error, ignored;
  FieldTree tree;
  if (!parse_text(contents, node, tree, error)) {
    mluoptest::CaseName name;
    FieldTree name_tree;
    if (parse_text(contents, name, name_tree, ignored) && name.has_op_name()) {
      operator_of(name.op_name(), Part{name, &name_tree, {file}}.of("op_name"));
    }
    error.report(contents, file);
  }
  return read_node(node, {node, &tree, {file}});
}

Parameters parse_parameters(const Operator& op, const std::map<std::string, std::vector<std::string>>& texts,
                            const Place& place) {
  silence_protobuf();
  Parameters parameters;
  parameters.place = place;
  if (op.parameter_messages.empty()) {
    if (!texts.empty()) fail(place, op.name + " has no parameters, found " + texts.begin()->first);
    return parameters;
  }
  parameters.message = op.parameter_messages.front();
  mluoptest::Node node;
  const pb::FieldDescriptor* field = node.GetDescriptor()->FindFieldByName(parameters.message);
  pb::Message& message = *node.GetReflection()->MutableMessage(&node, field);
  for (const auto& [name, values] : texts) {
    const pb::FieldDescriptor* parameter = message.GetDescriptor()->FindFieldByName(name);
    if (parameter == nullptr) {
      std::vector<std::string> names;
      for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
        names.emplace_back(message.GetDescriptor()->field(i)->name());
      }
      fail(place, op.name + " has no parameter '" + name + "', expected some of " + joined(names));
    }
    if (!parameter->is_repeated() && values.size() != 1) {
      fail(place, "parameter " + name + " has " + std::to_string(values.size()) + " values, expected 1");
    }
    for (const std::string& value : values) set_field(message, *parameter, value, place);
  }
  read_fields(message, parameters);
  return parameters;
}

std::filesystem::path folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return std::filesystem::canonical(folder.empty() ? "." : folder);
}

Case read_case(const std::string& file) {
  const std::filesystem::path path(file);
  if (path.filename() != kFolderDescription) return parse_case(read_file(file, {file}), format_of(file), file);
  const std::filesystem::path folder = path.parent_path();
  Case result = read_folder(folder.empty() ? "." : folder.string(), {});
  result.file = file;
  return result;
}

}  // namespace mluop::cases
