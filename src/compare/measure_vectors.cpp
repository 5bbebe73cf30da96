// The measurement of two tensors of HALF, BFLOAT16 or FLOAT, at the speed of memory, by chunks that remain in L1.
// A chunk whose bits are equal is summed from b alone. Others add to all sums, in double, without a branch; then
// errors in fp32, rounded down, tell which steps may raise a maximum or have wrong elements, and only these
// compute errors in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compare/measure_vectors.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstring>
#include <limits>

#include "compare/histogram-inl.h"
#include "compare/measure_kernels.h"
#include "compare/steps-inl.h"
#include "core/simd.h"

#ifndef MLUOP_COMPARE_MEASURE_VECTORS
#define MLUOP_COMPARE_MEASURE_VECTORS
namespace mluop::compare {

// A float that is smaller by more than the errors of a few operations in fp32.
inline float below(double bound) {
  constexpr double kSlack = 1 - 0x1p-20;
  return static_cast<float>(std::min(bound, static_cast<double>(std::numeric_limits<float>::max())) * kSlack);
}

// More than the error of a product in fp32 that underflows.
inline constexpr float kUnderflow = 0x1p-126F;

}  // namespace mluop::compare
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::compare {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What a chunk of both tensors has.
struct ChunkContents {
  bool specials, differences;
};

template <class T>
HWY_NOINLINE ChunkContents contents_of(const T* e_at, const T* b_at) {
  const DI di;
  auto magnitude = hn::Zero(di), difference = hn::Zero(di);
  for (int64_t i = 0; i < kChunk; i += kStep) {
    const Step e(e_at + i), b(b_at + i);
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      magnitude = hn::Max(magnitude, hn::Max(e.magnitude[v], b.magnitude[v]));
      difference = hn::Or(difference, hn::Xor(e.bits[v], b.bits[v]));
    }
  }
  return {!hn::AllFalse(di, hn::Gt(magnitude, hn::Set(di, Format<T>::kInfinity - 1))),
          !hn::AllTrue(di, hn::Eq(difference, hn::Zero(di)))};
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

  // Elements [begin, end), a block.
  void measure(int64_t begin, int64_t end, Partial& partial) {
    partial_ = &partial;
    std::memset(sums_, 0, sizeof(sums_));
    partial.finite = end - begin;
    const T* const found = reinterpret_cast<const T*>(args_.found.data);
    const T* const expected = reinterpret_cast<const T*>(args_.expected.data);
    int64_t i = begin;
    for (; i + kChunk <= end; i += kChunk) add_chunk(found + i, expected + i, kChunk, i);
    if (i < end) {
      // Zeros in both are equal and add nothing.
      T e[kChunk] = {}, b[kChunk] = {};
      std::copy(found + i, found + end, e);
      std::copy(expected + i, expected + end, b);
      add_chunk(e, b, end - i, i);
    }
    histogram_.add_to(partial.histogram.data());
    for (size_t sum = 0; sum < kSumCount; ++sum) partial.sums[sum] = sum_of_lanes(sums_[sum]);
    partial.maxima = maxima_;
  }

 private:
  // `count` elements from `first` on, followed by zeros up to a chunk.
  void add_chunk(const T* e, const T* b, int64_t count, int64_t first) {
    const auto [specials, differences] = contents_of(e, b);
    if (specials) return add_special_chunk(e, b, count, first);
    if (!differences) return add_equal(b);
    add_sums(e, b);
    add_errors(e, b, first);
  }

  // Counts the pairs that are not finite, and replaces them by zeros.
  HWY_NOINLINE void add_special_chunk(const T* e, const T* b, int64_t count, int64_t first) {
    T e_finite[kChunk], b_finite[kChunk];
    std::copy(e, e + kChunk, e_finite);
    std::copy(b, b + kChunk, b_finite);
    for (int64_t i = 0; i < count; ++i) {
      const double e_number = number_of(e[i]), b_number = number_of(b[i]);
      if (std::isfinite(e_number) && std::isfinite(b_number)) continue;
      add_special(args_, e_number, b_number, !has_bits_of(e[i], b[i]), first + i, *partial_, worst_);
      e_finite[i] = b_finite[i] = T{};
      --partial_->finite;
    }
    least_worst_ = below(worst_.least());
    add_chunk(e_finite, b_finite, count, first);
  }

  // The sums of a chunk without differences.
  HWY_NOINLINE void add_equal(const T* b_at) {
    const DD dd;
    hn::Vec<DD> magnitudes[kSumVectors], numbers[kSumVectors], squares[kSumVectors];
    HWY_UNROLL(4) for (int v = 0; v < kSumVectors; ++v) magnitudes[v] = numbers[v] = squares[v] = hn::Zero(dd);
    for (int64_t i = 0; i < kChunk; i += kStep) {
      const Step b(b_at + i);
      HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
        const int v = j % kSumVectors;
        const auto number = b.number(j);
        magnitudes[v] = hn::Add(magnitudes[v], hn::Abs(number));
        numbers[v] = hn::Add(numbers[v], number);
        squares[v] = hn::MulAdd(number, number, squares[v]);
      }
    }
    HWY_UNROLL(4) for (int v = 0; v < kSumVectors; ++v) {
      add_lanes(kMagnitudes, v, magnitudes[v]);
      for (const Sum sum : {kFound, kExpected}) add_lanes(sum, v, numbers[v]);
      for (const Sum sum : {kFoundSquares, kExpectedSquares, kProducts}) add_lanes(sum, v, squares[v]);
    }
  }

  // All sums of a chunk. Products of two numbers of fp32 are exact: fused or not, the sums are the same.
  HWY_NOINLINE void add_sums(const T* e_at, const T* b_at) {
    const DD dd;
    hn::Vec<DD> sums[kSumCount][kSumVectors], max_error[kSumVectors];
    HWY_UNROLL(4) for (int v = 0; v < kSumVectors; ++v) {
      HWY_UNROLL(16) for (int sum = 0; sum < kSumCount; ++sum) sums[sum][v] = hn::Zero(dd);
      max_error[v] = hn::Zero(dd);
    }
    for (int64_t i = 0; i < kChunk; i += kStep) {
      // The next chunk, while this one is computed.
      hwy::Prefetch(e_at + i + kChunk);
      hwy::Prefetch(b_at + i + kChunk);
      const Step e_step(e_at + i), b_step(b_at + i);
      HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
        const int v = j % kSumVectors;
        const auto e = e_step.number(j), b = b_step.number(j), error = hn::Sub(e, b), size = hn::Abs(error);
        sums[kMagnitudes][v] = hn::Add(sums[kMagnitudes][v], hn::Abs(b));
        sums[kErrors][v] = hn::Add(sums[kErrors][v], size);
        sums[kFound][v] = hn::Add(sums[kFound][v], e);
        sums[kExpected][v] = hn::Add(sums[kExpected][v], b);
        sums[kFoundSquares][v] = hn::MulAdd(e, e, sums[kFoundSquares][v]);
        sums[kExpectedSquares][v] = hn::MulAdd(b, b, sums[kExpectedSquares][v]);
        sums[kProducts][v] = hn::MulAdd(e, b, sums[kProducts][v]);
        sums[kErrorSquares][v] = hn::Add(sums[kErrorSquares][v], hn::Mul(error, error));
        sums[kErrorProducts][v] = hn::Add(sums[kErrorProducts][v], hn::Mul(error, b));
        max_error[v] = hn::Max(max_error[v], size);
      }
    }
    HWY_UNROLL(4) for (int v = 0; v < kSumVectors; ++v) {
      HWY_UNROLL(16) for (int sum = 0; sum < kSumCount; ++sum) add_lanes(sum, v, sums[sum][v]);
      maxima_.absolute = std::max(maxima_.absolute, hn::GetLane(hn::MaxOfLanes(dd, max_error[v])));
    }
  }

  // Counts, distances and maxima of a chunk, and its wrong elements.
  HWY_NOINLINE void add_errors(const T* e_at, const T* b_at, int64_t first) {
    const D d;
    const DI di;
    const DU du;
    const bool by_bits = args_.options.bits != 0;
    auto max_distance = hn::Zero(du);
    size_t differing = 0, above = 0, same = 0, flushed = 0;
    for (int64_t i = 0; i < kChunk; i += kStep) {
      const Step e(e_at + i), b(b_at + i);
      hn::Mask<D> maybe_wrong[kVectors], maybe_maximum[kVectors], maybe_worst[kVectors];
      HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
        const auto differs = hn::Ne(e.bits[v], b.bits[v]);
        differing += hn::CountTrue(di, differs);
        above += hn::CountTrue(d, hn::Gt(e.value[v], b.value[v]));
        same += hn::CountTrue(d, hn::Eq(e.value[v], b.value[v]));
        const auto is_zero = hn::Eq(e.magnitude[v], hn::Zero(di));
        flushed += hn::CountTrue(di, hn::And(is_zero, hn::Gt(b.magnitude[v], hn::Zero(di))));

        const auto e_place = place_of(e.bits[v], e.magnitude[v]), b_place = place_of(b.bits[v], b.magnitude[v]);
        const auto distance = hn::ShiftRight<Format<T>::kShift>(
            hn::BitCast(du, hn::Sub(hn::Max(e_place, b_place), hn::Min(e_place, b_place))));
        max_distance = hn::Max(max_distance, distance);
        histogram_.add(distance, v);

        const auto error = hn::Abs(hn::Sub(e.value[v], b.value[v])), size = hn::Abs(b.value[v]);
        const auto is_different = hn::RebindMask(d, differs);
        const auto is_small = hn::Le(size, hn::Set(d, relative_from_));
        const auto least_relative = hn::MulSub(hn::Set(d, least_relative_), size, hn::Set(d, kUnderflow));
        maybe_maximum[v] = hn::And(is_different, hn::Or(is_small, hn::Ge(error, least_relative)));
        const auto tolerance = hn::MulAdd(hn::Set(d, rtol_), size, hn::Set(d, atol_));
        maybe_wrong[v] = by_bits ? is_different : hn::And(is_different, hn::Ge(error, tolerance));
        maybe_worst[v] = hn::And(maybe_wrong[v], hn::Ge(error, hn::Set(d, least_worst_)));
      }
      histogram_.next_step();
      if (!hn::AllFalse(d, any_of(maybe_wrong))) {
        if (!by_bits) partial_->wrong += count_wrong(e_at + i, b_at + i);
        if (!hn::AllFalse(d, any_of(maybe_worst))) add_worst(e_at + i, b_at + i, first + i);
      }
      if (!hn::AllFalse(d, any_of(maybe_maximum))) raise_maxima(e_at + i, b_at + i);
    }
    partial_->differing += static_cast<int64_t>(differing);
    if (by_bits) partial_->wrong += static_cast<int64_t>(differing);
    partial_->above += static_cast<int64_t>(above);
    partial_->below += kChunk - static_cast<int64_t>(above + same);
    partial_->flushed += static_cast<int64_t>(flushed);
    partial_->max_ulp = std::max<uint64_t>(partial_->max_ulp, hn::GetLane(hn::MaxOfLanes(du, max_distance)));
  }

  // The place of a number among those of its format, times 2^kShift.
  static HWY_INLINE hn::Vec<DI> place_of(hn::Vec<DI> bits, hn::Vec<DI> magnitude) {
    const auto sign = hn::ShiftRight<31>(bits);
    return hn::Sub(hn::Xor(magnitude, sign), sign);
  }

  HWY_INLINE void add_lanes(int sum, int v, hn::Vec<DD> addends) {
    const DD dd;
    double* const lanes = sums_[sum] + v * kSumLanes / kSumVectors;
    hn::StoreU(hn::Add(hn::LoadU(dd, lanes), addends), dd, lanes);
  }

  HWY_NOINLINE int64_t count_wrong(const T* e_at, const T* b_at) const {
    const DD dd;
    const Step e(e_at), b(b_at);
    size_t wrong = 0;
    HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
      const auto number = b.number(j), error = hn::Abs(hn::Sub(e.number(j), number));
      const auto tolerance =
          hn::Add(hn::Set(dd, args_.options.atol), hn::Mul(hn::Set(dd, args_.options.rtol), hn::Abs(number)));
      wrong += hn::CountTrue(dd, hn::Not(hn::Le(error, tolerance)));
    }
    return static_cast<int64_t>(wrong);
  }

  HWY_NOINLINE void add_worst(const T* e, const T* b, int64_t first) {
    if (worst_.is_full() && !has_larger_error(e, b, worst_.least())) return;
    for (int k = 0; k < kStep; ++k) {
      const double number = number_of(b[k]), error = std::abs(number_of(e[k]) - number);
      const bool wrong = args_.options.bits != 0 ? !has_bits_of(e[k], b[k]) : args_.exceeds(error, number);
      if (wrong) worst_.add(error, first + k);
    }
    least_worst_ = below(worst_.least());
  }

  HWY_INLINE static bool has_larger_error(const T* e_at, const T* b_at, double least) {
    const DD dd;
    const Step e(e_at), b(b_at);
    auto largest = hn::Zero(dd);
    HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
      largest = hn::Max(largest, hn::Abs(hn::Sub(e.number(j), b.number(j))));
    }
    return !hn::AllFalse(dd, hn::Gt(largest, hn::Set(dd, least)));
  }

  HWY_NOINLINE void raise_maxima(const T* e_at, const T* b_at) {
    const DD dd;
    const auto zero = hn::Zero(dd);
    const Step e(e_at), b(b_at);
    auto relative = zero, large = zero, small = zero;
    HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
      const auto number = b.number(j), size = hn::Abs(number), error = hn::Abs(hn::Sub(e.number(j), number));
      const auto is_large = hn::Gt(size, hn::Set(dd, args_.relative_from));
      const auto ratio = hn::IfThenZeroElse(hn::Eq(error, zero),
                                            hn::Div(error, hn::Add(size, hn::Set(dd, args_.options.epsilon))));
      relative = hn::Max(relative, ratio);
      large = hn::Max(large, hn::IfThenElseZero(is_large, ratio));
      small = hn::Max(small, hn::IfThenZeroElse(is_large, error));
    }
    const auto raise = [&](double& maximum, hn::Vec<DD> lanes) {
      maximum = std::max(maximum, hn::GetLane(hn::MaxOfLanes(dd, lanes)));
    };
    raise(maxima_.relative, relative);
    raise(maxima_.large, large);
    raise(maxima_.small, small);
    least_relative_ = below(maxima_.large);
  }

  const MeasureArgs& args_;
  WorstElements worst_;
  Maxima maxima_;
  // Smaller errors raise no maximum and are not kept; the first is relative to numbers above relative_from_.
  float least_relative_ = 0, least_worst_ = 0;
  float rtol_, atol_, relative_from_;
  Partial* partial_ = nullptr;
  Histogram histogram_;
  double sums_[kSumCount][kSumLanes];
};

template <class T>
void measure_vectors(const MeasureArgs& args, int64_t begin, int64_t end, Task& task) {
  TaskMeasure<T> measured(args, task);
  for (int64_t block = begin; block < end; ++block) {
    args.partials[block] = {};
    measured.measure(block * kBlockElements, block_end(args, block), args.partials[block]);
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
