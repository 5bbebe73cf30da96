#include "case/model.h"

#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <limits>
#include <sstream>

#include "case/values.h"

namespace mluop::cases {
namespace {

size_t machine_memory() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

const Parameter& require(const Parameters& parameters, std::string_view name) {
  const Parameter* found = parameters.find(name);
  if (found == nullptr) fail(parameters.place, "parameter " + std::string(name) + " is missing");
  return *found;
}

Parameter& slot(Parameters& parameters, std::string_view name, Parameter::Kind kind) {
  for (Parameter& each : parameters.all) {
    if (each.name == name) {
      each.present = true;
      return each;
    }
  }
  return parameters.all.emplace_back(Parameter{.name = std::string(name), .kind = kind, .present = true});
}

}  // namespace

void fail(const Place& place, const std::string& text) {
  std::string message = place.file;
  if (place.line > 0) message += ':' + std::to_string(place.line);
  if (!message.empty()) message += ": ";
  if (!place.field.empty()) message += place.field + ": ";
  throw Problem(message + text);
}

const Parameter* Parameters::find(std::string_view name) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Parameter& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

int64_t Parameters::integer(std::string_view name) const { return require(*this, name).integer; }

int Parameters::int32(std::string_view name) const {
  const int64_t value = integer(name);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    fail(place, std::string(name) + " is " + std::to_string(value) + ", expected an int32");
  }
  return static_cast<int>(value);
}

double Parameters::real(std::string_view name) const { return require(*this, name).real; }

const std::vector<int64_t>& Parameters::list(std::string_view name) const { return require(*this, name).list; }

void Parameters::set(std::string_view name, int64_t value) {
  slot(*this, name, Parameter::Kind::kInteger).integer = value;
}

void Parameters::set_real(std::string_view name, double value) {
  slot(*this, name, Parameter::Kind::kReal).real = value;
}

void Parameters::set(std::string_view name, std::vector<int64_t> values) {
  slot(*this, name, Parameter::Kind::kList).list = std::move(values);
}

int64_t element_count(const Tensor& tensor) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : tensor.dims) {
    if (dim < 0) fail(tensor.place, "shape is " + text_of(tensor.dims) + ", expected no negative dimension");
    empty = empty || dim == 0;
    if (__builtin_mul_overflow(count, std::max<int64_t>(dim, 1), &count)) {
      fail(tensor.place, "shape is " + text_of(tensor.dims) + ": the number of elements exceeds int64");
    }
  }
  return empty ? 0 : count;
}

size_t byte_count(const Tensor& tensor) {
  if (tensor.dims.size() > MLUOP_DIM_MAX) {
    fail(tensor.place, "shape has " + std::to_string(tensor.dims.size()) + " dimensions, expected at most 8");
  }
  const auto count = static_cast<size_t>(element_count(tensor));
  size_t bytes;
  if (__builtin_mul_overflow(count, element_size(tensor.dtype), &bytes) || bytes > machine_memory()) {
    fail(tensor.place, "shape is " + text_of(tensor.dims) + ": more bytes than the machine's memory, " +
                           std::to_string(machine_memory()));
  }
  return bytes;
}

size_t span_bytes(const Tensor& tensor) {
  const size_t packed = byte_count(tensor);
  if (tensor.strides.empty() || packed == 0) return packed;
  int64_t span = 1;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    int64_t reach = 0;
    if (tensor.strides[i] < 0 || __builtin_mul_overflow(tensor.dims[i] - 1, tensor.strides[i], &reach) ||
        __builtin_add_overflow(span, reach, &span)) {
      fail(tensor.place,
           "strides are " + text_of(tensor.strides) + ", expected no negative stride, and offsets in int64");
    }
  }
  size_t bytes;
  if (__builtin_mul_overflow(static_cast<size_t>(span), element_size(tensor.dtype), &bytes) ||
      bytes > machine_memory()) {
    fail(tensor.place, "strides are " + text_of(tensor.strides) + ": more bytes than the machine's memory, " +
                           std::to_string(machine_memory()));
  }
  return bytes;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (size_t i = 0; i < texts.size(); ++i) all += (i == 0 ? "" : ", ") + texts[i];
  return all;
}

std::string text_of(const Dims& dims) {
  std::vector<std::string> texts;
  for (const int64_t dim : dims) texts.push_back(std::to_string(dim));
  return '[' + joined(texts) + ']';
}

std::string text_of(long double value, int digits) {
  std::ostringstream text;
  text << std::setprecision(digits) << value;
  return text.str();
}

std::string_view name_of(Metric metric) {
  constexpr std::string_view kNames[] = {"diff1", "diff2", "diff3", "diff3_2", "diff4", "bits"};
  return kNames[static_cast<size_t>(metric)];
}

}  // namespace mluop::cases
