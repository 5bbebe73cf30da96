// Masked im2col forward: transposes planes to pixels and pixels to rows. Per-target code of Highway: include it
// inside foreach_target.
#if defined(MLUOP_MASKED_IM2COL_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_MASKED_IM2COL_PACK_INL_H
#undef MLUOP_MASKED_IM2COL_PACK_INL_H
#else
#define MLUOP_MASKED_IM2COL_PACK_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "ops/masked_im2col_forward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Channels of a group; also the pixels that pack_pixels() packs.
template <class T>
inline constexpr int64_t kGroup = kPixelBytes / static_cast<int64_t>(sizeof(T));

// pack_pixels():  packed[p] = planes[0][pixel + p], planes[1][pixel + p], ... for kGroup pixels.
// gather_masks(): rows[c * stride + k] = channel c of the pixel at base + offsets[k], for kGatherMasks masks
//                 of a line.

#if HWY_TARGET == HWY_SCALAR  // vectors of one lane

template <class T>
inline constexpr int64_t kGatherMasks = kGroup<T>;

template <class T>
HWY_INLINE void pack_pixels(const T* const (&planes)[kGroup<T>], int64_t pixel, T* packed) {
  for (int64_t p = 0; p < kGroup<T>; ++p) {
    for (int64_t c = 0; c < kGroup<T>; ++c) packed[p * kGroup<T> + c] = planes[c][pixel + p];
  }
}

template <class T>
HWY_INLINE void gather_masks(const std::byte* base, const int32_t* offsets, T* rows, int64_t stride) {
  for (int64_t k = 0; k < kGatherMasks<T>; ++k) {
    const T* pixel = reinterpret_cast<const T*>(base + offsets[k]);
    for (int64_t c = 0; c < kGroup<T>; ++c) rows[c * stride + k] = pixel[c];
  }
}

#else

// Transposes the matrices that the vectors hold in each 16 bytes: element e of vector r becomes element r of
// vector e. Interleaving the first half of the vectors with the second rotates the bits of the number (r, e) by
// one; half as many steps as it has bits exchange r and e.
template <class T, class D>
HWY_INLINE void transpose(D d, hn::Vec<D> (&v)[kGroup<T>]) {
  constexpr int64_t kCount = kGroup<T>;
  HWY_UNROLL(3) for (int64_t steps = kCount; steps > 1; steps /= 2) {
    hn::Vec<D> out[kCount];
    HWY_UNROLL(4) for (int64_t i = 0; i < kCount / 2; ++i) {
      out[2 * i] = hn::InterleaveLower(d, v[i], v[i + kCount / 2]);
      out[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + kCount / 2]);
    }
    HWY_UNROLL(8) for (int64_t i = 0; i < kCount; ++i) v[i] = out[i];
  }
}

template <class T>
HWY_INLINE void pack_pixels(const T* const (&planes)[kGroup<T>], int64_t pixel, T* packed) {
  const hn::CappedTag<T, kGroup<T> > d;
  hn::Vec<decltype(d)> v[kGroup<T>];
  HWY_UNROLL(8) for (int64_t c = 0; c < kGroup<T>; ++c) v[c] = hn::LoadU(d, planes[c] + pixel);
  transpose<T>(d, v);
  HWY_UNROLL(8) for (int64_t p = 0; p < kGroup<T>; ++p) hn::Store(v[p], d, packed + p * kGroup<T>);
}

// The pixels at base + offsets[0], base + offsets[kGroup], ... in one vector.
template <class D>
HWY_INLINE hn::Vec<D> load_pixels(D d, const std::byte* base, const int32_t* offsets) {
  using T = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(d) == kGroup<T>) {
    return hn::Load(d, reinterpret_cast<const T*>(base + offsets[0]));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_pixels(half, base, offsets + hn::MaxLanes(half)), load_pixels(half, base, offsets));
  }
}

template <class T>
inline constexpr auto kGatherMasks = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));

template <class T>
HWY_INLINE void gather_masks(const std::byte* base, const int32_t* offsets, T* rows, int64_t stride) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> v[kGroup<T>];
  HWY_UNROLL(8) for (int64_t k = 0; k < kGroup<T>; ++k) v[k] = load_pixels(d, base, offsets + k);
  transpose<T>(d, v);
  HWY_UNROLL(8) for (int64_t c = 0; c < kGroup<T>; ++c) hn::StoreU(v[c], d, rows + c * stride);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col_forward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
