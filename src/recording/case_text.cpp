#include "recording/case_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/dtype.h"

namespace mluop {
namespace {

template <class T, class... Format>
std::string number_text(T value, Format... format) {
  std::array<char, 64> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value, format...);
  return {digits.data(), result.ptr};
}

template <class T>
T load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

uint64_t load_bits(const std::byte* element, size_t size) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t bits = 0;
  std::memcpy(&bits, element, size);
  return bits;
}

// The type of the numbers of an element: a complex element is two numbers.
mluOpDataType_t number_type(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_COMPLEX_HALF: return MLUOP_DTYPE_HALF;
    case MLUOP_DTYPE_COMPLEX_FLOAT: return MLUOP_DTYPE_FLOAT;
    default: return dtype;
  }
}

// Whether elements are floating-point numbers that can be written as decimals.
bool has_decimals(mluOpDataType_t dtype) { return dtype == MLUOP_DTYPE_FLOAT || is_16_bit(dtype); }

std::string decimal_text(mluOpDataType_t dtype, const std::byte* element) {
  return dispatch_dtype(dtype, [&](auto type) { return number_text(to_f32(load<decltype(type)>(element))); });
}

std::string_view name_of_reduction(mluOpReduceMode_t mode) {
  switch (mode) {
    case MLUOP_REDUCE_DSUM: return "REDUCE_MODE_SUM";
    case MLUOP_REDUCE_DMEAN: return "REDUCE_MODE_MEAN";
    default: return "REDUCE_MODE_MAX";
  }
}

// Whether the strides must be written because readers would assume others. Dimensions of size 1 may have any
// stride.
bool has_strides_of_its_own(const TensorDescriptor& desc) {
  TensorDescriptor contiguous = desc;
  set_contiguous_strides(contiguous);
  return desc.strides != contiguous.strides;
}

}  // namespace

void CaseText::comment(std::string_view line) { text_.append("# ").append(line).append("\n"); }

void CaseText::begin(std::string_view message) {
  indent();
  text_.append(message).append(" {\n");
  ++depth_;
}

void CaseText::end() {
  --depth_;
  indent();
  text_.append("}\n");
}

void CaseText::field(std::string_view name, std::string_view value) {
  indent();
  text_.append(name).append(": ").append(value).append("\n");
}

void CaseText::field(std::string_view name, int64_t value) { field(name, number_text(value)); }

void CaseText::string_field(std::string_view name, std::string_view value) {
  indent();
  text_.append(name).append(": \"").append(value).append("\"\n");
}

void CaseText::parameter(const Parameter& parameter) {
  struct {
    void operator()(int64_t value) const { text.field(name, value); }
    // The decimals of the double, so that parsers that round twice read the same float.
    void operator()(float value) const { text.field(name, number_text(double{value})); }
    void operator()(bool value) const { text.field(name, value ? "true" : "false"); }
    void operator()(mluOpReduceMode_t value) const { text.field(name, name_of_reduction(value)); }
    void operator()(std::span<const int32_t> values) const {
      for (const int32_t value : values) text.field(name, int64_t{value});
    }
    CaseText& text;
    std::string_view name;
  } const write_value{*this, parameter.name};
  std::visit(write_value, parameter.value);
}

void CaseText::descriptor(const TensorDescriptor& desc) {
  begin("shape");
  for (const int64_t dim : desc.shape()) field("dims", dim);
  if (has_strides_of_its_own(desc)) {
    for (int i = 0; i < desc.dim_count; ++i) field("dim_stride", desc.strides[static_cast<size_t>(i)]);
  }
  end();
  field("layout", "LAYOUT_" + std::string(name_of(desc.layout)));
  field("dtype", "DTYPE_" + std::string(name_of(desc.dtype)));
  if (desc.onchip_dtype != MLUOP_DTYPE_INVALID) {
    field("onchip_dtype", "DTYPE_" + std::string(name_of(desc.onchip_dtype)));
  }
}

void CaseText::begin_elements(mluOpDataType_t dtype, bool decimal) {
  indent();
  element_ = 0;
  text_ += dtype == MLUOP_DTYPE_INT32                    ? "value_i: ["
           : decimal && has_decimals(number_type(dtype)) ? "value_f: ["
                                                         : "value_h: [";
}

void CaseText::elements(mluOpDataType_t element_type, bool decimal, std::span<const std::byte> bytes) {
  const mluOpDataType_t dtype = number_type(element_type);
  constexpr int64_t kElementsOfALine = 16;
  constexpr int kBase = 16;
  const size_t size = size_of(dtype);
  for (size_t at = 0; at < bytes.size(); at += size, ++element_) {
    const std::byte* element = &bytes[at];
    if (element_ > 0) text_ += element_ % kElementsOfALine == 0 ? ",\n" : ", ";
    if (dtype == MLUOP_DTYPE_INT32) {
      text_ += number_text(load<int32_t>(element));
    } else if (decimal && has_decimals(dtype)) {
      text_ += decimal_text(dtype, element);
    } else {
      text_.append("\"").append(number_text(load_bits(element, size), kBase)).append("\"");
    }
  }
}

void CaseText::end_elements() { text_ += "]\n"; }

}  // namespace mluop
