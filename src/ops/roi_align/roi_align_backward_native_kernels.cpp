#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roi_align/roi_align_backward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/roi_align/roi_align_geometry.h"
#include "ops/roi_align/roi_align_native_kernels.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roi_align::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::round_row;

// The gradients of the pixels of a work item in fp32, `stride` apart.
struct Sums {
  float* pixel(int64_t y, int64_t x, int64_t width) const { return first + (y * width + x) * stride; }

  float* first;
  int64_t stride;
};

// to[0, count) += from[0, count) / divisor * weight, in vectors of at most kLanes lanes.
template <size_t kLanes, class From>
HWY_INLINE void add_scaled(const From* from, float divisor, float weight, int64_t count, float* to) {
  for_each_vector<kLanes>(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto quotient = hn::Div(load_f32(d, from + i), hn::Set(d, divisor));
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::Mul(quotient, hn::Set(d, weight))), d, to + i);
  });
}

// The bins of a RoI: adds their columns to one row for each row of bins, then adds these rows.
template <bool kChannelsLast, class T>
HWY_INLINE void add_roi(const AddArgs& args, const Channels& channels, int64_t roi, const MeanTile& tile,
                        const Sums& sums) {
  constexpr size_t kLanes = 16, kColumnLanes = kChannelsLast ? kLanes : 1;
  const Tables& tables = args.tables;
  const int64_t columns = tables.x.count(roi), first_y = tables.y.first(roi), first_x = tables.x.first(roi);
  const T* from = static_cast<const T*>(args.grads) + channels.first_bin(args, roi);
  for (int64_t p = 0; p < args.PH; ++p, from += args.PW * args.inner()) {
    const Taps rows = tables.y.taps(roi, p);
    if (rows.count() == 0) continue;
    std::fill_n(tile.row, columns * channels.count, 0.0F);
    for (int64_t q = 0; q < args.PW; ++q) {
      const Taps taps = tables.x.taps(roi, q);
      for (const Tap* tap = taps.begin; tap != taps.end; ++tap) {
        add_scaled<kColumnLanes>(from + q * args.inner(), tables.divisors[roi], tap->weight, channels.count,
                                 tile.row + tap->pixel * channels.count);
      }
    }
    for (const Tap* tap = rows.begin; tap != rows.end; ++tap) {
      if constexpr (kChannelsLast) {
        for (int64_t x = 0; x < columns; ++x) {
          add_scaled<kLanes>(tile.row + x * channels.count, 1, tap->weight, channels.count,
                             sums.pixel(first_y + tap->pixel, first_x + x, args.W));
        }
      } else {
        add_scaled<kLanes>(tile.row, 1, tap->weight, columns, sums.pixel(first_y + tap->pixel, first_x, args.W));
      }
    }
  }
}

// Calls add(channels, roi, sums) for the RoIs of each work item, in their order.
template <class T>
HWY_INLINE void for_each_roi(const AddArgs& args, int64_t begin, int64_t end, const Task& task, auto&& add) {
  const int64_t inner = args.inner(), pixels = args.image_pixels();
  for (int64_t item = begin; item < end; ++item) {
    const Channels channels(args, args.division, item);
    T* const output = static_cast<T*>(args.grads_image) + channels.first_pixel(args);
    Sums sums{};
    if constexpr (sizeof(T) == sizeof(float)) {
      sums = {output, inner};
    } else {
      sums = {args.sums + task.taskId * pixels * args.division.range, channels.count};
    }
    for (int64_t i = 0; i < pixels; ++i) std::fill_n(sums.first + i * sums.stride, channels.count, 0.0F);
    for (int64_t roi = 0; roi < args.R; ++roi) {
      if (args.tables.images[roi] == channels.image) add(channels, roi, sums);
    }
    if constexpr (sizeof(T) < sizeof(float)) {
      if (inner == channels.count) {
        round_row(sums.first, pixels * inner, output);
        continue;
      }
      for (int64_t i = 0; i < pixels; ++i) {
        round_row(sums.first + i * channels.count, channels.count, output + i * inner);
      }
    }
  }
}

template <class T>
void add_means(const AddArgs& args, int64_t begin, int64_t end, Task& task) {
  const MeanTile tile(task.nram, args.W, args.division.range);
  for_each_roi<T>(args, begin, end, task, [&](const Channels& channels, int64_t roi, const Sums& sums) HWY_ATTR {
    if (args.channels_last) {
      add_roi<true, T>(args, channels, roi, tile, sums);
    } else {
      add_roi<false, T>(args, channels, roi, tile, sums);
    }
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
  for_each_roi<T>(args, begin, end, task, [&](const Channels& channels, int64_t roi, const Sums& sums) {
    const int64_t first = channels.first_bin(args, roi);
    const auto element = [&](const void* tensor, int64_t i) {
      return to_f32(static_cast<const T*>(tensor)[first + i]);
    };
    for (int64_t bin = 0; bin < args.bins(); ++bin) {
      for (int64_t c = 0; c < channels.count; ++c) {
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
