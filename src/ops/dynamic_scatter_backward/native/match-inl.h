// Matches of the features of points with the maxima of their voxels. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_OPS_DYNAMIC_SCATTER_BACKWARD_NATIVE_MATCH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_DYNAMIC_SCATTER_BACKWARD_NATIVE_MATCH_INL_H
#undef MLUOP_OPS_DYNAMIC_SCATTER_BACKWARD_NATIVE_MATCH_INL_H
#else
#define MLUOP_OPS_DYNAMIC_SCATTER_BACKWARD_NATIVE_MATCH_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bytes of a bit for each lane.
template <class D>
constexpr int64_t kBitBytes = (hn::MaxLanes(D()) + 7) / 8;

// Bytes of the bits of a voxel: one for each channel that a point has claimed.
inline int64_t claimed_bytes(int64_t channels) {
  using D = hn::ScalableTag<float>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  return channels / lanes * kBitBytes<D> + (channels % lanes > 0 ? 4 : 0);
}

// The channels of a vector that points have claimed before, and those that a point claims: its features equal the
// maxima of the voxel.
template <class D>
struct Claims {
  HWY_INLINE Claims(D d, const float* features, const float* maxima, const uint8_t* claimed) {
    // Highway reads and writes bits in groups of eight bytes.
    uint64_t bits = 0;
    std::memcpy(&bits, claimed, kBitBytes<D>);
    before = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
    added = hn::AndNot(before, hn::Eq(hn::LoadU(d, features), hn::LoadU(d, maxima)));
  }
  HWY_INLINE void store(D d, uint8_t* claimed) const {
    const uint64_t bits = bits_of(d, hn::Or(before, added));
    std::memcpy(claimed, &bits, kBitBytes<D>);
  }
  static HWY_INLINE uint64_t bits_of(D d, hn::Mask<D> mask) {
    uint64_t bits = 0;
    hn::StoreMaskBits(d, mask, reinterpret_cast<uint8_t*>(&bits));
    return bits;
  }

  hn::Mask<D> before, added;
};

// The channels from `c` on, fewer than a vector, by vectors of half, a quarter, ... of the lanes down to one.
template <size_t kLanes, class Visitor>
HWY_INLINE void visit_rest(int64_t c, int64_t channels, uint8_t* claimed, const Visitor& visitor) {
  const hn::CappedTag<float, kLanes> d;
  for (; c + static_cast<int64_t>(kLanes) <= channels; c += kLanes) visitor.visit(d, c, claimed++);
  if constexpr (kLanes > 1) visit_rest<kLanes / 2>(c, channels, claimed, visitor);
}

// Calls visitor.visit(d, channel, claimed) for the vectors of a row, with the first channel and the bits of each.
template <class Visitor>
HWY_INLINE void for_each_vector(int64_t channels, uint8_t* claimed, const Visitor& visitor) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes, claimed += kBitBytes<decltype(d)>) visitor.visit(d, c, claimed);
  if (c < channels) visit_rest<hn::MaxLanes(d)>(c, channels, claimed, visitor);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
