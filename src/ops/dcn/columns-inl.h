// Deformable convolution: interpolates samples into rows of the matrix that is multiplied by the filters.
// Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_DCN_COLUMNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_DCN_COLUMNS_INL_H
#undef MLUOP_DCN_COLUMNS_INL_H
#else
#define MLUOP_DCN_COLUMNS_INL_H
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "ops/dcn/columns.h"
#include "ops/dcn/samples.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/simd/elements-inl.h"

MLUOP_BEFORE_MICROKERNEL();
namespace mluop::dcn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::PanelTag;

// Stores elements of the matrix, float or BFloat16.
template <class D, class Element>
HWY_INLINE void store_elements(hn::Vec<D> v, D d, Element* to) {
#if MLUOP_HAS_BF16_MICROKERNEL
  // Subnormals become 0, as the microkernels treat them.
  if constexpr (std::is_same_v<Element, BFloat16> && hn::MaxLanes(D()) == 16) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(v.raw)));
    return;
  }
  if constexpr (std::is_same_v<Element, BFloat16> && hn::MaxLanes(D()) == 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(_mm256_cvtneps_pbh(v.raw)));
    return;
  }
#endif
  mluop::HWY_NAMESPACE::store_f32(v, d, to);
}

// to[c, count) = the sum of weights[i] * pixels[i][c, count), times the mask. Uses vectors of kLanes lanes, and
// for the rest vectors of half, a quarter, ... of the lanes, down to one. T, here and below: the element type of
// the tensors; Element: the element type of the matrix.
template <size_t kLanes = hn::MaxLanes(PanelTag()), class T, class Element>
HWY_INLINE void interpolate(const T* const* pixels, const float* weights, float mask, int64_t count, Element* to,
                            int64_t c = 0) {
  using mluop::HWY_NAMESPACE::load_f32;
  const hn::CappedTag<float, kLanes> d;
  for (; c + static_cast<int64_t>(kLanes) <= count; c += kLanes) {
    auto value = hn::Mul(hn::Set(d, weights[0]), load_f32(d, pixels[0] + c));
    HWY_UNROLL(3)
    for (int i = 1; i < 4; ++i) value = hn::MulAdd(hn::Set(d, weights[i]), load_f32(d, pixels[i] + c), value);
    store_elements(hn::Mul(value, hn::Set(d, mask)), d, to + c);
  }
  if constexpr (kLanes > 1) {
    if (c < count) interpolate<kLanes / 2>(pixels, weights, mask, count, to, c);
  }
}

// Writes the pieces of a row of the matrix: the samples of the row-th output pixel, whose image starts at `image`.
// `zeros` stands for the channels of pixels outside the image. Not inlined, because callers lack the attribute of
// microkernels.
template <class T, class Element>
HWY_NOINLINE void write_columns(const SampleBuffers& samples, int64_t row, const T* image, int64_t channels,
                                const T* zeros, const Piece* pieces, int64_t count, Element* to) {
  for (int64_t i = 0; i < count; ++i) {
    const Piece& piece = pieces[i];
    const Sample sample = samples.sample(row, piece.sample);
    const T* pixels[4];
    HWY_UNROLL(4) for (int corner = 0; corner < 4; ++corner) {
      const int64_t pixel = sample.pixels[corner];
      pixels[corner] = pixel < 0 ? zeros : image + pixel * channels + piece.channel;
    }
    const auto weights = sample.weights();
    interpolate(pixels, weights.of, sample.mask, piece.count, to + piece.column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dcn
HWY_AFTER_NAMESPACE();

#endif  // include guard
