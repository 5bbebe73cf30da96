// The measurement of two tensors of HALF, BFLOAT16 or FLOAT, at the speed of memory. Steps of 16 elements whose
// bits are equal add to three sums only. Of others, all sums are added in double; errors in fp32, rounded down,
// tell which steps may raise a maximum or have wrong elements, and only these compute errors in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compare/measure_vectors.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cstring>
#include <limits>

#include "compare/measure_kernels.h"
#include "core/simd.h"
#include "primitives/half-inl.h"

#ifndef MLUOP_COMPARE_MEASURE_VECTORS
#define MLUOP_COMPARE_MEASURE_VECTORS
namespace mluop::compare {

inline constexpr int64_t kStep = 16;
// Doubles that are added in parallel: element i to lane i % kSumLanes, on every instruction set.
inline constexpr int kSumLanes = 8;

// A float that is smaller by more than the errors of a few operations in fp32.
inline float below(double bound) {
  constexpr double kSlack = 1 - 0x1p-20;
  return static_cast<float>(std::min(bound, static_cast<double>(std::numeric_limits<float>::max())) * kSlack);
}

// More than the error of a product in fp32 that underflows.
inline constexpr float kUnderflow = 0x1p-126F;

// The formats as integers of 32 bits with the sign on top: elements with equal exponents and mantissas are
// neighbors at a distance of 2^kShift.
template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr int kShift = 0;
  static constexpr int32_t kInfinity = 0x7F800000;
};
template <>
struct Format<Half> {
  static constexpr int kShift = 16;
  static constexpr int32_t kInfinity = 0x7C000000;
};
template <>
struct Format<BFloat16> {
  static constexpr int kShift = 16;
  static constexpr int32_t kInfinity = 0x7F800000;
};

// The bounds that an error must reach to matter.
struct Bounds {
  float absolute = 0, large = 0;
  float worst = 0;
};

}  // namespace mluop::compare
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::compare {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kStep>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
// The vectors of double that a vector of float becomes.
#if HWY_TARGET == HWY_SCALAR
using DD = hn::Rebind<double, D>;
constexpr int kHalves = 1;
#else
using DD = hn::Repartition<double, D>;
constexpr int kHalves = 2;
#endif
constexpr int kVectors = kStep / hn::MaxLanes(D());          // of a step
constexpr int kDoubles = kHalves * kVectors;                       // vectors of double of a step
constexpr int kSumVectors = kSumLanes / hn::MaxLanes(DD());  // of a sum

HWY_INLINE void load(const float* from, hn::Vec<D>& value, hn::Vec<DI>& bits) {
  value = hn::LoadU(D(), from);
  bits = hn::BitCast(DI(), value);
}
HWY_INLINE void load(const Half* from, hn::Vec<D>& value, hn::Vec<DI>& bits) {
  const auto half = hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(from));
  value = mluop::HWY_NAMESPACE::f16_to_f32(D(), half);
  bits = hn::ShiftLeft<16>(hn::PromoteTo(DI(), half));
}
HWY_INLINE void load(const BFloat16* from, hn::Vec<D>& value, hn::Vec<DI>& bits) {
  const auto bfloat = hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(from));
  bits = hn::ShiftLeft<16>(hn::PromoteTo(DI(), bfloat));
  value = hn::BitCast(D(), bits);
}

// A step of a tensor.
struct Step {
  template <class T>
  HWY_INLINE explicit Step(const T* from) {
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      load(from + v * kStep / kVectors, value[v], bits[v]);
      magnitude[v] = hn::And(bits[v], hn::Set(DI(), 0x7FFFFFFF));
    }
  }

  // Vector j of the numbers in double.
  HWY_INLINE hn::Vec<DD> number(int j) const {
#if HWY_TARGET == HWY_SCALAR
    return hn::PromoteTo(DD(), value[j]);
#else
    const hn::Half<D> half;
    return hn::PromoteTo(DD(), j % 2 == 0 ? hn::LowerHalf(half, value[j / 2]) : hn::UpperHalf(half, value[j / 2]));
#endif
  }

  // Replaces elements by zeros.
  HWY_INLINE void clear(const hn::Mask<DI>* where) {
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      value[v] = hn::IfThenZeroElse(hn::RebindMask(D(), where[v]), value[v]);
      bits[v] = hn::IfThenZeroElse(where[v], bits[v]);
      magnitude[v] = hn::IfThenZeroElse(where[v], magnitude[v]);
    }
  }

  hn::Vec<D> value[kVectors];
  hn::Vec<DI> bits[kVectors];
  hn::Vec<DI> magnitude[kVectors];
};

using Masks = hn::Mask<DI>[kVectors];

// Where a number of the pair is not finite.
template <class T>
HWY_INLINE void find_specials(const Step& e, const Step& b, Masks& special) {
  HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
    special[v] = hn::Gt(hn::Max(e.magnitude[v], b.magnitude[v]), hn::Set(DI(), Format<T>::kInfinity - 1));
  }
}

template <class Mask>
HWY_INLINE Mask any_of(const Mask* masks) {
  Mask any = masks[0];
  HWY_UNROLL(4) for (int v = 1; v < kVectors; ++v) any = hn::Or(any, masks[v]);
  return any;
}

template <class T>
class TaskMeasure {
 public:
  TaskMeasure(const MeasureArgs& args, const Task& task) : args_(args), worst_(args, task) {
    const auto& options = args.options;
    rtol_ = below(options.rtol);
    atol_ = below(options.atol) - kUnderflow;
    // Rounded down: numbers of fp32 are above one if they are above the other.
    relative_from_ = static_cast<float>(args.relative_from);
    if (double{relative_from_} > args.relative_from) relative_from_ = std::nextafter(relative_from_, 0.0F);
  }

  HWY_NOINLINE void measure(int64_t begin, int64_t end, Partial& partial) {
    const D d;
    const DI di;
    const DU du;
    const DD dd;
    const T* const found = reinterpret_cast<const T*>(args_.found.data);
    const T* const expected = reinterpret_cast<const T*>(args_.expected.data);
    const bool by_bits = args_.options.bits != 0;
    // The sums of steps that are not equal, and two of those that are.
    hn::Vec<DD> sums[kSumCount][kSumVectors], equal[kSumVectors], equal_squares[kSumVectors];
    HWY_UNROLL(4) for (int v = 0; v < kSumVectors; ++v) {
      HWY_UNROLL(16) for (int sum = 0; sum < kSumCount; ++sum) sums[sum][v] = hn::Zero(dd);
      equal[v] = equal_squares[v] = hn::Zero(dd);
    }
    auto max_distance = hn::Zero(du);
    size_t differing = 0, above = 0, below_count = 0, flushed = 0, same_values = 0, wrong = 0;
    int64_t specials = 0;
    uint32_t distances[kStep][kMoreUlp + 1] = {};
    T tails[2][kStep];
    for (int64_t i = begin; i < end; i += kStep) {
      const T *e_at = found + i, *b_at = expected + i;
      const auto count = static_cast<int>(std::min(kStep, end - i));
      if (count < kStep) {
        // Zeros in both are equal and add nothing.
        std::memset(tails, 0, sizeof(tails));
        std::memcpy(tails[0], e_at, static_cast<size_t>(count) * sizeof(T));
        std::memcpy(tails[1], b_at, static_cast<size_t>(count) * sizeof(T));
        e_at = tails[0];
        b_at = tails[1];
      }
      Step e(e_at), b(b_at);
      Masks special, differs;
      find_specials<T>(e, b, special);
      if (HWY_UNLIKELY(!hn::AllFalse(di, any_of(special)))) {
        specials += add_specials(e_at, b_at, count, i, partial);
        e.clear(special);
        b.clear(special);
      }
      HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) differs[v] = hn::Ne(e.bits[v], b.bits[v]);
      if (hn::AllFalse(di, any_of(differs))) {
        HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
          const int v = j % kSumVectors;
          const auto number = b.number(j);
          sums[kMagnitudes][v] = hn::Add(sums[kMagnitudes][v], hn::Abs(number));
          equal[v] = hn::Add(equal[v], number);
          equal_squares[v] = hn::MulAdd(number, number, equal_squares[v]);
        }
        continue;
      }

      // Products of two fp32 numbers are exact: fused or not, the sums are the same.
      HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
        const int v = j % kSumVectors;
        const auto e_number = e.number(j), b_number = b.number(j), error = hn::Sub(e_number, b_number);
        sums[kMagnitudes][v] = hn::Add(sums[kMagnitudes][v], hn::Abs(b_number));
        sums[kErrors][v] = hn::Add(sums[kErrors][v], hn::Abs(error));
        sums[kFound][v] = hn::Add(sums[kFound][v], e_number);
        sums[kExpected][v] = hn::Add(sums[kExpected][v], b_number);
        sums[kFoundSquares][v] = hn::MulAdd(e_number, e_number, sums[kFoundSquares][v]);
        sums[kExpectedSquares][v] = hn::MulAdd(b_number, b_number, sums[kExpectedSquares][v]);
        sums[kProducts][v] = hn::MulAdd(e_number, b_number, sums[kProducts][v]);
        sums[kErrorSquares][v] = hn::Add(sums[kErrorSquares][v], hn::Mul(error, error));
        sums[kErrorProducts][v] = hn::Add(sums[kErrorProducts][v], hn::Mul(error, b_number));
      }

      alignas(64) uint32_t step_distances[kStep];
      hn::Mask<D> maybe_wrong[kVectors], maybe_maximum[kVectors], maybe_worst[kVectors];
      HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
        differing += hn::CountTrue(di, differs[v]);
        above += hn::CountTrue(d, hn::Gt(e.value[v], b.value[v]));
        below_count += hn::CountTrue(d, hn::Lt(e.value[v], b.value[v]));
        flushed +=
            hn::CountTrue(di, hn::And(hn::Eq(e.magnitude[v], hn::Zero(di)), hn::Gt(b.magnitude[v], hn::Zero(di))));

        const auto e_place = place_of(e.bits[v], e.magnitude[v]), b_place = place_of(b.bits[v], b.magnitude[v]);
        const auto distance = hn::ShiftRight<Format<T>::kShift>(
            hn::BitCast(du, hn::Sub(hn::Max(e_place, b_place), hn::Min(e_place, b_place))));
        max_distance = hn::Max(max_distance, distance);
        same_values += hn::CountTrue(di, hn::Eq(e_place, b_place));
        hn::Store(distance, du, step_distances + v * kStep / kVectors);

        const auto error = hn::Abs(hn::Sub(e.value[v], b.value[v])), size = hn::Abs(b.value[v]);
        const auto is_different = hn::RebindMask(d, differs[v]);
        const auto is_small = hn::Le(size, hn::Set(d, relative_from_));
        const auto least_relative = hn::MulSub(hn::Set(d, bounds_.large), size, hn::Set(d, kUnderflow));
        maybe_maximum[v] = hn::Or(hn::Gt(error, hn::Set(d, bounds_.absolute)),
                                  hn::And(is_different, hn::Or(is_small, hn::Ge(error, least_relative))));
        const auto tolerance = hn::MulAdd(hn::Set(d, rtol_), size, hn::Set(d, atol_));
        maybe_wrong[v] = by_bits ? is_different : hn::And(is_different, hn::Ge(error, tolerance));
        maybe_worst[v] = hn::And(maybe_wrong[v], hn::Ge(error, hn::Set(d, bounds_.worst)));
      }
      HWY_UNROLL(16) for (int lane = 0; lane < kStep; ++lane) {
        // bucket_of(), except that 0 is counted with the last.
        ++distances[lane][kMoreUlp - std::countl_zero(step_distances[lane] - 1)];
      }
      if (!hn::AllFalse(d, any_of(maybe_wrong))) {
        if (!by_bits) wrong += count_wrong(e_at, b_at);
        if (!hn::AllFalse(d, any_of(maybe_worst))) add_worst(e_at, b_at, count, i);
      }
      if (!hn::AllFalse(d, any_of(maybe_maximum))) raise_maxima(e_at, b_at);
    }

    partial.finite = end - begin - specials;
    partial.differing += static_cast<int64_t>(differing);
    partial.wrong += static_cast<int64_t>(by_bits ? differing : wrong);
    partial.above = static_cast<int64_t>(above);
    partial.below = static_cast<int64_t>(below_count);
    partial.flushed = static_cast<int64_t>(flushed);
    partial.max_ulp = hn::GetLane(hn::MaxOfLanes(du, max_distance));
    for (const auto& lane : distances) {
      for (size_t k = 1; k <= kMoreUlp; ++k) partial.histogram[k] += lane[k];
    }
    partial.histogram[kMoreUlp] -= static_cast<int64_t>(same_values);
    for (int v = 0; v < kSumVectors; ++v) {
      sums[kFound][v] = hn::Add(sums[kFound][v], equal[v]);
      sums[kExpected][v] = hn::Add(sums[kExpected][v], equal[v]);
      for (const Sum squares : {kFoundSquares, kExpectedSquares, kProducts}) {
        sums[squares][v] = hn::Add(sums[squares][v], equal_squares[v]);
      }
    }
    for (size_t sum = 0; sum < kSumCount; ++sum) partial.sums[sum] = total_of(sums[sum]);
    partial.maxima = maxima_;
  }

 private:
  // The place of a number among those of its format, times 2^kShift.
  static HWY_INLINE hn::Vec<DI> place_of(hn::Vec<DI> bits, hn::Vec<DI> magnitude) {
    const auto sign = hn::ShiftRight<31>(bits);
    return hn::Sub(hn::Xor(magnitude, sign), sign);
  }

  static double total_of(const hn::Vec<DD>* sum) {
    alignas(64) double lanes[kSumLanes];
    for (int v = 0; v < kSumVectors; ++v) hn::Store(sum[v], DD(), lanes + v * kSumLanes / kSumVectors);
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
  }

  // The functions below are called for few steps. They load these again, so that the others stay in registers.
  struct Finite {
    HWY_INLINE Finite(const T* e_at, const T* b_at) : e(e_at), b(b_at) {
      Masks special;
      find_specials<T>(e, b, special);
      e.clear(special);
      b.clear(special);
    }
    Step e, b;
  };

  struct Stored {
    HWY_INLINE explicit Stored(const Step& step) {
      for (int v = 0; v < kVectors; ++v) {
        hn::Store(step.value[v], D(), value + v * kStep / kVectors);
        hn::Store(step.bits[v], DI(), bits + v * kStep / kVectors);
      }
    }
    alignas(64) float value[kStep];
    alignas(64) int32_t bits[kStep];
  };

  // Returns the number of pairs that are not finite.
  HWY_NOINLINE int64_t add_specials(const T* e_at, const T* b_at, int count, int64_t first, Partial& partial) {
    const Stored e{Step(e_at)}, b{Step(b_at)};
    int64_t specials = 0;
    for (int k = 0; k < count; ++k) {
      if (std::isfinite(e.value[k]) && std::isfinite(b.value[k])) continue;
      ++specials;
      add_special(args_, e.value[k], b.value[k], e.bits[k] != b.bits[k], first + k, partial, worst_);
    }
    bounds_.worst = below(worst_.least());
    return specials;
  }

  HWY_NOINLINE size_t count_wrong(const T* e_at, const T* b_at) const {
    const DD dd;
    const Finite pairs(e_at, b_at);
    size_t wrong = 0;
    HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
      const auto number = pairs.b.number(j), error = hn::Abs(hn::Sub(pairs.e.number(j), number));
      const auto tolerance =
          hn::Add(hn::Set(dd, args_.options.atol), hn::Mul(hn::Set(dd, args_.options.rtol), hn::Abs(number)));
      wrong += hn::CountTrue(dd, hn::Not(hn::Le(error, tolerance)));
    }
    return wrong;
  }

  HWY_NOINLINE void add_worst(const T* e_at, const T* b_at, int count, int64_t first) {
    const Finite pairs(e_at, b_at);
    const Stored e(pairs.e), b(pairs.b);
    for (int k = 0; k < count; ++k) {
      const double number = b.value[k], error = std::abs(double{e.value[k]} - number);
      const bool wrong = args_.options.bits != 0 ? e.bits[k] != b.bits[k] : args_.exceeds(error, number);
      if (wrong) worst_.add(error, first + k);
    }
    bounds_.worst = below(worst_.least());
  }

  HWY_NOINLINE void raise_maxima(const T* e_at, const T* b_at) {
    const DD dd;
    const Finite pairs(e_at, b_at);
    const auto zero = hn::Zero(dd);
    auto absolute = zero, relative = zero, large = zero, small = zero;
    HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
      const auto number = pairs.b.number(j), size = hn::Abs(number);
      const auto error = hn::Abs(hn::Sub(pairs.e.number(j), number));
      const auto is_large = hn::Gt(size, hn::Set(dd, args_.relative_from));
      const auto ratio = hn::IfThenZeroElse(hn::Eq(error, zero),
                                            hn::Div(error, hn::Add(size, hn::Set(dd, args_.options.epsilon))));
      absolute = hn::Max(absolute, error);
      relative = hn::Max(relative, ratio);
      large = hn::Max(large, hn::IfThenElseZero(is_large, ratio));
      small = hn::Max(small, hn::IfThenZeroElse(is_large, error));
    }
    const auto raise = [&](double& maximum, hn::Vec<DD> lanes) {
      maximum = std::max(maximum, hn::GetLane(hn::MaxOfLanes(dd, lanes)));
    };
    raise(maxima_.absolute, absolute);
    raise(maxima_.relative, relative);
    raise(maxima_.large, large);
    raise(maxima_.small, small);
    bounds_.absolute = below(maxima_.absolute);
    bounds_.large = below(maxima_.large);
  }

  const MeasureArgs& args_;
  WorstElements worst_;
  Maxima maxima_;
  Bounds bounds_;
  float rtol_, atol_, relative_from_;
};

template <class T>
void measure_vectors(const MeasureArgs& args, int64_t begin, int64_t end, Task& task) {
  TaskMeasure<T> measured(args, task);
  for (int64_t block = begin; block < end; ++block) {
    args.partials[block] = {};
    measured.measure(block * kBlockElements, std::min((block + 1) * kBlockElements, args.count),
                     args.partials[block]);
  }
}

RangeKernel<MeasureArgs> select_kernel(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return measure_vectors<Half>;
    case MLUOP_DTYPE_BFLOAT16: return measure_vectors<BFloat16>;
    default: return measure_vectors<float>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::compare
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::compare {

HWY_EXPORT(select_kernel);

RangeKernel<MeasureArgs> measure_vectors_kernel(mluOpDataType_t dtype) {
  return MLUOP_DISPATCH(select_kernel)(dtype);
}

}  // namespace mluop::compare
#endif
