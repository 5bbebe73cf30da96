#include "ops/indice_convolution_forward/composition.h"

#include <algorithm>

#include "core/dtype.h"
#include "ops/indice_convolution_forward/buckets.h"
#include "primitives/fill.h"
#include "primitives/gather.h"
#include "primitives/narrow.h"
#include "primitives/permute.h"
#include "primitives/scatter_add.h"

namespace mluop::indice_convolution_forward {
namespace {

constexpr int64_t kSlicePairs = 8192;

int64_t element_bytes(const Args& args) { return static_cast<int64_t>(size_of(args.dtype)); }

// The pairs [first, first + count) of offset k.
void add_slice(Context& context, const Args& args, const CompositionLayout& layout, std::byte* workspace,
               int64_t k, int64_t first, int64_t count, float* sums) {
  const int64_t element = element_bytes(args);
  const int32_t* inputs = args.inputs(k) + first;
  const int32_t* outputs = args.outputs(k) + first;
  std::byte* gathered = workspace + layout.gathered;
  gather(context, {count, args.Ci * element, inputs, outputs, args.features, gathered});
  const MatmulArgs product{args.dtype,
                           count,
                           args.Ci,
                           args.Co,
                           gathered,
                           workspace + layout.filters + k * args.Ci * args.Co * element,
                           at<float>(workspace, layout.products)};
  matmul(context, product);
  scatter_add(context, {count, args.Co, outputs, inputs, product.result, product.result_stride(), sums});
}

}  // namespace

CompositionLayout::CompositionLayout(WorkspaceLayout& workspace, const Args& args)
    : slice(std::min(kSlicePairs, *std::max_element(args.indice_num, args.indice_num + args.K))),
      filters(workspace.add<std::byte>(args.K * args.Ci * args.Co * element_bytes(args))),
      products(workspace.add<float>(slice * round_up(args.Co, kMaxLanes))),
      gathered(workspace.add<std::byte>(slice * args.Ci * element_bytes(args))),
      sums(workspace.add<float>(args.dtype == MLUOP_DTYPE_HALF ? args.M * args.Co : 0)) {}

void run_composition(Context& context, const Args& args, std::byte* workspace) {
  WorkspaceLayout workspace_layout;
  const CompositionLayout layout(workspace_layout, args);
  const bool half = args.dtype == MLUOP_DTYPE_HALF;
  // All rows in one tile: nothing will be sorted.
  constexpr int kOneTile = 31;
  WorkspaceLayout pool;
  const BucketsLayout buckets_layout(pool, args, kOneTile, choose_task_dim(args.pair_count, args.pair_count * 8));
  std::byte* pool_memory = context.reserve_pool(pool.bytes());
  check_and_count(context, args, make_buckets(buckets_layout, args, pool_memory, nullptr));

  float* sums = half ? at<float>(workspace, layout.sums) : static_cast<float*>(args.features_out);
  fill_zero(context, sums, args.M * args.Co * int64_t{sizeof(float)});
  permute(context, {{args.K, args.Ci, args.Co},
                    {args.strides.k, args.strides.ci, args.strides.co},
                    element_bytes(args),
                    args.filters,
                    workspace + layout.filters});
  for (int64_t k = 0; k < args.K; ++k) {
    for (int64_t first = 0; first < args.indice_num[k]; first += layout.slice) {
      const int64_t count = std::min(layout.slice, args.indice_num[k] - first);
      add_slice(context, args, layout, workspace, k, first, count, sums);
    }
  }
  if (half) narrow(context, sums, args.M * args.Co, static_cast<Half*>(args.features_out));
}

}  // namespace mluop::indice_convolution_forward
