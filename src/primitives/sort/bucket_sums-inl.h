// The vectorized sum of bucket_sums.h. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_BUCKET_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_BUCKET_SUMS_INL_H
#undef MLUOP_PRIMITIVES_BUCKET_SUMS_INL_H
#else
#define MLUOP_PRIMITIVES_BUCKET_SUMS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "primitives/memory/prefetch.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "primitives/sort/bucket_sums.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE int64_t row_of(int32_t row) { return row; }
HWY_INLINE int64_t row_of(const WeightedRow& element) { return element.row; }

template <class D>
HWY_INLINE hn::Vec<D> weigh(D, int32_t, hn::Vec<D> v) {
  return v;
}
template <class D>
HWY_INLINE hn::Vec<D> weigh(D d, const WeightedRow& element, hn::Vec<D> v) {
  return hn::Mul(hn::Set(d, element.weight), v);
}

// Sums rows of T, an element type. Prefetches the rows of later elements, also of other buckets.
template <class T, class Element>
class RowSums {
 public:
  RowSums(const Element* elements, int64_t count, const void* from, int64_t channels)
      : elements_(elements),
        last_(count - 1),
        lookahead_(std::clamp<int64_t>(kPrefetchBytes / std::max<int64_t>(block_bytes(channels), 1), 1, 64)),
        from_(static_cast<const T*>(from)),
        stride_(channels) {}

  // to[c] = the sum over the rows of these elements of channel c, for each c of `channels`.
  HWY_INLINE void sum(Range elements, Range channels, T* to) const {
    constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(kWhole));
    int64_t c = channels.begin;
    for (int64_t vectors = 0; c + lanes <= channels.end; c += vectors * lanes) {
      vectors = std::min<int64_t>((channels.end - c) / lanes, kMaxVectors);
      sum_some<kMaxVectors>(vectors, elements, c, to);
    }
    for_each_vector(
        channels.end, [&](auto d, int64_t i) HWY_ATTR { sum_vectors<1>(d, elements, i, to); }, c);
  }

 private:
  static constexpr hn::CappedTag<float, 16> kWhole{};
  static constexpr int kMaxVectors = 8;
  // Measured on rows of 80 channels from memory with 2 threads: 5 KiB takes 1.1 to 1.3 times as long, 40 KiB the
  // same time.
  static constexpr int64_t kPrefetchBytes = 20 << 10;

  // Bytes of a row that are summed at a time.
  static constexpr int64_t block_bytes(int64_t channels) {
    return std::min<int64_t>(channels, kMaxVectors * hn::MaxLanes(kWhole)) * int64_t{sizeof(T)};
  }

  // Sums `vectors` whole vectors, at most kVectors.
  template <int kVectors>
  HWY_INLINE void sum_some(int64_t vectors, Range elements, int64_t c, T* to) const {
    if (vectors == kVectors) return sum_vectors<kVectors>(kWhole, elements, c, to);
    if constexpr (kVectors > 1) sum_some<kVectors - 1>(vectors, elements, c, to);
  }

  // Sums the channels from c on.
  template <int kVectors, class D>
  HWY_INLINE void sum_vectors(D d, Range elements, int64_t c, T* to) const {
    constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
    hn::Vec<D> sums[kVectors];
    HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
    for (int64_t i = elements.begin; i < elements.end; ++i) {
      const Element& ahead = elements_[std::min(i + lookahead_, last_)];
      prefetch_row<Use::kReadOnce>(row(ahead) + c, kVectors * lanes * int64_t{sizeof(T)});
      const T* const from = row(elements_[i]) + c;
      HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) {
        sums[v] = hn::Add(sums[v], weigh(d, elements_[i], load_f32(d, from + v * lanes)));
      }
    }
    HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) store_f32(sums[v], d, to + c + v * lanes);
  }

  HWY_INLINE const T* row(const Element& element) const { return from_ + row_of(element) * stride_; }

  const Element* elements_;
  int64_t last_, lookahead_;
  const T* from_;
  int64_t stride_;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
