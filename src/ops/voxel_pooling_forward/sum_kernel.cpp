#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/sum_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "ops/voxel_pooling_forward/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The rows of a cell's points are scattered over memory: they are fetched this many bytes ahead of the sum, at
// most this many rows and this much of a row. Measured on 80 channels.
constexpr int64_t kPrefetchBytes = 5 << 10;
constexpr int64_t kMaxPrefetchRows = 64;
constexpr int64_t kMaxPrefetchedRow = 1 << 10;
constexpr int64_t kLine = 64;

struct Rows {
  const float* row(int64_t point) const { return features + point * channels; }

  const float* features;
  int64_t channels;
  const Run* runs;
  int64_t prefetch_distance;
};

// Walks over the rows of a task ahead of the sum, and fetches them.
class Prefetcher {
 public:
  Prefetcher(const Rows& rows, int64_t place, int64_t end)
      : rows_(rows),
        next_run_(place),
        end_(end),
        bytes_(std::min<int64_t>(rows.channels * static_cast<int64_t>(sizeof(float)), kMaxPrefetchedRow)) {
    for (int64_t i = 0; i < rows.prefetch_distance; ++i) advance();
  }

  HWY_INLINE void advance() {
    if (left_ == 0) {
      if (next_run_ >= end_) return;
      const Run run = rows_.runs[next_run_];
      row_ = reinterpret_cast<const char*>(rows_.row(run.first));
      left_ = run.count;
      next_run_ += run.count;
    }
    for (int64_t i = 0; i < bytes_; i += kLine) hwy::Prefetch(row_ + i);
    row_ += rows_.channels * static_cast<int64_t>(sizeof(float));
    --left_;
  }

 private:
  const Rows& rows_;
  int64_t next_run_;
  int64_t end_;
  int64_t bytes_;
  const char* row_ = nullptr;
  int32_t left_ = 0;
};

// out[0, kVectors * lanes) = sum of that part of the rows whose runs are at places [begin, end).
template <class D, int kVectors, bool kPrefetch>
HWY_INLINE void sum_vectors(D d, const Rows& rows, Prefetcher& ahead, int64_t channel, int64_t begin, int64_t end,
                            bool stream, float* out) {
  const size_t lanes = hn::Lanes(d);
  hn::Vec<D> sums[kVectors];
  HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for (int64_t place = begin; place < end;) {
    const Run run = rows.runs[place];
    const float* row = rows.row(run.first) + channel;
    for (int32_t i = 0; i < run.count; ++i) {
      if (kPrefetch) ahead.advance();
      HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) {
        sums[v] = hn::Add(sums[v], hn::LoadU(d, row + v * lanes));
      }
      row += rows.channels;
    }
    place += run.count;
  }
  HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) {
    if (stream) {
      hn::Stream(sums[v], d, out + v * lanes);
    } else {
      hn::StoreU(sums[v], d, out + v * lanes);
    }
  }
}

constexpr int kMaxVectors = 8;
using SumVectors = void (*)(const Rows&, Prefetcher&, int64_t channel, int64_t begin, int64_t end, bool stream,
                            float* out);

template <int kVectors, bool kPrefetch>
void sum_full(const Rows& rows, Prefetcher& ahead, int64_t channel, int64_t begin, int64_t end, bool stream,
              float* out) {
  sum_vectors<hn::ScalableTag<float>, kVectors, kPrefetch>({}, rows, ahead, channel, begin, end, stream, out);
}

template <bool kPrefetch>
constexpr std::array<SumVectors, kMaxVectors> kSumFull = {
    sum_full<1, kPrefetch>, sum_full<2, kPrefetch>, sum_full<3, kPrefetch>, sum_full<4, kPrefetch>,
    sum_full<5, kPrefetch>, sum_full<6, kPrefetch>, sum_full<7, kPrefetch>, sum_full<8, kPrefetch>};

// The channels that do not fill a vector: halves, quarters, ... down to one lane.
template <int kLanes>
HWY_INLINE void sum_rest(const Rows& rows, Prefetcher& ahead, int64_t channel, int64_t begin, int64_t end,
                         float* out) {
  const hn::CappedTag<float, kLanes> d;
  while (channel + kLanes <= rows.channels) {
    sum_vectors<decltype(d), 1, false>(d, rows, ahead, channel, begin, end, false, out + channel);
    channel += kLanes;
  }
  if constexpr (kLanes > 1) sum_rest<kLanes / 2>(rows, ahead, channel, begin, end, out);
}

void sum(const SumArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t channels = args.call.num_channels;
  const int32_t* starts = args.cells.starts;
  const int64_t row_bytes = channels * static_cast<int64_t>(sizeof(float));
  const Rows rows{args.call.input_features, channels, args.cells.runs,
                  std::clamp<int64_t>(kPrefetchBytes / row_bytes, 1, kMaxPrefetchRows)};
  Prefetcher ahead(rows, starts[begin], starts[end]);
  const bool aligned = reinterpret_cast<uintptr_t>(args.call.output_features) % (lanes * sizeof(float)) == 0 &&
                       channels % lanes == 0;
  const bool stream = args.stream && aligned;
  for (int64_t cell = begin; cell < end; ++cell) {
    float* out = args.call.output_features + cell * channels;
    int64_t channel = 0;
    const int64_t first = starts[cell];
    const int64_t last = starts[cell + 1];
    while (channel + lanes <= channels) {
      const int64_t vectors = std::min<int64_t>((channels - channel) / lanes, kMaxVectors);
      const auto& kernels = channel == 0 ? kSumFull<true> : kSumFull<false>;
      kernels[static_cast<size_t>(vectors - 1)](rows, ahead, channel, first, last, stream, out + channel);
      channel += vectors * lanes;
    }
    sum_rest<hn::MaxLanes(d)>(rows, ahead, channel, first, last, out);
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
