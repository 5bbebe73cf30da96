#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution/indice_convolution_native_sort_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/simd.h"
#include "ops/indice_convolution/indice_convolution_native_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The pairs of one offset, and the bounds of their indices.
struct Segment {
  const int32_t* inputs;
  const int32_t* outputs;
  int32_t max_input, max_output;
  int shift;
};

// The tile number of a skipped pair, and of a pair with an index out of range.
constexpr int32_t kSkipped = -1;
constexpr int32_t kBad = -2;

HWY_INLINE int32_t tile_of(const Segment& segment, int64_t l) {
  const int32_t input = segment.inputs[l];
  const int32_t output = segment.outputs[l];
  if ((input | output) < 0) return kSkipped;
  return input <= segment.max_input && output <= segment.max_output ? output >> segment.shift : kBad;
}

// Returns the number of leading pairs of [l, end) with valid indices and outputs in `tile`, rounded down to whole
// vectors.
HWY_INLINE int64_t match_tile(const Segment& segment, int64_t l, int64_t end, int32_t tile) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // As unsigned numbers, negative indices exceed every bound.
  const auto max_input = hn::Set(d, static_cast<uint32_t>(segment.max_input));
  const int64_t tile_end = (int64_t{tile} + 1) << segment.shift;
  const auto first_output = hn::Set(d, static_cast<uint32_t>(tile) << segment.shift);
  const auto max_row = hn::Set(d, static_cast<uint32_t>(std::min<int64_t>(tile_end - 1, segment.max_output) -
                                                        (int64_t{tile} << segment.shift)));
  int64_t i = l;
  for (; i + lanes <= end; i += lanes) {
    const auto input = hn::LoadU(d, reinterpret_cast<const uint32_t*>(segment.inputs + i));
    const auto output = hn::LoadU(d, reinterpret_cast<const uint32_t*>(segment.outputs + i));
    const auto row = hn::Sub(output, first_output);
    const auto in_tile = hn::And(hn::Eq(hn::Min(input, max_input), input), hn::Eq(hn::Min(row, max_row), row));
    if (!hn::AllTrue(d, in_tile)) break;
  }
  return i - l;
}

// Calls visit(tile, run) for the runs of the pairs [begin, end), which contain no skipped pairs. Stops at a pair
// with an index out of range and returns its number; otherwise returns `end`.
template <class Visit>
HWY_INLINE int64_t for_each_run(const Args& args, const PairsByOutputTile& pairs, int64_t begin, int64_t end,
                                Visit visit) {
  constexpr int64_t kMaxIndex = std::numeric_limits<int32_t>::max();
  const int32_t* firsts = pairs.first_pairs;
  int64_t k = std::upper_bound(firsts, firsts + args.K, begin) - firsts - 1;
  for (int64_t p = begin; p < end; ++k) {
    const int64_t first = firsts[k];
    const int64_t segment_end = std::min<int64_t>(firsts[k + 1], end) - first;
    const Segment segment{args.inputs(k), args.outputs(k), static_cast<int32_t>(std::min(args.N - 1, kMaxIndex)),
                          static_cast<int32_t>(std::min(args.M - 1, kMaxIndex)), pairs.shift};
    for (int64_t l = p - first; l < segment_end;) {
      const int32_t tile = tile_of(segment, l);
      if (tile == kBad) return first + l;
      int64_t next = l + 1;
      if (tile != kSkipped) {
        next += match_tile(segment, next, segment_end, tile);
        while (next < segment_end && tile_of(segment, next) == tile) ++next;
        visit(tile, Run{static_cast<int32_t>(first + l), static_cast<int32_t>(next - l)});
      }
      l = next;
    }
    p = first + segment_end;
  }
  return end;
}

void count_pairs(const CountArgs& args, int64_t begin, int64_t end, Task& task) {
  PairsByOutputTile& pairs = args.pairs;
  pairs.sort.clear_counts(task.taskId);
  int32_t* counts = pairs.sort.counts_of(task.taskId);
  bool caching = true;
  int32_t* words = pairs.cached_runs + begin / RunBuffers::kPairsPerCachedRun;
  const int32_t* const words_end = pairs.cached_runs + end / RunBuffers::kPairsPerCachedRun;
  auto first_not_cached = static_cast<int32_t>(end);
  const int64_t reached = for_each_run(args, pairs, begin, end, [&](int32_t tile, const Run& run) {
    counts[tile] += run.count;
    if (!caching) return;
    caching = words_end - words >= kMaxRunWords;
    if (caching) {
      words = write_run(words, run);
    } else {
      first_not_cached = run.pair;
    }
  });
  pairs.caches[task.taskId] = {static_cast<int32_t>(words - pairs.cached_runs), first_not_cached};
  if (reached < end) args.first_bad.report(reached);
}

void sort_pairs(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  PairsByOutputTile& pairs = args.pairs;
  int32_t* positions = pairs.sort.positions_of(task.taskId);
  const auto store = [&](int32_t tile, const Run& run) {
    write_run(pairs.sorted_runs + positions[tile], run);
    positions[tile] += run.count;
  };
  const RunCache cache = pairs.caches[task.taskId];
  const int32_t* const words_end = pairs.cached_runs + cache.words_end;
  int64_t k = 0;
  for (const int32_t* words = pairs.cached_runs + begin / RunBuffers::kPairsPerCachedRun; words < words_end;) {
    const Run run = read_run(words, words_end);
    while (pairs.first_pairs[k + 1] <= run.pair) ++k;
    store(args.outputs(k)[run.pair - pairs.first_pairs[k]] >> pairs.shift, run);
    words += run.count > 1 ? 2 : 1;
  }
  for_each_run(args, pairs, cache.first_pair, end, store);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution::native {

MLUOP_EXPORT_KERNEL(count_kernel, count_pairs, CountArgs);
MLUOP_EXPORT_KERNEL(sort_kernel, sort_pairs, SortArgs);

}  // namespace mluop::indice_convolution::native
#endif
