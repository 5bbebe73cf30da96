#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_backward/voxel_pooling_backward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/simd.h"
#include "ops/voxel_pooling_backward/voxel_pooling_backward_native_kernels.h"
#include "primitives/memory/prefetch.h"
#include "primitives/memory/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::StreamWriter;

// An int32 is in [0, extent) if, as unsigned, it is below this limit.
uint32_t limit_of(int64_t extent) { return static_cast<uint32_t>(std::min(extent, int64_t{1} << 31)); }

struct Limits {
  explicit Limits(const Args& args)
      : b(limit_of(args.batch_size)), y(limit_of(args.num_voxel_y)), x(limit_of(args.num_voxel_x)) {}

  bool accept(const int32_t* memo) const {
    const auto below = [](int32_t value, uint32_t limit) { return static_cast<uint32_t>(value) < limit; };
    return (below(memo[0], b) && below(memo[1], y) && below(memo[2], x)) ||
           (memo[0] == kNoCell && memo[1] == kNoCell && memo[2] == kNoCell);
  }

  uint32_t b, y, x;
};

void check(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Limits limits(args);
  const auto b_limit = hn::Set(d, limits.b), y_limit = hn::Set(d, limits.y), x_limit = hn::Set(d, limits.x);
  const auto no_cell = hn::Set(d, static_cast<uint32_t>(kNoCell));
  const auto* memo = reinterpret_cast<const uint32_t*>(args.pos_memo);
  int64_t point = begin;
  for (; point + lanes <= end; point += lanes) {
    hn::Vec<decltype(d)> b, y, x;
    hn::LoadInterleaved3(d, memo + point * 3, b, y, x);
    const auto is_cell = hn::And(hn::Lt(b, b_limit), hn::And(hn::Lt(y, y_limit), hn::Lt(x, x_limit)));
    const auto is_none = hn::Eq(hn::And(b, hn::And(y, x)), no_cell);
    if (!hn::AllTrue(d, hn::Or(is_cell, is_none))) break;
  }
  while (point < end && limits.accept(args.pos_memo + point * 3)) ++point;
  if (point < end) args.bad_point.report(point);
}

// Writes a row or part of a row: to[0, bytes) = from[0, bytes), or zeros if `from` is null. `bytes` is positive.
struct CopyRows {
  HWY_INLINE void operator()(uint8_t* HWY_RESTRICT to, const uint8_t* HWY_RESTRICT from, int64_t bytes) const {
    const hn::ScalableTag<uint8_t> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    if (from == nullptr) {
      std::memset(to, 0, static_cast<size_t>(bytes));
    } else if (bytes < lanes) {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    } else {
      for (int64_t i = 0; i < bytes - lanes; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
      // The last vector overlaps the previous one if the row is not a whole number of vectors.
      hn::StoreU(hn::LoadU(d, from + bytes - lanes), d, to + bytes - lanes);
    }
  }
};

// Writes with non-temporal stores; requires whole multiples of kBytes.
template <size_t kBytes>
struct StreamRows {
  HWY_INLINE void operator()(uint8_t* HWY_RESTRICT to, const uint8_t* HWY_RESTRICT from, int64_t bytes) const {
    const hn::CappedTag<uint8_t, kBytes> d;
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
  explicit Rows(const Args& args)
      : args_(args),
        row_without_cell_(args.row_bytes <= kMaxZeroBytes ? kZeros : nullptr),
        lookahead_(std::clamp<int64_t>(kLookaheadBytes / args.row_bytes, 1, kMaxLookahead)) {}

  // Writes bytes [begin, end) of grad_input to to[0, end - begin): calls write(to, from, bytes) for each row or
  // part of a row; `from` may be null for a point without a cell.
  template <class Write>
  HWY_INLINE void for_each(int64_t begin, int64_t end, uint8_t* to, const Write& write) const {
    int64_t point = begin / args_.row_bytes;
    int64_t skipped = begin - point * args_.row_bytes;
    while (begin < end) {
      prefetch(point + lookahead_);
      const int64_t bytes = std::min(args_.row_bytes - skipped, end - begin);
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

  // Branch-free: it is unpredictable which points have a cell.
  HWY_INLINE const uint8_t* source_row(int64_t point) const {
    const int32_t* memo = args_.pos_memo + point * 3;
    const int64_t cell = (memo[0] * args_.num_voxel_y + memo[1]) * args_.num_voxel_x + memo[2];
    const auto no_cell = static_cast<uintptr_t>(int64_t{memo[0]} >> 63);
    const auto cell_row =
        reinterpret_cast<uintptr_t>(args_.grad_output) + static_cast<uintptr_t>(cell * args_.row_bytes);
    const auto other_row = reinterpret_cast<uintptr_t>(row_without_cell_);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const uint8_t*>((cell_row & ~no_cell) | (other_row & no_cell));
  }

  HWY_INLINE void prefetch(int64_t point) const {
    if (point >= args_.total_points()) return;
    const uint8_t* row = source_row(point);
    if (row != nullptr) prefetch_row<Use::kRead>(row, args_.row_bytes);
  }

  const Args& args_;
  const uint8_t* row_without_cell_;  // zeros; null if rows are longer
  int64_t lookahead_;
};

void gather(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Rows rows(args);
  const int64_t first = begin * kCacheLine;
  const int64_t last = std::min(end * kCacheLine, args.output_bytes());
  auto* const to = reinterpret_cast<uint8_t*>(args.grad_input);
  if (args.store == Store::kCached) {
    rows.for_each(first, last, to + first, CopyRows());
    return;
  }
  const StreamWriter stream;
  if (args.store == Store::kRows) {
    if (args.row_bytes % kCacheLine == 0) {
      rows.for_each(first, last, to + first, StreamRows<kCacheLine>{stream});
    } else {
      rows.for_each(first, last, to + first, StreamRows<kCacheLine / 2>{stream});
    }
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

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);
MLUOP_EXPORT_KERNEL(gather_kernel, gather, GatherArgs);

}  // namespace mluop::voxel_pooling_backward::native
#endif
