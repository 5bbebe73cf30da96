// Indice convolution: reads the sorted pairs of a range of tiles in batches. Per-target code of Highway: include
// it inside foreach_target.
#if defined(MLUOP_INDICE_CONVOLUTION_BATCH_READER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_INDICE_CONVOLUTION_BATCH_READER_INL_H
#undef MLUOP_INDICE_CONVOLUTION_BATCH_READER_INL_H
#else
#define MLUOP_INDICE_CONVOLUTION_BATCH_READER_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "core/caches.h"
#include "ops/indice_convolution/indice_convolution_native_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Pairs of one tile and one offset with distinct output rows.
struct PairBatch {
  int64_t tile = 0;
  int64_t k = 0;
  int64_t count = 0;
  const int32_t* inputs = nullptr;   // [count], rows of features
  const int32_t* outputs = nullptr;  // [count], rows of features_out
};

// Whether each value exceeds the previous value.
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
  int32_t position;  // position of the next pair in the sorted order
  int32_t pair;      // number of the next pair
  int32_t left;      // pairs from it to the end of the run
};

// Reads the pairs of the tiles [tile, tile_end); the pairs of an output row keep their order. Prefetches the
// indices of the pairs that follow.
class BatchReader {
 public:
  // buffers: two, for the last batch read and the next batch; last_batch_of_row has an element for each row of a
  // tile.
  BatchReader(const ConvolveArgs& args, int64_t tile, int64_t tile_end, const PairBuffers* buffers,
              int32_t* last_batch_of_row)
      : args_(args),
        pairs_(args.pairs),
        max_count_(static_cast<int32_t>(args.tiling.batch_pairs)),
        tile_(tile),
        end_(pairs_.start_of(tile_end)),
        next_(run_at(pairs_.start_of(tile))),
        buffers_(buffers),
        other_buffers_(buffers + 1),
        last_batch_of_row_(last_batch_of_row) {
    std::fill_n(last_batch_of_row, args.tiling.rows(), 0);
    find_offset();
  }

  // Reads the next batch. It stays valid until the batch after the next is read. Returns false at the end.
  bool read(PairBatch& batch) {
    if (next_division_ < division_count_) {
      read_division(batch);
      return true;
    }
    if (next_.position == end_) return false;
    std::swap(buffers_, other_buffers_);
    while (pairs_.start_of(tile_ + 1) == next_.position) ++tile_;
    batch.tile = tile_;
    batch.k = k_;
    const int64_t l = next_.pair - pairs_.first_pairs[k_];
    const int32_t in_run = std::min(next_.left, max_count_);
    if (in_run == max_count_ || !continues(next_.position + in_run)) {
      batch.inputs = args_.inputs(k_) + l;
      batch.outputs = args_.outputs(k_) + l;
      batch.count = in_run;
      next_ = advance(next_, in_run);
    } else {
      next_ = gather(batch);
    }
    const int64_t distinct = count_distinct(batch.outputs, batch.count);
    if (distinct < batch.count) divide(batch, distinct);
    find_offset();
    return true;
  }

 private:
  // Number of pairs whose indices are prefetched. Most batches are contiguous in indice_pairs.
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

  // Whether the run that starts at `position` belongs to the tile and offset of the next pair.
  bool continues(int32_t position) const {
    return position < pairs_.start_of(tile_ + 1) && pairs_.sorted_runs[position] < pairs_.first_pairs[k_ + 1];
  }

  // The number of output rows before the first repeated one, at most `max`.
  int64_t count_distinct(const int32_t* outputs, int64_t max) {
    if (is_ascending(outputs, max)) return max;
    int32_t* HWY_RESTRICT last_batch_of_row = last_batch_of_row_;
    const int64_t first_row = tile_ << pairs_.shift;
    const int32_t batch_number = ++batch_number_;
    int64_t count = 0;
    for (; count < max; ++count) {
      const int64_t row = outputs[count] - first_row;
      if (last_batch_of_row[row] == batch_number) break;
      last_batch_of_row[row] = batch_number;
    }
    return count;
  }

  // Divides the pairs of `batch` into several batches: the b-th contains the b-th pair of each output row. `batch`
  // becomes the first of them. Its first `distinct` output rows differ, as counted by count_distinct(), and the
  // next row is repeated. Batches are numbered consecutively from the number of count_distinct() on.
  HWY_NOINLINE void divide(PairBatch& batch, int64_t distinct) {
    const int64_t first_row = tile_ << pairs_.shift;
    const int32_t first_batch = batch_number_;
    int32_t* HWY_RESTRICT ends = buffers_->batch_ends;  // first the counts, then the starts of the batches
    std::fill_n(buffers_->batch_of_pair, distinct, 0);
    ends[0] = static_cast<int32_t>(distinct);
    int32_t batches = 1;
    for (int64_t i = distinct; i < batch.count; ++i) {
      int32_t& last = last_batch_of_row_[batch.outputs[i] - first_row];
      last = std::max(last + 1, first_batch);
      const int32_t number = last - first_batch;
      if (number == batches) ends[batches++] = 0;
      ++ends[number];
      buffers_->batch_of_pair[i] = number;
    }
    batch_number_ += batches - 1;
    std::exclusive_scan(ends, ends + batches, ends, 0);
    for (int64_t i = 0; i < batch.count; ++i) {
      const int32_t to = ends[buffers_->batch_of_pair[i]]++;
      buffers_->divided_inputs[to] = batch.inputs[i];
      buffers_->divided_outputs[to] = batch.outputs[i];
    }
    divided_k_ = batch.k;
    next_division_ = 0;
    division_count_ = batches;
    read_division(batch);
  }

  // Reads the next batch of the divided pairs, which must exist.
  HWY_NOINLINE void read_division(PairBatch& batch) {
    const int32_t* const ends = buffers_->batch_ends;
    const int64_t begin = next_division_ == 0 ? 0 : ends[next_division_ - 1];
    const int64_t count = ends[next_division_++] - begin;
    batch = {tile_, divided_k_, count, buffers_->divided_inputs + begin, buffers_->divided_outputs + begin};
  }

  // Copies the pairs of several runs to the buffers. Returns the cursor after them.
  RunCursor gather(PairBatch& batch) const {
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

    const int32_t* HWY_RESTRICT inputs = args_.inputs(k_);
    const int32_t* HWY_RESTRICT outputs = args_.outputs(k_);
    int32_t* const to_inputs = pairs_of_offset;  // each pair is replaced by its input row
    int32_t* HWY_RESTRICT to_outputs = buffers_->gathered_outputs;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t l = pairs_of_offset[i];
      to_outputs[i] = outputs[l];
      to_inputs[i] = inputs[l];
    }
    batch.inputs = to_inputs;
    batch.outputs = to_outputs;
    batch.count = count;
    return cursor;
  }

  // Sets k_ to the offset of the next pair. Prefetches the indices where a new offset or tile starts.
  void find_offset() {
    if (next_.position == end_) return;
    const int32_t* firsts = pairs_.first_pairs;
    if (firsts[k_] <= next_.pair && next_.pair < firsts[k_ + 1]) return;
    if (next_.pair < firsts[k_]) k_ = 0;  // the next tile has begun
    while (next_.pair >= firsts[k_ + 1]) ++k_;
    const int32_t* inputs = args_.inputs(k_) + (next_.pair - firsts[k_]);
    const int32_t* outputs = args_.outputs(k_) + (next_.pair - firsts[k_]);
    for (int64_t i = 0; i < kPrefetchedPairs; i += kCacheLine / int64_t{sizeof(int32_t)}) {
      hwy::Prefetch(inputs + i);
      hwy::Prefetch(outputs + i);
    }
  }

  const Args& args_;
  const PairsByOutputTile& pairs_;
  int32_t max_count_;  // pairs of a batch
  int64_t tile_;
  int64_t k_ = 0;
  int32_t end_;  // the position past the last pair
  RunCursor next_;
  const PairBuffers* buffers_;  // buffers of the pairs read last
  const PairBuffers* other_buffers_;
  int32_t* last_batch_of_row_;  // [rows of a tile], the number of the last batch that contains the row
  int32_t batch_number_ = 0;

  // The division of the pairs read last into batches.
  int64_t divided_k_ = 0;
  int32_t next_division_ = 0;
  int32_t division_count_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
