#include "case/write.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>

#include "case/files.h"
#include "case/read.h"
#include "case/values.h"
#include "mlu_op_test.pb.h"

namespace mluop::cases {
namespace {

namespace pb = google::protobuf;

std::string upper(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

mluoptest::DataType dtype_field(mluOpDataType_t dtype) {
  mluoptest::DataType value = mluoptest::DTYPE_FLOAT;
  mluoptest::DataType_Parse("DTYPE_" + upper(dtype_name(dtype)), &value);
  return value;
}

mluoptest::TensorLayout layout_field(mluOpTensorLayout_t layout) {
  mluoptest::TensorLayout value = mluoptest::LAYOUT_ARRAY;
  mluoptest::TensorLayout_Parse("LAYOUT_" + std::string(layout_name(layout)), &value);
  return value;
}

// DIFF3 stands for bits, which the schema lacks.
mluoptest::EvaluationCriterion criterion_field(Metric metric) {
  mluoptest::EvaluationCriterion value = mluoptest::DIFF3;
  mluoptest::EvaluationCriterion_Parse(upper(name_of(metric)), &value);
  return value;
}

// Whether value_f has all bits of the elements.
bool has_exact_numbers(const Bytes& bytes, mluOpDataType_t dtype) {
  if (!is_floating(dtype) || dtype == MLUOP_DTYPE_DOUBLE) return false;
  for (size_t i = 0; i < bytes.size() / element_size(part_type(dtype)); ++i) {
    if (!std::isfinite(number_at(bytes.data(), dtype, i))) return false;
  }
  return true;
}

// To: Tensor or Contents.
template <class To>
void write_elements(const Elements& elements, mluOpDataType_t dtype, To& to) {
  if (elements.source == Elements::Source::kFile) to.set_path(elements.path);
  if (elements.source != Elements::Source::kInline) return;
  const Bytes& bytes = elements.bytes;
  const size_t size = element_size(part_type(dtype)), count = bytes.size() / size;
  const bool numbers = has_exact_numbers(bytes, dtype);
  for (size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<int64_t>(bits_at(bytes.data(), dtype, i));
    const double number = number_at(bytes.data(), dtype, i);
    if (numbers) {
      to.add_value_f(static_cast<float>(number));
    } else if (dtype == MLUOP_DTYPE_INT32 || (is_floating(dtype) && size < 8)) {
      to.add_value_i(static_cast<int32_t>(bits));
    } else {
      to.add_value_l(size == 8 ? bits : static_cast<int64_t>(number));
    }
  }
}

void write_random(const Random& random, mluoptest::RandomData& to) {
  to.set_seed(random.seed);
  if (random.distribution == Distribution::kUniform) {
    to.set_lower_bound(static_cast<float>(random.lower));
    to.set_upper_bound(static_cast<float>(random.upper));
    to.set_distribution(mluoptest::UNIFORM);
  } else {
    to.set_mu(static_cast<float>(random.mu));
    to.set_sigma(static_cast<float>(random.sigma));
    to.set_distribution(mluoptest::GAUSSIAN);
  }
}

void write_tensor(const Tensor& tensor, mluoptest::Tensor& to) {
  to.set_id(tensor.id);
  to.mutable_shape()->mutable_dims()->Assign(tensor.dims.begin(), tensor.dims.end());
  to.mutable_shape()->mutable_dim_stride()->Assign(tensor.strides.begin(), tensor.strides.end());
  to.set_layout(layout_field(tensor.layout));
  to.set_dtype(dtype_field(tensor.dtype));
  if (tensor.onchip_dtype != MLUOP_DTYPE_INVALID) to.set_onchip_dtype(dtype_field(tensor.onchip_dtype));
  write_elements(tensor.elements, tensor.dtype, to);
  if (tensor.elements.source == Elements::Source::kRandom) {
    write_random(tensor.elements.random, *to.mutable_random_data());
  }
  if (tensor.initial) write_elements(*tensor.initial, tensor.dtype, *to.mutable_initial());
  if (tensor.result) write_elements(*tensor.result, tensor.dtype, *to.mutable_result());
}

void write_parameter(const Parameter& parameter, pb::Message& message) {
  const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(parameter.name);
  if (field == nullptr || !parameter.present) return;
  const pb::Reflection& values = *message.GetReflection();
  using Field = pb::FieldDescriptor;
  const auto integer = static_cast<int32_t>(parameter.integer);
  if (field->is_repeated()) {
    for (const int64_t value : parameter.list) {
      if (field->cpp_type() == Field::CPPTYPE_INT64) {
        values.AddInt64(&message, field, value);
      } else {
        values.AddInt32(&message, field, static_cast<int32_t>(value));
      }
    }
    return;
  }
  switch (field->cpp_type()) {
    case Field::CPPTYPE_INT32: values.SetInt32(&message, field, integer); break;
    case Field::CPPTYPE_INT64: values.SetInt64(&message, field, parameter.integer); break;
    case Field::CPPTYPE_BOOL: values.SetBool(&message, field, parameter.integer != 0); break;
    case Field::CPPTYPE_ENUM: values.SetEnumValue(&message, field, integer); break;
    case Field::CPPTYPE_FLOAT: values.SetFloat(&message, field, static_cast<float>(parameter.real)); break;
    default: values.SetString(&message, field, parameter.text); break;
  }
}

mluoptest::Node node_of(const Case& the_case) {
  mluoptest::Node node;
  node.set_op_name(the_case.op_name);
  for (const Tensor& tensor : the_case.inputs) write_tensor(tensor, *node.add_input());
  for (const Tensor& tensor : the_case.outputs) write_tensor(tensor, *node.add_output());
  for (const Criterion& criterion : the_case.criteria) {
    node.mutable_test_param()->add_error_func(criterion_field(criterion.metric));
    node.mutable_test_param()->add_error_threshold(criterion.threshold);
  }
  if (std::ranges::any_of(the_case.criteria,
                          [](const Criterion& c) { return c.imaginary_threshold.has_value(); })) {
    for (const Criterion& criterion : the_case.criteria) {
      node.mutable_test_param()->add_error_threshold_imag(
          criterion.imaginary_threshold.value_or(criterion.threshold));
    }
  }
  if (!the_case.criteria.empty()) node.mutable_test_param()->set_baseline_device(mluoptest::CPU);
  if (the_case.algorithm) node.mutable_omp_settings()->set_algorithm(*the_case.algorithm);
  if (the_case.tasks) node.mutable_omp_settings()->set_tasks(*the_case.tasks);
  const Parameters& parameters = the_case.parameters;
  if (!parameters.message.empty()) {
    const pb::FieldDescriptor* field = node.GetDescriptor()->FindFieldByName(parameters.message);
    pb::Message* message = node.GetReflection()->MutableMessage(&node, field);
    for (const Parameter& parameter : parameters.all) write_parameter(parameter, *message);
  }
  return node;
}

}  // namespace

std::string text_of(const Case& the_case) {
  pb::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(node_of(the_case), &text);
  return text;
}

void write_case(const Case& the_case, const std::string& file) {
  if (format_of(file) == Format::kText) return write_file(file, text_of(the_case));
  std::string message;
  if (!node_of(the_case).SerializeToString(&message)) {
    fail({}, "cannot write " + file + ": more than the 2 GiB of a binary message");
  }
  write_file(file, message);
}

}  // namespace mluop::cases
