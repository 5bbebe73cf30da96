// Indice convolution forward: the pairs of a task, chunk by chunk. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_INDICE_CONVOLUTION_FORWARD_CHUNK_READER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_INDICE_CONVOLUTION_FORWARD_CHUNK_READER_INL_H
#undef MLUOP_INDICE_CONVOLUTION_FORWARD_CHUNK_READER_INL_H
#else
#define MLUOP_INDICE_CONVOLUTION_FORWARD_CHUNK_READER_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "ops/indice_convolution_forward/chunk.h"
#include "ops/indice_convolution_forward/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether each value is larger than the one before it.
HWY_INLINE bool ascending(const int32_t* values, int64_t count) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t steps = count - 1;
  if (steps < lanes) return std::is_sorted(values, values + count, std::less_equal<>());
  for (int64_t i = 0; i < steps; i += lanes) {
    const int32_t* from = values + std::min(i, steps - lanes);
    if (!hn::AllTrue(d, hn::Lt(hn::LoadU(d, from), hn::LoadU(d, from + 1)))) return false;
  }
  return true;
}

// Where a reader is among the runs of pairs: what is left of one.
struct RunCursor {
  int32_t place;  // of the next pair in the order
  int32_t pair;   // its number
  int32_t left;   // pairs of the run from there on
};

// Reads the pairs of the tiles [tile, last_tile) in their order, and fetches the indices of the chunk after the
// one that is read.
class ChunkReader {
 public:
  // `seen` has a number for each row of a tile.
  ChunkReader(const ConvolveArgs& args, int64_t tile, int64_t last_tile, int32_t* seen)
      : call_(args.call),
        buckets_(args.buckets),
        pairs_(static_cast<int32_t>(args.tiling.pairs)),
        tile_(tile),
        end_(buckets_.counting.starts[last_tile]),
        next_(run_at(buckets_.counting.starts[tile])),
        seen_(seen) {
    std::fill_n(seen, size_t{1} << buckets_.shift, 0);
    find_offset();
  }

  // Makes `chunk` the next one. False: there is none.
  bool read(Chunk& chunk) {
    if (next_.place == end_) return false;
    while (buckets_.counting.starts[tile_ + 1] == next_.place) ++tile_;
    chunk.tile = tile_;
    chunk.k = k_;
    const int64_t l = next_.pair - buckets_.first_numbers[k_];
    const int32_t in_run = std::min(next_.left, pairs_);
    RunCursor rest{};
    if (in_run == pairs_ || !continues(next_.place + in_run)) {
      chunk.inputs = call_.inputs(k_) + l;
      chunk.outputs = call_.outputs(k_) + l;
      chunk.count = in_run;
      rest = behind(next_, in_run);
    } else {
      rest = gather(chunk);
    }
    const int64_t count = count_distinct(chunk.outputs, chunk.count);
    next_ = count == chunk.count ? rest : behind(next_, count);
    chunk.count = count;
    find_offset();
    return true;
  }

 private:
  static constexpr int64_t kLine = 64;
  // Indices of the next chunk that are fetched ahead. Mostly they follow each other.
  static constexpr int64_t kPrefetchedPairs = 128;

  RunCursor run_at(int32_t place) const {
    if (place == end_) return {place, 0, 0};
    const int32_t* places = buckets_.order + place;
    const Run run = read_run(places, buckets_.order + end_);
    hwy::Prefetch(places + run.count);  // the next one
    return {place, run.pair, run.count};
  }

  // Where a reader is when it has read `count` pairs more.
  RunCursor behind(RunCursor cursor, int64_t count) const {
    for (; count >= cursor.left && cursor.left > 0; cursor = run_at(cursor.place + cursor.left)) {
      count -= cursor.left;
    }
    const auto rest = static_cast<int32_t>(count);
    return {cursor.place + rest, cursor.pair + rest, cursor.left - rest};
  }

  // Whether the run that begins at `place` is of the same tile and offset as the next pair.
  bool continues(int32_t place) const {
    return place < buckets_.counting.starts[tile_ + 1] && buckets_.order[place] < buckets_.first_numbers[k_ + 1];
  }

  // How many of the rows come before the first that is there for the second time.
  int64_t count_distinct(const int32_t* outputs, int64_t most) {
    if (ascending(outputs, most)) return most;
    int32_t* HWY_RESTRICT seen = seen_;
    const int64_t first_row = tile_ << buckets_.shift;
    const int32_t chunk_number = ++chunk_number_;
    int64_t count = 0;
    for (; count < most; ++count) {
      const int64_t row = outputs[count] - first_row;
      if (seen[row] == chunk_number) break;
      seen[row] = chunk_number;
    }
    return count;
  }

  // Copies pairs of several runs. Returns what is behind them.
  RunCursor gather(Chunk& chunk) const {
    const hn::ScalableTag<int32_t> d;
    const auto lanes = static_cast<int32_t>(hn::Lanes(d));
    const int32_t first = buckets_.first_numbers[k_];
    int32_t* HWY_RESTRICT to_inputs = chunk.gathered_inputs;  // where they are in the offset, until all are known
    int32_t count = 0;
    RunCursor cursor = next_;
    do {
      const int32_t in_run = std::min(cursor.left, pairs_ - count);
      for (int32_t i = 0; i < in_run; i += lanes) {
        hn::StoreU(hn::Iota(d, cursor.pair - first + i), d, to_inputs + count + i);
      }
      count += in_run;
      cursor = behind(cursor, in_run);
    } while (count < pairs_ && continues(cursor.place));

    const int32_t* HWY_RESTRICT inputs = call_.inputs(k_);
    const int32_t* HWY_RESTRICT outputs = call_.outputs(k_);
    int32_t* HWY_RESTRICT to_outputs = chunk.gathered_outputs;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t l = to_inputs[i];
      to_outputs[i] = outputs[l];
      to_inputs[i] = inputs[l];
    }
    chunk.inputs = chunk.gathered_inputs;
    chunk.outputs = chunk.gathered_outputs;
    chunk.count = count;
    return cursor;
  }

  // The offset of the next pair, and its indices into the cache.
  void find_offset() {
    if (next_.place == end_) return;
    const int32_t* firsts = buckets_.first_numbers;
    if (firsts[k_] <= next_.pair && next_.pair < firsts[k_ + 1]) return;
    if (next_.pair < firsts[k_]) k_ = 0;  // of the next tile
    while (next_.pair >= firsts[k_ + 1]) ++k_;
    const int32_t* inputs = call_.inputs(k_) + (next_.pair - firsts[k_]);
    for (int64_t i = 0; i < kPrefetchedPairs; i += kLine / int64_t{sizeof(int32_t)}) {
      hwy::Prefetch(inputs + i);
      hwy::Prefetch(inputs + call_.N + i);
    }
  }

  const Args& call_;
  const Buckets& buckets_;
  int32_t pairs_;
  int64_t tile_;
  int64_t k_ = 0;
  int32_t end_;  // the place behind the last pair
  RunCursor next_;
  int32_t* seen_;  // [rows of a tile], the chunk that named a row last
  int32_t chunk_number_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution_forward
HWY_AFTER_NAMESPACE();

#endif  // include guard
