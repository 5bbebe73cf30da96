// Multi-scale deformable attention: the launches of the native algorithm. Forward is one launch over queries.
// Backward is one over queries, for the gradients of locations and weights, and one over heads and levels, whose
// owners add the gradients of their keys in the order of queries.
#include "ops/ms_deform_attn/ms_deform_attn.h"

#include <algorithm>

#include "core/checks.h"
#include "ops/ms_deform_attn/ms_deform_attn_native_kernels.h"
#include "primitives/memory/fill.h"
#include "team/fit_tile.h"

namespace mluop::ms_deform_attn::native {
namespace {

constexpr int64_t kElement = sizeof(float);
constexpr int64_t kItemsPerTask = 2;
constexpr int64_t kMaxChunks = 1 << 20;

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

// Whether no key belongs to two levels.
bool has_disjoint_levels(const Inputs& args) {
  int64_t end = 0;
  for (int64_t l = 0; l < args.L; ++l) {
    if (args.starts[l] < end) return false;
    end = args.starts[l] + int64_t{args.shapes[2 * l]} * args.shapes[2 * l + 1];
  }
  return true;
}

// A work item has all levels and channels of a head. With too few heads for the tasks it has one level, and then
// whole cache lines of the channels, each of which finds the samples again.
ScatterArgs divide(const BackwardArgs& args, int task_dim) {
  constexpr int64_t kLineChannels = 64 / kElement;
  ScatterArgs scatter{args, std::max<int64_t>(args.L, 1), args.D};
  if (scatter.items() < kItemsPerTask * task_dim && has_disjoint_levels(args)) scatter.part_levels = 1;
  const int64_t lines = std::max<int64_t>(ceil_div(args.D, kLineChannels), 1);
  const int64_t parts = std::clamp<int64_t>(task_dim / std::max<int64_t>(scatter.items(), 1), 1, lines);
  scatter.part_channels = ceil_div(lines, parts) * kLineChannels;
  return scatter;
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
  const int64_t queries = args.B * args.Q, bytes = traffic(args);
  const int task_dim = choose_task_dim(queries, bytes);
  fit<DifferentiateTile>(context, args);
  call.log_detail("taskDim ", task_dim);
  context.reserve(0);
  launch(context, "differentiate", task_dim, Evenly{queries}, differentiate_kernel(), args);
  fill_zero(context, args.grad_value, args.B * args.K * args.M * args.D * kElement);
  const ScatterArgs scatter = divide(args, task_dim);
  const int64_t items = scatter.items();
  launch_dynamic(context, "scatter", choose_task_dim(items, bytes),
                 static_cast<int>(std::min<int64_t>(items, kMaxChunks)), Evenly{items}, scatter_kernel(), scatter);
}

}  // namespace mluop::ms_deform_attn::native
