// Indice convolution: reads the sorted pairs of a range of tiles in chunks. Per-target code of
// Highway: include it inside foreach_target.
#if defined(MLUOP_INDICE_CONVOLUTION_CHUNK_READER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_INDICE_CONVOLUTION_CHUNK_READER_INL_H
#undef MLUOP_INDICE_CONVOLUTION_CHUNK_READER_INL_H
#else
#define MLUOP_INDICE_CONVOLUTION_CHUNK_READER_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "core/caches.h"
#include "ops/indice_convolution/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::native {
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
// the pairs that follow those read.
class ChunkReader {
 public:
  // buffers: two, for the last chunk read and the next one; last_chunk_of_row has an element for each row of a
  // tile.
  ChunkReader(const ConvolveArgs& args, int64_t tile, int64_t tile_end, const PairBuffers* buffers,
              int32_t* last_chunk_of_row)
      : call_(args.call),
        pairs_(args.pairs),
        max_count_(static_cast<int32_t>(args.tiling.chunk_pairs)),
        tile_(tile),
        end_(pairs_.start_of(tile_end)),
        next_(run_at(pairs_.start_of(tile))),
        buffers_(buffers),
        other_buffers_(buffers + 1),
        last_chunk_of_row_(last_chunk_of_row) {
    std::fill_n(last_chunk_of_row, args.tiling.rows(), 0);
    find_offset();
  }

  // Reads the next chunk, which is valid until the next but one is read. Returns false if there is none.
  bool read(Chunk& chunk) {
    if (next_division_ < division_count_) {
      read_division(chunk);
      return true;
    }
    if (next_.position == end_) return false;
    std::swap(buffers_, other_buffers_);
    while (pairs_.start_of(tile_ + 1) == next_.position) ++tile_;
    chunk.tile = tile_;
    chunk.k = k_;
    const int64_t l = next_.pair - pairs_.first_pairs[k_];
    const int32_t in_run = std::min(next_.left, max_count_);
    if (in_run == max_count_ || !continues(next_.position + in_run)) {
      chunk.inputs = call_.inputs(k_) + l;
      chunk.outputs = call_.outputs(k_) + l;
      chunk.count = in_run;
      next_ = advance(next_, in_run);
    } else {
      next_ = gather(chunk);
    }
    const int64_t distinct = count_distinct(chunk.outputs, chunk.count);
    if (distinct < chunk.count) divide(chunk, distinct);
    find_offset();
    return true;
  }

 private:
  // Indices of the next pairs that are prefetched. Most chunks are contiguous in indice_pairs.
  static constexpr int64_t kPrefetchedPairs = 128;

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

  // Divides the pairs of `chunk` among chunks of which the c-th has those that are the c-th of their output row,
  // and makes `chunk` the first of them. Its first `distinct` output rows differ, as count_distinct() has found,
  // and the next one is repeated. Chunks are numbered in succession from that of count_distinct() on.
  HWY_NOINLINE void divide(Chunk& chunk, int64_t distinct) {
    const int64_t first_row = tile_ << pairs_.shift;
    const int32_t first_chunk = chunk_number_;
    int32_t* HWY_RESTRICT ends = buffers_->chunk_ends;  // first the counts, then the starts of the chunks
    std::fill_n(buffers_->chunk_of_pair, distinct, 0);
    ends[0] = static_cast<int32_t>(distinct);
    int32_t chunks = 1;
    for (int64_t i = distinct; i < chunk.count; ++i) {
      int32_t& last = last_chunk_of_row_[chunk.outputs[i] - first_row];
      last = std::max(last + 1, first_chunk);
      const int32_t number = last - first_chunk;
      if (number == chunks) ends[chunks++] = 0;
      ++ends[number];
      buffers_->chunk_of_pair[i] = number;
    }
    chunk_number_ += chunks - 1;
    std::exclusive_scan(ends, ends + chunks, ends, 0);
    for (int64_t i = 0; i < chunk.count; ++i) {
      const int32_t to = ends[buffers_->chunk_of_pair[i]]++;
      buffers_->divided_inputs[to] = chunk.inputs[i];
      buffers_->divided_outputs[to] = chunk.outputs[i];
    }
    divided_k_ = chunk.k;
    next_division_ = 0;
    division_count_ = chunks;
    read_division(chunk);
  }

  // Reads the next chunk of divided pairs; there is one.
  HWY_NOINLINE void read_division(Chunk& chunk) {
    const int32_t* const ends = buffers_->chunk_ends;
    const int64_t begin = next_division_ == 0 ? 0 : ends[next_division_ - 1];
    const int64_t count = ends[next_division_++] - begin;
    chunk = {tile_, divided_k_, count, buffers_->divided_inputs + begin, buffers_->divided_outputs + begin};
  }

  // Copies the pairs of several runs to the buffers. Returns the cursor after them.
  RunCursor gather(Chunk& chunk) const {
    const hn::ScalableTag<int32_t> d;
    const auto lanes = static_cast<int32_t>(hn::Lanes(d));
    const int32_t first = pairs_.first_pairs[k_];
    int32_t* HWY_RESTRICT pairs_of_offset = buffers_->gathered_inputs;
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
    int32_t* HWY_RESTRICT to_outputs = buffers_->gathered_outputs;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t l = pairs_of_offset[i];
      to_outputs[i] = outputs[l];
      to_inputs[i] = inputs[l];
    }
    chunk.inputs = to_inputs;
    chunk.outputs = to_outputs;
    chunk.count = count;
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
    const int32_t* outputs = call_.outputs(k_) + (next_.pair - firsts[k_]);
    for (int64_t i = 0; i < kPrefetchedPairs; i += kCacheLine / int64_t{sizeof(int32_t)}) {
      hwy::Prefetch(inputs + i);
      hwy::Prefetch(outputs + i);
    }
  }

  const Args& call_;
  const PairsByOutputTile& pairs_;
  int32_t max_count_;  // pairs of a chunk
  int64_t tile_;
  int64_t k_ = 0;
  int32_t end_;  // the position past the last pair
  RunCursor next_;
  const PairBuffers* buffers_;  // of the pairs read last
  const PairBuffers* other_buffers_;
  int32_t* last_chunk_of_row_;  // [rows of a tile], the number of the last chunk that contains the row
  int32_t chunk_number_ = 0;

  // Chunks among which the pairs read last are divided.
  int64_t divided_k_ = 0;
  int32_t next_division_ = 0;
  int32_t division_count_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
