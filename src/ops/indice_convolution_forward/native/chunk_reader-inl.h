// Indice convolution forward: reads the sorted pairs of a range of tiles in chunks. Per-target code of
// Highway: include it inside foreach_target.
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
#include <numeric>

#include "core/caches.h"
#include "ops/indice_convolution_forward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether each value exceeds the previous one.
HWY_INLINE bool is_ascending(const int32_t* values, int64_t count) {
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

// A position in the sorted runs: the rest of a run.
struct RunCursor {
  int32_t position;  // of the next pair in the sorted order
  int32_t pair;      // its number
  int32_t left;      // pairs from it to the end of the run
};

// Reads the pairs of the tiles [tile, tile_end), those of an output row in their order. Prefetches the indices of
// the group that follows the one read.
class ChunkReader {
 public:
  // groups: two, for the last chunk read and the next one; last_chunk_of_row has an element for each row of a
  // tile.
  ChunkReader(const ConvolveArgs& args, int64_t tile, int64_t tile_end, PairGroup* groups,
              int32_t* last_chunk_of_row)
      : call_(args.call),
        pairs_(args.pairs),
        max_count_(static_cast<int32_t>(args.tiling.chunk_pairs)),
        tile_(tile),
        end_(pairs_.start_of(tile_end)),
        next_(run_at(pairs_.start_of(tile))),
        group_(groups),
        other_group_(groups + 1),
        last_chunk_of_row_(last_chunk_of_row) {
    std::fill_n(last_chunk_of_row, args.tiling.rows(), 0);
    find_offset();
  }

  // Reads the next chunk, which is valid until the next but one is read. Returns false if there is none.
  bool read(Chunk& chunk) {
    if (group_->next_chunk == group_->chunk_count) {
      if (next_.position == end_) return false;
      std::swap(group_, other_group_);
      read_group(*group_);
    }
    const int64_t number = group_->next_chunk++;
    chunk = group_->pairs;
    if (group_->chunk_count == 1) return true;
    const int64_t begin = number == 0 ? 0 : group_->chunk_ends[number - 1];
    chunk.inputs += begin;
    chunk.outputs += begin;
    chunk.count = group_->chunk_ends[number] - begin;
    return true;
  }

 private:
  // Indices of the next group that are prefetched. Most groups are contiguous in indice_pairs.
  static constexpr int64_t kPrefetchedPairs = 128;

  // Reads the next group; there is one.
  void read_group(PairGroup& group) {
    Chunk& pairs = group.pairs;
    while (pairs_.start_of(tile_ + 1) == next_.position) ++tile_;
    pairs.tile = tile_;
    pairs.k = k_;
    const int64_t l = next_.pair - pairs_.first_pairs[k_];
    const int32_t in_run = std::min(next_.left, max_count_);
    if (in_run == max_count_ || !continues(next_.position + in_run)) {
      pairs.inputs = call_.inputs(k_) + l;
      pairs.outputs = call_.outputs(k_) + l;
      pairs.count = in_run;
      next_ = advance(next_, in_run);
    } else {
      next_ = gather(group);
    }
    group.next_chunk = 0;
    group.chunk_count = 1;
    const int64_t distinct = count_distinct(pairs.outputs, pairs.count);
    if (distinct < pairs.count) divide(group, distinct);
    find_offset();
  }

  // The run at a position.
  RunCursor run_at(int32_t position) const {
    if (position == end_) return {position, 0, 0};
    const int32_t* words = pairs_.sorted_runs + position;
    const Run run = read_run(words, pairs_.sorted_runs + end_);
    hwy::Prefetch(words + run.count);  // the next run
    return {position, run.pair, run.count};
  }

  // The cursor `count` pairs after `cursor`.
  RunCursor advance(RunCursor cursor, int64_t count) const {
    for (; count >= cursor.left && cursor.left > 0; cursor = run_at(cursor.position + cursor.left)) {
      count -= cursor.left;
    }
    const auto rest = static_cast<int32_t>(count);
    return {cursor.position + rest, cursor.pair + rest, cursor.left - rest};
  }

  // Whether the run that starts at `position` is of the same tile and offset as the next pair.
  bool continues(int32_t position) const {
    return position < pairs_.start_of(tile_ + 1) && pairs_.sorted_runs[position] < pairs_.first_pairs[k_ + 1];
  }

  // The number of output rows before the first repeated one, at most `max`.
  int64_t count_distinct(const int32_t* outputs, int64_t max) {
    if (is_ascending(outputs, max)) return max;
    int32_t* HWY_RESTRICT last_chunk_of_row = last_chunk_of_row_;
    const int64_t first_row = tile_ << pairs_.shift;
    const int32_t chunk_number = ++chunk_number_;
    int64_t count = 0;
    for (; count < max; ++count) {
      const int64_t row = outputs[count] - first_row;
      if (last_chunk_of_row[row] == chunk_number) break;
      last_chunk_of_row[row] = chunk_number;
    }
    return count;
  }

  // Divides a group of which the first `distinct` output rows differ, as count_distinct() has found, and the next
  // one is repeated. Chunks are numbered in succession from that of count_distinct() on.
  HWY_NOINLINE void divide(PairGroup& group, int64_t distinct) {
    Chunk& pairs = group.pairs;
    const int64_t count = pairs.count;
    const int64_t first_row = tile_ << pairs_.shift;
    const int32_t first_chunk = chunk_number_;
    int32_t* HWY_RESTRICT ends = group.chunk_ends;  // first the counts, then the starts of the chunks
    std::fill_n(group.chunk_of_pair, distinct, 0);
    ends[0] = static_cast<int32_t>(distinct);
    int32_t chunks = 1;
    for (int64_t i = distinct; i < count; ++i) {
      int32_t& last = last_chunk_of_row_[pairs.outputs[i] - first_row];
      last = std::max(last + 1, first_chunk);
      const int32_t chunk = last - first_chunk;
      if (chunk == chunks) ends[chunks++] = 0;
      ++ends[chunk];
      group.chunk_of_pair[i] = chunk;
    }
    chunk_number_ += chunks - 1;
    std::exclusive_scan(ends, ends + chunks, ends, 0);
    for (int64_t i = 0; i < count; ++i) {
      const int32_t to = ends[group.chunk_of_pair[i]]++;
      group.divided_inputs[to] = pairs.inputs[i];
      group.divided_outputs[to] = pairs.outputs[i];
    }
    pairs.inputs = group.divided_inputs;
    pairs.outputs = group.divided_outputs;
    group.chunk_count = chunks;
  }

  // Copies the pairs of several runs to the buffers of the group. Returns the cursor after them.
  RunCursor gather(PairGroup& group) const {
    const hn::ScalableTag<int32_t> d;
    const auto lanes = static_cast<int32_t>(hn::Lanes(d));
    const int32_t first = pairs_.first_pairs[k_];
    int32_t* HWY_RESTRICT pairs_of_offset = group.gathered_inputs;
    int32_t count = 0;
    RunCursor cursor = next_;
    do {
      const int32_t in_run = std::min(cursor.left, max_count_ - count);
      for (int32_t i = 0; i < in_run; i += lanes) {
        hn::StoreU(hn::Iota(d, cursor.pair - first + i), d, pairs_of_offset + count + i);
      }
      count += in_run;
      cursor = advance(cursor, in_run);
    } while (count < max_count_ && continues(cursor.position));

    const int32_t* HWY_RESTRICT inputs = call_.inputs(k_);
    const int32_t* HWY_RESTRICT outputs = call_.outputs(k_);
    int32_t* const to_inputs = pairs_of_offset;  // each pair is replaced by its input row
    int32_t* HWY_RESTRICT to_outputs = group.gathered_outputs;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t l = pairs_of_offset[i];
      to_outputs[i] = outputs[l];
      to_inputs[i] = inputs[l];
    }
    group.pairs.inputs = group.gathered_inputs;
    group.pairs.outputs = group.gathered_outputs;
    group.pairs.count = count;
    return cursor;
  }

  // Sets k_ to the offset of the next pair. Prefetches the indices where a new offset or tile starts.
  void find_offset() {
    if (next_.position == end_) return;
    const int32_t* firsts = pairs_.first_pairs;
    if (firsts[k_] <= next_.pair && next_.pair < firsts[k_ + 1]) return;
    if (next_.pair < firsts[k_]) k_ = 0;  // of the next tile
    while (next_.pair >= firsts[k_ + 1]) ++k_;
    const int32_t* inputs = call_.inputs(k_) + (next_.pair - firsts[k_]);
    for (int64_t i = 0; i < kPrefetchedPairs; i += kCacheLine / int64_t{sizeof(int32_t)}) {
      hwy::Prefetch(inputs + i);
      hwy::Prefetch(inputs + call_.N + i);
    }
  }

  const Args& call_;
  const PairsByOutputTile& pairs_;
  int32_t max_count_;  // pairs of a group
  int64_t tile_;
  int64_t k_ = 0;
  int32_t end_;  // the position past the last pair
  RunCursor next_;
  PairGroup* group_;  // the last one read
  PairGroup* other_group_;
  int32_t* last_chunk_of_row_;  // [rows of a tile], the number of the last chunk that contains the row
  int32_t chunk_number_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution_forward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
