#include "perf/floors/interpolate_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/floors/interpolate_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "perf/support/of_machine.h"
#include "primitives/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::perf {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_float;
using mluop::HWY_NAMESPACE::unpack;

using D = hn::CappedTag<float, kSquare>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kLine = 64;
constexpr int64_t kFetchBytes = 384;

// Points of kLanes channels that are transposed at once.
template <class T>
constexpr int64_t kPoints{kLanes * kPacked<T>};

HWY_INLINE void add_product(hn::Vec<D> column, float weight, float* sum) {
  const D d;
  hn::Store(hn::Add(hn::Load(d, sum), hn::Mul(column, hn::Set(d, weight))), d, sum);
}

// Adds two points, whose channels are v0 and v1.
HWY_INLINE void add_two_points(hn::Vec<D> v0, hn::Vec<D> v1, const uint64_t* places, const float* weights,
                               float* sums) {
  HWY_UNROLL(3) for (int64_t slot = 0; slot < 6; slot += 2) {
    const uint64_t pair = places[slot / 2];
    add_product(slot < 3 ? v0 : v1, weights[slot], sums + static_cast<uint32_t>(pair));
    add_product(slot < 2 ? v0 : v1, weights[slot + 1], sums + (pair >> 32));
  }
}

// Functions for a square are not inlined: the compiler would keep a multiple of the stride for each row, in
// vectors.

// Adds kPoints points, rows N apart, to the sums of their features.
template <class T>
HWY_NOINLINE void add_square(const T* square, int64_t N, const uint64_t* places, const float* weights,
                             float* sums) {
  const D d;
  for (int64_t channel = 0; channel < kSquare; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, square + channel * N, N, columns);
    float* to = sums + channel;
    if constexpr (kPacked<T> == 2) {
      HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
        add_two_points(unpack<T, 0>(d, columns[i]), unpack<T, 1>(d, columns[i]), places + i * 3, weights + i * 6,
                       to);
      }
    } else if constexpr (kLanes > 1) {
      HWY_UNROLL(8) for (int64_t i = 0; i < kLanes; i += 2) {
        add_two_points(columns[i], columns[i + 1], places + i * 3 / 2, weights + i * 3, to);
      }
    } else {
      add_two_points(columns[0], columns[0], places, weights, to);
    }
  }
}

// Transposes kLanes sums of a strip, rows `stride` apart, to rows M apart.
template <class T>
HWY_NOINLINE void take_square(const float* sums, int64_t stride, T* output, int64_t M) {
  const D d;
  for (int64_t channel = 0; channel < kSquare; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, sums + channel, stride, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) store_float(columns[i], d, output + (channel + i) * M);
  }
}

// Transposes kPoints points of a strip, rows N apart, to rows `stride` apart.
template <class T>
HWY_NOINLINE void transpose_square(const T* square, int64_t N, float* rows, int64_t stride) {
  const D d;
  for (int64_t channel = 0; channel < kSquare; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, square + channel * N, N, columns);
    float* to = rows + channel;
    HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
      hn::Store(unpack<T, 0>(d, columns[i]), d, to);
      if constexpr (kPacked<T> == 2) hn::Store(unpack<T, 1>(d, columns[i]), d, to + stride);
      to += kPacked<T> * stride;
    }
  }
}

// The strips of a unit.
template <class T>
struct Strips {
  Strips(const InterpolatePart& part, int64_t unit, int64_t strips)
      : batch(part.batches[unit * strips / part.strips]) {
    const int64_t b = unit * strips / part.strips;
    const int64_t channel = b * part.C + unit * strips % part.strips * kSquare;
    grad_output = static_cast<const T*>(part.grad_output) + channel * part.N;
    grad_features = static_cast<T*>(part.grad_features) + channel * part.M;
  }

  const InterpolateBatch& batch;
  const T* grad_output;
  T* grad_features;
};

// Fetches what lies some way behind point n of each channel: of the strip, or of the next.
template <class T>
HWY_INLINE void prefetch_points(const T* strip, int64_t n, int64_t N) {
  const int64_t ahead = n + HWY_MIN(kFetchBytes / static_cast<int64_t>(sizeof(T)), N);
  const T* from = strip + (ahead < N ? ahead : ahead - N + kSquare * N);
  for (int64_t c = 0; c < kSquare; ++c) __builtin_prefetch(from + c * N);
}

// Transposes the sums of a strip to the output, or elsewhere: then as many whole lines of the strip, whose rows
// follow each other, are written past the caches.
template <class T>
HWY_INLINE void write_strip(const InterpolatePart& part, const float* sums, int64_t stride, T* output) {
  if (!part.stream) {
    for (int64_t m = 0; m < part.features; m += kLanes) take_square(sums + m * stride, stride, output + m, part.M);
    return;
  }
  const D d;
  constexpr auto kLineFloats = static_cast<int64_t>(kLine / sizeof(float));
  constexpr auto kFeatureBytes = static_cast<int64_t>(kSquare * sizeof(T));
  auto* square = reinterpret_cast<T*>(part.square);
  const auto address = reinterpret_cast<uintptr_t>(output);
  const uintptr_t start = (address + kLine - 1) / kLine * kLine;
  auto* to = reinterpret_cast<float*>(start);
  const int64_t lines = (part.M * kFeatureBytes - static_cast<int64_t>(start - address)) / kLine;
  for (int64_t m = 0, line = 0; m < part.features; m += kLanes) {
    take_square(sums + m * stride, stride, square, kSquare);
    for (const int64_t end = HWY_MIN((m + kLanes) * kFeatureBytes / kLine, lines); line < end; ++line) {
      for (int64_t i = 0; i < kLineFloats; i += kLanes, to += kLanes)
        hn::Stream(hn::Load(d, part.square + i), d, to);
    }
  }
}

template <class T>
void in_order(const InterpolatePart& part) {
  for (int64_t unit = part.begin; unit < part.end; ++unit) {
    const Strips<T> strip(part, unit, 1);
    // Places come in pairs: of a single lane, every second point is added twice.
    constexpr int64_t kStep = HWY_MAX(kPoints<T>, 2);
    for (int64_t n = 0; n < part.points; n += kStep) {
      if (part.fetch_ahead && n * static_cast<int64_t>(sizeof(T)) % kLine == 0) {
        prefetch_points(strip.grad_output, n, part.N);
      }
      add_square(strip.grad_output + n, part.N, strip.batch.places.data() + n * 3 / 2,
                 strip.batch.weights.data() + n * 3, part.sums);
    }
    write_strip(part, part.sums, kSquare, strip.grad_features);
  }
  hwy::FlushStream();
}

// Adds the points of each feature to kVectors vectors of its sums, which begin at zero if kFirst.
template <int kVectors, bool kFirst>
HWY_INLINE void add_groups(const uint32_t* starts, const GroupedPoint* grouped, int64_t features, int64_t stride,
                           const float* tile, float* sums) {
  const D d;
  const GroupedPoint* point = grouped + starts[0];
  for (int64_t m = 0; m < features; ++m, sums += stride) {
    hn::Vec<D> sum[kVectors];
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      sum[v] = kFirst ? hn::Zero(d) : hn::Load(d, sums + v * kLanes);
    }
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
void by_feature(const InterpolatePart& part) {
  constexpr int64_t kStride = kStrips * kSquare;
  constexpr auto kVectors = static_cast<int>(HWY_MIN(kStride / kLanes, 4));
  for (int64_t unit = part.begin; unit < part.end; ++unit) {
    const Strips<T> strips(part, unit, kStrips);
    const uint32_t* starts = strips.batch.starts.data();
    for (int64_t first = 0; first < part.points; first += kTilePoints, starts += part.features + 1) {
      const int64_t points = HWY_MIN(kTilePoints, part.points - first);
      for (int64_t channel = 0; channel < kStride; channel += kSquare) {
        const T* from = strips.grad_output + channel * part.N + first;
        for (int64_t n = 0; n < points; n += kPoints<T>) {
          transpose_square(from + n, part.N, part.tile + n * kStride + channel, kStride);
        }
      }
      for (int64_t channel = 0; channel < kStride; channel += kVectors * kLanes) {
        const auto add = first == 0 ? add_groups<kVectors, true> : add_groups<kVectors, false>;
        add(starts, strips.batch.grouped.data(), part.features, kStride, part.tile + channel, part.sums + channel);
      }
    }
    for (int64_t channel = 0; channel < kStride; channel += kSquare) {
      write_strip(part, part.sums + channel, kStride, strips.grad_features + channel * part.M);
    }
  }
  hwy::FlushStream();
}

InterpolateKernels kernels() {
  return {{in_order<float>, in_order<Half>},
          {by_feature<float, 1>, by_feature<Half, 1>},
          {by_feature<float, kMostStrips>, by_feature<Half, kMostStrips>}};
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(kernels);

const auto kKernels = of_machine([] { return HWY_DYNAMIC_DISPATCH(kernels)(); });

}  // namespace

const InterpolateKernels& interpolate_kernels() { return kKernels; }

}  // namespace mluop::perf
#endif
