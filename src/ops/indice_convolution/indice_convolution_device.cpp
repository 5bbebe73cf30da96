// Indice convolution forward, device algorithm: the decisions of a call, and its launches.
#include "ops/indice_convolution/indice_convolution.h"

#include <algorithm>

#include "ops/indice_convolution/indice_convolution_device_kernels.h"
#include "primitives/gemm/matmul.h"
#include "primitives/memory/fill.h"
#include "primitives/memory/gather.h"
#include "primitives/memory/round_f32.h"
#include "primitives/memory/scatter_add.h"
#include "primitives/memory/transpose.h"

namespace mluop::indice_convolution::device {
namespace {

// Whether the filters are stored as [K, Ci, Co].
bool is_transposed(const Args& args) {
  return args.strides.co == 1 && args.strides.ci == args.Co && args.strides.k == args.Ci * args.Co;
}

int64_t max_pairs(const Args& args) { return *std::max_element(args.indice_num, args.indice_num + args.K); }

// In the order of the design document. Sums are fp32, also for 16-bit outputs.
struct Workspace {
  Workspace(Arena& workspace, const Args& args)
      : filters(workspace.take<std::byte>(
            "transposed filters", {is_transposed(args) ? 0 : args.K, args.Ci, args.Co, args.element_bytes()})),
        products(workspace.take<float>("products", {max_pairs(args), args.Co})),
        features(workspace.take<std::byte>("gathered features", {max_pairs(args), args.Ci, args.element_bytes()})),
        sums(workspace.take<float>("sums", {is_16_bit(args.dtype) ? args.M : 0, args.Co})) {}

  std::byte* filters;   // [K, Ci, Co]; empty if the filters have this order
  float* products;      // [max n, Co], the result of matmul
  std::byte* features;  // [max n, Ci], gathered
  float* sums;          // [M, Co], 16-bit types only
};

struct Scratch {
  Scratch(Arena& arena, const Args& args) : first_pairs(arena.take<int64_t>("first pairs", {args.K + 1})) {}

  int64_t* first_pairs;  // [K + 1]
};

// Throws Failure with BAD_PARAM if an index is out of range. Returns whether an index is negative.
bool check_indices(Context& context, const Args& args, const Scratch& scratch) {
  scratch.first_pairs[0] = 0;
  for (int64_t k = 0; k < args.K; ++k) scratch.first_pairs[k + 1] = scratch.first_pairs[k] + args.indice_num[k];
  FirstBadItem first_bad;
  int32_t lowest = 0;
  launch(context, "check_indices", device_task_dim(), Evenly{args.pair_count}, check_kernel(),
         {args, scratch.first_pairs, first_bad, &lowest});
  if (first_bad.found()) throw bad_index(args, first_bad.item());
  return lowest < 0;
}

// Returns the filters as [K, Ci, Co].
const std::byte* transpose_filters(Context& context, const Args& args, std::byte* transposed) {
  if (is_transposed(args)) return static_cast<const std::byte*>(args.filters);
  transpose(context, {{args.K, args.Ci, args.Co},
                      {args.strides.k, args.strides.ci, args.strides.co},
                      args.element_bytes(),
                      args.filters,
                      transposed});
  return transposed;
}

}  // namespace

size_t workspace_bytes(const Args& args) { return args.is_empty() ? 0 : workspace_bytes_of<Workspace>(args); }

void run(Call& call, const Args& args, Arena workspace_memory) {
  Context& context = call.context();
  if (args.is_empty()) {
    context.reserve(0);
    fill_zero(context, args.features_out, args.M * args.Co * args.element_bytes());
    return;
  }
  const MatmulTiling tiling = matmul_tiling(context, args.dtype, args.Ci, args.Co);
  call.log_detail("device, taskDim ", device_task_dim(), ", tile of ", tiling.rows, " x ", tiling.kc, " by ",
                  tiling.kc, " x ", tiling.columns);
  const Workspace workspace(workspace_memory, args);
  Arena arena = context.reserve(bytes_of<Scratch>(args));
  const bool has_negative = check_indices(context, args, Scratch(arena, args));

  float* const sums = is_16_bit(args.dtype) ? workspace.sums : static_cast<float*>(args.features_out);
  fill_zero(context, sums, args.M * args.Co * int64_t{sizeof(float)});
  const std::byte* const filters = transpose_filters(context, args, workspace.filters);
  for (int64_t k = 0; k < args.K; ++k) {
    const int64_t n = args.indice_num[k];
    if (n == 0) continue;
    const int32_t *inputs = args.inputs(k), *outputs = args.outputs(k);
    gather(context, {n, args.Ci * args.element_bytes(), inputs, has_negative ? outputs : nullptr, args.features,
                     workspace.features});
    matmul(context, {args.dtype, n, args.Ci, args.Co, workspace.features,
                     filters + k * args.Ci * args.Co * args.element_bytes(), workspace.products});
    scatter_add(context, {n, args.Co, outputs, has_negative ? inputs : nullptr, workspace.products, sums});
  }
  if (is_16_bit(args.dtype)) round_f32(context, args.dtype, {args.M * args.Co, sums, args.features_out});
}

}  // namespace mluop::indice_convolution::device
