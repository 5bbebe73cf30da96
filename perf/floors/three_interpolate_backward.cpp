#include "perf/floors/three_interpolate_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/floors/three_interpolate_backward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "perf/support/buffer.h"
#include "primitives/transpose-inl.h"

#ifndef MLUOP_PERF_INTERPOLATE_SQUARES
#define MLUOP_PERF_INTERPOLATE_SQUARES
namespace mluop::perf {

// Channels of a square, and points.
constexpr int64_t kStrip = 16;
// Grouped: points that are transposed before their products are added, and strips that share a group.
constexpr int64_t kTilePoints = 128;
constexpr int64_t kMostStrips = 4;

// What a point adds to the feature of its group: weight times row `place` of the tile.
struct GroupedPoint {
  uint32_t place;
  float weight;
};

// The indices and weights of a batch, for whole squares of points.
struct InterpolateBatch {
  std::vector<uint64_t> places;       // [points * 3 / 2], where the sums of two features begin, in [M, kStrip]
  std::vector<float> weights;         // [points, 3]
  std::vector<uint32_t> starts;       // [tiles, M + 1], in `grouped`
  std::vector<GroupedPoint> grouped;  // [points * 3], tile by tile
};

// What a thread computes: units [begin, end), a batch's strips next to each other.
struct InterpolatePart {
  const InterpolateBatch* batches;
  int64_t strips;  // of a batch
  int64_t points, features;
  int64_t begin, end;
  // In the first level of the cache.
  void* square;  // [kStrip, kStrip] of grad_output
  void* output;  // [kStrip, kStrip] of grad_features
  float* tile;   // [kTilePoints, strips of a unit * kStrip]
  float* sums;   // [features, strips of a unit * kStrip]
};

using ComputeSquares = void (*)(const InterpolatePart& part);

// Of float, of half.
struct InterpolateWays {
  ComputeSquares in_order[2];    // a unit is a strip
  ComputeSquares by_feature[2];  // the same
  ComputeSquares by_feature_of_most_strips[2];
};

}  // namespace mluop::perf
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::perf {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_float;

using D = hn::CappedTag<float, kStrip>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

HWY_INLINE void add_product(hn::Vec<D> column, float weight, float* sum) {
  const D d;
  hn::Store(hn::Add(hn::Load(d, sum), hn::Mul(column, hn::Set(d, weight))), d, sum);
}

// Functions for a square are not inlined: what does not change from one to the next would be kept in registers.

// Adds kLanes points to the sums of their features.
template <class T>
HWY_NOINLINE void add_square(const T* square, const uint64_t* places, const float* weights, float* sums) {
  const D d;
  for (int64_t channel = 0; channel < kStrip; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, square + channel * kStrip, kStrip, columns);
    HWY_UNROLL(24) for (int64_t slot = 0; slot < kLanes * 3; slot += 2) {
      const uint64_t pair = places[slot / 2];
      add_product(columns[slot / 3], weights[slot], sums + static_cast<uint32_t>(pair) + channel);
      if (slot + 1 == kLanes * 3) break;
      add_product(columns[(slot + 1) / 3], weights[slot + 1], sums + (pair >> 32) + channel);
    }
  }
}

// Transposes a square of sums, rows `stride` apart, to the output.
template <class T>
HWY_NOINLINE void take_square(const float* sums, int64_t stride, T* output) {
  const D d;
  for (int64_t channel = 0; channel < kStrip; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, sums + channel, stride, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
      store_float(columns[i], d, output + (channel + i) * kStrip);
    }
  }
}

// Transposes a square of points to rows `stride` apart.
template <class T>
HWY_NOINLINE void transpose_square(const T* square, float* rows, int64_t stride) {
  const D d;
  for (int64_t channel = 0; channel < kStrip; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, square + channel * kStrip, kStrip, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) hn::Store(columns[i], d, rows + i * stride + channel);
  }
}

template <class T>
void compute_in_order(const InterpolatePart& part) {
  for (int64_t unit = part.begin; unit < part.end; ++unit) {
    const InterpolateBatch& batch = part.batches[unit / part.strips];
    for (int64_t n = 0; n < part.points; n += kLanes) {
      add_square(static_cast<const T*>(part.square), batch.places.data() + n * 3 / 2, batch.weights.data() + n * 3,
                 part.sums);
    }
    for (int64_t m = 0; m < part.features; m += kLanes) {
      take_square(part.sums + m * kStrip, kStrip, static_cast<T*>(part.output));
    }
  }
}

// Adds the points of each feature to kVectors vectors of its sums, which begin at zero if kFirst.
template <int kVectors, bool kFirst>
HWY_INLINE void add_groups(const uint32_t* starts, const GroupedPoint* grouped, int64_t features, int64_t stride,
                           const float* tile, float* sums) {
  const D d;
  const GroupedPoint* point = grouped + starts[0];
  for (int64_t m = 0; m < features; ++m, sums += stride) {
    hn::Vec<D> sum[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[v] = kFirst ? hn::Zero(d) : hn::Load(d, sums + v * kLanes);
    for (const GroupedPoint* end = grouped + starts[m + 1]; point < end; ++point) {
      const float* row = tile + point->place * stride;
      const auto weight = hn::Set(d, point->weight);
      HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
        sum[v] = hn::Add(sum[v], hn::Mul(hn::Load(d, row + v * kLanes), weight));
      }
    }
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], d, sums + v * kLanes);
  }
}

template <class T, int64_t kStrips>
void compute_by_feature(const InterpolatePart& part) {
  constexpr int64_t kStride = kStrips * kStrip;
  constexpr auto kVectors = static_cast<int>(HWY_MIN(kStride / kLanes, 4));
  for (int64_t unit = part.begin; unit < part.end; ++unit) {
    const InterpolateBatch& batch = part.batches[unit / (part.strips / kStrips)];
    const uint32_t* starts = batch.starts.data();
    for (int64_t first = 0; first < part.points; first += kTilePoints, starts += part.features + 1) {
      const int64_t points = HWY_MIN(kTilePoints, part.points - first);
      for (int64_t n = 0; n < points; n += kLanes) {
        for (int64_t strip = 0; strip < kStride; strip += kStrip) {
          transpose_square(static_cast<const T*>(part.square), part.tile + n * kStride + strip, kStride);
        }
      }
      for (int64_t channel = 0; channel < kStride; channel += kVectors * kLanes) {
        const auto add = first == 0 ? add_groups<kVectors, true> : add_groups<kVectors, false>;
        add(starts, batch.grouped.data(), part.features, kStride, part.tile + channel, part.sums + channel);
      }
    }
    for (int64_t m = 0; m < part.features; m += kLanes) {
      for (int64_t strip = 0; strip < kStride; strip += kStrip) {
        take_square(part.sums + m * kStride + strip, kStride, static_cast<T*>(part.output));
      }
    }
  }
}

InterpolateWays interpolate_ways() {
  return {{compute_in_order<float>, compute_in_order<Half>},
          {compute_by_feature<float, 1>, compute_by_feature<Half, 1>},
          {compute_by_feature<float, kMostStrips>, compute_by_feature<Half, kMostStrips>}};
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(interpolate_ways);

// Chosen before main(), as in support/fma_peak.cpp.
const auto kWays = [] {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return HWY_DYNAMIC_DISPATCH(interpolate_ways)();
}();

constexpr int64_t whole_squares(int64_t count) { return count / kStrip * kStrip; }

InterpolateBatch batch_of(const int32_t* indices, const float* weights, int64_t points, int64_t features) {
  InterpolateBatch batch;
  batch.weights.assign(weights, weights + points * 3);
  // Those of the last features, which fill no square, are added to others.
  const auto feature = [&](int64_t slot) { return static_cast<uint32_t>(indices[slot] % features); };
  for (int64_t slot = 0; slot < points * 3; slot += 2) {
    batch.places.push_back((feature(slot) | uint64_t{feature(slot + 1)} << 32) * kStrip);
  }
  for (int64_t first = 0; first < points; first += kTilePoints) {
    const int64_t begin = first * 3, end = std::min(first + kTilePoints, points) * 3;
    std::vector<uint32_t> next(static_cast<size_t>(features) + 1);
    for (int64_t slot = begin; slot < end; ++slot) ++next[feature(slot) + 1];
    next[0] = static_cast<uint32_t>(begin);
    for (size_t m = 1; m < next.size(); ++m) next[m] += next[m - 1];
    batch.starts.insert(batch.starts.end(), next.begin(), next.end());
    batch.grouped.resize(static_cast<size_t>(end));
    for (int64_t slot = begin; slot < end; ++slot) {
      batch.grouped[next[feature(slot)]++] = {static_cast<uint32_t>((slot - begin) / 3), weights[slot]};
    }
  }
  return batch;
}

// The best of a few calls.
double seconds_of(const std::function<void()>& run) {
  constexpr int kCalls = 5;
  auto least = std::numeric_limits<double>::infinity();
  for (int call = 0; call < kCalls; ++call) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    least = std::min(least, seconds.count());
  }
  return least;
}

class InterpolateFloor {
 public:
  InterpolateFloor(const reference::ThreeInterpolateBackwardSizes& sizes, const int32_t* indices,
                   const float* weights, bool half, int threads)
      : strips_(sizes.C / kStrip),
        points_(whole_squares(sizes.N)),
        features_(whole_squares(sizes.M)),
        half_(half ? 1 : 0),
        most_strips_(strips_ % kMostStrips == 0 ? kMostStrips : 1) {
    for (int64_t b = 0; b < sizes.B; ++b) {
      batches_.push_back(batch_of(indices + b * sizes.N * 3, weights + b * sizes.N * 3, points_, features_));
    }
    for (int id = 0; id < threads; ++id) scratch_.emplace_back(kSquares + (kTilePoints + features_) * width());
    const auto by_feature = most_strips_ == 1 ? kWays.by_feature : kWays.by_feature_of_most_strips;
    const auto in_order = [this] { run(kWays.in_order[half_], 1); };
    const auto grouped = [=, this] { run(by_feature[half_], most_strips_); };
    faster_ = seconds_of(in_order) < seconds_of(grouped) ? std::function<void()>(in_order) : grouped;
  }

  void run() { faster_(); }

 private:
  static constexpr int64_t kSquares = 2 * kStrip * kStrip;

  int64_t width() const { return most_strips_ * kStrip; }

  void run(ComputeSquares compute, int64_t strips) {
    const auto threads = static_cast<int>(scratch_.size());
    const int64_t units = static_cast<int64_t>(batches_.size()) * strips_ / strips;
    parallel(threads, [&](int id) {
      float* square = scratch_[static_cast<size_t>(id)].data();
      float* output = square + kSquares / 2;
      float* tile = square + kSquares;
      compute({batches_.data(), strips_, points_, features_, share(units, threads, id),
               share(units, threads, id + 1), square, output, tile, tile + kTilePoints * width()});
    });
  }

  int64_t strips_, points_, features_;
  size_t half_;
  int64_t most_strips_;
  std::vector<InterpolateBatch> batches_;
  std::vector<Buffer<float>> scratch_;  // of each thread
  std::function<void()> faster_;
};

}  // namespace

std::function<void()> three_interpolate_backward_floor(const reference::ThreeInterpolateBackwardSizes& sizes,
                                                       const int32_t* indices, std::span<const float> weights,
                                                       bool half, int threads) {
  if (std::min({sizes.C, sizes.N, sizes.M}) < kStrip) return {};
  const auto floor = std::make_shared<InterpolateFloor>(sizes, indices, weights.data(), half, threads);
  return [floor] { floor->run(); };
}

}  // namespace mluop::perf
#endif
