#include "ops/indice_convolution_forward/buckets.h"

#include <algorithm>

#include "core/boundary.h"
#include "core/text.h"

namespace mluop::indice_convolution_forward {
namespace {

int32_t tile_count(const Args& args, int shift) {
  return static_cast<int32_t>(ceil_div(args.M, int64_t{1} << shift));
}

Failure bad_pair(const Args& args, const Buckets& buckets, int64_t pair) {
  const int32_t* firsts = buckets.first_numbers;
  const int64_t k = std::upper_bound(firsts, firsts + args.K, pair) - firsts - 1;
  const int64_t l = pair - firsts[k];
  const bool input = args.inputs(k)[l] >= args.N;
  return {MLUOP_STATUS_BAD_PARAM,
          text("indice_pairs[", k, ", ", input ? 0 : 1, ", ", l, "] is ",
               input ? args.inputs(k)[l] : args.outputs(k)[l], ", expected less than ", input ? args.N : args.M,
               ", the rows of ", input ? "features" : "features_out")};
}

}  // namespace

BucketsLayout::BucketsLayout(WorkspaceLayout& workspace, const Args& args, int tile_shift, int task_dim)
    : counting(workspace, args.pair_count, tile_count(args, tile_shift),
               group_task_dim(args.pair_count, tile_count(args, tile_shift), task_dim)),
      shift(tile_shift),
      first_numbers(workspace.add<int32_t>(args.K + 1)),
      noted(workspace.add<Buckets::Noted>(counting.task_dim)) {}

Buckets make_buckets(const BucketsLayout& layout, const Args& args, std::byte* workspace, int32_t* order,
                     int32_t* notes) {
  auto* firsts = at<int32_t>(workspace, layout.first_numbers);
  firsts[0] = 0;
  for (int64_t k = 0; k < args.K; ++k) firsts[k + 1] = firsts[k] + static_cast<int32_t>(args.indice_num[k]);
  return {Counting(layout.counting, workspace),       layout.shift, firsts, order, notes,
          at<Buckets::Noted>(workspace, layout.noted)};
}

void check_and_count(Context& context, const Args& args, const Buckets& buckets) {
  auto first_bad = static_cast<int32_t>(args.pair_count);
  launch(context, buckets.counting.task_dim, Evenly{args.pair_count}, count_kernel(), {args, buckets, &first_bad});
  if (first_bad < args.pair_count) throw bad_pair(args, buckets, first_bad);
}

void sort(Context& context, const Args& args, const Buckets& buckets) {
  find_places(context, buckets.counting);
  launch(context, buckets.counting.task_dim, Evenly{args.pair_count}, order_kernel(), {args, buckets});
}

}  // namespace mluop::indice_convolution_forward
