#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col_forward/masked_im2col_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/simd.h"
#include "ops/masked_im2col_forward/masked_im2col_forward_native_kernels.h"
#include "primitives/memory/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The output rows that a kernel fills for one kernel offset, one for each channel of a chunk: in the output, or in
// NRAM, from where next() copies them. T: an unsigned integer with the size of an element.
template <class T>
class Rows {
 public:
  // `buffer` holds tile_masks pixels.
  Rows(const GatherArgs& args, std::byte* buffer) : args_(args), buffer_(reinterpret_cast<T*>(buffer)) {}

  // Selects the rows of the first kernel offset of a tile. Rows in NRAM have space for every channel of a group
  // and for whole lines of masks; rows in the output do not.
  void start(Range channels, Range masks) {
    channel_count_ = channels.size();
    mask_count_ = masks.size();
    buffered_ = args_.stream || channel_count_ < group_channels(args_) || mask_count_ < line_masks(args_);
    channel_stride_ = args_.kernel_h * args_.kernel_w * args_.mask_cnt;
    out_ = static_cast<T*>(args_.data_col) + channels.begin * channel_stride_ + masks.begin;
  }

  // The row of the first channel, and the distance between the rows of consecutive channels. A row has space for
  // length() elements.
  T* data() const { return buffered_ ? buffer_ : out_; }
  int64_t stride() const { return buffered_ ? args_.tile_masks : channel_stride_; }
  int64_t length() const { return buffered_ ? round_up(mask_count_, line_masks(args_)) : mask_count_; }

  // Completes the rows of a kernel offset and selects the rows of the next offset.
  void next() {
    if (buffered_) {
      for (int64_t c = 0; c < channel_count_; ++c) {
        copy(out_ + c * channel_stride_, buffer_ + c * args_.tile_masks);
      }
    }
    out_ += args_.mask_cnt;
  }

 private:
  void copy(T* to, const T* from) const {
    const auto count = static_cast<size_t>(mask_count_);
    if (args_.stream) {
      stream_.copy(to, from, count);
    } else {
      std::memcpy(to, from, count * sizeof(T));
    }
  }

  const GatherArgs& args_;
  const mluop::HWY_NAMESPACE::StreamWriter stream_;
  T* buffer_;
  int64_t channel_count_ = 0;
  int64_t mask_count_ = 0;
  bool buffered_ = false;
  int64_t channel_stride_ = 0;
  T* out_ = nullptr;
};

// Channels of a group; also the number of pixels that pack_pixels() packs.
template <class T>
inline constexpr int64_t kGroup = kPixelBytes / static_cast<int64_t>(sizeof(T));

// pack_pixels():   packed[p] = planes[0][pixel + p], planes[1][pixel + p], ... for kGroup pixels.
// unpack_pixels(): rows[c * stride + k] = channel c of the pixel at base + offsets[k], for kUnpackedMasks masks of
//                  a line.

#if HWY_TARGET == HWY_SCALAR  // vectors of one lane

template <class T>
HWY_INLINE void pack_pixels(const T* const (&planes)[kGroup<T>], int64_t pixel, T* packed) {
  for (int64_t p = 0; p < kGroup<T>; ++p) {
    for (int64_t c = 0; c < kGroup<T>; ++c) packed[p * kGroup<T> + c] = planes[c][pixel + p];
  }
}

template <class T>
inline constexpr int64_t kUnpackedMasks = kGroup<T>;

template <class T>
HWY_INLINE void unpack_pixels(const std::byte* base, const int32_t* offsets, T* rows, int64_t stride) {
  for (int64_t k = 0; k < kUnpackedMasks<T>; ++k) {
    const T* pixel = reinterpret_cast<const T*>(base + offsets[k]);
    for (int64_t c = 0; c < kGroup<T>; ++c) rows[c * stride + k] = pixel[c];
  }
}

#else

// Transposes the matrices that the vectors hold in each 16 bytes: element e of vector r becomes element r of
// vector e. Interleaving the first half of the vectors with the second half rotates the bits of (r, e) by one; as
// many steps as half of these bits exchange r and e.
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
inline constexpr auto kUnpackedMasks = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));

template <class T>
HWY_INLINE void unpack_pixels(const std::byte* base, const int32_t* offsets, T* rows, int64_t stride) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> v[kGroup<T>];
  HWY_UNROLL(8) for (int64_t k = 0; k < kGroup<T>; ++k) v[k] = load_pixels(d, base, offsets + k);
  transpose<T>(d, v);
  HWY_UNROLL(8) for (int64_t c = 0; c < kGroup<T>; ++c) hn::StoreU(v[c], d, rows + c * stride);
}

#endif

// packed[p] = planes[0][first + p], planes[1][first + p], ... for `count` pixels of a row.
template <class T>
HWY_INLINE void pack_row(const T* const (&planes)[kGroup<T>], int64_t first, int64_t count, T* packed) {
  if (count < kGroup<T>) {
    for (int64_t p = 0; p < count; ++p) {
      for (int64_t c = 0; c < kGroup<T>; ++c) packed[p * kGroup<T> + c] = planes[c][first + p];
    }
    return;
  }
  int64_t p = 0;
  for (; p + kGroup<T> <= count; p += kGroup<T>) pack_pixels(planes, first + p, packed + p * kGroup<T>);
  if (p == count) return;
  // The last pixels overlap earlier pixels, with the same values.
  p = count - kGroup<T>;
  pack_pixels(planes, first + p, packed + p * kGroup<T>);
}

// Packs the planes of a group.
template <class T>
void pack_planes(const Args& args, const PackedPlane& plane, Range channels, std::byte* pixels) {
  const int64_t plane_size = args.height * args.width;
  const T* planes[kGroup<T>];
  for (int64_t c = 0; c < kGroup<T>; ++c) {
    // Channels past the last repeat it: their rows are not copied to the output.
    const int64_t channel = channels.begin + std::min(c, channels.size() - 1);
    planes[c] = static_cast<const T*>(args.feature) + channel * plane_size;
  }
  // Without zeros between them, all rows form one row.
  const bool joined = plane.row_pixels == args.width;
  const int64_t rows = joined ? 1 : args.height;
  const int64_t row_size = joined ? plane_size : args.width;
  T* to = reinterpret_cast<T*>(pixels + plane.first_pixel * kPixelBytes);
  for (int64_t h = 0; h < rows; ++h) {
    pack_row(planes, h * row_size, row_size, to + h * plane.row_pixels * kGroup<T>);
  }
}

// The masks whose offsets in the packed planes are known. The offsets are the same for every group: a task with
// space for all its masks locates them once.
class LocatedMasks {
 public:
  LocatedMasks(int32_t* offsets, int64_t capacity) : offsets_(offsets), capacity_(capacity) {}

  // The offsets of the masks of a tile. If they are unknown, locates masks from the first of the tile on, up to
  // mask `end`, as far as there is space.
  const int32_t* locate(const Args& args, const PackedPlane& plane, Range tile, int64_t end) {
    if (tile.begin < masks_.begin || tile.end > masks_.end) {
      masks_ = {tile.begin, std::min(end, tile.begin + capacity_)};
      for (int64_t k = 0; k < masks_.size(); ++k) {
        offsets_[k] = plane.offset(args, args.mask_h_idx[masks_.begin + k] - args.pad_h,
                                   args.mask_w_idx[masks_.begin + k] - args.pad_w);
      }
      // Whole lines are gathered: masks past the last read zeros.
      std::fill(offsets_ + masks_.size(), offsets_ + round_up(masks_.size(), line_masks(args)), 0);
    }
    return offsets_ + (tile.begin - masks_.begin);
  }

 private:
  int32_t* offsets_;
  int64_t capacity_;
  Range masks_{};
};

// rows[c * stride + k] = channel c of the pixel at base + offsets[k], for `length` masks, at least kUnpackedMasks.
template <class T>
HWY_INLINE void fill_rows(const std::byte* base, const int32_t* offsets, int64_t length, T* rows, int64_t stride) {
  constexpr int64_t kMasks = kUnpackedMasks<T>;
  int64_t k = 0;
  for (; k + kMasks <= length; k += kMasks) unpack_pixels(base, offsets + k, rows + k, stride);
  if (k == length) return;
  // The last masks overlap earlier masks, with the same values.
  k = length - kMasks;
  unpack_pixels(base, offsets + k, rows + k, stride);
}

template <class T>
void gather_packed(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const PackedPlane plane(args);
  const PackedBuffers buffers(task.nram, plane, args.located_masks, args.tile_masks);
  LocatedMasks located(buffers.offsets, args.located_masks);
  Rows<T> rows(args, buffers.rows);
  std::memset(buffers.pixels, 0, static_cast<size_t>(plane.pixel_count * kPixelBytes));
  for_each_chunk(args, begin, end, [&](const Chunk& chunk) {
    pack_planes<T>(args, plane, chunk.channels, buffers.pixels);
    for (int64_t mask = chunk.masks.begin; mask < chunk.masks.end; mask += args.tile_masks) {
      const Range masks{mask, std::min(mask + args.tile_masks, chunk.masks.end)};
      const int32_t* offsets = located.locate(args, plane, masks, chunk.masks.end);
      rows.start(chunk.channels, masks);
      for (int64_t i = 0; i < args.kernel_h; ++i) {
        for (int64_t j = 0; j < args.kernel_w; ++j) {
          const std::byte* base = buffers.pixels + (i * plane.row_pixels + j) * kPixelBytes;
          fill_rows(base, offsets, rows.length(), rows.data(), rows.stride());
          rows.next();
        }
      }
    }
  });
}

constexpr int64_t kOutside = -1;

// positions[k] = position in a plane of the pixel of the k-th of `masks` at kernel offset (i, j), or kOutside.
HWY_INLINE void locate_pixels(const Args& args, Range masks, int64_t i, int64_t j, int64_t* positions) {
  for (int64_t k = 0; k < masks.size(); ++k) {
    const int64_t h = args.mask_h_idx[masks.begin + k] - args.pad_h + i;
    const int64_t w = args.mask_w_idx[masks.begin + k] - args.pad_w + j;
    const bool inside = h >= 0 && h < args.height && w >= 0 && w < args.width;
    positions[k] = inside ? h * args.width + w : kOutside;
  }
}

template <class T>
HWY_INLINE void fill_row(const T* HWY_RESTRICT plane, const int64_t* HWY_RESTRICT positions, int64_t count,
                         T* HWY_RESTRICT row) {
  for (int64_t k = 0; k < count; ++k) row[k] = positions[k] == kOutside ? T{0} : plane[positions[k]];
}

template <class T>
void gather_direct(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t plane_size = args.height * args.width;
  const DirectBuffers buffers(task.nram, args.tile_masks);
  Rows<T> rows(args, buffers.rows);
  for_each_chunk(args, begin, end, [&](const Chunk& chunk) {
    const T* planes = static_cast<const T*>(args.feature) + chunk.channels.begin * plane_size;
    for (int64_t mask = chunk.masks.begin; mask < chunk.masks.end; mask += args.tile_masks) {
      const Range masks{mask, std::min(mask + args.tile_masks, chunk.masks.end)};
      rows.start(chunk.channels, masks);
      for (int64_t i = 0; i < args.kernel_h; ++i) {
        for (int64_t j = 0; j < args.kernel_w; ++j) {
          locate_pixels(args, masks, i, j, buffers.positions);
          for (int64_t c = 0; c < chunk.channels.size(); ++c) {
            fill_row(planes + c * plane_size, buffers.positions, masks.size(), rows.data() + c * rows.stride());
          }
          rows.next();
        }
      }
    }
  });
}

RangeKernel<GatherArgs> select_packed(int32_t element_size) {
  return element_size == 2 ? gather_packed<uint16_t> : gather_packed<uint32_t>;
}

RangeKernel<GatherArgs> select_direct(int32_t element_size) {
  return element_size == 2 ? gather_direct<uint16_t> : gather_direct<uint32_t>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col_forward::native {

HWY_EXPORT(select_packed);
HWY_EXPORT(select_direct);

RangeKernel<GatherArgs> packed_kernel(int32_t element_size) { return MLUOP_DISPATCH(select_packed)(element_size); }
RangeKernel<GatherArgs> direct_kernel(int32_t element_size) { return MLUOP_DISPATCH(select_direct)(element_size); }

}  // namespace mluop::masked_im2col_forward::native
#endif
