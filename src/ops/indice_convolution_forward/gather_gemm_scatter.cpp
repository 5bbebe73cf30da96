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

// The fp32 sums of half outputs take at most this share of the tensors' bytes, or one vector of channels.
constexpr int64_t kSumsShare = 8;

int64_t element_bytes(const Args& args) { return static_cast<int64_t>(size_of(args.dtype)); }

bool is_half(const Args& args) { return args.dtype == MLUOP_DTYPE_HALF; }

// Channels of the output that are summed at once.
int64_t block_channels(const Args& args) {
  if (!is_half(args)) return args.Co;
  const int64_t tensor_bytes =
      (args.N * args.Ci + args.M * args.Co + args.K * args.Ci * args.Co) * element_bytes(args) +
      args.K * 2 * args.N * int64_t{sizeof(int32_t)};
  const int64_t most = tensor_bytes / kSumsShare / (args.M * int64_t{sizeof(float)}) / kMaxLanes * kMaxLanes;
  return std::min(args.Co, std::max(most, kMaxLanes));
}

// A block of channels of the output.
struct Block {
  int64_t first, channels;
  float* sums;  // [M, channels]
};

// Adds the products of the pairs [first, first + count) of offset k.
void add_slice(Context& context, const Args& args, const CompositionLayout& layout, std::byte* workspace,
               int64_t k, int64_t first, int64_t count, const Block& block) {
  const int64_t element = element_bytes(args);
  const int32_t* inputs = args.inputs(k) + first;
  const int32_t* outputs = args.outputs(k) + first;
  std::byte* gathered = workspace + layout.gathered;
  gather(context, {count, args.Ci * element, inputs, outputs, args.features, gathered});
  const MatmulArgs product{args.dtype,
                           count,
                           args.Ci,
                           block.channels,
                           gathered,
                           workspace + layout.filters + k * args.Ci * block.channels * element,
                           at<float>(workspace, layout.products)};
  matmul(context, product);
  scatter_add(context,
              {count, block.channels, outputs, inputs, product.result, product.result_stride(), block.sums});
}

void add_block(Context& context, const Args& args, const CompositionLayout& layout, std::byte* workspace,
               const Block& block) {
  fill_zero(context, block.sums, args.M * block.channels * int64_t{sizeof(float)});
  permute(context,
          {{args.K, args.Ci, block.channels},
           {args.strides.k, args.strides.ci, args.strides.co},
           element_bytes(args),
           static_cast<const std::byte*>(args.filters) + block.first * args.strides.co * element_bytes(args),
           workspace + layout.filters});
  for (int64_t k = 0; k < args.K; ++k) {
    for (int64_t first = 0; first < args.indice_num[k]; first += layout.slice) {
      const int64_t count = std::min(layout.slice, args.indice_num[k] - first);
      add_slice(context, args, layout, workspace, k, first, count, block);
    }
  }
}

}  // namespace

CompositionLayout::CompositionLayout(WorkspaceLayout& workspace, const Args& args)
    : slice(std::min(kSlicePairs, *std::max_element(args.indice_num, args.indice_num + args.K))),
      channels(block_channels(args)),
      filters(workspace.add<std::byte>(args.K * args.Ci * channels * element_bytes(args))),
      products(workspace.add<float>(slice * round_up(channels, kMaxLanes))),
      gathered(workspace.add<std::byte>(slice * args.Ci * element_bytes(args))),
      sums(workspace.add<float>(is_half(args) ? args.M * channels : 0)) {}

void run_composition(Context& context, const Args& args, std::byte* workspace) {
  WorkspaceLayout workspace_layout;
  const CompositionLayout layout(workspace_layout, args);
  // All rows in one tile: nothing will be sorted.
  constexpr int kOneTile = 31;
  WorkspaceLayout pool;
  const BucketsLayout buckets_layout(pool, args, kOneTile, choose_task_dim(args.pair_count, args.pair_count * 8));
  std::byte* pool_memory = context.reserve_pool(pool.bytes());
  check_and_count(context, args, make_buckets(buckets_layout, args, pool_memory, nullptr, nullptr));

  if (!is_half(args)) {
    add_block(context, args, layout, workspace, {0, args.Co, static_cast<float*>(args.features_out)});
    return;
  }
  auto* sums = at<float>(workspace, layout.sums);
  for (int64_t first = 0; first < args.Co; first += layout.channels) {
    const Block block{first, std::min(layout.channels, args.Co - first), sums};
    add_block(context, args, layout, workspace, block);
    narrow(context, {args.M, block.channels, block.sums, static_cast<Half*>(args.features_out) + first, args.Co});
  }
}

}  // namespace mluop::indice_convolution_forward
