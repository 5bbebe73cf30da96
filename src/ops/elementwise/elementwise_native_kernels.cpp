// The maps of the element-by-element operators, each a class with operator()(d, vectors). Start with the functions
// at the end, then map_row(), which applies a map to contiguous elements.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/elementwise_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <math.h>  // lgamma_r

#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "core/element.h"
#include "core/simd.h"
#include "ops/elementwise/elementwise.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "primitives/simd/round_to_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::elementwise {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::round_to_float;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::to_bits;

// The lanes of vectors of float whose lanes all fit a vector of double.
constexpr size_t kDoubleLanes = hn::MaxLanes(hn::ScalableTag<double>());
constexpr size_t kFloatLanes = 16;

// Stores a vector, rounded to T. A non-temporal store writes at least 16 bytes.
template <bool kStream, class D, class T>
HWY_INLINE void write(const StreamWriter& writer, hn::Vec<D> v, D d, T* to) {
  if constexpr (!kStream || hn::MaxLanes(D()) * sizeof(T) < 16) {
    store_f32(v, d, to);
  } else if constexpr (std::is_same_v<T, float>) {
    writer.store(v, d, to);
  } else {
    writer.store(to_bits<T>(d, v), hn::Rebind<uint16_t, D>(), reinterpret_cast<uint16_t*>(to));
  }
}

struct Sqrt {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x) const {
    return hn::Sqrt(x);
  }
};

struct Div {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x, hn::Vec<D> y) const {
    return hn::Div(x, y);
  }
};

// 0.5 diff_y / y with one rounding: the product that is rounded here is exact, or the quotient is 0.
struct SqrtBackward {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> y, hn::Vec<D> diff_y) const {
    const auto doubles = hn::Le(hn::Abs(y), hn::Set(d, 0x1p126F));
    const auto above = hn::IfThenElse(doubles, diff_y, hn::Mul(diff_y, hn::Set(d, 0.5F)));
    return hn::Div(above, hn::IfThenElse(doubles, hn::Add(y, y), y));
  }
};

// a + b x
template <class V>
HWY_INLINE V sum(V a, V b, V x) {
  return hn::Add(a, hn::Mul(b, x));
}
template <class D>
HWY_INLINE hn::Vec<D> pair(D d, hn::Vec<D> x, double a, double b) {
  return sum(hn::Set(d, a), hn::Set(d, b), x);
}

// log(x) unit + exponent of x times step, in double: near 2^-44 of the logarithm, before it is rounded to float.
struct Log {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const hn::RebindToSigned<D> di;
    const hn::Rebind<double, D> dd;
    const auto zero = hn::Zero(d);
    // x = 2^exponent (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
    const auto is_small = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
    const auto scaled = hn::IfThenElse(is_small, hn::Mul(x, hn::Set(d, 0x1p24F)), x);
    const auto bits = hn::BitCast(di, scaled);
    const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, int32_t{0x3F3504F3})));
    const auto mantissa = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
    const auto n = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(is_small, hn::Set(d, 24.0F)));
    // log(1 + f) = 2 artanh(s), s = f / (2 + f)
    const auto one = hn::Set(dd, 1.0);
    const auto f = hn::Sub(hn::PromoteTo(dd, mantissa), one);
    const auto s = hn::Div(f, hn::Add(f, hn::Set(dd, 2.0)));
    const auto s2 = hn::Mul(s, s), s4 = hn::Mul(s2, s2), s8 = hn::Mul(s4, s4);
    const auto low = sum(pair(dd, s2, 1.0 / 3, 1.0 / 5), pair(dd, s2, 1.0 / 7, 1.0 / 9), s4);
    const auto high = sum(pair(dd, s2, 1.0 / 11, 1.0 / 13), pair(dd, s2, 1.0 / 15, 1.0 / 17), s4);
    const auto series = sum(low, high, s8);
    const auto half = hn::Add(s, hn::Mul(hn::Mul(s, s2), series));
    const auto log =
        hn::Add(hn::Mul(hn::Add(half, half), hn::Set(dd, unit)), hn::Mul(hn::PromoteTo(dd, n), hn::Set(dd, step)));
    const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    auto result = hn::DemoteTo(d, log);
    result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
    result = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
    result = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), result);
    return hn::IfThenElse(hn::IsNaN(x), x, result);
  }

  double unit, step;  // the logarithms of e and 2
};

constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLog2E = 0x1.71547652b82fep0, kLog10E = 0x1.bcb7b1526e50ep-2,
                 kLog10Of2 = 0x1.34413509f79ffp-2;

template <bool kStream, size_t kLanes, class T, class F>
HWY_INLINE void map_vectors(const F& f, const T* a, const T* b, int64_t count, T* to) {
  const StreamWriter writer;
  for_each_vector<kLanes>(count, [&](auto d, int64_t i) HWY_ATTR {
    if constexpr (std::is_same_v<F, Div> || std::is_same_v<F, SqrtBackward>) {
      write<kStream>(writer, f(d, load_f32(d, a + i), load_f32(d, b + i)), d, to + i);
    } else {
      write<kStream>(writer, f(d, load_f32(d, a + i)), d, to + i);
    }
  });
}

template <size_t kLanes, class T, class F>
HWY_INLINE void map_row(const F& f, const void* a, const void* b, int64_t count, bool stream, void* to) {
  const auto *from_a = static_cast<const T*>(a), *from_b = static_cast<const T*>(b);
  if (stream) {
    map_vectors<true, kLanes>(f, from_a, from_b, count, static_cast<T*>(to));
  } else {
    map_vectors<false, kLanes>(f, from_a, from_b, count, static_cast<T*>(to));
  }
}

template <class T>
void map_sqrt(const void* a, const void* b, int64_t count, bool stream, void* to) {
  map_row<kFloatLanes, T>(Sqrt(), a, b, count, stream, to);
}
template <class T>
void map_sqrt_backward(const void* a, const void* b, int64_t count, bool stream, void* to) {
  map_row<kFloatLanes, T>(SqrtBackward(), a, b, count, stream, to);
}
template <class T>
void map_div(const void* a, const void* b, int64_t count, bool stream, void* to) {
  map_row<kFloatLanes, T>(Div(), a, b, count, stream, to);
}
template <class T>
void map_log(const void* a, const void* b, int64_t count, bool stream, void* to) {
  map_row<kDoubleLanes, T>(Log{1, kLn2}, a, b, count, stream, to);
}
template <class T>
void map_log2(const void* a, const void* b, int64_t count, bool stream, void* to) {
  map_row<kDoubleLanes, T>(Log{kLog2E, 1}, a, b, count, stream, to);
}
template <class T>
void map_log10(const void* a, const void* b, int64_t count, bool stream, void* to) {
  map_row<kDoubleLanes, T>(Log{kLog10E, kLog10Of2}, a, b, count, stream, to);
}

// The root of an integer, rounded once.
void map_sqrt_int32(const void* a, const void*, int64_t count, bool, void* to) {
  const auto* const from = static_cast<const int32_t*>(a);
  for_each_vector<kDoubleLanes>(count, [&](auto d, int64_t i) HWY_ATTR {
    const hn::Rebind<double, decltype(d)> dd;
    const auto integers = hn::LoadU(hn::RebindToSigned<decltype(d)>(), from + i);
    hn::StoreU(hn::DemoteTo(d, hn::Sqrt(hn::PromoteTo(dd, integers))), d, static_cast<float*>(to) + i);
  });
}

// The signs are cleared as bits: NaN keep their payload.
template <bool kStream>
HWY_INLINE void clear_signs(const uint32_t* from, int64_t count, uint32_t* to) {
  const StreamWriter writer;
  for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto positive = hn::And(hn::LoadU(du, from + i), hn::Set(du, 0x7FFFFFFFU));
    writer.write<kStream && hn::MaxLanes(decltype(d)()) * sizeof(float) >= 16>(positive, du, to + i);
  });
}

void map_abs_float(const void* a, const void*, int64_t count, bool stream, void* to) {
  const auto* const from = static_cast<const uint32_t*>(a);
  stream ? clear_signs<true>(from, count, static_cast<uint32_t*>(to))
         : clear_signs<false>(from, count, static_cast<uint32_t*>(to));
}

void map_abs_16(const void* a, const void*, int64_t count, bool stream, void* to) {
  const auto* const from = static_cast<const uint16_t*>(a);
  auto* const bits = static_cast<uint16_t*>(to);
  const StreamWriter writer;
  const hn::ScalableTag<uint16_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto magnitude = hn::Set(d, uint16_t{0x7FFF});
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto positive = hn::And(hn::LoadU(d, from + i), magnitude);
    stream ? writer.store(positive, d, bits + i) : hn::StoreU(positive, d, bits + i);
  }
  for (; i < count; ++i) bits[i] = static_cast<uint16_t>(from[i] & 0x7FFF);
}

// The most negative number remains.
void map_abs_int32(const void* a, const void*, int64_t count, bool, void* to) {
  const auto* const from = static_cast<const int32_t*>(a);
  for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    hn::StoreU(hn::Abs(hn::LoadU(di, from + i)), di, static_cast<int32_t*>(to) + i);
  });
}

// The root of the sum of squares in double, which are exact: the magnitude is rounded to float once.
void map_abs_complex(const void* a, const void*, int64_t count, bool, void* to) {
  const auto* const from = static_cast<const float*>(a);
  for_each_vector<kDoubleLanes>(count, [&](auto d, int64_t i) HWY_ATTR {
    const hn::Rebind<double, decltype(d)> dd;
    hn::Vec<decltype(d)> real, imaginary;
    hn::LoadInterleaved2(d, from + 2 * i, real, imaginary);
    const auto x = hn::PromoteTo(dd, real), y = hn::PromoteTo(dd, imaginary);
    const auto magnitude = hn::Sqrt(hn::Add(hn::Mul(x, x), hn::Mul(y, y)));
    const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    const auto is_infinite = hn::Or(hn::Eq(hn::Abs(real), infinity), hn::Eq(hn::Abs(imaginary), infinity));
    hn::StoreU(hn::IfThenElse(is_infinite, infinity, round_to_float(d, magnitude)), d,
               static_cast<float*>(to) + i);
  });
}

template <class T>
void map_lgamma(const void* a, const void*, int64_t count, bool, void* to) {
  for (int64_t i = 0; i < count; ++i) {
    int sign;  // lgamma() would write a global variable
    round_to(static_cast<float>(lgamma_r(double{to_f32(static_cast<const T*>(a)[i])}, &sign)),
             static_cast<T*>(to) + i);
  }
}

// Return the instances for the element types.
#define MLUOP_ELEMENTWISE_BY_DTYPE(FUNCTION)                                                       \
  Map FUNCTION##_by_dtype(mluOpDataType_t dtype) {                                                 \
    return dispatch_dtype(dtype, [](auto element) -> Map { return FUNCTION<decltype(element)>; }); \
  }                                                                                                \
  static_assert(true, "a semicolon follows")

MLUOP_ELEMENTWISE_BY_DTYPE(map_sqrt_backward);
MLUOP_ELEMENTWISE_BY_DTYPE(map_div);
MLUOP_ELEMENTWISE_BY_DTYPE(map_log);
MLUOP_ELEMENTWISE_BY_DTYPE(map_log2);
MLUOP_ELEMENTWISE_BY_DTYPE(map_log10);
MLUOP_ELEMENTWISE_BY_DTYPE(map_lgamma);

Map map_sqrt_by_dtype(mluOpDataType_t dtype) {
  if (dtype == MLUOP_DTYPE_INT32) return map_sqrt_int32;
  return dispatch_dtype(dtype, [](auto element) -> Map { return map_sqrt<decltype(element)>; });
}

Map map_abs_by_dtype(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_INT32: return map_abs_int32;
    case MLUOP_DTYPE_COMPLEX_FLOAT: return map_abs_complex;
    default: return is_16_bit(dtype) ? map_abs_16 : map_abs_float;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::elementwise {
namespace {

HWY_EXPORT(map_abs_by_dtype);
HWY_EXPORT(map_sqrt_by_dtype);
HWY_EXPORT(map_sqrt_backward_by_dtype);
HWY_EXPORT(map_div_by_dtype);
HWY_EXPORT(map_log_by_dtype);
HWY_EXPORT(map_log2_by_dtype);
HWY_EXPORT(map_log10_by_dtype);
HWY_EXPORT(map_lgamma_by_dtype);

}  // namespace

Map abs_map(mluOpDataType_t dtype) { return MLUOP_DISPATCH(map_abs_by_dtype)(dtype); }
Map sqrt_map(mluOpDataType_t dtype) { return MLUOP_DISPATCH(map_sqrt_by_dtype)(dtype); }
Map sqrt_backward_map(mluOpDataType_t dtype) { return MLUOP_DISPATCH(map_sqrt_backward_by_dtype)(dtype); }
Map div_map(mluOpDataType_t dtype) { return MLUOP_DISPATCH(map_div_by_dtype)(dtype); }
Map lgamma_map(mluOpDataType_t dtype) { return MLUOP_DISPATCH(map_lgamma_by_dtype)(dtype); }

Map log_map(mluOpLogBase_t base, mluOpDataType_t dtype) {
  switch (base) {
    case MLUOP_LOG_2: return MLUOP_DISPATCH(map_log2_by_dtype)(dtype);
    case MLUOP_LOG_10: return MLUOP_DISPATCH(map_log10_by_dtype)(dtype);
    default: return MLUOP_DISPATCH(map_log_by_dtype)(dtype);
  }
}

}  // namespace mluop::elementwise
#endif
