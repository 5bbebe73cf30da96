#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roi_align/roi_align_backward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/roi_align/roi_align_geometry.h"
#include "ops/roi_align/roi_align_native_kernels.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "primitives/simd/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roi_align::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::round_row;
using mluop::HWY_NAMESPACE::store_f32;

constexpr size_t kGradientLanes = 16;

// The gradients of the pixels of a part in fp32, `stride` apart.
struct Sums {
  float* pixel(int64_t y, int64_t x, int64_t width) const { return first + (y * width + x) * stride; }

  float* first;
  int64_t stride;
};

// to[0, count) += from[0, count) * weight
HWY_INLINE void add_scaled(const float* from, float weight, int64_t count, float* to) {
  for_each_vector<kGradientLanes>(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto term = hn::Mul(hn::LoadU(d, from + i), hn::Set(d, weight));
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), term), d, to + i);
  });
}

// to[c] = the gradient of channel c of a bin / divisor; channels are `stride` apart.
template <class T>
HWY_INLINE void load_bin(const T* from, int64_t stride, int64_t count, float divisor, float* to) {
  const auto divide = [&](const auto* dividends) HWY_ATTR {
    for_each_vector<kGradientLanes>(count, [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::Div(load_f32(d, dividends + i), hn::Set(d, divisor)), d, to + i);
    });
  };
  if (stride == 1) return divide(from);
  for (int64_t c = 0; c < count; ++c) to[c] = to_f32(from[c * stride]);
  divide(to);
}

// The bins of a RoI: adds their columns to one row for each row of bins, then adds these rows to the rows of the
// part.
template <class T>
HWY_INLINE void add_roi(const AddArgs& args, const Part& part, int64_t roi, const MeanTile& tile,
                        const Sums& sums) {
  const Tables& tables = args.tables;
  const int64_t columns = tables.x.count(roi), count = part.count,
                channel_stride = args.channel_stride(args.bins());
  const int64_t first_x = tables.x.first(roi), first_y = tables.y.first(roi) - part.first_row;
  const auto is_inside = [&](const Tap& tap) {
    return first_y + tap.pixel >= 0 && first_y + tap.pixel < part.rows;
  };
  const T* from = static_cast<const T*>(args.grads) + part.first_bin(args, roi);
  for (int64_t p = 0; p < args.PH; ++p, from += args.PW * args.inner()) {
    const Taps rows = tables.y.taps(roi, p);
    if (std::none_of(rows.begin, rows.end, is_inside)) continue;
    std::fill_n(tile.row, columns * count, 0.0F);
    for (int64_t q = 0; q < args.PW; ++q) {
      const Taps taps = tables.x.taps(roi, q);
      if (taps.count() == 0) continue;
      load_bin(from + q * args.inner(), channel_stride, count, tables.divisors[roi], tile.bin);
      for (const Tap* tap = taps.begin; tap != taps.end; ++tap) {
        add_scaled(tile.bin, tap->weight, count, tile.row + tap->pixel * count);
      }
    }
    for (const Tap* tap = rows.begin; tap != rows.end; ++tap) {
      if (!is_inside(*tap)) continue;
      float* const to = sums.pixel(first_y + tap->pixel, first_x, args.W);
      if (sums.stride == count) {
        add_scaled(tile.row, tap->weight, columns * count, to);
        continue;
      }
      for (int64_t x = 0; x < columns; ++x) {
        add_scaled(tile.row + x * count, tap->weight, count, to + x * sums.stride);
      }
    }
  }
}

// Whether a RoI adds to the pixels of a part.
bool reaches(const AddArgs& args, const Part& part, int64_t roi) {
  if (args.tables.images[roi] != part.image) return false;
  if (args.mode == PoolMode::kMax) return true;
  const int64_t first = args.tables.y.first(roi), last = first + args.tables.y.count(roi) - 1;
  return args.tables.x.count(roi) > 0 && first < part.first_row + part.rows && last >= part.first_row;
}

// to[c * plane + i] = from[i * channels + c], rounded.
template <class T>
void store_planes(const float* from, int64_t pixels, int64_t channels, int64_t plane, T* to) {
  const hn::CappedTag<float, kGradientLanes> d;
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t whole = channels / lanes * lanes;
  int64_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    for (int64_t c = 0; c < whole; c += lanes) {
      hn::Vec<decltype(d)> columns[lanes];
      load_transposed(d, from + i * channels + c, channels, columns);
      HWY_UNROLL(16) for (int64_t j = 0; j < lanes; ++j) store_f32(columns[j], d, to + (c + j) * plane + i);
    }
    for (int64_t c = whole; c < channels; ++c) {
      for (int64_t j = i; j < i + lanes; ++j) round_to(from[j * channels + c], to + c * plane + j);
    }
  }
  for (; i < pixels; ++i) {
    for (int64_t c = 0; c < channels; ++c) round_to(from[i * channels + c], to + c * plane + i);
  }
}

// Rounds the sums of a part, whose channels are adjacent. Sums of fp32 are copied.
template <class T>
void store_sums(const AddArgs& args, const Part& part, const float* sums, T* to) {
  const int64_t pixels = part.rows * args.W;
  if (part.count == args.inner()) return round_row(sums, pixels * part.count, to);
  if (!args.channels_last) return store_planes(sums, pixels, part.count, args.image_pixels(), to);
  for (int64_t i = 0; i < pixels; ++i) round_row(sums + i * part.count, part.count, to + i * args.C);
}

// Prefetches the gradients of a RoI that a part reads. Processors do not: they are few lines, or read from 16
// channels at once.
template <class T>
HWY_INLINE void prefetch_bins(const AddArgs& args, const Part& part, int64_t roi) {
  const T* const from = static_cast<const T*>(args.grads) + part.first_bin(args, roi);
  const int64_t rows = args.channels_last ? args.bins() : 1,
                row = args.channels_last ? part.count : part.count * args.bins();
  for (int64_t i = 0; i < rows; ++i) prefetch_row<Use::kReadOnce>(from + i * args.C, row * int64_t{sizeof(T)});
}

// Calls add(part, roi, sums) for the RoIs of each work item, in their order.
template <class T>
HWY_INLINE void for_each_roi(const AddArgs& args, int64_t begin, int64_t end, const Task& task, auto&& add) {
  for (int64_t item = begin; item < end; ++item) {
    const Part part(args, args.division, item);
    const int64_t pixels = part.rows * args.W;
    T* const output = static_cast<T*>(args.grads_image) + part.first_pixel(args);
    Sums sums{};
    if constexpr (sizeof(T) == sizeof(float)) sums = {output, args.inner()};
    if (args.sums != nullptr) {
      sums = {args.sums + task.taskId * args.division.rows * args.W * args.division.range, part.count};
    }
    for (int64_t i = 0; i < pixels; ++i) std::fill_n(sums.first + i * sums.stride, part.count, 0.0F);
    const auto next_of = [&](int64_t roi) {
      for (++roi; roi < args.R && !reaches(args, part, roi);) ++roi;
      return roi;
    };
    for (int64_t roi = next_of(-1), next; roi < args.R; roi = next) {
      next = next_of(roi);
      if (next < args.R) prefetch_bins<T>(args, part, next);
      add(part, roi, sums);
    }
    if (args.sums != nullptr) store_sums(args, part, sums.first, output);
  }
}

template <class T>
void add_means(const AddArgs& args, int64_t begin, int64_t end, Task& task) {
  const MeanTile tile(task.nram, args.W, args.division.range);
  for_each_roi<T>(args, begin, end, task, [&](const Part& part, int64_t roi, const Sums& sums) HWY_ATTR {
    add_roi<T>(args, part, roi, tile, sums);
  });
}

// Adds a gradient to the pixels, if any, from which a sample at (y, x) is interpolated.
HWY_INLINE void add_sample(const AddArgs& args, float y, float x, float gradient, int64_t channel,
                           const Sums& sums) {
  const bool has_maximum = y != -1;
  const bool is_inside = y >= -1 && y <= static_cast<float>(args.H) && x >= -1 && x <= static_cast<float>(args.W);
  if (!has_maximum || !is_inside) return;
  const Interpolation of_y(y, args.H), of_x(x, args.W);
  const auto add = [&](int64_t row, int64_t column, float weight) {
    sums.pixel(row, column, args.W)[channel] += gradient * weight;
  };
  add(of_y.low, of_x.low, of_y.of_low * of_x.of_low);
  add(of_y.low, of_x.high, of_y.of_low * of_x.of_high);
  add(of_y.high, of_x.low, of_y.of_high * of_x.of_low);
  add(of_y.high, of_x.high, of_y.of_high * of_x.of_high);
}

template <class T>
void add_maxima(const AddArgs& args, int64_t begin, int64_t end, Task& task) {
  for_each_roi<T>(args, begin, end, task, [&](const Part& part, int64_t roi, const Sums& sums) {
    const int64_t first = part.first_bin(args, roi);
    const auto element = [&](const void* tensor, int64_t i) {
      return to_f32(static_cast<const T*>(tensor)[first + i]);
    };
    for (int64_t bin = 0; bin < args.bins(); ++bin) {
      for (int64_t c = 0; c < part.count; ++c) {
        const int64_t i = bin * args.inner() + c;
        add_sample(args, element(args.argmax_y, i), element(args.argmax_x, i), element(args.grads, i), c, sums);
      }
    }
  });
}

MLUOP_SELECT_BY_DTYPE(add_means, AddArgs);
MLUOP_SELECT_BY_DTYPE(add_maxima, AddArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roi_align::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roi_align::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(add_means_kernel, add_means, AddArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(add_maxima_kernel, add_maxima, AddArgs);

RangeKernel<AddArgs> add_kernel(const BackwardArgs& args) {
  return args.mode == PoolMode::kMax ? add_maxima_kernel(args.dtype) : add_means_kernel(args.dtype);
}

}  // namespace mluop::roi_align::native
#endif
