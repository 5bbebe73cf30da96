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
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roi_align::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::round_row;
using mluop::HWY_NAMESPACE::store_f32;

// If the dividend is finite, the finite number nearest to the quotient, otherwise the dividend.
template <class D>
HWY_INLINE hn::Vec<D> divide(D d, hn::Vec<D> dividend, float divisor) {
  const auto quotient = hn::Div(dividend, hn::Set(d, divisor)), largest = hn::Set(d, hwy::HighestValue<float>());
  return hn::IfThenElse(hn::Le(hn::Abs(dividend), largest), hn::Clamp(quotient, hn::Neg(largest), largest),
                        dividend);
}

// to[0, count) = finish(d, the sum over the taps of weight times from[pixel * stride + 0 .. count)), in vectors of
// at most kLanes lanes. The last vector overlaps the previous one. `taps` must not be empty. T and From: an
// element type.
template <size_t kLanes, class T, class From, class Finish>
HWY_INLINE void combine(const Taps& taps, const From* from, int64_t stride, int64_t count, const Finish& finish,
                        T* to) {
  const hn::CappedTag<float, kLanes> d;
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  if constexpr (lanes > 1) {
    if (count < lanes) return combine<lanes / 2>(taps, from, stride, count, finish, to);
  }
  for (int64_t i = 0;; i = std::min(i + lanes, count - lanes)) {
    auto sum = hn::Mul(hn::Set(d, taps.begin->weight), load_f32(d, from + taps.begin->pixel * stride + i));
    for (const Tap* tap = taps.begin + 1; tap != taps.end; ++tap) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, tap->weight), load_f32(d, from + tap->pixel * stride + i)));
    }
    store_f32(finish(d, sum), d, to + i);
    if (i + lanes >= count) return;
  }
}

// The pixels of a work item, with adjacent channels: in the input, or transposed.
template <class T>
struct Pixels {
  const T* first;
  int64_t stride;
};

// to[pixel, c] = from[c, pixel], for `pixels` of the `plane` pixels of each channel.
template <class T>
void transpose_planes(const T* from, int64_t plane, int64_t pixels, int64_t channels, T* to) {
  constexpr int64_t kBlock = 64;
  for (int64_t first = 0; first < pixels; first += kBlock) {
    const int64_t last = std::min(first + kBlock, pixels);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = first; i < last; ++i) to[i * channels + c] = from[c * plane + i];
    }
  }
}

template <class T>
void copy_rows(const PoolArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t number = item / args.H, row = item % args.H;
    const Part part(args, args.division, number);
    T* const copy = static_cast<T*>(args.copies) + number * args.image_pixels() * args.division.range;
    transpose_planes(static_cast<const T*>(args.input) + part.first_pixel(args) + row * args.W,
                     args.image_pixels(), args.W, part.count, copy + row * args.W * part.count);
  }
}

// Rounds the channels of a bin to the output.
template <class T>
HWY_INLINE void store_bin(const PoolArgs& args, const float* from, int64_t count, T* to) {
  if (args.channels_last) return round_row(from, count, to);
  for (int64_t c = 0; c < count; ++c) round_to(from[c], to + c * args.bins());
}

// The bins of a RoI: adds the rows of pixels over all columns, then these columns. Vectors are channels, or pixels
// of one channel.
template <bool kOfChannels, class T>
HWY_INLINE void pool_roi(const PoolArgs& args, const Part& part, const Pixels<T>& pixels, int64_t roi,
                         const MeanTile& tile) {
  constexpr size_t kLanes = 16, kColumnLanes = kOfChannels ? kLanes : 1;
  const Tables& tables = args.tables;
  const int64_t inner = pixels.stride, columns = tables.x.count(roi);
  const T* const from = pixels.first + (tables.y.first(roi) * args.W + tables.x.first(roi)) * inner;
  T* to = static_cast<T*>(args.output) + part.first_bin(args, roi);
  const auto keep = [](auto, auto sum) HWY_ATTR { return sum; };
  const auto to_mean = [divisor = tables.divisors[roi]](auto d, auto sum)
                           HWY_ATTR { return divide(d, sum, divisor); };
  for (int64_t p = 0; p < args.PH; ++p) {
    const Taps rows = tables.y.taps(roi, p);
    if (rows.count() > 0 && columns > 0) {
      if constexpr (kOfChannels) {
        for (int64_t x = 0; x < columns; ++x) {
          combine<kLanes>(rows, from + x * inner, args.W * inner, part.count, keep, tile.row + x * part.count);
        }
      } else {
        combine<kLanes>(rows, from, args.W, columns, keep, tile.row);
      }
    }
    for (int64_t q = 0; q < args.PW; ++q, to += args.inner()) {
      const Taps taps = tables.x.taps(roi, q);
      if (rows.count() == 0 || taps.count() == 0) {
        std::fill_n(tile.bin, part.count, 0.0F);
        store_bin(args, tile.bin, part.count, to);
      } else if (kOfChannels && !args.channels_last) {
        combine<kColumnLanes>(taps, tile.row, part.count, part.count, to_mean, tile.bin);
        store_bin(args, tile.bin, part.count, to);
      } else {
        combine<kColumnLanes>(taps, tile.row, part.count, part.count, to_mean, to);
      }
    }
  }
}

// Calls pool(part, pixels, roi) for the RoIs of each work item.
template <class T>
HWY_INLINE void for_each_roi(const PoolArgs& args, int64_t begin, int64_t end, const Task& task, auto&& pool) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t number = item / args.roi_blocks();
    const Part part(args, args.division, number);
    const int64_t copy_number = args.has_copy_of_each_part ? number : task.taskId;
    T* const copy = static_cast<T*>(args.copies) + copy_number * args.image_pixels() * args.division.range;
    const T* const input = static_cast<const T*>(args.input) + part.first_pixel(args);
    const int64_t first = item % args.roi_blocks() * args.roi_block;
    bool is_copied = args.has_copy_of_each_part;
    for (int64_t roi = first; roi < std::min(first + args.roi_block, args.R); ++roi) {
      if (args.tables.images[roi] != part.image) continue;
      if (args.copies == nullptr) {
        pool(part, Pixels<T>{input, args.inner()}, roi);
        continue;
      }
      if (!is_copied) transpose_planes(input, args.image_pixels(), args.image_pixels(), part.count, copy);
      is_copied = true;
      pool(part, Pixels<T>{copy, part.count}, roi);
    }
  }
}

template <class T>
void pool_means(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  const MeanTile tile(task.nram, args.W, args.division.range);
  for_each_roi<T>(args, begin, end, task, [&](const Part& part, const Pixels<T>& pixels, int64_t roi) HWY_ATTR {
    if (args.channels_last || args.copies != nullptr) {
      pool_roi<true, T>(args, part, pixels, roi, tile);
    } else {
      pool_roi<false, T>(args, part, pixels, roi, tile);
    }
  });
}

// The index, in row order, of the first sample of a bin that lies on no pixel; the maximum of int64_t if there is
// none. Such samples have the value 0, and among equal values the first wins.
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

  // value(d, c): the values of the channels from c on.
  template <class Value>
  HWY_INLINE void add(float y, float x, const Value& value) const {
    for_each_vector(count_, [&](auto d, int64_t c) HWY_ATTR {
      const auto found = value(d, c), before = hn::LoadU(d, tile_.values + c);
      const auto is_greater = hn::Gt(found, before);
      hn::StoreU(hn::IfThenElse(is_greater, found, before), d, tile_.values + c);
      hn::StoreU(hn::IfThenElse(is_greater, hn::Set(d, y), hn::LoadU(d, tile_.y + c)), d, tile_.y + c);
      hn::StoreU(hn::IfThenElse(is_greater, hn::Set(d, x), hn::LoadU(d, tile_.x + c)), d, tile_.x + c);
    });
  }

 private:
  const MaximumTile& tile_;
  int64_t count_;
};

template <class T>
HWY_INLINE void find_maxima(const PoolArgs& args, const Pixels<T>& pixels, const Roi& roi, int64_t p, int64_t q,
                            const BinMaxima& maxima) {
  const SampleRange rows(roi.y, p), columns(roi.x, q);
  const int64_t inner = pixels.stride, outside = first_outside(roi, rows, columns);
  const auto position = [&](int64_t sample) {
    return std::pair(roi.y.position(p, sample / roi.x.samples), roi.x.position(q, sample % roi.x.samples));
  };
  bool is_outside_added = outside == std::numeric_limits<int64_t>::max();
  const auto add_outside = [&]() HWY_ATTR {
    const auto [y, x] = position(outside);
    maxima.add(y, x, [](auto d, int64_t) HWY_ATTR { return hn::Zero(d); });
    is_outside_added = true;
  };
  for (int64_t i = rows.first; i < rows.last; ++i) {
    const float y = roi.y.position(p, i);
    const Interpolation of_y(y, args.H);
    const T* const top = pixels.first + of_y.low * args.W * inner;
    const T* const bottom = pixels.first + of_y.high * args.W * inner;
    for (int64_t j = columns.first; j < columns.last; ++j) {
      if (!is_outside_added && outside < i * roi.x.samples + j) add_outside();
      const float x = roi.x.position(q, j);
      const Interpolation of_x(x, args.W);
      const int64_t left = of_x.low * inner, right = of_x.high * inner;
      const float w1 = of_y.of_low * of_x.of_low, w2 = of_y.of_low * of_x.of_high, w3 = of_y.of_high * of_x.of_low,
                  w4 = of_y.of_high * of_x.of_high;
      maxima.add(y, x, [&](auto d, int64_t c) HWY_ATTR {
        const auto term = [&](float weight, const T* pixel)
                              HWY_ATTR { return hn::Mul(hn::Set(d, weight), load_f32(d, pixel + c)); };
        const auto of_top = hn::Add(term(w1, top + left), term(w2, top + right));
        return hn::Add(hn::Add(of_top, term(w3, bottom + left)), term(w4, bottom + right));
      });
    }
  }
  if (!is_outside_added) add_outside();
}

template <class T>
void pool_maxima(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  const MaximumTile tile(task.nram, args.division.range);
  for_each_roi<T>(args, begin, end, task, [&](const Part& part, const Pixels<T>& pixels, int64_t r) HWY_ATTR {
    const Roi roi(args, static_cast<const T*>(args.boxes) + r * 5);
    const bool has_samples = roi.y.samples > 0 && roi.x.samples > 0;
    int64_t to = part.first_bin(args, r);
    for (int64_t bin = 0; bin < args.bins(); ++bin, to += args.inner()) {
      const BinMaxima maxima(tile, part.count);
      if (has_samples) {
        find_maxima(args, pixels, roi, bin / args.PW, bin % args.PW, maxima);
      } else {
        std::fill_n(tile.values, part.count, 0.0F);
      }
      store_bin(args, tile.values, part.count, static_cast<T*>(args.output) + to);
      store_bin(args, tile.x, part.count, static_cast<T*>(args.argmax_x) + to);
      store_bin(args, tile.y, part.count, static_cast<T*>(args.argmax_y) + to);
    }
  });
}

MLUOP_SELECT_BY_DTYPE(copy_rows, PoolArgs);
MLUOP_SELECT_BY_DTYPE(pool_means, PoolArgs);
MLUOP_SELECT_BY_DTYPE(pool_maxima, PoolArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roi_align::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roi_align::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(copy_kernel, copy_rows, PoolArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_means_kernel, pool_means, PoolArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_maxima_kernel, pool_maxima, PoolArgs);

RangeKernel<PoolArgs> pool_kernel(const ForwardArgs& args) {
  return args.mode == PoolMode::kMax ? pool_maxima_kernel(args.dtype) : pool_means_kernel(args.dtype);
}

}  // namespace mluop::roi_align::native
#endif
