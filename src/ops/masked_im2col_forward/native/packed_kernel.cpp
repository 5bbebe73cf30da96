#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col_forward/native/packed_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "ops/masked_im2col_forward/native/kernels.h"
#include "ops/masked_im2col_forward/native/pack-inl.h"
#include "ops/masked_im2col_forward/native/packed_plane.h"
#include "ops/masked_im2col_forward/native/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col_forward::native {
namespace HWY_NAMESPACE {

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
  // The last pixels overlap those before, with the same values.
  p = count - kGroup<T>;
  pack_pixels(planes, first + p, packed + p * kGroup<T>);
}

template <class T>
void pack(const Args& call, const PackedPlane& plane, Range channels, std::byte* pixels) {
  const int64_t plane_size = call.height * call.width;
  const T* planes[kGroup<T>];
  for (int64_t c = 0; c < kGroup<T>; ++c) {
    // Channels past the last repeat it: their rows are not copied to the output.
    const int64_t channel = channels.begin + std::min(c, channels.size() - 1);
    planes[c] = static_cast<const T*>(call.feature) + channel * plane_size;
  }
  // Without zeros between them, all rows are one.
  const bool joined = plane.row_pixels == call.width;
  const int64_t rows = joined ? 1 : call.height;
  const int64_t row_size = joined ? plane_size : call.width;
  T* to = reinterpret_cast<T*>(pixels + plane.first_pixel * kPixelBytes);
  for (int64_t h = 0; h < rows; ++h) {
    pack_row(planes, h * row_size, row_size, to + h * plane.row_pixels * kGroup<T>);
  }
}

// The masks whose offsets in the packed planes are known. They are the same for every group: a task that has space
// for all its masks locates them once.
class LocatedMasks {
 public:
  LocatedMasks(int32_t* offsets, int64_t capacity) : offsets_(offsets), capacity_(capacity) {}

  // The offsets of a tile's masks. Where they are not known, locates as many masks from the first of the tile up
  // to mask `end` as there is space for.
  const int32_t* locate(const Args& call, const PackedPlane& plane, const Tile& tile, int64_t end) {
    if (tile.masks.begin < masks_.begin || tile.masks.end > masks_.end) {
      masks_ = {tile.masks.begin, std::min(end, tile.masks.begin + capacity_)};
      for (int64_t k = 0; k < masks_.size(); ++k) {
        offsets_[k] = plane.offset(call, call.mask_h_idx[masks_.begin + k] - call.pad_h,
                                   call.mask_w_idx[masks_.begin + k] - call.pad_w);
      }
      // Lines are gathered whole: masks past the last read zeros.
      std::fill(offsets_ + masks_.size(), offsets_ + round_up(masks_.size(), line_masks(call)), 0);
    }
    return offsets_ + (tile.masks.begin - masks_.begin);
  }

 private:
  int32_t* offsets_;
  int64_t capacity_;
  Range masks_{};
};

// rows[c * stride + k] = channel c of the pixel at base + offsets[k], for `length` masks, kGatherMasks or more.
template <class T>
HWY_INLINE void gather_rows(const std::byte* base, const int32_t* offsets, int64_t length, T* rows,
                            int64_t stride) {
  int64_t k = 0;
  for (; k + kGatherMasks<T> <= length; k += kGatherMasks<T>) gather_masks(base, offsets + k, rows + k, stride);
  if (k == length) return;
  // The last masks overlap those before, with the same values.
  k = length - kGatherMasks<T>;
  gather_masks(base, offsets + k, rows + k, stride);
}

// T: an unsigned integer of the size of an element.
template <class T>
void gather_packed(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const PackedPlane plane(call);
  const PackedBuffers buffers(task.nram, plane, args.located_masks, args.tile_masks);
  LocatedMasks located(buffers.offsets, args.located_masks);
  Rows<T> rows(args, buffers.rows);
  std::memset(buffers.pixels, 0, static_cast<size_t>(plane.pixel_count * kPixelBytes));
  for_each_chunk(call, begin, end, [&](const Chunk& chunk) {
    pack<T>(call, plane, chunk.channels, buffers.pixels);
    for_each_tile(chunk, args.tile_masks, [&](const Tile& tile) {
      const int32_t* offsets = located.locate(call, plane, tile, chunk.masks.end);
      rows.start(tile);
      for (int64_t i = 0; i < call.kernel_h; ++i) {
        for (int64_t j = 0; j < call.kernel_w; ++j) {
          const std::byte* base = buffers.pixels + (i * plane.row_pixels + j) * kPixelBytes;
          gather_rows(base, offsets, rows.length(), rows.data(), rows.stride());
          rows.next();
        }
      }
    });
  });
}

RangeKernel<GatherArgs> select_packed(int32_t element_size) {
  return element_size == 2 ? gather_packed<uint16_t> : gather_packed<uint32_t>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col_forward::native {

HWY_EXPORT(select_packed);

RangeKernel<GatherArgs> packed_kernel(int32_t element_size) { return MLUOP_DISPATCH(select_packed)(element_size); }

}  // namespace mluop::masked_im2col_forward::native
#endif
