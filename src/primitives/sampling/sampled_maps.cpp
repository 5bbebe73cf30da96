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
      : taps(nram.take<Tap>("taps", {TapSink::kCapacity})),
        row(nram.take<float>("row", {channels})),
        mixed(nram.take<float>("mixed row", {channels})),
        numbers(reinterpret_cast<int32_t*>(mixed)) {}

  Tap* taps;
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

inline int64_t blocks_of(const SampledMaps& args) { return ceil_div(args.bins, ScatterMemory::kBlockBins); }

// Calls visit(bin) for the bins of a block of a group.
template <class Visit>
void for_each_bin(const SampledMaps& args, int64_t block, const Visit& visit) {
  const int64_t first = block * ScatterMemory::kBlockBins;
  for (int64_t bin = first; bin < std::min(first + ScatterMemory::kBlockBins, args.bins); ++bin) visit(bin);
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
using mluop::HWY_NAMESPACE::add_taps;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_row;
using mluop::HWY_NAMESPACE::round_row;
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

// Work items: outputs.
template <class T>
void gather(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile tile(task.nram, args.range);
  struct State {
    const T* from;
    int64_t stride, count;
    float* sums;
  } state{nullptr, args.C, 0, tile.row};
  TapSink sink(
      args.H, args.W, tile.taps,
      [](void* opaque, const Tap* taps, int64_t count) {
        const State& to = *static_cast<const State*>(opaque);
        add_taps(to.from, to.stride, taps, count, to.count, to.sums);
      },
      &state);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t group = item / args.bins;
    const T* const map = static_cast<const T*>(args.maps) + args.images[group] * args.pixels() * args.C;
    for (int64_t first = 0; first < args.C; first += args.range) {
      state.from = map + first;
      state.count = std::min(args.range, args.C - first);
      std::fill_n(tile.row, state.count, 0.0F);
      args.add_taps(args.operands, group, item % args.bins, sink);
      sink.flush();
      if (args.divisors != nullptr) divide_row(Divisor(args.divisors[group]), state.count, tile.row);
      if (args.mix != nullptr) args.mix(args.operands, group, state.count, tile.row, tile.mixed);
      round_row(args.mix != nullptr ? tile.mixed : tile.row, state.count,
                static_cast<T*>(args.to) + item * args.C + first);
    }
  }
}

// The maxima of an output.
template <class T>
struct Maxima {
  void add(const Tap* taps, int64_t count) {
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
  }

  const T* from;
  int64_t stride, channels;
  float* values;
  int32_t* numbers;
  int64_t seen;  // taps
};

// Work items: outputs.
template <class T>
void find_maxima(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile tile(task.nram, args.range);
  Maxima<T> maxima{nullptr, args.C * args.blocks, 0, tile.row, tile.numbers, 0};
  TapSink sink(
      args.H, args.W, tile.taps,
      [](void* opaque, const Tap* taps, int64_t count) { static_cast<Maxima<T>*>(opaque)->add(taps, count); },
      &maxima, true);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t group = item / args.bins, bin = item % args.bins;
    const T* const map = static_cast<const T*>(args.maps) + args.images[group] * args.pixels() * maxima.stride +
                         bin % args.blocks * args.C;
    for (int64_t first = 0; first < args.C; first += args.range) {
      maxima.from = map + first;
      maxima.channels = std::min(args.range, args.C - first);
      maxima.seen = 0;
      args.add_taps(args.operands, group, bin, sink);
      sink.flush();
      round_row(tile.row, maxima.channels, static_cast<T*>(args.to) + item * args.C + first);
      std::copy_n(tile.numbers, maxima.channels, args.numbers + item * args.C + first);
    }
  }
}

// Adds the taps of the outputs of a work item of scatter() to its pixels.
struct Adder {
  void add(const Tap* taps, int64_t count) const {
    for (const Tap* tap = taps; tap != taps + count; ++tap) {
      for (int32_t i = 0; i < tap->count; ++i) {
        const int64_t pixel = tap->pixels[i] - first_pixel;
        const float weight = tap->weights[i];
        if (pixel < 0 || pixel >= pixels || std::isnan(weight)) continue;
        float* const to = sums + pixel * stride;
        for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
          auto term = hn::Mul(hn::LoadU(d, row + c), hn::Set(d, weight));
          if (divisor.value != 1) term = divide(d, term, divisor);
          hn::StoreU(hn::Add(hn::LoadU(d, to + c), term), d, to + c);
        });
      }
    }
  }

  float* sums;  // pixel by pixel, `stride` apart
  int64_t stride, first_pixel, pixels, channels;
  const float* row;  // the gradient of the output
  Divisor divisor;   // 1 if the gradient is divided already
};

// Work items: (image, band of rows, range of channels), ranges fastest.
template <class T>
void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto& [range, band_rows, task_dim] = args.plan;
  const Tile tile(task.nram, range);
  const int64_t bands = ceil_div(args.H, band_rows), ranges = ceil_div(args.C, range);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t image = item / (bands * ranges), first = item % ranges * range;
    const int64_t first_row = item / ranges % bands * band_rows, rows = std::min(band_rows, args.H - first_row);
    T* const to = static_cast<T*>(args.grad_maps) + (image * args.H + first_row) * args.W * args.C + first;
    Adder adder{nullptr,  args.C,    first_row * args.W, rows * args.W, std::min(range, args.C - first),
                tile.row, Divisor(1)};
    if constexpr (sizeof(T) == sizeof(float)) {
      adder.sums = to;
    } else {
      adder.sums = args.memory.sums + task.taskId * band_rows * args.W * range;
      adder.stride = adder.channels;
    }
    for (int64_t i = 0; i < adder.pixels; ++i) std::fill_n(adder.sums + i * adder.stride, adder.channels, 0.0F);
    TapSink sink(
        args.H, args.W, tile.taps,
        [](void* opaque, const Tap* taps, int64_t count) { static_cast<const Adder*>(opaque)->add(taps, count); },
        &adder);
    const int64_t blocks = blocks_of(args);
    for (int64_t block = 0; block < args.groups * blocks; ++block) {
      const auto [first_pixel, last_pixel] = args.memory.extents[block];
      const int64_t group = block / blocks;
      if (args.images[group] != image || last_pixel < adder.first_pixel ||
          first_pixel >= adder.first_pixel + adder.pixels) {
        continue;
      }
      const Divisor divisor(args.divisors == nullptr ? 1 : args.divisors[group]);
      if (!args.divides_first) adder.divisor = divisor;
      for_each_bin(args, block % blocks, [&](int64_t bin) HWY_ATTR {
        const T* const grad = static_cast<const T*>(args.grads) + (group * args.bins + bin) * args.C + first;
        float* const loaded = args.mix != nullptr ? tile.mixed : tile.row;
        load_row(grad, adder.channels, loaded);
        if (args.mix != nullptr) args.mix(args.operands, group, adder.channels, tile.mixed, tile.row);
        if (args.divides_first) divide_row(divisor, adder.channels, tile.row);
        args.add_taps(args.operands, group, bin, sink);
        sink.flush();
      });
    }
    if constexpr (sizeof(T) < sizeof(float)) {
      for (int64_t i = 0; i < adder.pixels; ++i) {
        round_row(adder.sums + i * adder.stride, adder.channels, to + i * args.C);
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

// Work items: blocks of bins. Writes their extents.
void find_extents(const ScatterArgs& args, int64_t begin, int64_t end, Task&) {
  ScatterMemory::Extent extent{};
  Tap taps[TapSink::kCapacity];
  TapSink sink(
      args.H, args.W, taps,
      [](void* opaque, const Tap* added, int64_t count) {
        auto& [first, last] = *static_cast<ScatterMemory::Extent*>(opaque);
        for (const Tap* tap = added; tap != added + count; ++tap) {
          for (int32_t i = 0; i < tap->count; ++i) {
            first = std::min(first, tap->pixels[i]);
            last = std::max(last, tap->pixels[i]);
          }
        }
      },
      &extent);
  const int64_t blocks = blocks_of(args);
  for (int64_t block = begin; block < end; ++block) {
    extent = {static_cast<int32_t>(args.pixels() - 1), -1};
    for_each_bin(args, block % blocks,
                 [&](int64_t bin) { args.add_taps(args.operands, block / blocks, bin, sink); });
    sink.flush();
    args.memory.extents[block] = extent;
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
  // Bands of an image for each task: images and rows differ in their numbers of taps.
  constexpr int64_t kBandsPerTask = 2;
  const int64_t bytes = saturated(static_cast<double>(sampling::traffic(args)) +
                                  static_cast<double>(args.B) * static_cast<double>(args.pixels()) *
                                      static_cast<double>(args.C) * sizeof(float));
  const int64_t ranges = ceil_div(args.C, channels);
  task_dim = choose_task_dim(saturated_product({args.B, ranges, args.H}), bytes);
  if (task_dim > 1) rows = ceil_div(args.H, std::min(args.H, ceil_div(kBandsPerTask * task_dim, args.B)));
  task_dim = static_cast<int>(std::min<int64_t>(task_dim, args.B * ranges * ceil_div(args.H, rows)));
}

ScatterMemory::ScatterMemory(Arena& arena, const SampledMaps& args, const ScatterPlan& plan)
    : sums(arena.take<float>("sums",
                             {is_16_bit(args.dtype) ? plan.task_dim : 0, plan.rows, args.W, plan.channels})),
      extents(arena.take<Extent>("extents", {args.groups, sampling::blocks_of(args)})) {}

void scatter_samples(Context& context, const SampledMaps& args, const ScatterPlan& plan,
                     const ScatterMemory& memory, const void* grads, void* grad_maps) {
  const sampling::ScatterArgs scatter{args, plan, memory, grads, grad_maps};
  const int64_t bands = ceil_div(args.H, plan.rows), items = args.B * bands * ceil_div(args.C, plan.channels);
  const int64_t blocks = args.groups * sampling::blocks_of(args);
  if (bands > 1 && blocks > 0) {
    launch<sampling::ScatterArgs>(context, "extents", plan.task_dim, Evenly{blocks}, sampling::find_extents,
                                  scatter);
  } else {
    std::fill_n(memory.extents, blocks, ScatterMemory::Extent{0, static_cast<int32_t>(args.pixels() - 1)});
  }
  launch_dynamic(context, "scatter", plan.task_dim, static_cast<int>(std::min<int64_t>(items, 1 << 20)),
                 Evenly{items}, sampling::scatter_kernel(args.dtype), scatter);
}

}  // namespace mluop
#endif
