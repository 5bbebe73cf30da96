// Masked im2col forward: writes the output rows of a tile. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_MASKED_IM2COL_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_MASKED_IM2COL_ROWS_INL_H
#undef MLUOP_MASKED_IM2COL_ROWS_INL_H
#else
#define MLUOP_MASKED_IM2COL_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstring>

#include "ops/masked_im2col_forward/native/kernels.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col_forward::native {
namespace HWY_NAMESPACE {

// The rows that a kernel fills for one kernel offset, one for each channel: in the output, or in NRAM, from which
// next() copies them.
template <class T>
class Rows {
 public:
  // `buffer` holds tile_masks pixels.
  Rows(const GatherArgs& args, std::byte* buffer) : args_(args), buffer_(reinterpret_cast<T*>(buffer)) {}

  // Selects the rows of the first kernel offset of a tile. Rows in NRAM have space for every channel of a group
  // and for whole lines of masks, rows in the output do not.
  void start(const Tile& tile) {
    const Args& call = args_.call;
    tile_ = tile;
    buffered_ =
        args_.stream || tile.channels.size() < group_channels(call) || tile.masks.size() < line_masks(call);
    channel_stride_ = call.kernel_h * call.kernel_w * call.mask_cnt;
    out_ = static_cast<T*>(call.data_col) + tile.channels.begin * channel_stride_ + tile.masks.begin;
  }

  // The row of the first channel, and the distance to that of the next. A row has space for length() elements.
  T* data() const { return buffered_ ? buffer_ : out_; }
  int64_t stride() const { return buffered_ ? args_.tile_masks : channel_stride_; }
  int64_t length() const {
    return buffered_ ? round_up(tile_.masks.size(), line_masks(args_.call)) : tile_.masks.size();
  }

  // Completes the rows of a kernel offset and selects those of the next.
  void next() {
    if (buffered_) {
      for (int64_t c = 0; c < tile_.channels.size(); ++c) {
        copy(out_ + c * channel_stride_, buffer_ + c * args_.tile_masks);
      }
    }
    out_ += args_.call.mask_cnt;
  }

 private:
  void copy(T* to, const T* from) const {
    const auto count = static_cast<size_t>(tile_.masks.size());
    if (args_.stream) {
      stream_.copy(to, from, count);
    } else {
      std::memcpy(to, from, count * sizeof(T));
    }
  }

  const GatherArgs& args_;
  const mluop::HWY_NAMESPACE::StreamWriter stream_;
  T* buffer_;
  Tile tile_{};
  bool buffered_ = false;
  int64_t channel_stride_ = 0;
  T* out_ = nullptr;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col_forward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
