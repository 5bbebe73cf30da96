// Multi-scale deformable attention: the launches of the native algorithm. Forward is one launch over queries.
// Backward is one over queries, for the gradients of locations and weights, and one over heads, whose owners add
// the gradients of their keys in the order of queries.
#include "ops/ms_deform_attn/ms_deform_attn.h"

#include <algorithm>

#include "core/checks.h"
#include "ops/ms_deform_attn/ms_deform_attn_native_kernels.h"
#include "primitives/memory/fill.h"
#include "team/fit_tile.h"

namespace mluop::ms_deform_attn::native {
namespace {

constexpr int64_t kElement = sizeof(float);

// Bytes that the samples of all queries read: four rows each. Throws Failure if the bytes of all tensors overflow.
int64_t traffic(const Inputs& args) {
  const int64_t keys = args.B * args.K * args.M * args.D, places = args.B * args.Q * args.M;
  total_bytes(
      {keys * kElement, keys * kElement, places * args.D * kElement, places * args.samples() * 2 * kElement});
  constexpr int64_t kMany = int64_t{1} << 20;
  return std::min(places, kMany) * std::min(args.samples() * args.D, kMany) * 4 * kElement;
}

template <class Tile>
void fit(const Context& context, const Inputs& args) {
  fit_tile(context, 1, [&](int64_t) { return bytes_of<Tile>(args); });
}

// The channels of a work item of scatter(): all channels of a head, or whole cache lines if there are too few
// heads for the tasks. Each part finds the samples again.
int64_t part_channels(int64_t D, int64_t heads, int task_dim) {
  constexpr int64_t kLineChannels = 64 / kElement;
  const int64_t lines = std::max<int64_t>(ceil_div(D, kLineChannels), 1);
  const int64_t parts = std::clamp<int64_t>(task_dim / std::max<int64_t>(heads, 1), 1, lines);
  return ceil_div(lines, parts) * kLineChannels;
}

}  // namespace

void run_forward(Call& call, const ForwardArgs& args) {
  Context& context = call.context();
  const int64_t queries = args.B * args.Q;
  const int task_dim = choose_task_dim(queries, traffic(args));
  fit<SampleTile>(context, args);
  call.log_detail("taskDim ", task_dim);
  context.reserve(0);
  launch(context, "attend", task_dim, Evenly{queries}, attend_kernel(), args);
}

void run_backward(Call& call, const BackwardArgs& args) {
  Context& context = call.context();
  const int64_t queries = args.B * args.Q, heads = args.B * args.M, bytes = traffic(args);
  const int task_dim = choose_task_dim(queries, bytes);
  fit<DifferentiateTile>(context, args);
  call.log_detail("taskDim ", task_dim);
  context.reserve(0);
  launch(context, "differentiate", task_dim, Evenly{queries}, differentiate_kernel(), args);
  fill_zero(context, args.grad_value, args.B * args.K * args.M * args.D * kElement);
  const ScatterArgs scatter{args, part_channels(args.D, heads, task_dim)};
  const int64_t items = heads * scatter.parts();
  launch(context, "scatter", choose_task_dim(items, bytes), Evenly{items}, scatter_kernel(), scatter);
}

}  // namespace mluop::ms_deform_attn::native
