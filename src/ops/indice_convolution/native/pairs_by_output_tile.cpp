#include "ops/indice_convolution/native/pairs_by_output_tile.h"

#include "ops/indice_convolution/bad_index.h"
#include "ops/indice_convolution/native/kernels.h"

namespace mluop::indice_convolution::native {
namespace {

int32_t tile_count(const Args& args, int shift) {
  return static_cast<int32_t>(ceil_div(args.M, int64_t{1} << shift));
}

}  // namespace

PairsByOutputTile::PairsByOutputTile(Arena& pool, const Args& args, int tile_shift, int task_dim,
                                     const RunBuffers& runs)
    : shift(tile_shift),
      sort(pool, args.pair_count, tile_count(args, tile_shift),
           sort_task_dim(args.pair_count, tile_count(args, tile_shift), task_dim)),
      first_pairs(pool.take<int32_t>("first pairs", {args.K + 1})),
      caches(pool.take<RunCache>("run caches", {sort.task_dim})),
      sorted_runs(runs.sorted),
      cached_runs(runs.cached) {}

void check_and_count(Context& context, const Args& args, PairsByOutputTile& pairs) {
  pairs.first_pairs[0] = 0;
  for (int64_t k = 0; k < args.K; ++k) {
    pairs.first_pairs[k + 1] = pairs.first_pairs[k] + static_cast<int32_t>(args.indice_num[k]);
  }
  FirstBadItem first_bad;
  launch(context, "count_pairs", pairs.sort.task_dim, Evenly{args.pair_count}, count_kernel(),
         {args, pairs, first_bad});
  if (first_bad.found()) throw bad_index(args, first_bad.item());
}

void sort_by_tile(Context& context, const Args& args, PairsByOutputTile& pairs) {
  pairs.sort.exclusive_scan(context);
  launch(context, "sort_pairs", pairs.sort.task_dim, Evenly{args.pair_count}, sort_kernel(), {args, pairs});
}

}  // namespace mluop::indice_convolution::native
