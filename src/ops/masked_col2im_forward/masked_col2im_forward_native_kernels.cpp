#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_col2im_forward/masked_col2im_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/simd.h"
#include "ops/masked_col2im_forward/masked_col2im_forward_native_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_col2im_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// From the smallest to past the largest coordinate of `masks`, which must not be empty.
HWY_INLINE Range extent_of(const int32_t* coordinates, Range masks) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto smallest = hn::Set(d, coordinates[masks.begin]);
  auto largest = smallest;
  int64_t k = masks.begin;
  for (; k + lanes <= masks.end; k += lanes) {
    const auto v = hn::LoadU(d, coordinates + k);
    smallest = hn::Min(smallest, v);
    largest = hn::Max(largest, v);
  }
  int64_t low = hn::GetLane(hn::MinOfLanes(d, smallest));
  int64_t high = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; k < masks.end; ++k) {
    low = std::min<int64_t>(low, coordinates[k]);
    high = std::max<int64_t>(high, coordinates[k]);
  }
  return {low, high + 1};
}

// The first mask of `masks` that is outside the image.
int64_t first_outside(const Args& args, Range masks) {
  int64_t k = masks.begin;
  while (k < masks.end && args.has_row(args.mask_h_idx[k]) && args.has_column(args.mask_w_idx[k])) ++k;
  return k;
}

bool precedes_next(const Args& args, int64_t k) {
  const int32_t h = args.mask_h_idx[k], next_h = args.mask_h_idx[k + 1];
  return h < next_h || (h == next_h && args.mask_w_idx[k] < args.mask_w_idx[k + 1]);
}

// Whether each mask of `masks` precedes the next in row-major order.
HWY_INLINE bool ascend(const Args& args, Range masks) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t last = std::min(masks.end, args.mask_cnt - 1);
  int64_t k = masks.begin;
  for (; k + lanes <= last; k += lanes) {
    const auto h = hn::LoadU(d, args.mask_h_idx + k), next_h = hn::LoadU(d, args.mask_h_idx + k + 1);
    const auto w = hn::LoadU(d, args.mask_w_idx + k), next_w = hn::LoadU(d, args.mask_w_idx + k + 1);
    const auto same_row = hn::And(hn::Eq(h, next_h), hn::Lt(w, next_w));
    if (!hn::AllTrue(d, hn::Or(hn::Lt(h, next_h), same_row))) return false;
  }
  while (k < last && precedes_next(args, k)) ++k;
  return k >= last;
}

void check(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range masks = args.chunks[chunk];
    const Range rows = extent_of(args.mask_h_idx, masks);
    const Range columns = extent_of(args.mask_w_idx, masks);
    if (rows.begin < 0 || rows.end > args.height || columns.begin < 0 || columns.end > args.width) {
      args.bad_mask.report(first_outside(args, masks));
      return;
    }
    args.chunks.rows[chunk] = rows;
    if (!ascend(args, masks)) args.disorder.report(chunk);
  }
}

// The number of masks before `pixel`.
int64_t masks_before(const Args& args, int64_t pixel) {
  int64_t low = 0;
  int64_t high = args.mask_cnt;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (args.pixel(middle) < pixel) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void index(const ExpandArgs& args, int64_t begin, int64_t end, Task&) {
  const Expansion& expansion = args.expansion;
  const int64_t pixels = expansion.pixels;
  int64_t k = masks_before(args, begin * pixels);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first_pixel = i * pixels;
    const int64_t first_mask = std::min(k, args.mask_cnt - pixels);
    int32_t* offsets = expansion.offsets + first_pixel;
    std::fill_n(offsets, pixels, Expansion::kNone);
    for (; k < args.mask_cnt && args.pixel(k) < first_pixel + pixels; ++k) {
      offsets[args.pixel(k) - first_pixel] = static_cast<int32_t>(k - first_mask);
    }
    expansion.first_masks[i] = first_mask;
  }
}

// Lanes of 4 bytes are also used for elements of 2 bytes.
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

// Writes vectors of kPlanes planes from as many rows of col; `to` is the first plane, `from` the first row.
template <int64_t kPlanes, class T>
HWY_INLINE void expand_planes(const ExpandArgs& args, Range vectors, const T* HWY_RESTRICT from,
                              T* HWY_RESTRICT to) {
  const Expansion& expansion = args.expansion;
  const int64_t pixels = expansion.pixels, plane = args.plane(), mask_cnt = args.mask_cnt;
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

// T: an unsigned integer with the size of an element.
template <class T>
void expand(const ExpandArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t vectors = args.expansion.vectors;
  while (begin < end) {
    const int64_t channel = begin / vectors;
    const int64_t first = channel * vectors;
    const T* from = static_cast<const T*>(args.col) + channel * args.mask_cnt;
    T* to = static_cast<T*>(args.im) + channel * args.plane();
    if (begin == first && end - begin >= kGroup * vectors) {
      expand_planes<kGroup>(args, {0, vectors}, from, to);
      begin += kGroup * vectors;
    } else {
      const Range range{begin - first, std::min(end - first, vectors)};
      expand_planes<1>(args, range, from, to);
      begin += range.size();
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

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);
MLUOP_EXPORT_KERNEL(index_kernel, index, ExpandArgs);

RangeKernel<ExpandArgs> expand_kernel(int32_t element_size) { return MLUOP_DISPATCH(select_expand)(element_size); }

// scatter() uses no vectors: all instruction sets share one function.
namespace {

// Writes the pixels `range` of kPlanes planes from as many rows of col; `to` is the first plane, `from` the first
// row. Rows are cleared just before the first chunk of masks that reaches them: with masks in row-major order,
// they are then in L1.
template <int64_t kPlanes, class T>
void write_planes(const ScatterArgs& args, Range range, const T* from, T* to) {
  const int32_t *h = args.mask_h_idx, *w = args.mask_w_idx;
  const int64_t width = args.width, plane = args.plane(), mask_cnt = args.mask_cnt;
  int64_t cleared = range.begin;
  const auto clear_until = [&](int64_t end) {
    if (end <= cleared) return;
    for (int64_t c = 0; c < kPlanes; ++c) {
      std::memset(to + c * plane + cleared, 0, static_cast<size_t>(end - cleared) * sizeof(T));
    }
    cleared = end;
  };
  const auto copy = [&](int64_t k, int64_t pixel) {
#pragma GCC unroll 4
    for (int64_t c = 0; c < kPlanes; ++c) to[c * plane + pixel] = from[c * mask_cnt + k];
  };
  for (int64_t i = 0; i < args.chunks.count(); ++i) {
    const Range masks = args.chunks[i];
    const Range rows = args.chunks.rows[i];
    const Range pixels{rows.begin * width, rows.end * width};
    if (pixels.begin >= range.end || pixels.end <= range.begin) continue;
    clear_until(std::min(pixels.end, range.end));
    if (pixels.begin >= range.begin && pixels.end <= range.end) {
      for (int64_t k = masks.begin; k < masks.end; ++k) copy(k, h[k] * width + w[k]);
    } else {
      for (int64_t k = masks.begin; k < masks.end; ++k) {
        const int64_t pixel = h[k] * width + w[k];
        if (pixel >= range.begin && pixel < range.end) copy(k, pixel);
      }
    }
  }
  clear_until(range.end);
}

// T: an unsigned integer with the size of an element.
template <class T>
void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t plane = args.plane();
  while (begin < end) {
    const int64_t channel = begin / plane;
    const int64_t first = channel * plane;
    const T* from = static_cast<const T*>(args.col) + channel * args.mask_cnt;
    T* to = static_cast<T*>(args.im) + first;
    if (begin == first && end - begin >= kGroup * plane) {
      write_planes<kGroup>(args, {0, plane}, from, to);
      begin += kGroup * plane;
    } else {
      const Range range{begin - first, std::min(end - first, plane)};
      write_planes<1>(args, range, from, to);
      begin += range.size();
    }
  }
}

}  // namespace

RangeKernel<ScatterArgs> scatter_kernel(int32_t element_size) {
  return element_size == 2 ? scatter<uint16_t> : scatter<uint32_t>;
}

}  // namespace mluop::masked_col2im_forward::native
#endif
