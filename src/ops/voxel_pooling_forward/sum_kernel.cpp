#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/sum_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "ops/voxel_pooling_forward/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Cells are summed in parts of about this size, which stay in a last level of cache. Smaller parts are slower:
// each looks at the points once more, and in shorter stretches.
constexpr int64_t kPartBytes = 8 << 20;

// Rows are fetched so far ahead, and this much of them: what follows in a long row the hardware fetches by itself.
// Measured on rows of 80 channels.
constexpr int64_t kPrefetchBytes = 5 << 10;
constexpr int64_t kMaxPrefetchRows = Located::kBlockPoints;
constexpr int64_t kMaxPrefetchedRow = 1 << 10;
constexpr int64_t kLine = 64;

// The channels that do not fill a vector: halves, quarters, ... down to one lane.
template <size_t kLanes>
HWY_INLINE void add_rest(float* HWY_RESTRICT sum, const float* HWY_RESTRICT row, int64_t channels) {
  const hn::CappedTag<float, kLanes> d;
  for (; channels >= static_cast<int64_t>(kLanes); channels -= kLanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, sum), hn::LoadU(d, row)), d, sum);
    sum += kLanes;
    row += kLanes;
  }
  if constexpr (kLanes > 1) add_rest<kLanes / 2>(sum, row, channels);
}

// sum[0, channels) += row[0, channels)
HWY_INLINE void add_row(float* HWY_RESTRICT sum, const float* HWY_RESTRICT row, int64_t channels) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, sum + c), hn::LoadU(d, row + c)), d, sum + c);
  }
  if (c < channels) add_rest<hn::MaxLanes(d)>(sum + c, row + c, channels - c);
}

// Points to be added, in NRAM: those of a tile, and a block that was begun before.
struct List {
  List(Nram& nram, int32_t tile_points)
      : capacity(list_capacity(tile_points)),
        points(nram.take<int32_t>(static_cast<size_t>(capacity))),
        numbers(nram.take<uint32_t>(static_cast<size_t>(capacity))) {}

  bool has_room() const { return count + Located::kBlockPoints <= capacity; }

  int64_t capacity;
  int32_t* points;
  uint32_t* numbers;
  int64_t count = 0;
};

// Appends the points of a block whose number is in [begin, end).
HWY_INLINE void list_block(const SumArgs& args, int64_t block, uint32_t begin, uint32_t end, List& list) {
  const hn::CappedTag<uint32_t, Located::kBlockPoints> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t first = block * Located::kBlockPoints;
  const int64_t last = std::min(first + Located::kBlockPoints, args.call.total_points());
  int64_t point = first;
  for (; point + lanes <= last; point += lanes) {
    const auto number = hn::LoadU(d, args.located.numbers + point);
    const auto owned = hn::Lt(hn::Sub(number, hn::Set(d, begin)), hn::Set(d, end - begin));
    const auto points = hn::Iota(di, static_cast<int32_t>(point));
    hn::StoreU(hn::Compress(number, owned), d, list.numbers + list.count);
    hn::StoreU(hn::Compress(points, hn::RebindMask(di, owned)), di, list.points + list.count);
    list.count += static_cast<int64_t>(hn::CountTrue(d, owned));
  }
  for (; point < last; ++point) {
    const uint32_t number = args.located.numbers[point];
    if (number - begin >= end - begin) continue;
    list.numbers[list.count] = number;
    list.points[list.count++] = static_cast<int32_t>(point);
  }
}

HWY_INLINE void prefetch_row(const float* row, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine) hwy::Prefetch(reinterpret_cast<const char*>(row) + i);
}

// Adds the listed points but the last `left`. They stay listed, and are on their way into the cache if left ==
// ahead.
HWY_INLINE void add_listed(const SumArgs& args, int64_t ahead, int64_t left, List& list) {
  const int64_t channels = args.call.num_channels;
  const int64_t fetched = std::min(channels * static_cast<int64_t>(sizeof(float)), kMaxPrefetchedRow);
  const auto row = [&](int64_t i) { return args.call.input_features + list.points[i] * channels; };
  const auto sum = [&](int64_t i) {
    return args.call.output_features + args.order.cell_of(list.numbers[i]) * channels;
  };
  const int64_t count = list.count - left;
  for (int64_t i = 0; i < count; ++i) {
    if (i + ahead < list.count) {
      prefetch_row(row(i + ahead), fetched);
      prefetch_row(sum(i + ahead), fetched);
    }
    add_row(sum(i), row(i), channels);
  }
  std::copy_n(list.points + count, left, list.points);
  std::copy_n(list.numbers + count, left, list.numbers);
  list.count = left;
}

void zero_tiles(const SumArgs& args, int64_t begin, int64_t end) {
  const int64_t channels = args.call.num_channels;
  for (int64_t rank = begin; rank < end; ++rank) {
    const Range cells = args.order.cells(args.order.tiles[rank]);
    std::memset(args.call.output_features + cells.begin * channels, 0,
                static_cast<size_t>(cells.size() * channels) * sizeof(float));
  }
}

void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  List list(task.nram, args.tile_points);
  const int64_t row_bytes = args.call.num_channels * static_cast<int64_t>(sizeof(float));
  const int64_t ahead = std::clamp<int64_t>(kPrefetchBytes / row_bytes, 1, kMaxPrefetchRows);
  const int64_t part_tiles = std::max<int64_t>(kPartBytes / (row_bytes << args.order.shift), 1);
  const int64_t blocks = args.located.block_count(args.call);
  for (int64_t part = begin; part < end; part += part_tiles) {
    const int64_t part_end = std::min(part + part_tiles, end);
    const auto first = static_cast<uint32_t>(part << args.order.shift);
    const auto last = static_cast<uint32_t>(part_end << args.order.shift);
    zero_tiles(args, part, part_end);
    for (int64_t block = 0; block < blocks; ++block) {
      const Located::Block& range = args.located.blocks[block];
      if (range.lowest >= last || range.highest < first) continue;
      if (!list.has_room()) add_listed(args, ahead, ahead, list);
      list_block(args, block, first, last, list);
    }
    add_listed(args, ahead, 0, list);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward {

HWY_EXPORT(sum);

RangeKernel<SumArgs> sum_kernel() { return HWY_DYNAMIC_DISPATCH(sum); }

}  // namespace mluop::voxel_pooling_forward
#endif
