#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/assign_score_withk/assign_score_withk_backward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/assign_score_withk/assign_score_withk_native_kernels.h"
#include "primitives/simd/channel_strip-inl.h"
#include "primitives/simd/partial_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::assign_score_withk::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::add_partial_sums;
using mluop::HWY_NAMESPACE::copy_edge;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::kSquarePoints;
using mluop::HWY_NAMESPACE::kStripLanes;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::round_row;
using mluop::HWY_NAMESPACE::sum_terms;
using mluop::HWY_NAMESPACE::unpack;

using D = mluop::HWY_NAMESPACE::StripTag;

// Transposes kSquarePoints rows of a strip of channels from rows of `stride` elements at `from`. T, here and
// below: an element type.
template <class T>
HWY_NOINLINE void transpose_square(const T* from, int64_t stride, float* to, int64_t to_stride) {
  const D d;
  for (int64_t channel = 0; channel < kStripChannels; channel += kStripLanes) {
    hn::Vec<D> columns[kStripLanes];
    load_transposed(d, from + channel * stride, stride, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kStripLanes; ++i) {
      float* const row = to + i * kPacked<T> * to_stride + channel;
      hn::StoreU(unpack<T, 0>(d, columns[i]), d, row);
      if constexpr (kPacked<T> == 2) hn::StoreU(unpack<T, 1>(d, columns[i]), d, row + to_stride);
    }
  }
}

// The partial sums of gradients[o] * (point[o] - center[o]).
template <class T>
HWY_INLINE void add_channels(const float* gradients, const T* point, const T* center, int64_t O, float* sums) {
  sum_terms(
      O,
      [&](auto d, int64_t o) HWY_ATTR {
        return hn::Mul(hn::LoadU(d, gradients + o), hn::Sub(load_f32(d, point + o), load_f32(d, center + o)));
      },
      [&](int64_t o) { return gradients[o] * (to_f32(point[o]) - to_f32(center[o])); }, sums);
}

template <class T>
void differentiate(const BatchArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kTileRows = BatchArgs::kTileRows, kStep = kSquarePoints<T>;
  const DifferentiateTile<T> tile(task.nram);
  // Totals are computed for whole vectors of kernels.
  std::fill_n(tile.partial_sums, kStripLanes * kPartialSums, 0.0F);
  const int64_t rows = args.rows(), O = args.O;
  const T* const grad_output = static_cast<const T*>(args.grad_output) + args.b * O * rows;
  const int32_t* const indices = args.indices_of(args.b);
  for (int64_t first = begin * kTileRows; first < std::min(end * kTileRows, rows); first += kStep) {
    const int64_t count = std::min(kStep, rows - first);
    for (int64_t o = 0; o < O; o += kStripChannels) {
      const int64_t channels = std::min(kStripChannels, O - o);
      const T* from = grad_output + o * rows + first;
      int64_t stride = rows;
      if (count < kStep || channels < kStripChannels) {
        // The padding of the transposed gradients is zero.
        std::fill_n(tile.edge, kStripChannels * kStep, T{});
        copy_edge(from, rows, count, channels, tile.edge);
        from = tile.edge;
        stride = kStep;
      }
      transpose_square(from, stride, args.gradients_of(first) + o, args.stride);
    }
    for (int64_t r = first; r < first + count; ++r) {
      const T* const point = args.template points_of<T>(args.b, indices[r]);
      const T* const center = args.template centers_of<T>(args.b, indices[r / args.K * args.K]);
      T* const grad_scores = static_cast<T*>(args.grad_scores) + (args.b * rows + r) * args.M;
      for (int64_t m = 0; m < args.M; m += kStripLanes) {
        const int64_t kernels = std::min(kStripLanes, args.M - m);
        for (int64_t i = 0; i < kernels; ++i) {
          const int64_t at = (m + i) * O;
          add_channels(args.gradients_of(r), point + at, center + at, O, tile.partial_sums + i * kPartialSums);
        }
        add_partial_sums(tile.partial_sums, tile.totals);
        round_row(tile.totals, kernels, grad_scores + m);
      }
    }
  }
}

// sums[m, o] += scores[i][m] * gradients[i][o], i ascending, or -= if kNegates.
template <int kRows, bool kNegates, class T>
HWY_INLINE void add_outer_products(const T* const* scores, const float* const* gradients, int64_t kernels,
                                   int64_t stride, float* sums) {
  const D d;
  for (int64_t m = 0; m < kernels; ++m) {
    hn::Vec<D> score[kRows];
    HWY_UNROLL(4) for (int i = 0; i < kRows; ++i) score[i] = hn::Set(d, to_f32(scores[i][m]));
    for (int64_t o = 0; o < stride; o += kStripLanes) {
      auto sum = hn::Load(d, sums + m * stride + o);
      HWY_UNROLL(4) for (int i = 0; i < kRows; ++i) {
        const auto gradient = hn::LoadU(d, gradients[i] + o);
        const auto product = hn::Mul(score[i], gradient);
        sum = kNegates ? hn::Sub(sum, product) : hn::Add(sum, product);
      }
      hn::Store(sum, d, sums + m * stride + o);
    }
  }
}

template <bool kNegates, class T>
HWY_INLINE void accumulate_items(const AccumulateArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int kRows = 4;
  const SumTile tile(task.nram, args.range_kernels, args.stride);
  const int64_t* const starts = args.lists.starts_of(args.b);
  const int64_t* const listed = args.lists.sorted_of(args.b);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t point = item / args.range_count(), first = item % args.range_count() * args.range_kernels;
    const int64_t kernels = std::min(args.range_kernels, args.M - first);
    std::fill_n(tile.sums, kernels * args.stride, 0.0F);
    const T* scores[kRows];
    const float* gradients[kRows];
    int pending = 0;
    for (int64_t i = starts[point]; i < starts[point + 1]; ++i) {
      for (int64_t row = listed[i] * args.rows_each; row < (listed[i] + 1) * args.rows_each; ++row) {
        scores[pending] = args.template scores_of<T>(args.b, row) + first;
        gradients[pending] = args.gradients_of(row);
        if (++pending < kRows) continue;
        add_outer_products<kRows, kNegates>(scores, gradients, kernels, args.stride, tile.sums);
        pending = 0;
      }
    }
    for (int i = 0; i < pending; ++i) {
      add_outer_products<1, kNegates>(scores + i, gradients + i, kernels, args.stride, tile.sums);
    }
    T* const to = static_cast<T*>(args.grad) + (args.b * args.N0 + point) * args.matrix() + first * args.O;
    for (int64_t m = 0; m < kernels; ++m) round_row(tile.sums + m * args.stride, args.O, to + m * args.O);
  }
}

template <class T>
void accumulate(const AccumulateArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto run = args.negates ? accumulate_items<true, T> : accumulate_items<false, T>;
  run(args, begin, end, task);
}

MLUOP_SELECT_BY_DTYPE(differentiate, BatchArgs);
MLUOP_SELECT_BY_DTYPE(accumulate, AccumulateArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::assign_score_withk::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::assign_score_withk::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(differentiate_kernel, differentiate, BatchArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(accumulate_kernel, accumulate, AccumulateArgs);

}  // namespace mluop::assign_score_withk::native
#endif
