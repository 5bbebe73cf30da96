#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution_forward/bucket_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "ops/indice_convolution_forward/kernels.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A stretch of pairs of one offset, and what bounds their indices.
struct Stretch {
  const int32_t* inputs;
  const int32_t* outputs;
  int32_t last_input, last_output;  // the largest valid indices
  int shift;
};

// The tile of a skipped pair, and of one with an index out of bounds.
constexpr int32_t kSkipped = -1;
constexpr int32_t kBad = -2;

HWY_INLINE int32_t tile_of(const Stretch& stretch, int64_t l) {
  const int32_t input = stretch.inputs[l];
  const int32_t output = stretch.outputs[l];
  if ((input | output) < 0) return kSkipped;
  return input <= stretch.last_input && output <= stretch.last_output ? output >> stretch.shift : kBad;
}

// How many of the pairs [l, end) are certain to be good and in `tile`: whole vectors of them.
HWY_INLINE int64_t count_alike(const Stretch& stretch, int64_t l, int64_t end, int32_t tile) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // As unsigned numbers: negative ones are large.
  const auto input_limit = hn::Set(d, static_cast<uint32_t>(stretch.last_input));
  const int64_t last = (int64_t{tile} + 1) << stretch.shift;
  const auto first_output = hn::Set(d, static_cast<uint32_t>(tile) << stretch.shift);
  const auto output_limit = hn::Set(d, static_cast<uint32_t>(std::min<int64_t>(last - 1, stretch.last_output) -
                                                             (int64_t{tile} << stretch.shift)));
  int64_t i = l;
  for (; i + lanes <= end; i += lanes) {
    const auto input = hn::LoadU(d, reinterpret_cast<const uint32_t*>(stretch.inputs + i));
    const auto output = hn::LoadU(d, reinterpret_cast<const uint32_t*>(stretch.outputs + i));
    const auto place = hn::Sub(output, first_output);
    const auto alike =
        hn::And(hn::Eq(hn::Min(input, input_limit), input), hn::Eq(hn::Min(place, output_limit), place));
    if (!hn::AllTrue(d, alike)) break;
  }
  return i - l;
}

// Calls take(tile, run) for runs that together are the pairs [begin, end) that are not skipped. Returns the first
// pair with an index out of bounds, where it ends; else `end`.
template <class Take>
HWY_INLINE int64_t for_each_run(const Args& call, const Buckets& buckets, int64_t begin, int64_t end, Take take) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int32_t* firsts = buckets.first_numbers;
  int64_t k = std::upper_bound(firsts, firsts + call.K, begin) - firsts - 1;
  for (int64_t p = begin; p < end; ++k) {
    const int64_t first = firsts[k];
    const int64_t stop = std::min<int64_t>(firsts[k + 1], end) - first;
    const Stretch stretch{call.inputs(k), call.outputs(k), static_cast<int32_t>(std::min(call.N - 1, kMost)),
                          static_cast<int32_t>(std::min(call.M - 1, kMost)), buckets.shift};
    for (int64_t l = p - first; l < stop;) {
      const int32_t tile = tile_of(stretch, l);
      if (tile == kBad) return first + l;
      int64_t next = l + 1;
      if (tile != kSkipped) {
        next += count_alike(stretch, next, stop, tile);
        while (next < stop && tile_of(stretch, next) == tile) ++next;
        take(tile, Run{static_cast<int32_t>(first + l), static_cast<int32_t>(next - l)});
      }
      l = next;
    }
    p = first + stop;
  }
  return end;
}

void count(const CountArgs& args, int64_t begin, int64_t end, Task& task) {
  const Buckets& buckets = args.buckets;
  buckets.counting.clear(task.taskId);
  int32_t* counts = buckets.counting.counts_of(task.taskId);
  bool noting = buckets.notes != nullptr;
  int32_t* note = noting ? buckets.notes + begin / Buckets::kPairsPerNote : nullptr;
  const int32_t* const last_note = noting ? buckets.notes + end / Buckets::kPairsPerNote : nullptr;
  auto noted = static_cast<int32_t>(end);
  const int64_t reached = for_each_run(args.call, buckets, begin, end, [&](int32_t tile, const Run& run) {
    counts[tile] += run.count;
    if (!noting) return;
    noting = last_note - note >= kMostRunPlaces;
    if (noting) {
      note = write_run(note, run);
    } else {
      noted = run.pair;
    }
  });
  buckets.noted[task.taskId] = {static_cast<int32_t>(note - buckets.notes), noted};
  if (reached < end) atomic_min(args.first_bad, static_cast<int32_t>(reached));
}

void order(const OrderArgs& args, int64_t begin, int64_t end, Task& task) {
  const Buckets& buckets = args.buckets;
  int32_t* places = buckets.counting.counts_of(task.taskId);
  const auto put = [&](int32_t tile, const Run& run) {
    write_run(buckets.order + places[tile], run);
    places[tile] += run.count;
  };
  const Buckets::Noted noted = buckets.noted[task.taskId];
  const int32_t* const last_note = buckets.notes + noted.end;
  int64_t k = 0;
  for (const int32_t* note = buckets.notes + begin / Buckets::kPairsPerNote; note < last_note;) {
    const Run run = read_run(note, last_note);
    while (buckets.first_numbers[k + 1] <= run.pair) ++k;
    put(args.call.outputs(k)[run.pair - buckets.first_numbers[k]] >> buckets.shift, run);
    note += run.count > 1 ? 2 : 1;
  }
  for_each_run(args.call, buckets, noted.pair, end, put);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution_forward {

HWY_EXPORT(count);
HWY_EXPORT(order);

RangeKernel<CountArgs> count_kernel() { return HWY_DYNAMIC_DISPATCH(count); }
RangeKernel<OrderArgs> order_kernel() { return HWY_DYNAMIC_DISPATCH(order); }

}  // namespace mluop::indice_convolution_forward
#endif
