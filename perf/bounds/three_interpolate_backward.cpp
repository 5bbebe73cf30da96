#include "perf/bounds/three_interpolate_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/bounds/three_interpolate_backward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "core/dtype.h"
#include "perf/support/measures.h"
#include "primitives/simd/transpose_square-inl.h"

#ifndef MLUOP_PERF_INTERPOLATE_RANGE
#define MLUOP_PERF_INTERPOLATE_RANGE
namespace mluop::perf {

// Channels, points and features of a square. A strip is kSquare consecutive channels of one batch.
constexpr int64_t kSquare = 16;
// Points of a channel in a cache line.
constexpr int64_t line_points(mluOpDataType_t dtype) { return is_16_bit(dtype) ? 2 * kSquare : kSquare; }
// With fewer features, grouping the points by feature is faster.
constexpr int64_t kMinFeatures = 96;

struct InterpolatePlan {
  InterpolateTensors tensors;
  int64_t strips;            // of a batch
  int64_t points, features;  // in whole squares
  // For each pair of points: two 32-bit offsets of the sums of their features in [features, kSquare].
  std::vector<uint64_t> paired_offsets;  // [B, points * 3 / 2]
  std::vector<float> weights;            // [B, points, 3]
};

}  // namespace mluop::perf
#endif

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

// Transposes kLanes sums of a strip to rows M elements apart.
template <class T>
HWY_NOINLINE void write_square(const float* sums, T* output, int64_t M) {
  const D d;
  for (int64_t channel = 0; channel < kSquare; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, sums + channel, kSquare, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) store_f32(columns[i], d, output + (channel + i) * M);
  }
}

// Prefetches each channel kPrefetchBytes past point n; past the last point, from the next strip.
template <class T>
HWY_INLINE void prefetch_points(const T* strip, int64_t n, int64_t N) {
  const int64_t ahead = n + HWY_MIN(kPrefetchBytes / static_cast<int64_t>(sizeof(T)), N);
  const T* from = strip + (ahead < N ? ahead : ahead - N + kSquare * N);
  for (int64_t c = 0; c < kSquare; ++c) __builtin_prefetch(from + c * N);
}

// Strips [begin, end) of all batches. sums: [features, kSquare], scratch of the thread.
template <class T>
void interpolate(const InterpolatePlan& plan, bool prefetch, int64_t begin, int64_t end, float* sums) {
  // Offsets are stored in pairs: with a single lane, a step adds one point twice instead of two points.
  constexpr int64_t kStep = HWY_MAX(kPoints<T>, 2);
  const auto& [B, C, N, M] = plan.tensors.sizes;
  for (int64_t strip = begin; strip < end; ++strip) {
    const int64_t b = strip / plan.strips, first = b * plan.points;
    const int64_t channel = b * C + strip % plan.strips * kSquare;
    const T* grad_output = static_cast<const T*>(plan.tensors.grad_output) + channel * N;
    T* grad_features = static_cast<T*>(plan.tensors.grad_features) + channel * M;
    for (int64_t n = 0; n < plan.points; n += kStep) {
      if (prefetch && n * static_cast<int64_t>(sizeof(T)) % kLine == 0) {
        prefetch_points(grad_output, n, N);
      }
      add_square(grad_output + n, N, plan.paired_offsets.data() + (first + n) * 3 / 2,
                 plan.weights.data() + (first + n) * 3, sums);
    }
    for (int64_t m = 0; m < plan.features; m += kLanes) {
      write_square(sums + m * kSquare, grad_features + m, M);
    }
  }
}
void interpolate_strips(const InterpolatePlan& plan, bool prefetch, int64_t begin, int64_t end, float* sums) {
  dispatch_dtype(plan.tensors.dtype,
                 [&](auto element) { interpolate<decltype(element)>(plan, prefetch, begin, end, sums); });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(interpolate_strips);

InterpolatePlan plan_of(const InterpolateTensors& tensors, std::span<const float> weights) {
  const auto& [B, C, N, M] = tensors.sizes;
  const int64_t points = N / line_points(tensors.dtype) * line_points(tensors.dtype);
  const int64_t features = M / kSquare * kSquare;
  InterpolatePlan plan{tensors, C / kSquare, points, features, {}, {}};
  // Features past the last whole square are mapped to other features.
  const auto offset = [&](int64_t slot) {
    return static_cast<uint64_t>(tensors.indices[slot] % features * kSquare);
  };
  for (int64_t b = 0; b < B; ++b) {
    const int64_t begin = b * N * 3, end = begin + points * 3;
    for (int64_t slot = begin; slot < end; slot += 2) {
      plan.paired_offsets.push_back(offset(slot) | offset(slot + 1) << 32);
    }
    plan.weights.insert(plan.weights.end(), weights.begin() + begin, weights.begin() + end);
  }
  return plan;
}

}  // namespace

std::function<void()> three_interpolate_backward_bound(const InterpolateTensors& tensors,
                                                       std::span<const float> weights, int threads) {
  const auto& [B, C, N, M] = tensors.sizes;
  if (C < kSquare || M < kMinFeatures || N < line_points(tensors.dtype)) return {};
  const auto plan = std::make_shared<const InterpolatePlan>(plan_of(tensors, weights));
  const auto sums = std::make_shared<std::vector<Buffer<float>>>();
  for (int id = 0; id < threads; ++id) sums->emplace_back(plan->features * kSquare);
  const auto run = [=, strips = B * plan->strips](bool prefetch) {
    parallel(threads, [&](int id) {
      HWY_DYNAMIC_DISPATCH(interpolate_strips)
      (*plan, prefetch, share(strips, threads, id), share(strips, threads, id + 1),
       (*sums)[static_cast<size_t>(id)].data());
    });
  };
  // The minimum over a few calls.
  const auto min_seconds = [&](bool prefetch) {
    constexpr int kCalls = 4;
    auto min = std::numeric_limits<double>::infinity();
    for (int call = 0; call < kCalls; ++call) min = std::min(min, seconds_of([&] { run(prefetch); }));
    return min;
  };
  return [run, prefetch = min_seconds(true) < min_seconds(false)] { run(prefetch); };
}

}  // namespace mluop::perf
#endif
