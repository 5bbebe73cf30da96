// Sums of weighted rows, and dot products with rows. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_ROW_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_ROW_PRODUCTS_INL_H
#undef MLUOP_PRIMITIVES_ROW_PRODUCTS_INL_H
#else
#define MLUOP_PRIMITIVES_ROW_PRODUCTS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "core/element.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "primitives/simd/partial_sums-inl.h"
#include "primitives/simd/row_products.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// For kVectors vectors from i on: to = initial, or +0 if it is null, plus weights[t] * rows[t] for t < count, in
// order.
template <int kVectors, class T, class D, class To>
HWY_INLINE void sum_rows(D d, const void* const* rows, const float* weights, int64_t count, int64_t i,
                         const float* initial, To* to) {
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  hn::Vec<D> sums[kVectors];
  HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) {
    sums[v] = initial == nullptr ? hn::Zero(d) : hn::LoadU(d, initial + i + v * lanes);
  }
  for (int64_t t = 0; t < count; ++t) {
    const T* const row = static_cast<const T*>(rows[t]) + i;
    const auto weight = hn::Set(d, weights[t]);
    HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::Add(sums[v], hn::Mul(weight, load_f32(d, row + v * lanes)));
    }
  }
  HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) store_f32(sums[v], d, to + i + v * lanes);
}

// The same for to[0, channels).
template <class T, class To>
HWY_INLINE void sum_rows(const void* const* rows, const float* weights, int64_t count, int64_t channels,
                         const float* initial, To* to) {
  const hn::CappedTag<float, 16> d;
  constexpr int kVectors = 8;
  constexpr int64_t kBlock = kVectors * static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t blocks_end = channels / kBlock * kBlock;
  for (int64_t i = 0; i < blocks_end; i += kBlock) sum_rows<kVectors, T>(d, rows, weights, count, i, initial, to);
  for_each_vector(
      channels,
      [&](auto vector, int64_t i) HWY_ATTR { sum_rows<1, T>(vector, rows, weights, count, i, initial, to); },
      blocks_end);
}

// The sum of weighted rows, in fp32 and in the order in which they are added. T: the element type of rows and sum.
template <class T>
class WeightedRows {
 public:
  // channels: at most RowTile::kChannels.
  HWY_INLINE WeightedRows(const RowTile& tile, int64_t channels) : tile_(tile), channels_(channels) {}

  HWY_INLINE void add(const T* row, float weight) {
    if (count_ == tile_.capacity) {
      sum_rows<T>(tile_.rows, tile_.weights, count_, channels_, initial_, tile_.sums);
      initial_ = tile_.sums;
      count_ = 0;
    }
    tile_.rows[count_] = row;
    tile_.weights[count_++] = weight;
  }

  // Rounds the sum to to[0, channels).
  HWY_INLINE void store(T* to) const { sum_rows<T>(tile_.rows, tile_.weights, count_, channels_, initial_, to); }

 private:
  const RowTile& tile_;
  int64_t channels_, count_ = 0;
  const float* initial_ = nullptr;
};

// to[t] = the dot product of vector[0, channels) and rows[t][0, channels), t < count: partial sums, as in
// partial_sums.h.
template <class T>
void multiply_rows(const T* vector, const void* const* rows, int64_t count, int64_t channels, float* to) {
  const PartialSumTag d;
  constexpr int64_t kVectors = kPartialSums / kPartialSumLanes, kRows = HWY_MAX(kPartialSumLanes / 2, 1);
  const int64_t whole = channels / kPartialSums * kPartialSums;
  alignas(64) float partial[kPartialSumLanes * kPartialSums];
  alignas(64) float totals[kPartialSumLanes];
  for (int64_t first = 0; first < count; first += kPartialSumLanes) {
    const int64_t last = std::min(first + kPartialSumLanes, count);
    for (int64_t row = 0; row < kPartialSumLanes; row += kRows) {
      const T* from[kRows];
      hn::Vec<PartialSumTag> sums[kRows * kVectors];
      HWY_UNROLL(8) for (int64_t r = 0; r < kRows; ++r) {
        // Missing rows repeat the last one.
        from[r] = static_cast<const T*>(rows[std::min(first + row + r, last - 1)]);
        HWY_UNROLL(16) for (int64_t v = 0; v < kVectors; ++v) sums[r * kVectors + v] = hn::Zero(d);
      }
      for (int64_t i = 0; i < whole; i += kPartialSums) {
        HWY_UNROLL(16) for (int64_t v = 0; v < kVectors; ++v) {
          const int64_t at = i + v * kPartialSumLanes;
          const auto factor = load_f32(d, vector + at);
          HWY_UNROLL(8) for (int64_t r = 0; r < kRows; ++r) {
            sums[r * kVectors + v] = hn::Add(sums[r * kVectors + v], hn::Mul(factor, load_f32(d, from[r] + at)));
          }
        }
      }
      HWY_UNROLL(8) for (int64_t r = 0; r < kRows; ++r) {
        float* const row_sums = partial + (row + r) * kPartialSums;
        HWY_UNROLL(16) for (int64_t v = 0; v < kVectors; ++v) {
          hn::Store(sums[r * kVectors + v], d, row_sums + v * kPartialSumLanes);
        }
        for (int64_t i = whole; i < channels; ++i) row_sums[i - whole] += to_f32(vector[i]) * to_f32(from[r][i]);
      }
      if (first + row + kRows >= last) {
        std::fill_n(partial + (row + kRows) * kPartialSums, (kPartialSumLanes - row - kRows) * kPartialSums, 0.0F);
        break;
      }
    }
    add_partial_sums(partial, totals);
    std::copy_n(totals, last - first, to + first);
  }
}

// The dot products of a row with others. T: their element type. use(place, product), in the order of add().
template <class T, class Use>
class RowProducts {
 public:
  HWY_INLINE RowProducts(const RowTile& tile, const T* vector, int64_t channels, const Use& use)
      : tile_(tile), vector_(vector), channels_(channels), use_(use) {}

  HWY_INLINE void add(const T* row, int64_t place) {
    if (count_ == tile_.capacity) finish();
    tile_.rows[count_] = row;
    tile_.places[count_++] = place;
  }

  // Adds the rows of places [begin, end), `step` elements apart.
  HWY_INLINE void add_run(const T* row, int64_t step, int64_t begin, int64_t end) {
    for (int64_t place = begin; place < end; ++place, row += step) add(row, place);
  }

  HWY_INLINE void finish() {
    multiply_rows(vector_, tile_.rows, count_, channels_, tile_.weights);
    for (int64_t t = 0; t < count_; ++t) use_(tile_.places[t], tile_.weights[t]);
    count_ = 0;
  }

 private:
  const RowTile& tile_;
  const T* vector_;
  int64_t channels_, count_ = 0;
  const Use& use_;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
