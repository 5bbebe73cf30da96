#include "primitives/sampling/sampled_maps.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/sampling/sampled_maps.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/dtype.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "primitives/sampling/taps-inl.h"
#include "team/fit_tile.h"
#include "team/launch.h"

#ifndef MLUOP_SAMPLED_MAPS_ONCE
#define MLUOP_SAMPLED_MAPS_ONCE
namespace mluop::sampling {

struct Tile {
  Tile(Arena& nram, int64_t channels)
      : row(nram.take<float>("row", {channels})),
        mixed(nram.take<float>("mixed row", {channels})),
        numbers(reinterpret_cast<int32_t*>(mixed)) {}

  float *row, *mixed;  // [channels]
  int32_t* numbers;    // [channels], the memory of `mixed`
};

struct GatherArgs : SampledMaps {
  const void* maps;
  void* to;
  int64_t range;     // channels that a tile holds
  int32_t* numbers;  // of maxima, else null
};

struct ScatterArgs : SampledMaps {
  const ScatterPlan& plan;
  const ScatterMemory& memory;
  const void* grads;
  void* grad_maps;
};

// The bits of ScatterMemory::parts for the rows [first, last] of an image of H rows.
inline uint64_t parts_of(int64_t first, int64_t last, int64_t H) {
  constexpr int64_t kParts = 64;
  const int64_t first_part = first * kParts / H, last_part = last * kParts / H;
  return ~uint64_t{0} >> (kParts - 1 - last_part + first_part) << first_part;
}

// A divisor; powers of two, whose quotients equal products, are multiplied.
struct Divisor {
  explicit Divisor(float divisor) : value(divisor), inverse(1 / divisor) {
    int exponent = 0;
    is_exact = std::frexp(divisor, &exponent) == 0.5F;
  }

  float value, inverse;
  bool is_exact;
};

}  // namespace mluop::sampling
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::sampling {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::add_pixels;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_row;
using mluop::HWY_NAMESPACE::round_row;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::value_of;

template <class D>
HWY_INLINE hn::Vec<D> divide(D d, hn::Vec<D> dividend, const Divisor& divisor) {
  if (divisor.is_exact) return hn::Mul(dividend, hn::Set(d, divisor.inverse));
  return hn::Div(dividend, hn::Set(d, divisor.value));
}

HWY_INLINE void divide_row(const Divisor& divisor, int64_t count, float* row) {
  if (divisor.value == 1) return;
  for_each_vector(count, [&](auto d, int64_t i)
                             HWY_ATTR { hn::StoreU(divide(d, hn::LoadU(d, row + i), divisor), d, row + i); });
}

// Consumes the taps of an output as pixels with weights.
class PixelSink : public TapSink {
 public:
  explicit PixelSink(const SampledMaps& args) : TapSink(args.H, args.W) {}

  void add_sample(float y, float x) final { add(clamped_tap(y, x, height, width)); }
  void add_zero_padded_sample(float y, float x) final { add(zero_padded_tap(y, x, height, width)); }
  void add_pixel(int64_t row, int64_t column) final { add(pixel_tap(row, column, width)); }

 protected:
  ~PixelSink() = default;

  const WeightedPixels& finish() {
    pixels_.finish(width);
    return pixels_;
  }

 private:
  // Consumes finish().
  virtual void flush() = 0;

  void add(const Tap& tap) {
    if (tap.count == 0) return;
    if (!pixels_.takes(tap)) flush();
    pixels_.add(tap);
  }

  WeightedPixels pixels_;
};

// The sums of an output.
template <class T>
class Gatherer final : public PixelSink {
 public:
  using PixelSink::PixelSink;

  void begin(const T* map, int64_t count) {
    from = map;
    channels = count;
    is_empty_ = true;
  }

  // Replaces sums by store(d, sum, channel) of vectors.
  template <class Store>
  HWY_INLINE void write(const Store& store) {
    add_pixels(from, stride, finish(), channels, is_empty_ ? nullptr : sums, store);
  }

  int64_t stride;
  float* sums;

 private:
  void flush() final {
    add_pixels(from, stride, finish(), channels, is_empty_ ? nullptr : sums,
               [&](auto d, auto sum, int64_t c) HWY_ATTR { hn::StoreU(sum, d, sums + c); });
    is_empty_ = false;
  }

  const T* from;
  int64_t channels;
  bool is_empty_;
};

// Work items: outputs.
template <class T>
void gather(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile tile(task.nram, args.range);
  Gatherer<T> gatherer(args);
  gatherer.stride = args.C;
  gatherer.sums = tile.row;
  Divisor divisor(1);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t group = item / args.bins, bin = item % args.bins;
    if (args.divisors != nullptr && (item == begin || bin == 0)) divisor = Divisor(args.divisors[group]);
    const T* const map = static_cast<const T*>(args.maps) + args.images[group] * args.pixels() * args.C;
    for (int64_t first = 0; first < args.C; first += args.range) {
      const int64_t count = std::min(args.range, args.C - first);
      T* const to = static_cast<T*>(args.to) + item * args.C + first;
      gatherer.begin(map + first, count);
      args.add_taps(args.operands, group, bin, gatherer);
      if (args.mix != nullptr) {
        gatherer.write([&](auto d, auto sum, int64_t c)
                           HWY_ATTR { hn::StoreU(divide(d, sum, divisor), d, tile.row + c); });
        args.mix(args.operands, group, count, tile.row, tile.mixed);
        round_row(tile.mixed, count, to);
      } else {
        gatherer.write([&](auto d, auto sum, int64_t c)
                           HWY_ATTR { store_f32(divide(d, sum, divisor), d, to + c); });
      }
    }
  }
}

// Writes the maxima of an output, several taps at a time. Samples outside are 0.
template <class T>
struct Maxima final : TapSink {
  explicit Maxima(const SampledMaps& args) : TapSink(args.H, args.W) {}

  void add_sample(float y, float x) final { add(clamped_tap(y, x, height, width)); }
  void add_zero_padded_sample(float y, float x) final { add(zero_padded_tap(y, x, height, width)); }
  void add_pixel(int64_t row, int64_t column) final { add(pixel_tap(row, column, width)); }

  void add(const Tap& tap) {
    taps[count++] = tap;
    if (count == kTaps) flush();
  }

  void flush() {
    for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
      const hn::RebindToSigned<decltype(d)> di;
      const auto value = [&](const Tap& tap) HWY_ATTR {
        return tap.count == 0 ? hn::Zero(d) : value_of(d, tap, from + c, stride);
      };
      auto best = seen == 0 ? value(taps[0]) : hn::LoadU(d, values + c);
      auto number = seen == 0 ? hn::Zero(di) : hn::LoadU(di, numbers + c);
      for (int64_t i = seen == 0 ? 1 : 0; i < count; ++i) {
        const auto found = value(taps[i]);
        const auto is_greater = hn::Gt(found, best);
        best = hn::IfThenElse(is_greater, found, best);
        number =
            hn::IfThenElse(hn::RebindMask(di, is_greater), hn::Set(di, static_cast<int32_t>(seen + i)), number);
      }
      hn::StoreU(best, d, values + c);
      hn::StoreU(number, di, numbers + c);
    });
    seen += count;
    count = 0;
  }

  static constexpr int64_t kTaps = 16;
  Tap taps[kTaps];
  int64_t count = 0, seen = 0;
  const T* from;
  int64_t stride, channels;
  float* values;
  int32_t* numbers;
};

// Work items: outputs.
template <class T>
void find_maxima(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile tile(task.nram, args.range);
  Maxima<T> maxima(args);
  maxima.stride = args.C * args.blocks;
  maxima.values = tile.row;
  maxima.numbers = tile.numbers;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t group = item / args.bins, bin = item % args.bins;
    const T* const map = static_cast<const T*>(args.maps) + args.images[group] * args.pixels() * maxima.stride +
                         bin % args.blocks * args.C;
    for (int64_t first = 0; first < args.C; first += args.range) {
      maxima.from = map + first;
      maxima.channels = std::min(args.range, args.C - first);
      maxima.seen = 0;
      args.add_taps(args.operands, group, bin, maxima);
      if (maxima.count > 0) maxima.flush();
      round_row(tile.row, maxima.channels, static_cast<T*>(args.to) + item * args.C + first);
      std::copy_n(tile.numbers, maxima.channels, args.numbers + item * args.C + first);
    }
  }
}

// Adds the gradient of an output to the pixels of a work item of scatter().
struct Scatterer final : PixelSink {
  using PixelSink::PixelSink;

  void flush() final {
    const WeightedPixels& weighted = finish();
    for (int32_t i = 0; i < weighted.count; ++i) {
      const int64_t pixel = weighted.pixels[i] - first_pixel;
      const float weight = weighted.weights[i] / divisor;
      if (pixel < 0 || pixel >= pixels || std::isnan(weight)) continue;
      float* const to = sums + pixel * stride;
      for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
        const auto term = hn::Mul(hn::LoadU(d, row + c), hn::Set(d, weight));
        hn::StoreU(hn::Add(hn::LoadU(d, to + c), term), d, to + c);
      });
    }
  }

  float* sums;  // pixel by pixel, `stride` apart
  int64_t stride, first_pixel, pixels, channels;
  const float* row;  // the gradient of the output
  float divisor;     // of the weights
};

// Work items: (image, band of rows, range of channels), ranges fastest.
template <class T>
void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto& [range, band_rows, task_dim] = args.plan;
  const Tile tile(task.nram, range);
  const int64_t bands = ceil_div(args.H, band_rows), ranges = ceil_div(args.C, range);
  Scatterer to(args);
  to.row = tile.row;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t image = item / (bands * ranges), first = item % ranges * range;
    const int64_t first_row = item / ranges % bands * band_rows, rows = std::min(band_rows, args.H - first_row);
    T* const pixels = static_cast<T*>(args.grad_maps) + (image * args.H + first_row) * args.W * args.C + first;
    const uint64_t parts = parts_of(first_row, first_row + rows - 1, args.H);
    to.first_pixel = first_row * args.W;
    to.pixels = rows * args.W;
    to.channels = std::min(range, args.C - first);
    if constexpr (sizeof(T) == sizeof(float)) {
      to.sums = pixels;
      to.stride = args.C;
    } else {
      to.sums = args.memory.sums + task.taskId * band_rows * args.W * range;
      to.stride = to.channels;
    }
    for (int64_t i = 0; i < to.pixels; ++i) std::fill_n(to.sums + i * to.stride, to.channels, 0.0F);
    for (int64_t group = 0; group < args.groups; ++group) {
      if (args.images[group] != image) continue;
      const float divisor = args.divisors == nullptr ? 1 : args.divisors[group];
      to.divisor = args.divides_first ? 1 : divisor;
      for (int64_t output = group * args.bins; output < (group + 1) * args.bins; ++output) {
        if (bands > 1 && (args.memory.parts[output] & parts) == 0) continue;
        const T* const grad = static_cast<const T*>(args.grads) + output * args.C + first;
        float* const loaded = args.mix != nullptr ? tile.mixed : tile.row;
        load_row(grad, to.channels, loaded);
        if (args.mix != nullptr) args.mix(args.operands, group, to.channels, tile.mixed, tile.row);
        if (args.divides_first) divide_row(Divisor(divisor), to.channels, tile.row);
        args.add_taps(args.operands, group, output - group * args.bins, to);
        to.flush();
      }
    }
    if constexpr (sizeof(T) < sizeof(float)) {
      for (int64_t i = 0; i < to.pixels; ++i) {
        round_row(to.sums + i * to.stride, to.channels, pixels + i * args.C);
      }
    }
  }
}

MLUOP_SELECT_BY_DTYPE(gather, GatherArgs);
MLUOP_SELECT_BY_DTYPE(find_maxima, GatherArgs);
MLUOP_SELECT_BY_DTYPE(scatter, ScatterArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::sampling
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace sampling {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(gather_kernel, gather, GatherArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(maxima_kernel, find_maxima, GatherArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(scatter_kernel, scatter, ScatterArgs);

// Chunks of a task: outputs differ in their numbers of taps.
constexpr int64_t kChunksPerTask = 16;

// Estimated bytes of the pixels that outputs read or add to.
int64_t traffic(const SampledMaps& args) {
  constexpr double kPixels = 16;
  const auto element = static_cast<double>(size_of(args.dtype));
  return saturated(static_cast<double>(args.outputs()) * static_cast<double>(args.C) * kPixels * element);
}

// The parts of the rows of taps.
struct PartSink final : TapSink {
  explicit PartSink(const SampledMaps& args) : TapSink(args.H, args.W) {}

  void add_sample(float y, float) final {
    // Samples outside, or at NaN, have no gradient.
    if (!(y >= -1 && y <= static_cast<float>(height))) return;
    // From the low to the high pixel. The high pixel of a sample above row 0 is in row 1, with a weight of 0.
    const auto low = static_cast<int64_t>(std::max(y, 0.0F));
    parts |= parts_of(std::min(low, height - 1), std::min(low + 1, height - 1), height);
  }
  void add_zero_padded_sample(float y, float x) final { add_sample(y, x); }
  void add_pixel(int64_t row, int64_t) final { add_sample(static_cast<float>(row), 0); }

  uint64_t parts;
};

// Work items: outputs. Writes their parts.
void find_parts(const ScatterArgs& args, int64_t begin, int64_t end, Task&) {
  PartSink sink(args);
  for (int64_t output = begin; output < end; ++output) {
    sink.parts = 0;
    args.add_taps(args.operands, output / args.bins, output % args.bins, sink);
    args.memory.parts[output] = sink.parts;
  }
}

// The channels of a tile: at most `max`, whole groups of mixed channels.
int64_t fit_channels(const Context& context, const SampledMaps& args, int64_t max) {
  const int64_t units = std::max<int64_t>(max / args.mixed, 1);
  return args.mixed * fit_tile(context, units, [&](int64_t count) { return bytes_of<Tile>(count * args.mixed); });
}

void launch_outputs(Context& context, const char* name, RangeKernel<GatherArgs> kernel, const GatherArgs& args) {
  const int task_dim = choose_task_dim(args.outputs(), traffic(args));
  const auto chunks = static_cast<int>(std::min(args.outputs(), kChunksPerTask * task_dim));
  launch_dynamic(context, name, task_dim, chunks, Evenly{args.outputs()}, kernel, args);
}

}  // namespace
}  // namespace sampling

void gather_samples(Context& context, const SampledMaps& args, const void* maps, void* outputs) {
  sampling::launch_outputs(context, "gather", sampling::gather_kernel(args.dtype),
                           {args, maps, outputs, sampling::fit_channels(context, args, args.C), nullptr});
}

void gather_maxima(Context& context, const SampledMaps& args, const void* maps, void* outputs, int32_t* numbers) {
  sampling::launch_outputs(context, "maxima", sampling::maxima_kernel(args.dtype),
                           {args, maps, outputs, sampling::fit_channels(context, args, args.C), numbers});
}

ScatterPlan::ScatterPlan(const Context& context, const SampledMaps& args)
    : channels(sampling::fit_channels(context, args, args.C)), rows(args.H) {
  // Work items of each task: images and rows differ in their numbers of taps.
  constexpr int64_t kItemsPerTask = 2;
  // A mix of channels takes longer than taps, and is computed for each band that an output touches: ranges are
  // narrowed before bands get narrower. Other outputs find their taps again for each range.
  constexpr int64_t kMinBandRows = 4, kMinChannels = 64;
  const int64_t bytes = saturated(static_cast<double>(sampling::traffic(args)) +
                                  static_cast<double>(args.B) * static_cast<double>(args.pixels()) *
                                      static_cast<double>(args.C) * sizeof(float));
  // The ranges of all images.
  const auto ranges = [&] { return args.B * ceil_div(args.C, channels); };
  task_dim = choose_task_dim(saturated_product({ranges(), args.H}), bytes);
  if (task_dim > 1) {
    const int64_t wanted = kItemsPerTask * task_dim;
    const int64_t min_channels = args.mix != nullptr ? std::max(kMinChannels, args.mixed) : channels;
    while (channels > min_channels && ranges() * ceil_div(args.H, kMinBandRows) < wanted) {
      channels = round_up(ceil_div(channels, 2), args.mixed);
    }
    rows = ceil_div(args.H, std::min(args.H, ceil_div(wanted, ranges())));
  }
  task_dim = static_cast<int>(std::min<int64_t>(task_dim, ranges() * ceil_div(args.H, rows)));
}

ScatterMemory::ScatterMemory(Arena& arena, const SampledMaps& args, const ScatterPlan& plan)
    : sums(arena.take<float>("sums",
                             {is_16_bit(args.dtype) ? plan.task_dim : 0, plan.rows, args.W, plan.channels})),
      parts(arena.take<uint64_t>("parts with taps", {plan.rows < args.H ? args.groups : 0, args.bins})) {}

void scatter_samples(Context& context, const SampledMaps& args, const ScatterPlan& plan,
                     const ScatterMemory& memory, const void* grads, void* grad_maps) {
  const sampling::ScatterArgs scatter{args, plan, memory, grads, grad_maps};
  const int64_t bands = ceil_div(args.H, plan.rows), items = args.B * bands * ceil_div(args.C, plan.channels);
  const int64_t outputs = args.outputs();
  if (bands > 1 && outputs > 0) {
    launch<sampling::ScatterArgs>(context, "parts", plan.task_dim, Evenly{outputs}, sampling::find_parts, scatter);
  }
  launch_dynamic(context, "scatter", plan.task_dim, static_cast<int>(std::min<int64_t>(items, 1 << 20)),
                 Evenly{items}, sampling::scatter_kernel(args.dtype), scatter);
}

}  // namespace mluop
#endif
