#include "ops/indice_convolution_forward/device/gather_gemm_scatter.h"

#include <algorithm>

#include "core/sizes.h"
#include "ops/indice_convolution_forward/device/f32_to_f16.h"
#include "ops/indice_convolution_forward/native/pairs_by_output_tile.h"
#include "primitives/fill.h"
#include "primitives/gather.h"
#include "primitives/matmul.h"
#include "primitives/scatter_add.h"
#include "primitives/transpose.h"

namespace mluop::indice_convolution_forward::device {
namespace {

constexpr int64_t kMaxChunkPairs = 8192;

// The fp32 sums of half outputs take at most this fraction of the tensors' bytes, or kMaxLanes channels.
constexpr int64_t kSumsFraction = 8;

bool is_half(const Args& args) { return args.dtype == MLUOP_DTYPE_HALF; }

int64_t max_chunk_pairs(const Args& args) {
  return std::min(kMaxChunkPairs, *std::max_element(args.indice_num, args.indice_num + args.K));
}

int64_t tensor_bytes(const Args& args) {
  const auto N = static_cast<double>(args.N), M = static_cast<double>(args.M), K = static_cast<double>(args.K),
             Ci = static_cast<double>(args.Ci), Co = static_cast<double>(args.Co);
  return saturated((N * Ci + M * Co + K * Ci * Co) * static_cast<double>(args.element_bytes()) +
                   K * 2 * N * double{sizeof(int32_t)});
}

int64_t slice_channels(const Args& args) {
  if (!is_half(args)) return args.Co;
  const int64_t max =
      tensor_bytes(args) / kSumsFraction / (args.M * int64_t{sizeof(float)}) / kMaxLanes * kMaxLanes;
  return std::min(args.Co, std::max(max, kMaxLanes));
}

// A slice of the output's channels.
struct ChannelSlice {
  int64_t first, channels;
  float* sums;  // [M, channels]
};

// Adds the products of the pairs [first, first + count) of offset k.
void add_chunk(Context& context, const Args& args, const GatherGemmScatterBuffers& buffers, int64_t k,
               int64_t first, int64_t count, const ChannelSlice& slice) {
  const int32_t* inputs = args.inputs(k) + first;
  const int32_t* outputs = args.outputs(k) + first;
  gather(context, {count, args.Ci * args.element_bytes(), inputs, outputs, args.features, buffers.features});
  const int64_t filter_bytes = args.Ci * slice.channels * args.element_bytes();
  const MatmulArgs product{.dtype = args.dtype,
                           .rows = count,
                           .inner = args.Ci,
                           .columns = slice.channels,
                           .a = buffers.features,
                           .b = buffers.filters + k * filter_bytes,
                           .result = buffers.products};
  matmul(context, product);
  scatter_add(context,
              {count, slice.channels, outputs, inputs, product.result, product.result_stride(), slice.sums});
}

void compute_slice(Context& context, const Args& args, const GatherGemmScatterBuffers& buffers,
                   const ChannelSlice& slice) {
  fill_zero(context, slice.sums, args.M * slice.channels * int64_t{sizeof(float)});
  transpose(context,
            {{args.K, args.Ci, slice.channels},
             {args.strides.k, args.strides.ci, args.strides.co},
             args.element_bytes(),
             static_cast<const std::byte*>(args.filters) + slice.first * args.strides.co * args.element_bytes(),
             buffers.filters});
  for (int64_t k = 0; k < args.K; ++k) {
    for (int64_t first = 0; first < args.indice_num[k]; first += buffers.chunk_pairs) {
      const int64_t count = std::min(buffers.chunk_pairs, args.indice_num[k] - first);
      add_chunk(context, args, buffers, k, first, count, slice);
    }
  }
}

// Reserves all memory and throws whatever the call can throw.
void reserve_and_check(Context& context, const Args& args) {
  check_matmul_fits(context, args.dtype, args.Ci);
  // Pairs are counted but not sorted: all rows are one tile.
  constexpr int kOneTile = 31;
  const int task_dim = choose_task_dim(args.pair_count, args.pair_count * 2 * int64_t{sizeof(int32_t)});
  const RunBuffers no_runs;
  Arena pool = context.reserve(bytes_of<PairsByOutputTile>(args, kOneTile, task_dim, no_runs));
  PairsByOutputTile pairs(pool, args, kOneTile, task_dim, no_runs);
  check_and_count(context, args, pairs);
}

}  // namespace

GatherGemmScatterBuffers::GatherGemmScatterBuffers(Arena& workspace, const Args& args)
    : chunk_pairs(max_chunk_pairs(args)),
      channels(slice_channels(args)),
      filters(workspace.take<std::byte>("transposed filters", {args.K, args.Ci, channels, args.element_bytes()})),
      products(workspace.take<float>("products", {chunk_pairs, round_up(channels, kMaxLanes)})),
      features(workspace.take<std::byte>("gathered features", {chunk_pairs, args.Ci, args.element_bytes()})),
      sums(workspace.take<float>("sums", {is_half(args) ? args.M : 0, channels})) {}

void run_gather_gemm_scatter(Context& context, const Args& args, Arena workspace) {
  const GatherGemmScatterBuffers buffers(workspace, args);
  reserve_and_check(context, args);
  if (!is_half(args)) {
    compute_slice(context, args, buffers, {0, args.Co, static_cast<float*>(args.features_out)});
    return;
  }
  for (int64_t first = 0; first < args.Co; first += buffers.channels) {
    const ChannelSlice slice{first, std::min(buffers.channels, args.Co - first), buffers.sums};
    compute_slice(context, args, buffers, slice);
    f32_to_f16(context,
               {args.M, slice.channels, slice.sums, static_cast<Half*>(args.features_out) + first, args.Co});
  }
}

}  // namespace mluop::indice_convolution_forward::device
