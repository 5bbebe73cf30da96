#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roi_align/roi_align_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/simd.h"
#include "ops/roi_align/roi_align_geometry.h"
#include "ops/roi_align/roi_align_native_kernels.h"
#include "primitives/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roi_align::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::store_f32;

// to[0, count) = the sum of the taps' weights times from[pixel * stride + 0 .. count), divided by `divisor`, in
// vectors of kLanes lanes at most. The last vector overlaps the one before it. `taps` has one or more. T and From:
// float or Half.
template <size_t kLanes, class T, class From>
HWY_INLINE void combine(const Taps& taps, const From* from, int64_t stride, int64_t count, float divisor, T* to) {
  const hn::CappedTag<float, kLanes> d;
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  if constexpr (lanes > 1) {
    if (count < lanes) return combine<lanes / 2>(taps, from, stride, count, divisor, to);
  }
  const auto divisors = hn::Set(d, divisor);
  for (int64_t i = 0;; i = std::min(i + lanes, count - lanes)) {
    auto sum = hn::Mul(hn::Set(d, taps.begin->weight), load_f32(d, from + taps.begin->pixel * stride + i));
    for (const Tap* tap = taps.begin + 1; tap != taps.end; ++tap) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, tap->weight), load_f32(d, from + tap->pixel * stride + i)));
    }
    store_f32(hn::Div(sum, divisors), d, to + i);
    if (i + lanes >= count) return;
  }
}

// The bins of a RoI. Its rows of pixels are added first, of all its columns, then these columns.
template <bool kChannelsLast, class T>
HWY_INLINE void pool_roi(const PoolArgs& args, const Channels& channels, int64_t roi, const MeanTile& tile) {
  constexpr size_t kLanes = 16, kColumnLanes = kChannelsLast ? kLanes : 1;
  const Tables& tables = args.tables;
  const int64_t inner = args.inner(), columns = tables.x.count(roi);
  const int64_t corner = (tables.y.first(roi) * args.W + tables.x.first(roi)) * inner;
  const T* const from = static_cast<const T*>(args.input) + channels.first_pixel(args) + corner;
  T* to = static_cast<T*>(args.output) + channels.first_bin(args, roi);
  for (int64_t p = 0; p < args.PH; ++p) {
    const Taps rows = tables.y.taps(roi, p);
    if (rows.count() > 0 && columns > 0) {
      if constexpr (kChannelsLast) {
        for (int64_t x = 0; x < columns; ++x) {
          combine<kLanes>(rows, from + x * inner, args.W * inner, channels.count, 1,
                          tile.row + x * channels.count);
        }
      } else {
        combine<kLanes>(rows, from, args.W, columns, 1, tile.row);
      }
    }
    for (int64_t q = 0; q < args.PW; ++q, to += inner) {
      const Taps taps = tables.x.taps(roi, q);
      if (rows.count() > 0 && taps.count() > 0) {
        combine<kColumnLanes>(taps, tile.row, channels.count, channels.count, tables.divisors[roi], to);
      } else {
        std::fill_n(to, channels.count, T{});
      }
    }
  }
}

HWY_INLINE void for_each_roi(const PoolArgs& args, int64_t begin, int64_t end, auto&& pool) {
  for (int64_t item = begin; item < end; ++item) {
    const Channels channels(args, args.division, item / args.roi_blocks());
    const int64_t first = item % args.roi_blocks() * args.roi_block;
    for (int64_t roi = first; roi < std::min(first + args.roi_block, args.R); ++roi) {
      if (args.tables.images[roi] == channels.image) pool(channels, roi);
    }
  }
}

template <class T>
void pool_means(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  const MeanTile tile(task.nram, args.W, args.division.range);
  for_each_roi(args, begin, end, [&](const Channels& channels, int64_t roi) HWY_ATTR {
    if (args.channels_last) {
      pool_roi<true, T>(args, channels, roi, tile);
    } else {
      pool_roi<false, T>(args, channels, roi, tile);
    }
  });
}

// The samples of a bin that are those of no pixel have the value 0. Of equal values, the first one counts: the
// number of their first one, in the order of rows; or no number.
int64_t first_outside(const Roi& roi, const SampleRange& rows, const SampleRange& columns) {
  if (rows.first > 0 || rows.last == 0 || columns.first > 0 || columns.last == 0) return 0;
  if (columns.last < roi.x.samples) return columns.last;
  return rows.last < roi.y.samples ? rows.last * roi.x.samples : std::numeric_limits<int64_t>::max();
}

// The maxima of a bin.
class BinMaxima {
 public:
  BinMaxima(const MaximumTile& tile, int64_t count) : tile_(tile), count_(count) {
    std::fill_n(tile.values, count, std::numeric_limits<float>::lowest());
    std::fill_n(tile.x, count, -1.0F);
    std::fill_n(tile.y, count, -1.0F);
  }

  template <class Value>
  void add(float y, float x, const Value& value) const {
    for (int64_t c = 0; c < count_; ++c) {
      const float found = value(c);
      if (!(found > tile_.values[c])) continue;
      tile_.values[c] = found;
      tile_.y[c] = y;
      tile_.x[c] = x;
    }
  }

 private:
  const MaximumTile& tile_;
  int64_t count_;
};

template <class T>
void find_maxima(const PoolArgs& args, const T* from, const Roi& roi, int64_t p, int64_t q,
                 const BinMaxima& maxima) {
  const SampleRange rows(roi.y, p), columns(roi.x, q);
  const int64_t inner = args.inner(), outside = first_outside(roi, rows, columns);
  const auto position = [&](int64_t sample) {
    return std::pair(roi.y.position(p, sample / roi.x.samples), roi.x.position(q, sample % roi.x.samples));
  };
  bool is_outside_added = outside == std::numeric_limits<int64_t>::max();
  const auto add_outside = [&] {
    const auto [y, x] = position(outside);
    maxima.add(y, x, [](int64_t) { return 0.0F; });
    is_outside_added = true;
  };
  for (int64_t i = rows.first; i < rows.last; ++i) {
    const float y = roi.y.position(p, i);
    const Interpolation of_y(y, args.H);
    for (int64_t j = columns.first; j < columns.last; ++j) {
      if (!is_outside_added && outside < i * roi.x.samples + j) add_outside();
      const float x = roi.x.position(q, j);
      const Interpolation of_x(x, args.W);
      const T *top = from + of_y.low * args.W * inner, *bottom = from + of_y.high * args.W * inner;
      const int64_t left = of_x.low * inner, right = of_x.high * inner;
      const float w1 = of_y.of_low * of_x.of_low, w2 = of_y.of_low * of_x.of_high, w3 = of_y.of_high * of_x.of_low,
                  w4 = of_y.of_high * of_x.of_high;
      maxima.add(y, x, [&](int64_t c) {
        return w1 * to_f32(top[left + c]) + w2 * to_f32(top[right + c]) + w3 * to_f32(bottom[left + c]) +
               w4 * to_f32(bottom[right + c]);
      });
    }
  }
  if (!is_outside_added) add_outside();
}

template <class T>
void pool_maxima(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  const MaximumTile tile(task.nram, args.division.range);
  for_each_roi(args, begin, end, [&](const Channels& channels, int64_t r) {
    const Roi roi(args, static_cast<const T*>(args.boxes) + r * 5);
    const bool has_samples = roi.y.samples > 0 && roi.x.samples > 0;
    const T* const from = static_cast<const T*>(args.input) + channels.first_pixel(args);
    int64_t to = channels.first_bin(args, r);
    for (int64_t bin = 0; bin < args.bins(); ++bin, to += args.inner()) {
      const BinMaxima maxima(tile, channels.count);
      if (has_samples) {
        find_maxima(args, from, roi, bin / args.PW, bin % args.PW, maxima);
      } else {
        std::fill_n(tile.values, channels.count, 0.0F);
      }
      for (int64_t c = 0; c < channels.count; ++c) {
        round_to(tile.values[c], static_cast<T*>(args.output) + to + c);
        round_to(tile.x[c], static_cast<T*>(args.argmax_x) + to + c);
        round_to(tile.y[c], static_cast<T*>(args.argmax_y) + to + c);
      }
    }
  });
}

MLUOP_SELECT_BY_DTYPE(pool_means, PoolArgs);
MLUOP_SELECT_BY_DTYPE(pool_maxima, PoolArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roi_align::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roi_align::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_means_kernel, pool_means, PoolArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_maxima_kernel, pool_maxima, PoolArgs);

RangeKernel<PoolArgs> pool_kernel(const ForwardArgs& args) {
  return args.mode == PoolMode::kMax ? pool_maxima_kernel(args.dtype) : pool_means_kernel(args.dtype);
}

}  // namespace mluop::roi_align::native
#endif
