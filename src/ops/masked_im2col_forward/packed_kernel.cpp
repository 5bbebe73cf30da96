#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col_forward/packed_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "ops/masked_im2col_forward/kernels.h"
#include "ops/masked_im2col_forward/pack-inl.h"
#include "ops/masked_im2col_forward/packed_plane.h"
#include "ops/masked_im2col_forward/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col_forward {
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
  for (; p + kGroup<T> <= count; p += kGroup<T>) pack_block(planes, first + p, packed + p * kGroup<T>);
  if (p == count) return;
  // The last block overlaps the one before, with the same values.
  p = count - kGroup<T>;
  pack_block(planes, first + p, packed + p * kGroup<T>);
}

template <class T>
void pack(const Args& call, const PackedPlane& layout, const Block& block, std::byte* packed) {
  const int64_t plane_size = call.height * call.width;
  const T* planes[kGroup<T>];
  for (int64_t c = 0; c < kGroup<T>; ++c) {
    // Planes behind the last channel repeat it: what they become is not copied to the output.
    const int64_t channel = block.first_channel + std::min(c, block.channel_count - 1);
    planes[c] = static_cast<const T*>(call.feature) + channel * plane_size;
  }
  // Without zeros between them, all rows are one.
  const bool joined = layout.row_pixels == call.width;
  const int64_t rows = joined ? 1 : call.height;
  const int64_t row_size = joined ? plane_size : call.width;
  T* to = reinterpret_cast<T*>(packed + layout.first_pixel * kPixelBytes);
  for (int64_t h = 0; h < rows; ++h) {
    pack_row(planes, h * row_size, row_size, to + h * layout.row_pixels * kGroup<T>);
  }
}

// The masks whose places in the packed planes are in NRAM. They are the same for every group: a task that has room
// for all its masks locates them once.
class Located {
 public:
  Located(Nram& nram, int64_t masks)
      : capacity_(masks), offsets_(nram.take<int32_t>(static_cast<size_t>(masks))) {}

  // The places of a tile's masks. Those behind it are located with it, up to mask `end` and while there is room.
  const int32_t* find(const Args& call, const PackedPlane& layout, const Block& tile, int64_t end) {
    if (tile.first_mask < first_ || tile.first_mask + tile.mask_count > end_) {
      first_ = tile.first_mask;
      end_ = std::min(end, first_ + capacity_);
      for (int64_t k = first_; k < end_; ++k) {
        offsets_[k - first_] =
            layout.offset_of(call, call.mask_h_idx[k] - call.pad_h, call.mask_w_idx[k] - call.pad_w);
      }
      // Lines are gathered whole: masks behind the last are nowhere.
      std::fill(offsets_ + (end_ - first_), offsets_ + round_up(end_ - first_, call.line_masks()), 0);
    }
    return offsets_ + (tile.first_mask - first_);
  }

 private:
  int64_t capacity_;
  int32_t* offsets_;
  int64_t first_ = 0, end_ = 0;
};

// rows[c * stride + k] = channel c of the pixel at base + offsets[k], for `length` masks, kGatherMasks or more.
template <class T>
HWY_INLINE void gather_rows(const std::byte* base, const int32_t* offsets, int64_t length, T* rows,
                            int64_t stride) {
  int64_t k = 0;
  for (; k + kGatherMasks<T> <= length; k += kGatherMasks<T>) gather_block(base, offsets + k, rows + k, stride);
  if (k == length) return;
  // The last block overlaps the one before, with the same values.
  k = length - kGatherMasks<T>;
  gather_block(base, offsets + k, rows + k, stride);
}

template <class T>
void gather_packed(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const PackedPlane layout(call);
  const auto plane_bytes = static_cast<size_t>(layout.bytes());
  auto* packed = task.nram.take<std::byte>(plane_bytes);
  Located located(task.nram, args.located_masks);
  Rows<T> rows(args, task.nram);
  std::memset(packed, 0, plane_bytes);
  for_each_group(call, begin, end, [&](const Block& block) {
    pack<T>(call, layout, block, packed);
    for_each_tile(block, args.tile_masks, [&](const Block& tile) {
      const int32_t* offsets = located.find(call, layout, tile, block.first_mask + block.mask_count);
      rows.begin(tile);
      for (int64_t i = 0; i < call.kernel_h; ++i) {
        for (int64_t j = 0; j < call.kernel_w; ++j) {
          const std::byte* base = packed + (i * layout.row_pixels + j) * kPixelBytes;
          gather_rows(base, offsets, rows.length(), rows.data(), rows.stride());
          rows.next();
        }
      }
    });
  });
  hwy::FlushStream();
}

void gather_packed_2(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  gather_packed<uint16_t>(args, begin, end, task);
}
void gather_packed_4(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  gather_packed<uint32_t>(args, begin, end, task);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col_forward {

HWY_EXPORT(gather_packed_2);
HWY_EXPORT(gather_packed_4);

RangeKernel<GatherArgs> packed_kernel(int32_t element_size) {
  return element_size == 2 ? HWY_DYNAMIC_DISPATCH(gather_packed_2) : HWY_DYNAMIC_DISPATCH(gather_packed_4);
}

}  // namespace mluop::masked_im2col_forward
#endif
