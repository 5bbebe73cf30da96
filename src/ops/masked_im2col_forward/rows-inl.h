// Masked im2col forward: the output rows of a group, one a channel. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_MASKED_IM2COL_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_MASKED_IM2COL_ROWS_INL_H
#undef MLUOP_MASKED_IM2COL_ROWS_INL_H
#else
#define MLUOP_MASKED_IM2COL_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include <cstring>

#include "ops/masked_im2col_forward/kernels.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col_forward {
namespace HWY_NAMESPACE {

// Where a kernel writes the rows of a tile: into the output itself, or into NRAM, from where they are copied.
template <class T>
class Rows {
 public:
  Rows(const GatherArgs& args, Nram& nram)
      : args_(args), buffer_(nram.take<T>(static_cast<size_t>(args.call.group_channels() * args.tile_masks))) {}

  // The rows of offset 0 of a tile. In NRAM they are all there and whole lines long; in the output they are not.
  void begin(const Block& tile) {
    const Args& call = args_.call;
    tile_ = tile;
    buffered_ = args_.stream || tile.channel_count < call.group_channels() || tile.mask_count < call.line_masks();
    channel_stride_ = call.kernel_h * call.kernel_w * call.mask_cnt;
    out_ = static_cast<T*>(call.data_col) + tile.first_channel * channel_stride_ + tile.first_mask;
  }

  // The row of the first channel, and the distance to that of the next. `length` elements may be written.
  T* data() const { return buffered_ ? buffer_ : out_; }
  int64_t stride() const { return buffered_ ? args_.tile_masks : channel_stride_; }
  int64_t length() const {
    return buffered_ ? round_up(tile_.mask_count, args_.call.line_masks()) : tile_.mask_count;
  }

  // The rows of this offset are written: on to the next.
  void next() {
    if (buffered_) {
      for (int64_t c = 0; c < tile_.channel_count; ++c) {
        copy(out_ + c * channel_stride_, buffer_ + c * args_.tile_masks);
      }
    }
    out_ += args_.call.mask_cnt;
  }

 private:
  void copy(T* to, const T* from) const {
    const auto count = static_cast<size_t>(tile_.mask_count);
    if (args_.stream) {
      mluop::HWY_NAMESPACE::stream_copy(to, from, count);
    } else {
      std::memcpy(to, from, count * sizeof(T));
    }
  }

  const GatherArgs& args_;
  T* buffer_;
  Block tile_{};
  bool buffered_ = false;
  int64_t channel_stride_ = 0;
  T* out_ = nullptr;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col_forward
HWY_AFTER_NAMESPACE();

#endif  // include guard
