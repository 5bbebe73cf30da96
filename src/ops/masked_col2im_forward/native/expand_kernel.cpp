#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_col2im_forward/native/expand_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/simd.h"
#include "ops/masked_col2im_forward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_col2im_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors hold elements of 2 bytes in lanes of 4, too.
using Pixels = hn::ScalableTag<uint32_t>;
using Offsets = hn::RebindToSigned<Pixels>;

int64_t vector_pixels() { return static_cast<int64_t>(hn::Lanes(Pixels())); }

HWY_INLINE hn::Vec<Pixels> load(const uint32_t* from) { return hn::LoadU(Pixels(), from); }
HWY_INLINE hn::Vec<Pixels> load(const uint16_t* from) {
  return hn::PromoteTo(Pixels(), hn::LoadU(hn::Rebind<uint16_t, Pixels>(), from));
}

HWY_INLINE void store(hn::Vec<Pixels> v, uint32_t* to) { hn::StoreU(v, Pixels(), to); }
HWY_INLINE void store(hn::Vec<Pixels> v, uint16_t* to) {
  const hn::Rebind<uint16_t, Pixels> d;
  hn::StoreU(hn::DemoteTo(d, hn::BitCast(Offsets(), v)), d, to);
}

// The number of masks before `pixel`.
int64_t masks_before(const Args& call, int64_t pixel) {
  int64_t low = 0;
  int64_t high = call.mask_cnt;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (call.pixel(middle) < pixel) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void index(const IndexArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const Expansion& expansion = args.expansion;
  const int64_t pixels = expansion.pixels;
  int64_t k = masks_before(call, begin * pixels);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first_pixel = i * pixels;
    const int64_t first_mask = std::min(k, call.mask_cnt - pixels);
    int32_t* offsets = expansion.offsets + first_pixel;
    std::fill_n(offsets, pixels, Expansion::kNone);
    for (; k < call.mask_cnt && call.pixel(k) < first_pixel + pixels; ++k) {
      offsets[call.pixel(k) - first_pixel] = static_cast<int32_t>(k - first_mask);
    }
    expansion.first_masks[i] = first_mask;
  }
}

// Writes vectors of kPlanes planes, the first of them `to`, from as many rows of col, the first of them `from`.
template <int64_t kPlanes, class T>
HWY_INLINE void expand_planes(const ExpandArgs& args, Range vectors, const T* HWY_RESTRICT from,
                              T* HWY_RESTRICT to) {
  const Expansion& expansion = args.expansion;
  const int64_t pixels = expansion.pixels, plane = args.call.plane(), mask_cnt = args.call.mask_cnt;
  const Pixels d;
  const Offsets di;
  const auto last_lane = hn::Set(di, static_cast<int32_t>(pixels - 1));
  for (int64_t i = vectors.begin; i < vectors.end; ++i) {
    const auto offsets = hn::Load(di, expansion.offsets + i * pixels);
    const auto none = hn::RebindMask(d, hn::Lt(offsets, hn::Zero(di)));
    // kNone becomes the last lane.
    const auto lanes = hn::IndicesFromVec(d, hn::And(offsets, last_lane));
    const T* elements = from + expansion.first_masks[i];
    const int64_t pixel = i * pixels;
    HWY_UNROLL(4) for (int64_t c = 0; c < kPlanes; ++c) {
      const auto v = hn::IfThenZeroElse(none, hn::TableLookupLanes(load(elements + c * mask_cnt), lanes));
      if (pixel + pixels <= plane) {
        store(v, to + c * plane + pixel);
      } else {
        T last[HWY_MAX_BYTES / sizeof(uint32_t)];
        store(v, last);
        std::memcpy(to + c * plane + pixel, last, static_cast<size_t>(plane - pixel) * sizeof(T));
      }
    }
  }
}

// T: an unsigned integer of the size of an element.
template <class T>
void expand(const ExpandArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const int64_t vectors = args.expansion.vectors;
  while (begin < end) {
    const int64_t channel = begin / vectors;
    const int64_t first = channel * vectors;
    const T* from = static_cast<const T*>(call.col) + channel * call.mask_cnt;
    T* to = static_cast<T*>(call.im) + channel * call.plane();
    if (begin == first && end - begin >= kGroup * vectors) {
      expand_planes<kGroup>(args, {0, vectors}, from, to);
      begin += kGroup * vectors;
    } else {
      const Range part{begin - first, std::min(end - first, vectors)};
      expand_planes<1>(args, part, from, to);
      begin += part.size();
    }
  }
}

RangeKernel<ExpandArgs> select_expand(int32_t element_size) {
  return element_size == 2 ? expand<uint16_t> : expand<uint32_t>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_col2im_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_col2im_forward::native {

HWY_EXPORT(vector_pixels);
HWY_EXPORT(select_expand);

int64_t vector_pixels() { return MLUOP_DISPATCH(vector_pixels)(); }

MLUOP_EXPORT_KERNEL(index_kernel, index, IndexArgs);

RangeKernel<ExpandArgs> expand_kernel(int32_t element_size) { return MLUOP_DISPATCH(select_expand)(element_size); }

}  // namespace mluop::masked_col2im_forward::native
#endif
