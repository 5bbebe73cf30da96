#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_backward/native/gather_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/simd.h"
#include "ops/voxel_pooling_backward/native/kernels.h"
#include "primitives/prefetch.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::StreamWriter;

// to[0, bytes) = from[0, bytes); zeros if `from` is null. `bytes` is positive.
HWY_INLINE void copy_row(uint8_t* HWY_RESTRICT to, const uint8_t* HWY_RESTRICT from, int64_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (from == nullptr) {
    std::memset(to, 0, static_cast<size_t>(bytes));
  } else if (bytes < lanes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  } else {
    for (int64_t i = 0; i < bytes - lanes; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    // The last vector overlaps the one before it if the row is not whole vectors.
    hn::StoreU(hn::LoadU(d, from + bytes - lanes), d, to + bytes - lanes);
  }
}

struct CopyRows {
  HWY_INLINE void operator()(uint8_t* to, const uint8_t* from, int64_t bytes) const { copy_row(to, from, bytes); }
};

// Copies rows of whole cache lines by non-temporal stores.
struct StreamRows {
  HWY_INLINE void operator()(uint8_t* HWY_RESTRICT to, const uint8_t* HWY_RESTRICT from, int64_t bytes) const {
    const hn::ScalableTag<uint8_t> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    if (from == nullptr) {
      for (int64_t i = 0; i < bytes; i += lanes) stream.store(hn::Zero(d), d, to + i);
    } else {
      for (int64_t i = 0; i < bytes; i += lanes) stream.store(hn::LoadU(d, from + i), d, to + i);
    }
  }

  const StreamWriter& stream;
};

class Rows {
 public:
  explicit Rows(const Args& call)
      : call_(call),
        row_without_cell_(call.row_bytes <= kMaxZeroBytes ? kZeros : nullptr),
        lookahead_(std::clamp<int64_t>(kLookaheadBytes / call.row_bytes, 1, kMaxLookahead)) {}

  // Writes bytes [begin, end) of grad_input to to[0, end - begin): write(to, from, bytes) for each row or part of
  // one, where `from` may be null for a point without a cell.
  template <class Write>
  HWY_INLINE void for_each(int64_t begin, int64_t end, uint8_t* to, const Write& write) const {
    int64_t point = begin / call_.row_bytes;
    int64_t skipped = begin - point * call_.row_bytes;
    while (begin < end) {
      prefetch(point + lookahead_);
      const int64_t bytes = std::min(call_.row_bytes - skipped, end - begin);
      const uint8_t* row = source_row(point);
      write(to, row == nullptr ? nullptr : row + skipped, bytes);
      to += bytes;
      begin += bytes;
      ++point;
      skipped = 0;
    }
  }

 private:
  static constexpr int64_t kLookaheadBytes = 5 << 10;
  static constexpr int64_t kMaxLookahead = 64;
  static constexpr int64_t kMaxZeroBytes = 1 << 10;
  alignas(64) static constexpr uint8_t kZeros[kMaxZeroBytes] = {};

  // Without a branch: which points have a cell is not predictable.
  HWY_INLINE const uint8_t* source_row(int64_t point) const {
    const int32_t* memo = call_.pos_memo + point * 3;
    const int64_t cell = (memo[0] * call_.num_voxel_y + memo[1]) * call_.num_voxel_x + memo[2];
    const auto no_cell = static_cast<uintptr_t>(int64_t{memo[0]} >> 63);
    const auto cell_row =
        reinterpret_cast<uintptr_t>(call_.grad_output) + static_cast<uintptr_t>(cell * call_.row_bytes);
    const auto other_row = reinterpret_cast<uintptr_t>(row_without_cell_);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const uint8_t*>((cell_row & ~no_cell) | (other_row & no_cell));
  }

  HWY_INLINE void prefetch(int64_t point) const {
    if (point >= call_.total_points()) return;
    const uint8_t* row = source_row(point);
    if (row != nullptr) prefetch_row<Use::kRead>(row, call_.row_bytes);
  }

  const Args& call_;
  const uint8_t* row_without_cell_;  // zeros; null if rows are longer
  int64_t lookahead_;
};

void gather(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Rows rows(args.call);
  const int64_t first = begin * kCacheLine;
  const int64_t last = std::min(end * kCacheLine, args.call.output_bytes());
  auto* const to = reinterpret_cast<uint8_t*>(args.call.grad_input);
  if (args.store == Store::kCached) {
    rows.for_each(first, last, to + first, CopyRows());
    return;
  }
  const StreamWriter stream;
  if (args.store == Store::kRows) {
    rows.for_each(first, last, to + first, StreamRows{stream});
    return;
  }
  auto* const tile = reinterpret_cast<uint8_t*>(GatherTile(task.nram, args.tile_bytes).rows);
  for (int64_t i = first; i < last; i += args.tile_bytes) {
    const int64_t bytes = std::min(args.tile_bytes, last - i);
    rows.for_each(i, i + bytes, tile, CopyRows());
    stream.copy(to + i, tile, static_cast<size_t>(bytes));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_backward::native {

MLUOP_EXPORT_KERNEL(gather_kernel, gather, GatherArgs);

}  // namespace mluop::voxel_pooling_backward::native
#endif
