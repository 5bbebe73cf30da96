#include "case/values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "reference/element.h"

namespace mluop::cases {
namespace {

enum class Kind { kFloating, kSigned, kUnsigned, kComplex };

struct Type {
  mluOpDataType_t dtype;
  std::string_view name;
  size_t size;
  Kind kind;
};

constexpr Type kTypes[] = {
    {MLUOP_DTYPE_HALF, "half", 2, Kind::kFloating},
    {MLUOP_DTYPE_FLOAT, "float", 4, Kind::kFloating},
    {MLUOP_DTYPE_BFLOAT16, "bfloat16", 2, Kind::kFloating},
    {MLUOP_DTYPE_DOUBLE, "double", 8, Kind::kFloating},
    {MLUOP_DTYPE_INT8, "int8", 1, Kind::kSigned},
    {MLUOP_DTYPE_INT16, "int16", 2, Kind::kSigned},
    {MLUOP_DTYPE_INT31, "int31", 4, Kind::kUnsigned},
    {MLUOP_DTYPE_INT32, "int32", 4, Kind::kSigned},
    {MLUOP_DTYPE_INT64, "int64", 8, Kind::kSigned},
    {MLUOP_DTYPE_UINT8, "uint8", 1, Kind::kUnsigned},
    {MLUOP_DTYPE_UINT16, "uint16", 2, Kind::kUnsigned},
    {MLUOP_DTYPE_UINT32, "uint32", 4, Kind::kUnsigned},
    {MLUOP_DTYPE_UINT64, "uint64", 8, Kind::kUnsigned},
    {MLUOP_DTYPE_BOOL, "bool", 1, Kind::kUnsigned},
    {MLUOP_DTYPE_COMPLEX_HALF, "complex_half", 4, Kind::kComplex},
    {MLUOP_DTYPE_COMPLEX_FLOAT, "complex_float", 8, Kind::kComplex},
};
constexpr Type kInvalid{MLUOP_DTYPE_INVALID, "invalid", 1, Kind::kUnsigned};

constexpr size_t kTypeLimit = MLUOP_DTYPE_BFLOAT16 + 1;

// By data type, for the loops over elements.
constexpr std::array<Type, kTypeLimit> kTypeOf = [] {
  std::array<Type, kTypeLimit> table{};
  table.fill(kInvalid);
  for (const Type& type : kTypes) table[static_cast<size_t>(type.dtype)] = type;
  return table;
}();

// By layout.
constexpr std::string_view kLayoutNames[] = {"NCHW", "NHWC", "HWCN", "NDHWC", "ARRAY", "NCDHW",
                                             "TNC",  "NTC",  "NC",   "NLC",   "NCL"};

const Type& type_of(mluOpDataType_t dtype) { return kTypeOf[static_cast<size_t>(dtype)]; }

}  // namespace

size_t element_size(mluOpDataType_t dtype) { return type_of(dtype).size; }
std::string_view dtype_name(mluOpDataType_t dtype) { return type_of(dtype).name; }
bool is_floating(mluOpDataType_t dtype) { return type_of(part_type(dtype)).kind == Kind::kFloating; }
bool is_complex(mluOpDataType_t dtype) { return type_of(dtype).kind == Kind::kComplex; }
size_t parts_of(mluOpDataType_t dtype) { return is_complex(dtype) ? 2 : 1; }

mluOpDataType_t part_type(mluOpDataType_t dtype) {
  if (!is_complex(dtype)) return dtype;
  return dtype == MLUOP_DTYPE_COMPLEX_HALF ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;
}

int64_t number_count(const Tensor& tensor) {
  return element_count(tensor) * static_cast<int64_t>(parts_of(tensor.dtype));
}

mluOpDataType_t dtype_of_name(std::string_view name) {
  for (const Type& type : kTypes) {
    if (type.name == name) return type.dtype;
  }
  return MLUOP_DTYPE_INVALID;
}

std::string_view layout_name(mluOpTensorLayout_t layout) { return kLayoutNames[static_cast<size_t>(layout)]; }

bool is_layout_name(std::string_view name) {
  return std::find(std::begin(kLayoutNames), std::end(kLayoutNames), name) != std::end(kLayoutNames);
}

mluOpTensorLayout_t layout_of_name(std::string_view name) {
  const auto* found = std::find(std::begin(kLayoutNames), std::end(kLayoutNames), name);
  return static_cast<mluOpTensorLayout_t>(found - kLayoutNames);
}

uint64_t bits_at(const std::byte* data, mluOpDataType_t dtype, size_t i) {
  const size_t size = element_size(part_type(dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, data + i * size, size);
  return bits;
}

void put_bits(std::byte* data, mluOpDataType_t dtype, size_t i, uint64_t bits) {
  const size_t size = element_size(part_type(dtype));
  std::memcpy(data + i * size, &bits, size);
}

double number_at(const std::byte* data, mluOpDataType_t dtype, size_t i) {
  const uint64_t bits = bits_at(data, dtype, i);
  switch (part_type(dtype)) {
    case MLUOP_DTYPE_FLOAT: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case MLUOP_DTYPE_HALF: return reference::to_f32(reference::Half{static_cast<uint16_t>(bits)});
    case MLUOP_DTYPE_BFLOAT16: return reference::to_f32(reference::BFloat16{static_cast<uint16_t>(bits)});
    case MLUOP_DTYPE_DOUBLE: return std::bit_cast<double>(bits);
    default: break;
  }
  const Type& type = type_of(dtype);
  if (type.kind == Kind::kUnsigned) return static_cast<double>(bits);
  const auto unused = static_cast<int>(64 - 8 * type.size);
  return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
}

uint64_t bits_of_number(mluOpDataType_t dtype, double number) {
  switch (part_type(dtype)) {
    case MLUOP_DTYPE_FLOAT: return std::bit_cast<uint32_t>(static_cast<float>(number));
    case MLUOP_DTYPE_HALF: return reference::to_f16(number).bits;
    case MLUOP_DTYPE_DOUBLE: return std::bit_cast<uint64_t>(number);
    case MLUOP_DTYPE_BFLOAT16: return reference::to_bf16(number).bits;
    default: break;
  }
  // Outside the range of int64: the nearest limit. NaN: 0.
  constexpr double kLimit = 0x1p63;
  const double floor = std::floor(number);
  if (floor >= kLimit) return type_of(dtype).kind == Kind::kSigned ? INT64_MAX : UINT64_MAX;
  return floor >= -kLimit ? static_cast<uint64_t>(static_cast<int64_t>(floor)) : 0;
}

}  // namespace mluop::cases
