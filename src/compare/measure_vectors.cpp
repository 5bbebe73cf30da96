// Measures two tensors of HALF, BFLOAT16 or FLOAT at memory speed, in chunks that stay in L1. A chunk with equal
// bits is summed from b alone. Any other chunk is added to all sums in double without a branch; then errors in
// fp32, with a margin, tell which elements are wrong and which steps may raise a maximum or hold a worst element;
// errors in double decide the cases inside the margin.
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

// A float smaller than the bound by more than the rounding error of a few fp32 operations.
inline float below(double bound) {
  constexpr double kSlack = 1 - 0x1p-20;
  return static_cast<float>(std::min(bound, static_cast<double>(std::numeric_limits<float>::max())) * kSlack);
}

// A float larger than the bound by the same margin.
inline float above(double bound) {
  constexpr double kSlack = 1 + 0x1p-20;
  const double larger = bound * kSlack;
  return larger > static_cast<double>(std::numeric_limits<float>::max()) ? std::numeric_limits<float>::infinity()
                                                                         : static_cast<float>(larger);
}

// Upper bound of the error of an fp32 product that underflows.
inline constexpr float kUnderflow = 0x1p-126F;

}  // namespace mluop::compare
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::compare {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kSumVectors = kSumLanes / hn::MaxLanes(DD());

// Properties of a chunk of both tensors.
struct ChunkContents {
  bool specials, differences, unlike_signs, zeros, distant;
};

template <class T>
HWY_NOINLINE ChunkContents contents_of(const T* e_at, const T* b_at) {
  const DI di;
  const auto zero = hn::Zero(di);
  auto magnitude = zero, difference = zero, least = hn::Set(di, 1);
  for (int64_t i = 0; i < kChunk; i += kStep) {
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      const int64_t at = i + v * kStep / kVectors;
      const auto e = load_bits(e_at + at), b = load_bits(b_at + at), e_magnitude = magnitude_of(e);
      magnitude = hn::Max(magnitude, hn::Max(e_magnitude, magnitude_of(b)));
      difference = hn::Or(difference, hn::Xor(e, b));
      least = hn::Min(least, e_magnitude);
    }
  }
  return {!hn::AllFalse(di, hn::Gt(magnitude, hn::Set(di, Format<T>::kInfinity - 1))),
          !hn::AllTrue(di, hn::Eq(difference, zero)), !hn::AllFalse(di, hn::Lt(difference, zero)),
          !hn::AllFalse(di, hn::Eq(least, zero)),
          !hn::AllFalse(di, hn::Gt(difference, hn::Set(di, kLeastDistant - 1)))};
}

// Counts by lane, less than 2^31 each.
HWY_INLINE hn::Vec<DI> count_lanes(hn::Vec<DI> counts, hn::Mask<D> mask) {
  return hn::IfThenElse(hn::RebindMask(DI(), mask), hn::Add(counts, hn::Set(DI(), 1)), counts);
}
HWY_INLINE int64_t count_of(hn::Vec<DI> counts) { return hn::GetLane(hn::SumOfLanes(DI(), counts)); }

// A bound of errors in fp32 that grows with the magnitude of b.
struct Tolerance {
  HWY_INLINE hn::Vec<D> of(hn::Vec<D> size) const {
    return hn::MulAdd(hn::Set(D(), relative), size, hn::Set(D(), absolute));
  }

  float relative, absolute;
};

template <class T>
class TaskMeasure {
 public:
  TaskMeasure(const MeasureArgs& args, const Task& task) : args_(args), worst_(args, task) {
    const auto& options = args.options;
    if (options.bits == 0) {
      least_ = {below(options.rtol), below(options.atol) - kUnderflow};
      most_ = {above(options.rtol), above(options.atol) + kUnderflow};
    }
    set_least_large();
  }

  // Measures the block of elements [begin, end).
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
    histogram_.add_to(partial);
    for (size_t sum = 0; sum < kSumCount; ++sum) partial.sums[sum] = sum_of_lanes(sums_[sum]);
    add_products(found + begin, expected + begin, end - begin);
    partial.maxima = maxima_;
  }

 private:
  // Adds `count` elements from `first` on; e and b are padded with zeros to a whole chunk.
  void add_chunk(const T* e, const T* b, int64_t count, int64_t first) {
    const ChunkContents contents = contents_of(e, b);
    if (contents.specials) return add_special_chunk(e, b, count, first);
    if (!contents.differences) return add_equal(b);
    add_sums(e, b);
    // Distances of 16-bit types are less than kLeastDistant.
    constexpr bool kMayBeDistant = Format<T>::kShift == 0;
    if (contents.unlike_signs) return add_errors<true, kMayBeDistant>(e, b, first, contents.zeros);
    if constexpr (kMayBeDistant) {
      if (contents.distant) return add_errors<false, true>(e, b, first, contents.zeros);
    }
    add_errors<false, false>(e, b, first, contents.zeros);
  }

  // Counts the pairs with a non-finite number and replaces them by zeros.
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
    set_least_worst();
    add_chunk(e_finite, b_finite, count, first);
  }

  // Adds the sums of a chunk without differences.
  HWY_NOINLINE void add_equal(const T* b_at) {
    const DD dd;
    hn::Vec<DD> magnitudes[kSumVectors], numbers[kSumVectors], squares[kSumVectors];
    HWY_UNROLL(4) for (int v = 0; v < kSumVectors; ++v) magnitudes[v] = numbers[v] = squares[v] = hn::Zero(dd);
    for (int64_t i = 0; i < kChunk; i += kStep) {
      HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
        const int v = j % kSumVectors;
        const auto number = load_doubles(b_at + i, j);
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

  // Adds all sums of a chunk. Products of two fp32 numbers are exact in double, so fused multiply-adds give the
  // same sums.
  HWY_NOINLINE void add_sums(const T* e_at, const T* b_at) {
    const DD dd;
    hn::Vec<DD> sums[kSumCount][kSumVectors], max_error[kSumVectors];
    HWY_UNROLL(4) for (int v = 0; v < kSumVectors; ++v) {
      HWY_UNROLL(16) for (int sum = 0; sum < kSumCount; ++sum) sums[sum][v] = hn::Zero(dd);
      max_error[v] = hn::Zero(dd);
    }
    for (int64_t i = 0; i < kChunk; i += kStep) {
      // Prefetch the next chunk.
      hwy::Prefetch(e_at + i + kChunk);
      hwy::Prefetch(b_at + i + kChunk);
      HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
        const int v = j % kSumVectors;
        const auto e = load_doubles(e_at + i, j), b = load_doubles(b_at + i, j);
        const auto error = hn::Sub(e, b), size = hn::Abs(error);
        sums[kMagnitudes][v] = hn::MulAdd(hn::Abs(b), hn::Set(dd, 1), sums[kMagnitudes][v]);
        sums[kErrors][v] = hn::Add(sums[kErrors][v], size);
        sums[kFound][v] = hn::MulAdd(e, hn::Set(dd, 1), sums[kFound][v]);
        sums[kExpected][v] = hn::MulAdd(b, hn::Set(dd, 1), sums[kExpected][v]);
        sums[kExpectedSquares][v] = hn::MulAdd(b, b, sums[kExpectedSquares][v]);
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

  // Adds the sums that follow from the others but would cancel for a small e.
  void add_products(const T* e, const T* b, int64_t count) {
    Sums& sums = partial_->sums;
    const double squares = sums[kExpectedSquares], products = sums[kErrorProducts];
    sums[kFoundSquares] = squares + 2 * products + sums[kErrorSquares];
    sums[kProducts] = squares + products;
    constexpr double kCancels = 0x1p-12;
    if (sums[kFoundSquares] < kCancels * squares) recompute_products(e, b, count);
  }

  HWY_NOINLINE void recompute_products(const T* e_at, const T* b_at, int64_t count) {
    double squares[kSumLanes] = {}, products[kSumLanes] = {};
    for (int64_t i = 0; i < count; ++i) {
      const double e = number_of(e_at[i]), b = number_of(b_at[i]);
      if (!std::isfinite(e) || !std::isfinite(b)) continue;
      squares[i % kSumLanes] += e * e;
      products[i % kSumLanes] += e * b;
    }
    partial_->sums[kFoundSquares] = sum_of_lanes(squares);
    partial_->sums[kProducts] = sum_of_lanes(products);
  }

  // Counts, distances, maxima and wrong elements of a chunk. Without kUnlikeSigns both numbers of each pair have
  // the same sign; without kDistant distances are less than kLeastDistant; without has_zeros no e is 0.
  template <bool kUnlikeSigns, bool kDistant>
  HWY_NOINLINE void add_errors(const T* e_at, const T* b_at, int64_t first, bool has_zeros) {
    const D d;
    const DI di;
    const DU du;
    auto max_distance = hn::Zero(du);
    auto differing = hn::Zero(di), unequal = differing, above = differing, flushed = differing, wrong = differing;
    uint64_t wrong_steps = 0;
    for (int64_t i = 0; i < kChunk; i += kStep) {
      hn::Vec<D> error[kVectors], size[kVectors];
      hn::Mask<D> differs[kVectors], is_notable[kVectors];
      HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
        const int64_t at = i + v * kStep / kVectors;
        const auto e = mluop::HWY_NAMESPACE::load_f32(d, e_at + at),
                   b = mluop::HWY_NAMESPACE::load_f32(d, b_at + at);
        const auto e_bits = load_bits(e_at + at), b_bits = load_bits(b_at + at);
        differs[v] = kUnlikeSigns ? hn::RebindMask(d, hn::Ne(e_bits, b_bits)) : hn::Ne(e, b);
        differing = count_lanes(differing, differs[v]);
        above = count_lanes(above, hn::Gt(e, b));
        auto distance = hn::Abs(hn::Sub(e_bits, b_bits));
        if constexpr (kUnlikeSigns) {
          unequal = count_lanes(unequal, hn::Ne(e, b));
          const auto e_place = place_of(e_bits), b_place = place_of(b_bits);
          distance = hn::Sub(hn::Max(e_place, b_place), hn::Min(e_place, b_place));
        }
        if (has_zeros) flushed = count_lanes(flushed, hn::And(hn::Ne(e, b), hn::Eq(e, hn::Zero(d))));
        const auto ulp = hn::ShiftRight<Format<T>::kShift>(hn::BitCast(du, distance));
        max_distance = hn::Max(max_distance, ulp);
        histogram_.template add<kDistant>(ulp, at);

        error[v] = hn::Abs(hn::Sub(e, b));
        size[v] = hn::Abs(b);
        is_notable[v] = hn::And(differs[v], hn::Ge(error[v], least_notable_.of(size[v])));
      }
      if (hn::AllFalse(d, any_of(is_notable))) continue;

      hn::Mask<D> maybe_wrong[kVectors], maybe_maximum[kVectors];
      HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
        maybe_wrong[v] = hn::And(differs[v], hn::Ge(error[v], least_.of(size[v])));
        maybe_maximum[v] = hn::And(differs[v], hn::Ge(error[v], least_large_.of(size[v])));
      }
      if (!hn::AllFalse(d, any_of(maybe_wrong))) {
        hn::Mask<D> is_doubtful[kVectors], maybe_worst[kVectors];
        HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
          is_doubtful[v] = hn::And(maybe_wrong[v], hn::Le(error[v], most_.of(size[v])));
          // An error below half of b is exact.
          const auto is_exact = hn::Lt(error[v], hn::Mul(size[v], hn::Set(d, 0.5F)));
          const auto least = hn::IfThenElse(is_exact, hn::Set(d, least_exact_worst_), hn::Set(d, least_worst_));
          maybe_worst[v] = hn::And(maybe_wrong[v], hn::Ge(error[v], least));
        }
        bool has_wrong = true;
        if (hn::AllFalse(d, any_of(is_doubtful))) {
          HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) wrong = count_lanes(wrong, maybe_wrong[v]);
        } else {
          const int64_t count = count_wrong(e_at + i, b_at + i);
          partial_->wrong += count;
          has_wrong = count > 0;
        }
        wrong_steps |= uint64_t{has_wrong} << (i / kStep);
        if (!hn::AllFalse(d, any_of(maybe_worst)) && may_have_worst(e_at + i, b_at + i)) {
          add_worst(e_at + i, b_at + i, first + i);
        }
      }
      if (!hn::AllFalse(d, any_of(maybe_maximum)) && has_larger_ratio(e_at + i, b_at + i)) {
        raise_maxima(e_at + i, b_at + i);
      }
    }
    const int64_t unequal_count = count_of(kUnlikeSigns ? unequal : differing), above_count = count_of(above);
    histogram_.end_chunk(hn::GetLane(hn::MaxOfLanes(du, max_distance)), unequal_count);
    partial_->differing += count_of(differing);
    partial_->above += above_count;
    partial_->below += unequal_count - above_count;
    partial_->flushed += count_of(flushed);
    partial_->wrong += count_of(wrong);
    args_.wrong_steps.set(first, wrong_steps);
  }

  HWY_INLINE void add_lanes(int sum, int v, hn::Vec<DD> addends) {
    const DD dd;
    double* const lanes = sums_[sum] + v * kSumLanes / kSumVectors;
    hn::StoreU(hn::Add(hn::LoadU(dd, lanes), addends), dd, lanes);
  }

  // Vector j of |e - b| of a step, in double.
  static HWY_INLINE hn::Vec<DD> load_errors(const T* e_at, const T* b_at, int j) {
    return hn::Abs(hn::Sub(load_doubles(e_at, j), load_doubles(b_at, j)));
  }

  // Counts the wrong elements of a step.
  HWY_NOINLINE int64_t count_wrong(const T* e_at, const T* b_at) const {
    const DD dd;
    size_t wrong = 0;
    HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
      const auto relative = hn::Mul(hn::Set(dd, args_.options.rtol), hn::Abs(load_doubles(b_at, j)));
      const auto tolerance = hn::Add(hn::Set(dd, args_.options.atol), relative);
      wrong += hn::CountTrue(dd, hn::Not(hn::Le(load_errors(e_at, b_at, j), tolerance)));
    }
    return static_cast<int64_t>(wrong);
  }

  HWY_NOINLINE void add_worst(const T* e, const T* b, int64_t first) {
    for (int k = 0; k < kStep; ++k) {
      const double number = number_of(b[k]), error = std::abs(number_of(e[k]) - number);
      const bool wrong = args_.options.bits != 0 ? !has_bits_of(e[k], b[k]) : args_.exceeds(error, number);
      if (wrong) worst_.add(error, first + k);
    }
    set_least_worst();
  }

  // Whether a step may hold an element to keep.
  HWY_INLINE bool may_have_worst(const T* e_at, const T* b_at) const {
    if (!worst_.is_full()) return true;
    const DD dd;
    auto largest = hn::Zero(dd);
    HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) { largest = hn::Max(largest, load_errors(e_at, b_at, j)); }
    return !hn::AllFalse(dd, hn::Gt(largest, hn::Set(dd, worst_.least())));
  }

  // Whether a step may raise a maximum. If errors are a multiple of b, all ratios are near the largest; this test
  // avoids the divisions. An error of at most the exact product of ratio and denominator raises no maximum; a
  // fused difference has the right sign.
  HWY_INLINE bool has_larger_ratio(const T* e_at, const T* b_at) const {
    const DD dd;
    constexpr double kSlack = HWY_NATIVE_FMA ? 1 : 1 + 0x1p-50;
    auto least = hn::Zero(dd);
    HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
      const auto error = load_errors(e_at, b_at, j), size = hn::Abs(load_doubles(b_at, j));
      const auto is_large = hn::Gt(size, hn::Set(dd, args_.relative_from));
      const auto ratio = hn::IfThenElseZero(is_large, hn::Set(dd, maxima_.large));
      const auto denominator = hn::Add(size, hn::Set(dd, args_.options.epsilon));
      least = hn::Min(least, hn::MulSub(ratio, denominator, hn::Mul(error, hn::Set(dd, kSlack))));
    }
    return !hn::AllTrue(dd, hn::Eq(least, hn::Zero(dd)));
  }

  HWY_NOINLINE void raise_maxima(const T* e_at, const T* b_at) {
    const DD dd;
    const auto zero = hn::Zero(dd);
    auto relative = zero, large = zero, small = zero;
    HWY_UNROLL(8) for (int j = 0; j < kDoubles; ++j) {
      const auto error = load_errors(e_at, b_at, j), size = hn::Abs(load_doubles(b_at, j));
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
    set_least_large();
  }

  void set_least_worst() {
    least_worst_ = below(worst_.least());
    // If only larger errors are kept, the next float above the least.
    const auto least = static_cast<float>(std::min(worst_.least(), double{std::numeric_limits<float>::max()}));
    const bool is_larger = !worst_.is_full() || double{least} > worst_.least();
    least_exact_worst_ = is_larger ? least : std::nextafter(least, HUGE_VALF);
  }

  // Up to relative_from, every error may raise a maximum.
  void set_least_large() {
    const float relative = below(maxima_.large);
    least_large_ = {relative, -above(relative * args_.relative_from) - kUnderflow};
    least_notable_ = {std::min(least_large_.relative, least_.relative),
                      std::min(least_large_.absolute, least_.absolute)};
  }

  const MeasureArgs& args_;
  WorstElements worst_;
  Maxima maxima_;
  // An error below the first raises no maximum; an error below the second, in addition, is neither wrong nor kept.
  Tolerance least_large_, least_notable_;
  float least_worst_ = 0, least_exact_worst_ = 0;
  // An error of unlike bits may be wrong from the first on and is wrong above the second.
  Tolerance least_{0, -1}, most_{0, -1};
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
