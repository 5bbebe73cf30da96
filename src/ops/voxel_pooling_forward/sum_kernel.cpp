#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/sum_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "ops/voxel_pooling_forward/kernels.h"
#include "primitives/row_prefetcher.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of a row that are summed at once, in registers.
constexpr int kMaxVectors = 8;

// sums[0, kVectors * lanes) += the same part of `count` rows.
template <class D, int kVectors>
HWY_INLINE void add_rows(D d, const float* HWY_RESTRICT rows, int64_t stride, int32_t count,
                         float* HWY_RESTRICT sums) {
  const size_t lanes = hn::Lanes(d);
  hn::Vec<D> registers[kVectors];
  HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) registers[v] = hn::LoadU(d, sums + v * lanes);
  for (int32_t i = 0; i < count; ++i) {
    HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) {
      registers[v] = hn::Add(registers[v], hn::LoadU(d, rows + v * lanes));
    }
    rows += stride;
  }
  HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) hn::StoreU(registers[v], d, sums + v * lanes);
}

// The channels that do not fill a vector: halves, quarters, ... down to one lane.
template <size_t kLanes>
HWY_INLINE void add_rest(const float* rows, int64_t stride, int32_t count, int64_t channels, float* sums) {
  const hn::CappedTag<float, kLanes> d;
  for (; channels >= static_cast<int64_t>(kLanes); channels -= kLanes) {
    add_rows<decltype(d), 1>(d, rows, stride, count, sums);
    rows += kLanes;
    sums += kLanes;
  }
  if constexpr (kLanes > 1) add_rest<kLanes / 2>(rows, stride, count, channels, sums);
}

// What the sum of a tile needs.
struct Summation {
  const float* features;  // from the first channel of the block on
  int64_t stride;         // of a row
  int64_t channels;       // of the block
  const Run* runs;
  int32_t cell_mask;  // a cell's place in its tile
  float* sums;        // [cells of a tile, channels]
};

// Adds the runs at places [begin, end) to the sums. kVectors: what the row has beyond multiples of kMaxVectors.
template <int kVectors>
void sum_runs(const Summation& work, RowPrefetcher& ahead, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  using D = decltype(d);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t rest = work.channels % lanes;
  for (int64_t place = begin; place < end;) {
    const Run run = work.runs[place];
    place += run.count;
    ahead.advance(run.count);
    const float* rows = work.features + run.first * work.stride;
    float* sums = work.sums + (run.key & work.cell_mask) * work.channels;
    for (int64_t blocks = work.channels / (kMaxVectors * lanes); blocks > 0; --blocks) {
      add_rows<D, kMaxVectors>(d, rows, work.stride, run.count, sums);
      rows += kMaxVectors * lanes;
      sums += kMaxVectors * lanes;
    }
    if constexpr (kVectors > 0) {
      add_rows<D, kVectors>(d, rows, work.stride, run.count, sums);
      rows += kVectors * lanes;
      sums += kVectors * lanes;
    }
    if (rest > 0) add_rest<hn::MaxLanes(d)>(rows, work.stride, run.count, rest, sums);
  }
}

using SumRuns = void (*)(const Summation&, RowPrefetcher&, int64_t, int64_t);
constexpr SumRuns kSumRuns[kMaxVectors] = {sum_runs<0>, sum_runs<1>, sum_runs<2>, sum_runs<3>,
                                           sum_runs<4>, sum_runs<5>, sum_runs<6>, sum_runs<7>};

// Writes the sums of a tile to channels [channel, channel + channels) of its cells in the output.
void write_tile(const SumArgs& args, int64_t tile, int64_t channel, int64_t channels, const float* sums) {
  const Grid& grid = args.grid;
  const int64_t tile_row = tile / grid.tiles_x;
  const int64_t b = tile_row / grid.tiles_y;
  const int64_t x = tile % grid.tiles_x << grid.shift_x;
  const int64_t y = tile_row % grid.tiles_y << grid.shift_y;
  const int64_t width = std::min<int64_t>(int64_t{1} << grid.shift_x, args.call.num_voxel_x - x);
  const int64_t height = std::min<int64_t>(int64_t{1} << grid.shift_y, args.call.num_voxel_y - y);
  const int64_t row_stride = args.call.num_channels;
  // Whole rows of neighbouring cells are one stretch of memory.
  const bool whole = channels == row_stride;
  const int64_t stretches = whole ? 1 : width;
  const auto length = static_cast<size_t>(whole ? width * channels : channels);
  for (int64_t i = 0; i < height; ++i) {
    const int64_t cell = (b * args.call.num_voxel_y + y + i) * args.call.num_voxel_x + x;
    float* out = args.call.output_features + cell * row_stride + channel;
    const float* from = sums + (i << grid.shift_x) * channels;
    for (int64_t j = 0; j < stretches; ++j) {
      if (args.stream) {
        mluop::HWY_NAMESPACE::stream_copy(out, from, length);
      } else {
        std::memcpy(out, from, length * sizeof(float));
      }
      out += row_stride;
      from += channels;
    }
  }
}

void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t channels = args.call.num_channels;
  const int32_t* starts = args.points.starts;
  const int32_t cells = args.grid.cells_of_tile();
  float* sums = task.nram.take<float>(static_cast<size_t>(cells) * args.tile_channels);
  for (int64_t channel = 0; channel < channels; channel += args.tile_channels) {
    const Summation work{args.call.input_features + channel,
                         channels,
                         std::min<int64_t>(args.tile_channels, channels - channel),
                         args.points.runs,
                         cells - 1,
                         sums};
    const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
    const SumRuns sum_runs_of_row = kSumRuns[work.channels / lanes % kMaxVectors];
    RowPrefetcher ahead(work.features, channels, work.channels, work.runs, starts[begin], starts[end]);
    for (int64_t tile = begin; tile < end; ++tile) {
      std::memset(sums, 0, static_cast<size_t>(cells * work.channels) * sizeof(float));
      sum_runs_of_row(work, ahead, starts[tile], starts[tile + 1]);
      write_tile(args, tile, channel, work.channels, sums);
    }
  }
  hwy::FlushStream();
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
