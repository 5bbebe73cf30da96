// Indice convolution: the index pairs of all offsets, checked and sorted by tile of the output.
//
// Consecutive pairs tend to be of one tile, so runs of them are sorted, not single pairs. Cost: 5 bytes a pair of
// workspace; 4 bytes for each task and tile, and for each offset, of the pool.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/indice_convolution/args.h"
#include "ops/indice_convolution/native/counting_sort.h"
#include "team/context.h"

namespace mluop::indice_convolution::native {

// The pairs [pair, pair + count): of one offset and one tile, none of them skipped.
struct Run {
  int32_t pair, count;
};

// A run is encoded in one word, or in two where it has more than one pair: never in more words than pairs.
constexpr int64_t kMaxRunWords = 2;

// Returns the end of the words written.
inline int32_t* write_run(int32_t* words, const Run& run) {
  *words++ = run.pair;
  if (run.count > 1) *words++ = ~run.count;
  return words;
}

// `end` is the end of the words of all runs.
inline Run read_run(const int32_t* words, const int32_t* end) {
  return {words[0], words + 1 < end && words[1] < 0 ? ~words[1] : 1};
}

// The part of the workspace that holds runs; null where pairs are counted but not sorted.
struct RunBuffers {
  static constexpr int64_t kPairsPerCachedRun = 4;

  RunBuffers() = default;
  RunBuffers(Arena& workspace, const Args& args)
      : sorted(workspace.take<int32_t>("sorted runs", {args.pair_count})),
        cached(workspace.take<int32_t>("cached runs", {args.pair_count / kPairsPerCachedRun})) {}

  int32_t* sorted = nullptr;
  int32_t* cached = nullptr;
};

// The runs that a task has cached while it counted: it sorts these without reading their pairs again.
struct RunCache {
  int32_t words_end;   // in cached_runs
  int32_t first_pair;  // the first pair that is not in a cached run
};

// A set of buffers of the pool.
struct PairsByOutputTile {
  // Tiles of 2^tile_shift rows; up to task_dim tasks.
  PairsByOutputTile(Arena& pool, const Args& args, int tile_shift, int task_dim, const RunBuffers& runs);

  // The first pair of tile t in the sorted order.
  int32_t start_of(int64_t tile) const { return sort.starts[tile]; }

  int shift;             // log2 of the rows of a tile
  CountingSort sort;     // of pairs, in buckets that are tiles
  int32_t* first_pairs;  // [K + 1], the number of the first pair of an offset
  RunCache* caches;      // [sort.task_dim]
  int32_t* sorted_runs;  // [pair_count], runs by tile, each at the position of its first pair
  int32_t* cached_runs;  // [pair_count / kPairsPerCachedRun]; a task that counts the pairs [p, q) has the words
                         // from p / kPairsPerCachedRun to q / kPairsPerCachedRun
};

// Counts the pairs of each tile. Throws Failure with BAD_PARAM if an index is out of bounds.
void check_and_count(Context& context, const Args& args, PairsByOutputTile& pairs);

// Sorts the counted pairs; pairs of one tile keep their order.
void sort_by_tile(Context& context, const Args& args, PairsByOutputTile& pairs);

}  // namespace mluop::indice_convolution::native
