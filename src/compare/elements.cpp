#include "compare/elements.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "core/element.h"
#include "core/round_to_odd.h"

namespace mluop::compare {
namespace {

// Calls visit(element) with an element of the C++ type.
template <class Visit>
void dispatch(mluOpDataType_t dtype, const Visit& visit) {
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return visit(Half{});
    case MLUOP_DTYPE_BFLOAT16: return visit(BFloat16{});
    case MLUOP_DTYPE_FLOAT: return visit(float{});
    case MLUOP_DTYPE_DOUBLE: return visit(double{});
    case MLUOP_DTYPE_INT8: return visit(int8_t{});
    case MLUOP_DTYPE_INT16: return visit(int16_t{});
    case MLUOP_DTYPE_INT32: return visit(int32_t{});
    case MLUOP_DTYPE_INT64: return visit(int64_t{});
    case MLUOP_DTYPE_UINT16: return visit(uint16_t{});
    case MLUOP_DTYPE_UINT32: return visit(uint32_t{});
    case MLUOP_DTYPE_UINT64: return visit(uint64_t{});
    default: return visit(uint8_t{});
  }
}

template <class T>
T element_at(const Elements& elements, int64_t i) {
  T element;
  std::memcpy(&element, elements.data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return element;
}

template <class T>
double as_double(T element) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(element);
  } else {
    return number_of(element);
  }
}

template <class T>
uint64_t bits_of(T element) {
  uint64_t bits = 0;
  std::memcpy(&bits, &element, sizeof(T));
  return bits;
}

template <Element16 T>
void round_number(double number, T* to) {
  round_to(round_to_odd(number), to);
}
void round_number(double number, float* to) { *to = static_cast<float>(number); }
void round_number(double number, double* to) { *to = number; }

template <class T>
void round_number(double number, T* to) {
  // The least value, and the first value that is too large; both are exact in double.
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kEnd = 2.0 * static_cast<double>(T{1} << (std::numeric_limits<T>::digits - 1));
  if (std::isnan(number)) {
    *to = 0;
  } else if (number <= kLeast) {
    *to = std::numeric_limits<T>::min();
  } else {
    const double nearest = std::nearbyint(number);
    *to = nearest >= kEnd ? std::numeric_limits<T>::max() : static_cast<T>(nearest);
  }
}

// For 64-bit integers, which double may not hold exactly.
template <class To, class From>
To saturated(From value) {
  if constexpr (std::is_signed_v<From> && !std::is_signed_v<To>) {
    if (value < 0) return 0;
  }
  if (std::is_signed_v<From> && std::is_signed_v<To> &&
      value < static_cast<From>(std::numeric_limits<To>::min())) {
    return std::numeric_limits<To>::min();
  }
  const auto most = static_cast<uint64_t>(std::numeric_limits<To>::max());
  const bool exceeds = value > 0 && static_cast<uint64_t>(value) > most;
  return exceeds ? std::numeric_limits<To>::max() : static_cast<To>(value);
}

}  // namespace

bool is_floating(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_HALF || dtype == MLUOP_DTYPE_BFLOAT16 || dtype == MLUOP_DTYPE_FLOAT ||
         dtype == MLUOP_DTYPE_DOUBLE;
}

bool is_64_bit_integer(mluOpDataType_t dtype) { return dtype == MLUOP_DTYPE_INT64 || dtype == MLUOP_DTYPE_UINT64; }

bool is_comparable(mluOpDataType_t dtype) {
  return size_of(dtype) > 0 && dtype != MLUOP_DTYPE_INT31 && dtype != MLUOP_DTYPE_COMPLEX_HALF &&
         dtype != MLUOP_DTYPE_COMPLEX_FLOAT;
}

bool are_same(const Elements& one, const Elements& other, int64_t first, int64_t count) {
  if (one.dtype != other.dtype) return false;
  const auto size = static_cast<int64_t>(size_of(one.dtype));
  return std::memcmp(one.data + first * size, other.data + first * size, static_cast<size_t>(count * size)) == 0;
}

void read_numbers(const Elements& elements, int64_t first, int64_t count, double* numbers) {
  dispatch(elements.dtype, [&](auto type) {
    for (int64_t i = 0; i < count; ++i) numbers[i] = as_double(element_at<decltype(type)>(elements, first + i));
  });
}

void read_bits(const Elements& elements, int64_t first, int64_t count, uint64_t* bits) {
  dispatch(elements.dtype, [&](auto type) {
    for (int64_t i = 0; i < count; ++i) bits[i] = bits_of(element_at<decltype(type)>(elements, first + i));
  });
}

void round_bits(mluOpDataType_t dtype, const Elements& elements, int64_t first, int64_t count,
                const double* numbers, uint64_t* bits) {
  if (elements.dtype == dtype) return read_bits(elements, first, count, bits);
  const bool is_exact = is_64_bit_integer(elements.dtype);
  dispatch(dtype, [&](auto type) {
    using To = decltype(type);
    for (int64_t i = 0; i < count; ++i) {
      To to;
      if constexpr (std::is_integral_v<To>) {
        if (is_exact) {
          bits[i] = elements.dtype == MLUOP_DTYPE_INT64
                        ? bits_of(saturated<To>(element_at<int64_t>(elements, first + i)))
                        : bits_of(saturated<To>(element_at<uint64_t>(elements, first + i)));
          continue;
        }
      }
      round_number(numbers[i], &to);
      bits[i] = bits_of(to);
    }
  });
}

double rounded(mluOpDataType_t dtype, double number) {
  double back = 0;
  dispatch(dtype, [&](auto type) {
    round_number(number, &type);
    back = as_double(type);
  });
  return back;
}

double smallest_positive(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return 0x1p-24;
    case MLUOP_DTYPE_BFLOAT16: return 0x1p-133;
    case MLUOP_DTYPE_FLOAT: return 0x1p-149;
    case MLUOP_DTYPE_DOUBLE: return 0x1p-1074;
    default: return 0;
  }
}

uint64_t key_of_bits(mluOpDataType_t dtype, uint64_t bits) {
  constexpr uint64_t kZero = uint64_t{1} << 63;
  const auto unused = static_cast<int>(64 - 8 * size_of(dtype));
  if (is_floating(dtype)) {
    const uint64_t magnitude = (bits << unused & ~kZero) >> unused;
    return (bits << unused & kZero) != 0 ? kZero - magnitude : kZero + magnitude;
  }
  const bool is_signed = dtype == MLUOP_DTYPE_INT8 || dtype == MLUOP_DTYPE_INT16 || dtype == MLUOP_DTYPE_INT32 ||
                         dtype == MLUOP_DTYPE_INT64;
  if (!is_signed) return bits;
  return static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused) ^ kZero;
}

}  // namespace mluop::compare
