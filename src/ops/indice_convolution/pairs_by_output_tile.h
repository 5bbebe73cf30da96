// Indice convolution: the index pairs of all offsets, checked and sorted by tile of the output.
//
// Consecutive pairs tend to belong to one tile, so runs of pairs are sorted instead of single pairs. Cost: 5 bytes
// a pair of workspace; 4 bytes for each task and tile, and for each offset, of scratch memory.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/indice_convolution/indice_convolution.h"
#include "primitives/sort/counting_sort.h"

namespace mluop::indice_convolution::native {

// The pairs [pair, pair + count), all of one offset and one tile and none skipped.
struct Run {
  int32_t pair, count;
};

// A run is encoded in one word, or in two if it has more than one pair: never in more words than pairs.
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

// The part of the workspace that holds runs.
struct RunBuffers {
  static constexpr int64_t kPairsPerCachedRun = 4;

  RunBuffers(Arena& workspace, const Args& args)
      : sorted(workspace.take<int32_t>("sorted runs", {args.pair_count})),
        cached(workspace.take<int32_t>("cached runs", {args.pair_count / kPairsPerCachedRun})) {}

  int32_t* sorted;
  int32_t* cached;
};

// The runs that a task cached while counting, which it sorts without reading their pairs again.
struct RunCache {
  int32_t words_end;   // end of the words in cached_runs
  int32_t first_pair;  // the first pair that is not in a cached run
};

// Tiles of 2^shift rows of the output.
inline int64_t row_tiles(const Args& args, int shift) { return ceil_div(args.M, int64_t{1} << shift); }

// Scratch memory.
struct PairsByOutputTile {
  // Tiles of 2^tile_shift rows; up to task_dim tasks.
  PairsByOutputTile(Arena& arena, const Args& args, int tile_shift, int task_dim, const RunBuffers& runs)
      : shift(tile_shift),
        sort(arena, args.pair_count, static_cast<int32_t>(row_tiles(args, tile_shift)),
             sort_task_dim(args.pair_count, static_cast<int32_t>(row_tiles(args, tile_shift)), task_dim)),
        first_pairs(arena.take<int32_t>("first pairs", {args.K + 1})),
        caches(arena.take<RunCache>("run caches", {sort.task_dim})),
        sorted_runs(runs.sorted),
        cached_runs(runs.cached) {}

  // Sets first_pairs. Call it after construction over memory.
  void initialize(const Args& args) {
    first_pairs[0] = 0;
    for (int64_t k = 0; k < args.K; ++k) {
      first_pairs[k + 1] = first_pairs[k] + static_cast<int32_t>(args.indice_num[k]);
    }
  }

  // The first pair of tile t in the sorted order.
  int32_t start_of(int64_t tile) const { return sort.starts[tile]; }

  int shift;             // log2 of the rows of a tile
  CountingSort sort;     // of pairs, in buckets that are tiles
  int32_t* first_pairs;  // [K + 1], first pair of each offset
  RunCache* caches;      // [sort.task_dim]
  int32_t* sorted_runs;  // [pair_count], runs by tile, each at the position of its first pair
  int32_t* cached_runs;  // [pair_count / kPairsPerCachedRun]; a task that counts the pairs [p, q) has the words
                         // from p / kPairsPerCachedRun to q / kPairsPerCachedRun
};

}  // namespace mluop::indice_convolution::native
