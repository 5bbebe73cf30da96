#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col_forward/direct_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "ops/masked_im2col_forward/kernels.h"
#include "ops/masked_im2col_forward/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col_forward {
namespace HWY_NAMESPACE {

constexpr int64_t kOutside = -1;

// places[k] = where in a plane the pixel (i, j) of mask k of the tile is, or kOutside.
HWY_INLINE void locate(const Args& call, const Block& tile, int64_t i, int64_t j, int64_t* places) {
  for (int64_t k = 0; k < tile.mask_count; ++k) {
    const int64_t h = call.mask_h_idx[tile.first_mask + k] - call.pad_h + i;
    const int64_t w = call.mask_w_idx[tile.first_mask + k] - call.pad_w + j;
    const bool inside = h >= 0 && h < call.height && w >= 0 && w < call.width;
    places[k] = inside ? h * call.width + w : kOutside;
  }
}

template <class T>
HWY_INLINE void gather_row(const T* HWY_RESTRICT plane, const int64_t* HWY_RESTRICT places, int64_t count,
                           T* HWY_RESTRICT row) {
  for (int64_t k = 0; k < count; ++k) row[k] = places[k] == kOutside ? T{0} : plane[places[k]];
}

template <class T>
void gather_direct(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const int64_t plane_size = call.height * call.width;
  auto* places = task.nram.take<int64_t>(static_cast<size_t>(args.tile_masks));
  Rows<T> rows(args, task.nram);
  for_each_group(call, begin, end, [&](const Block& block) {
    const T* planes = static_cast<const T*>(call.feature) + block.first_channel * plane_size;
    for_each_tile(block, args.tile_masks, [&](const Block& tile) {
      rows.begin(tile);
      for (int64_t i = 0; i < call.kernel_h; ++i) {
        for (int64_t j = 0; j < call.kernel_w; ++j) {
          locate(call, tile, i, j, places);
          for (int64_t c = 0; c < tile.channel_count; ++c) {
            gather_row(planes + c * plane_size, places, tile.mask_count, rows.data() + c * rows.stride());
          }
          rows.next();
        }
      }
    });
  });
  hwy::FlushStream();
}

void gather_direct_2(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  gather_direct<uint16_t>(args, begin, end, task);
}
void gather_direct_4(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  gather_direct<uint32_t>(args, begin, end, task);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col_forward {

HWY_EXPORT(gather_direct_2);
HWY_EXPORT(gather_direct_4);

RangeKernel<GatherArgs> direct_kernel(int32_t element_size) {
  return element_size == 2 ? HWY_DYNAMIC_DISPATCH(gather_direct_2) : HWY_DYNAMIC_DISPATCH(gather_direct_4);
}

}  // namespace mluop::masked_im2col_forward
#endif
