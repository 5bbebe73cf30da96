#include "perf/bounds/interpolate_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/bounds/interpolate_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "primitives/transpose_square-inl.h"
HWY_BEFORE_NAMESPACE();
namespace mluop::perf {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::unpack;

using D = hn::CappedTag<float, kSquare>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kLine = 64;
constexpr int64_t kPrefetchBytes = 384;

// Points that one transposition of kLanes channels covers.
template <class T>
constexpr int64_t kPoints{kLanes * kPacked<T>};

HWY_INLINE void add_product(hn::Vec<D> column, float weight, float* sum) {
  const D d;
  hn::Store(hn::Add(hn::Load(d, sum), hn::Mul(column, hn::Set(d, weight))), d, sum);
}

// Adds the products of two points, whose channels are v0 and v1.
HWY_INLINE void add_two_points(hn::Vec<D> v0, hn::Vec<D> v1, const uint64_t* paired_offsets, const float* weights,
                               float* sums) {
  HWY_UNROLL(3) for (int64_t slot = 0; slot < 6; slot += 2) {
    const uint64_t pair = paired_offsets[slot / 2];
    add_product(slot < 3 ? v0 : v1, weights[slot], sums + static_cast<uint32_t>(pair));
    add_product(slot < 2 ? v0 : v1, weights[slot + 1], sums + (pair >> 32));
  }
}

// The functions for a square are not inlined, because GCC would then keep the row offsets in vector registers.

// Adds the products of kPoints points to the sums of their features. Rows are N elements apart.
template <class T>
HWY_NOINLINE void add_square(const T* square, int64_t N, const uint64_t* paired_offsets, const float* weights,
                             float* sums) {
  const D d;
  for (int64_t channel = 0; channel < kSquare; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, square + channel * N, N, columns);
    float* to = sums + channel;
    if constexpr (kPacked<T> == 2) {
      HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
        add_two_points(unpack<T, 0>(d, columns[i]), unpack<T, 1>(d, columns[i]), paired_offsets + i * 3,
                       weights + i * 6, to);
      }
    } else if constexpr (kLanes > 1) {
      HWY_UNROLL(8) for (int64_t i = 0; i < kLanes; i += 2) {
        add_two_points(columns[i], columns[i + 1], paired_offsets + i * 3 / 2, weights + i * 3, to);
      }
    } else {
      add_two_points(columns[0], columns[0], paired_offsets, weights, to);
    }
  }
}

// Transposes kLanes sums of a strip, rows `stride` elements apart, to rows M elements apart.
template <class T>
HWY_NOINLINE void write_square(const float* sums, int64_t stride, T* output, int64_t M) {
  const D d;
  for (int64_t channel = 0; channel < kSquare; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, sums + channel, stride, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) store_f32(columns[i], d, output + (channel + i) * M);
  }
}

// Transposes kPoints points of a strip, rows N elements apart, to rows `stride` elements apart.
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

// The strips of a work item.
template <class T>
struct Strips {
  Strips(const InterpolateRange& range, int64_t work_item, int64_t strips)
      : batch(range.batches[work_item * strips / range.strips]) {
    const int64_t b = work_item * strips / range.strips;
    const int64_t channel = b * range.C + work_item * strips % range.strips * kSquare;
    grad_output = static_cast<const T*>(range.grad_output) + channel * range.N;
    grad_features = static_cast<T*>(range.grad_features) + channel * range.M;
  }

  const InterpolateBatch& batch;
  const T* grad_output;
  T* grad_features;
};

// Prefetches each channel kPrefetchBytes past point n; past the last point, from the next strip.
template <class T>
HWY_INLINE void prefetch_points(const T* strip, int64_t n, int64_t N) {
  const int64_t ahead = n + HWY_MIN(kPrefetchBytes / static_cast<int64_t>(sizeof(T)), N);
  const T* from = strip + (ahead < N ? ahead : ahead - N + kSquare * N);
  for (int64_t c = 0; c < kSquare; ++c) __builtin_prefetch(from + c * N);
}

// Writes the transposed sums of a strip to the output. With range.stream, transposes to scratch and writes as many
// bytes of the strip, whose rows are contiguous, with non-temporal stores.
template <class T>
HWY_INLINE void write_strip(const InterpolateRange& range, const float* sums, int64_t stride, T* output) {
  if (!range.stream) {
    for (int64_t m = 0; m < range.features; m += kLanes)
      write_square(sums + m * stride, stride, output + m, range.M);
    return;
  }
  const D d;
  constexpr auto kLineFloats = static_cast<int64_t>(kLine / sizeof(float));
  constexpr auto kFeatureBytes = static_cast<int64_t>(kSquare * sizeof(T));
  auto* square = reinterpret_cast<T*>(range.square);
  const auto address = reinterpret_cast<uintptr_t>(output);
  const uintptr_t start = (address + kLine - 1) / kLine * kLine;
  auto* to = reinterpret_cast<float*>(start);
  const int64_t lines = (range.M * kFeatureBytes - static_cast<int64_t>(start - address)) / kLine;
  for (int64_t m = 0, line = 0; m < range.features; m += kLanes) {
    write_square(sums + m * stride, stride, square, kSquare);
    for (const int64_t end = HWY_MIN((m + kLanes) * kFeatureBytes / kLine, lines); line < end; ++line) {
      for (int64_t i = 0; i < kLineFloats; i += kLanes, to += kLanes)
        hn::Stream(hn::Load(d, range.square + i), d, to);
    }
  }
}

template <class T>
void in_order(const InterpolateRange& range) {
  for (int64_t work_item = range.begin; work_item < range.end; ++work_item) {
    const Strips<T> strip(range, work_item, 1);
    // Offsets are stored in pairs: with a single lane, a step adds one point twice instead of two points.
    constexpr int64_t kStep = HWY_MAX(kPoints<T>, 2);
    for (int64_t n = 0; n < range.points; n += kStep) {
      if (range.prefetch && n * static_cast<int64_t>(sizeof(T)) % kLine == 0) {
        prefetch_points(strip.grad_output, n, range.N);
      }
      add_square(strip.grad_output + n, range.N, strip.batch.paired_offsets.data() + n * 3 / 2,
                 strip.batch.weights.data() + n * 3, range.sums);
    }
    write_strip(range, range.sums, kSquare, strip.grad_features);
  }
  hwy::FlushStream();
}

// Adds the products of each feature to kStripVectors vectors of its sums. kFirst: the sums are zero before.
template <int kStripVectors, bool kFirst>
HWY_INLINE void add_by_feature(const uint32_t* starts, const FeatureProduct* products, int64_t features,
                               int64_t stride, const float* tile, float* sums) {
  const D d;
  const FeatureProduct* product = products + starts[0];
  for (int64_t m = 0; m < features; ++m, sums += stride) {
    hn::Vec<D> sum[kStripVectors];
    HWY_UNROLL(4) for (int v = 0; v < kStripVectors; ++v) {
      sum[v] = kFirst ? hn::Zero(d) : hn::Load(d, sums + v * kLanes);
    }
    for (const FeatureProduct* end = products + starts[m + 1]; product < end; ++product) {
      const float* row = tile + product->row * stride;
      const auto weight = hn::Set(d, product->weight);
      HWY_UNROLL(4) for (int v = 0; v < kStripVectors; ++v) {
        sum[v] = hn::Add(sum[v], hn::Mul(hn::Load(d, row + v * kLanes), weight));
      }
    }
    HWY_UNROLL(4) for (int v = 0; v < kStripVectors; ++v) hn::Store(sum[v], d, sums + v * kLanes);
  }
}

template <class T, int64_t kStrips>
void by_feature(const InterpolateRange& range) {
  constexpr int64_t kStride = kStrips * kSquare;
  constexpr auto kStripVectors = static_cast<int>(HWY_MIN(kStride / kLanes, 4));
  for (int64_t work_item = range.begin; work_item < range.end; ++work_item) {
    const Strips<T> strips(range, work_item, kStrips);
    const uint32_t* starts = strips.batch.starts.data();
    for (int64_t first = 0; first < range.points; first += kTilePoints, starts += range.features + 1) {
      const int64_t points = HWY_MIN(kTilePoints, range.points - first);
      for (int64_t channel = 0; channel < kStride; channel += kSquare) {
        const T* from = strips.grad_output + channel * range.N + first;
        for (int64_t n = 0; n < points; n += kPoints<T>) {
          transpose_square(from + n, range.N, range.tile + n * kStride + channel, kStride);
        }
      }
      for (int64_t channel = 0; channel < kStride; channel += kStripVectors * kLanes) {
        const auto add = first == 0 ? add_by_feature<kStripVectors, true> : add_by_feature<kStripVectors, false>;
        add(starts, strips.batch.products.data(), range.features, kStride, range.tile + channel,
            range.sums + channel);
      }
    }
    for (int64_t channel = 0; channel < kStride; channel += kSquare) {
      write_strip(range, range.sums + channel, kStride, strips.grad_features + channel * range.M);
    }
  }
  hwy::FlushStream();
}

InterpolateKernels kernels() {
  return {{in_order<float>, in_order<Half>},
          {by_feature<float, 1>, by_feature<Half, 1>},
          {by_feature<float, kMaxStrips>, by_feature<Half, kMaxStrips>}};
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(kernels);

}  // namespace

const InterpolateKernels& interpolate_kernels() {
  static const InterpolateKernels selected = HWY_DYNAMIC_DISPATCH(kernels)();
  return selected;
}

}  // namespace mluop::perf
#endif
