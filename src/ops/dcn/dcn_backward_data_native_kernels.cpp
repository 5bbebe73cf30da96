#include "ops/dcn/dcn_backward_data_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dcn/dcn_backward_data_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/dcn/samples-inl.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/gemm/pack_panel-inl.h"
#include "primitives/simd/sum_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dcn::backward_data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using dcn::HWY_NAMESPACE::Sampler;
using mluop::HWY_NAMESPACE::copy_row;
using mluop::HWY_NAMESPACE::gemm_panel;
using mluop::HWY_NAMESPACE::interleave_rows;
using mluop::HWY_NAMESPACE::kNr;
using mluop::HWY_NAMESPACE::kPanelLanes;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::MicrokernelArgs;
using mluop::HWY_NAMESPACE::PanelTag;
using mluop::HWY_NAMESPACE::round_row;

// Packs the columns [column, column + count) of a unit, at most kNr, padded with zeros to whole vectors; a lane
// holds one float or two BFloat16. T, here and below: the element type of the tensors; Element: the type in which
// they are multiplied.
template <class T, class Element>
void pack_panel_of(const PackArgs& args, const Unit& unit, int64_t column, int64_t count, float* to) {
  const int64_t inputs = args.group_inputs(), outputs = args.group_outputs();
  const int64_t stride = round_up(count, kPanelLanes);
  const T* const first = static_cast<const T*>(args.filter) + unit.group * outputs * args.group_columns() +
                         unit.k * inputs + unit.channel - unit.group * inputs;
  for (int64_t done = 0; done < count;) {
    const int64_t k = (column + done) / unit.channels, c = (column + done) % unit.channels;
    const int64_t run = std::min(unit.channels - c, count - done);
    const T* const from = first + k * inputs + c;
    const auto row = [&](int64_t co) { return co < outputs ? from + co * args.group_columns() : nullptr; };
    float* lanes = to + done;
    for (int64_t co = 0; co < outputs; co += kStep<Element>, lanes += stride) {
      if constexpr (std::is_same_v<Element, float>) {
        copy_row(row(co), run, run, lanes);
      } else {
        interleave_rows({row(co), row(co + 1)}, run, run, lanes);
      }
    }
    done += run;
  }
  for (int64_t row = 0; row < ceil_div(outputs, kStep<Element>); ++row) {
    std::fill(to + row * stride + count, to + (row + 1) * stride, 0.0F);
  }
}

template <class T, class Element>
void pack(const PackArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const Unit& unit = args.units.units[item];
    float* const to = args.packed_filters + unit.packed;
    for (int64_t column = 0; column < unit.columns(); column += kNr) {
      pack_panel_of<T, Element>(args, unit, column, std::min(kNr, unit.columns() - column),
                                to + column * ceil_div(args.group_outputs(), kStep<Element>));
    }
  }
}

MLUOP_SELECT_BY_ELEMENT(pack, PackArgs);

template <class T>
void find_rows(const FindRowsArgs& args, int64_t begin, int64_t end, Task& task) {
  const SampleBuffers samples(task.nram, args.tiling.pixels, args.division.offsets);
  const int64_t tiles = args.tiling.count(args);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t image = item / tiles, row = item % tiles * args.tiling.pixels;
    const int64_t count = std::min(args.tiling.pixels, args.image_pixels() - row);
    int32_t first = std::numeric_limits<int32_t>::max(), last = -1;
    for (int64_t d = 0; d < args.deformable_groups; ++d) {
      for (int64_t k = 0; k < args.K(); k += args.division.offsets) {
        const int64_t k_end = std::min(k + args.division.offsets, args.K());
        const Sampler<T> sampler(args, {d, d + 1, k, k_end}, samples);
        for (int64_t i = 0; i < count; ++i) {
          sampler.find(i, image * args.image_pixels() + row + i);
          for (int64_t s = 0; s < k_end - k; ++s) {
            for (const int32_t pixel : samples.sample(i, s).pixels) {
              if (pixel < 0) continue;
              first = std::min(first, pixel);
              last = std::max(last, pixel);
            }
          }
        }
      }
    }
    args.spans[item] = {first / args.W, last < 0 ? -1 : last / args.W};
  }
}

MLUOP_SELECT_BY_DTYPE(find_rows, FindRowsArgs);

// sums[0, count) += weight * gradient[0, count) if kAdds. Returns the sum of gradient[i] * pixel[i]. Uses vectors
// of kLanes lanes, and for the rest vectors of half, a quarter, ... of the lanes, down to one.
template <bool kAdds, size_t kLanes = hn::MaxLanes(PanelTag()), class T>
HWY_INLINE float add_to_pixel(const float* gradient, const T* pixel, float weight, int64_t count, float* sums) {
  const hn::CappedTag<float, kLanes> d;
  constexpr auto lanes = static_cast<int64_t>(kLanes);
  auto products = hn::Zero(d);
  const auto factor = hn::Set(d, weight);
  int64_t c = 0;
  for (; c + lanes <= count; c += lanes) {
    const auto value = hn::LoadU(d, gradient + c);
    if constexpr (kAdds) hn::StoreU(hn::MulAdd(factor, value, hn::LoadU(d, sums + c)), d, sums + c);
    products = hn::MulAdd(value, load_f32(d, pixel + c), products);
  }
  float sum = c > 0 ? hn::GetLane(hn::SumOfLanes(d, products)) : 0;
  if constexpr (kLanes > 1) {
    if (c < count) sum += add_to_pixel<kAdds, kLanes / 2>(gradient + c, pixel + c, weight, count - c, sums + c);
  }
  return sum;
}

// A range of channels of a band of an image.
template <class T, class Element>
class RangeScatter {
 public:
  RangeScatter(const ScatterArgs& args, const Tile<Element>& tile, int64_t item, int task)
      : args_(args),
        tile_(tile),
        image_(item / args.bands.count / args.units.division.ranges),
        range_(item / args.bands.count % args.units.division.ranges),
        band_(item % args.bands.count),
        first_pixel_(band_ * args.bands.rows * args.W),
        band_pixels_(std::min(args.bands.rows * args.W, args.H * args.W - first_pixel_)),
        channel_(range_ * args.units.division.width),
        channels_(std::min(args.units.division.width, args.Ci - channel_)),
        image_start_(image_ * args.H * args.W * args.Ci) {
    if constexpr (kRounds) {
      stride_ = args.units.division.width;
      sums_ = args.sums + task * args.bands.rows * args.W * stride_;
    } else {
      stride_ = args.Ci;
      sums_ = static_cast<float*>(args.grad_input) + image_start_ + first_pixel_ * stride_ + channel_;
    }
  }

  void compute() const {
    for (int64_t pixel = 0; pixel < band_pixels_; ++pixel) {
      std::fill_n(sums_ + pixel * stride_, channels_, 0.0F);
    }
    const Units& units = args_.units;
    const int64_t tiles = args_.tiling.count(args_), first = image_ * args_.image_pixels();
    for (int64_t number = 0; number < tiles; ++number) {
      bool has_offsets = true;
      if (args_.bands.count > 1) {
        const RowSpan& span = args_.bands.spans[image_ * tiles + number];
        if (band_ < args_.bands.first_of(span) || band_ > args_.bands.last_of(span)) continue;
        has_offsets = band_ == args_.bands.first_of(span);
      }
      const int64_t row = number * args_.tiling.pixels;
      const int64_t count = std::min(args_.tiling.pixels, args_.image_pixels() - row);
      for (int64_t i = units.first_units[range_]; i < units.first_units[range_ + 1]; ++i) {
        const Unit& unit = units.units[i];
        if (unit.is_first_of_d) find_samples(unit, first + row, count);
        multiply(unit, first + row, count);
        for (int64_t r = 0; r < count; ++r) scatter(unit, r, first + row + r, has_offsets);
      }
    }
    if constexpr (kRounds) {
      T* to = static_cast<T*>(args_.grad_input) + image_start_ + first_pixel_ * args_.Ci + channel_;
      for (int64_t pixel = 0; pixel < band_pixels_; ++pixel, to += args_.Ci) {
        round_row(sums_ + pixel * stride_, channels_, to);
      }
    }
  }

 private:
  static constexpr bool kRounds = !std::is_same_v<T, float>;

  void find_samples(const Unit& unit, int64_t first, int64_t count) const {
    const Sampler<T> sampler(args_, {unit.d, unit.d + 1, unit.k, unit.k_end}, tile_.samples);
    for (int64_t row = 0; row < count; ++row) sampler.find(row, first + row);
  }

  // Computes the gradients of the columns of a unit.
  void multiply(const Unit& unit, int64_t first, int64_t count) const {
    const int64_t outputs = args_.group_outputs(), width = round_up(unit.columns(), kPanelLanes);
    for (int64_t row = 0; row < count; ++row) std::fill_n(tile_.columns + row * tile_.stride, width, 0.0F);
    const T* const from = static_cast<const T*>(args_.grad_output) + first * args_.Co + unit.group * outputs;
    for (int64_t output = 0; output < outputs; output += args_.tiling.outputs) {
      const int64_t multiplied = std::min(args_.tiling.outputs, outputs - output);
      const bool copies = args_.tiling.copies;
      const Element* grads = tile_.grads;
      if (copies) copy_grads(from + output, multiplied, count);
      if constexpr (std::is_same_v<T, Element>) {
        if (!copies) grads = from + output;
      }
      for (int64_t column = 0; column < width; column += kNr) {
        const int64_t panel_width = std::min(kNr, width - column);
        const float* const panel = args_.packed_filters + unit.packed +
                                   column * ceil_div(outputs, kStep<Element>) +
                                   output / kStep<Element> * panel_width;
        const MicrokernelArgs<Element> args{reinterpret_cast<const Element*>(panel),
                                            round_up(multiplied, kStep<Element>),
                                            grads,
                                            copies ? args_.tiling.outputs : args_.Co,
                                            tile_.columns + column,
                                            tile_.stride,
                                            0};
        gemm_panel(panel_width, args, tile_.rows, tile_.rows, count, [] {});
      }
    }
  }

  // Copies `outputs` channels of `count` rows of grad_output.
  void copy_grads(const T* from, int64_t outputs, int64_t count) const {
    Element* to = tile_.grads;
    for (int64_t row = 0; row < count; ++row, from += args_.Co, to += args_.tiling.outputs) {
      copy_row(from, outputs, round_up(outputs, kStep<Element>), to);
    }
  }

  // Adds the gradients of the columns of an output pixel to the band and, if `has_offsets`, writes their
  // contribution to the gradients of offsets and mask.
  HWY_INLINE void scatter(const Unit& unit, int64_t row, int64_t pixel, bool has_offsets) const {
    const T* const input = static_cast<const T*>(args_.input) + image_start_ + unit.channel;
    float* const sums = sums_ + unit.channel - channel_;
    const int64_t ordinal = range_ - args_.units.division.first_range(args_, unit.d);
    SampleGradient* const to =
        args_.partials + (ordinal * args_.pixels() + pixel) * args_.S() + unit.d * args_.K() + unit.k;
    const float* gradient = tile_.columns + row * tile_.stride;
    for (int64_t i = 0; i < unit.k_end - unit.k; ++i, gradient += unit.channels) {
      const Sample sample = tile_.samples.sample(row, i);
      const auto weights = sample.weights(), down = sample.slopes_along_y(), right = sample.slopes_along_x();
      SampleGradient found{0, 0, 0};
      HWY_UNROLL(4) for (int corner = 0; corner < 4; ++corner) {
        const int64_t at = sample.pixels[corner];
        if (at < 0) continue;
        const int64_t in_band = at - first_pixel_;
        const T* const from = input + at * args_.Ci;
        const float weight = weights.of[corner] * sample.mask;
        float product;
        if (0 <= in_band && in_band < band_pixels_) {
          product = add_to_pixel<true>(gradient, from, weight, unit.channels, sums + in_band * stride_);
        } else {
          if (!has_offsets) continue;
          product = add_to_pixel<false>(gradient, from, weight, unit.channels, sums);
        }
        found.y += down.of[corner] * product;
        found.x += right.of[corner] * product;
        found.mask += weights.of[corner] * product;
      }
      if (!has_offsets) continue;
      const bool adds = !unit.is_first_of_d;
      to[i] = {found.y + (adds ? to[i].y : 0), found.x + (adds ? to[i].x : 0),
               found.mask + (adds ? to[i].mask : 0)};
    }
  }

  const ScatterArgs& args_;
  const Tile<Element>& tile_;
  int64_t image_, range_, band_;
  int64_t first_pixel_, band_pixels_;  // output pixels of the band
  int64_t channel_, channels_;         // channels of the range
  int64_t image_start_;                // first element of the image in the input
  float* sums_;                        // sums of first_pixel_ and channel_; rows are stride_ apart
  int64_t stride_;
};

template <class T, class Element>
void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile<Element> tile(task.nram, args.units.division, args.tiling);
  std::iota(tile.rows, tile.rows + args.tiling.pixels, 0);
  for (int64_t item = begin; item < end; ++item) RangeScatter<T, Element>(args, tile, item, task.taskId).compute();
}

MLUOP_SELECT_BY_ELEMENT(scatter, ScatterArgs);

// Whether a sample is at a position of the input.
template <class T>
bool is_inside(const Args& args, int64_t s) {
  const int64_t pixel = s / args.S(), k = s % args.K();
  const T* const offset = static_cast<const T*>(args.offset) + 2 * s;
  const auto is_position = [](int64_t first, int64_t origin, T to_add, int64_t extent) {
    const float position = static_cast<float>(first) + static_cast<float>(origin) + to_f32(to_add);
    return position > -1 && position < static_cast<float>(extent);
  };
  return is_position(pixel / args.Wo % args.Ho * args.stride_h, k / args.kernel_w * args.dilation_h - args.pad_top,
                     offset[0], args.H) &&
         is_position(pixel % args.Wo * args.stride_w, k % args.kernel_w * args.dilation_w - args.pad_left,
                     offset[1], args.W);
}

template <class T>
void combine(const CombineArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t K = args.K(), S = args.S(), stride = args.pixels() * S;
  for (int64_t d = 0; d < args.deformable_groups; ++d) {
    const int64_t ranges = args.division.range_count(args, d);
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      for (int64_t s = pixel * S + d * K; s < pixel * S + (d + 1) * K; ++s) {
        SampleGradient sum = args.partials[s];
        for (int64_t range = 1; range < ranges; ++range) {
          const SampleGradient& next = args.partials[range * stride + s];
          sum = {sum.y + next.y, sum.x + next.x, sum.mask + next.mask};
        }
        const float mask = args.mask == nullptr ? 1 : to_f32(static_cast<const T*>(args.mask)[s]);
        // A position outside the image adds nothing: its product with the mask could be NaN.
        if (std::isfinite(mask) || is_inside<T>(args, s)) {
          sum.y *= mask;
          sum.x *= mask;
        }
        T* const offset = static_cast<T*>(args.grad_offset) + 2 * s;
        round_to(sum.y, offset);
        round_to(sum.x, offset + 1);
        if (args.grad_mask != nullptr) round_to(sum.mask, static_cast<T*>(args.grad_mask) + s);
      }
    }
  }
}

MLUOP_SELECT_BY_DTYPE(combine, CombineArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dcn::backward_data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dcn::backward_data {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pack_kernel, pack, PackArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(find_rows_kernel, find_rows, FindRowsArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(scatter_kernel, scatter, ScatterArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(combine_kernel, combine, CombineArgs);

}  // namespace mluop::dcn::backward_data
#endif
