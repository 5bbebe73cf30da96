// The lanes of a mask as bits. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_MASK_BITS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_MASK_BITS_INL_H
#undef MLUOP_PRIMITIVES_MASK_BITS_INL_H
#else
#define MLUOP_PRIMITIVES_MASK_BITS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bit i: whether lane i of the mask is true; for up to 64 lanes.
template <class D>
HWY_INLINE uint64_t bits_of(D d, hn::Mask<D> mask) {
  uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<uint8_t*>(&bits));
  return bits;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
