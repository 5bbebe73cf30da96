#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col_forward/native/direct_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "ops/masked_im2col_forward/native/kernels.h"
#include "ops/masked_im2col_forward/native/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col_forward::native {
namespace HWY_NAMESPACE {

constexpr int64_t kOutside = -1;

// positions[k] = position in a plane of the pixel of mask k of the tile at kernel offset (i, j), or kOutside.
HWY_INLINE void locate(const Args& call, const Tile& tile, int64_t i, int64_t j, int64_t* positions) {
  for (int64_t k = 0; k < tile.masks.size(); ++k) {
    const int64_t h = call.mask_h_idx[tile.masks.begin + k] - call.pad_h + i;
    const int64_t w = call.mask_w_idx[tile.masks.begin + k] - call.pad_w + j;
    const bool inside = h >= 0 && h < call.height && w >= 0 && w < call.width;
    positions[k] = inside ? h * call.width + w : kOutside;
  }
}

template <class T>
HWY_INLINE void gather_row(const T* HWY_RESTRICT plane, const int64_t* HWY_RESTRICT positions, int64_t count,
                           T* HWY_RESTRICT row) {
  for (int64_t k = 0; k < count; ++k) row[k] = positions[k] == kOutside ? T{0} : plane[positions[k]];
}

// T: an unsigned integer of the size of an element.
template <class T>
void gather_direct(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const int64_t plane_size = call.height * call.width;
  const DirectBuffers buffers(task.nram, args.tile_masks);
  Rows<T> rows(args, buffers.rows);
  for_each_chunk(call, begin, end, [&](const Chunk& chunk) {
    const T* planes = static_cast<const T*>(call.feature) + chunk.channels.begin * plane_size;
    for_each_tile(chunk, args.tile_masks, [&](const Tile& tile) {
      rows.start(tile);
      for (int64_t i = 0; i < call.kernel_h; ++i) {
        for (int64_t j = 0; j < call.kernel_w; ++j) {
          locate(call, tile, i, j, buffers.positions);
          for (int64_t c = 0; c < tile.channels.size(); ++c) {
            gather_row(planes + c * plane_size, buffers.positions, tile.masks.size(),
                       rows.data() + c * rows.stride());
          }
          rows.next();
        }
      }
    });
  });
}

RangeKernel<GatherArgs> select_direct(int32_t element_size) {
  return element_size == 2 ? gather_direct<uint16_t> : gather_direct<uint32_t>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col_forward::native {

HWY_EXPORT(select_direct);

RangeKernel<GatherArgs> direct_kernel(int32_t element_size) { return MLUOP_DISPATCH(select_direct)(element_size); }

}  // namespace mluop::masked_im2col_forward::native
#endif
