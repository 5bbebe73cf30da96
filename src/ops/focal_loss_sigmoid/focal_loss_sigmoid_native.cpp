// Sigmoid focal loss: the launch of the native algorithm, over tiles of elements.
#include "ops/focal_loss_sigmoid/focal_loss_sigmoid.h"

#include "core/caches.h"
#include "core/checks.h"
#include "ops/focal_loss_sigmoid/focal_loss_sigmoid_native_kernels.h"
#include "team/fit_tile.h"

namespace mluop::focal_loss_sigmoid::native {
namespace {

void run(Call& call, const Args& args, const char* name, RangeKernel<ComputeArgs> kernel) {
  Context& context = call.context();
  const int64_t tensor = args.count() * static_cast<int64_t>(size_of(args.dtype));
  const int64_t bytes = total_bytes({tensor, tensor, args.N * int64_t{sizeof(int32_t)}});
  fit_tile(context, 1, [](int64_t) { return bytes_of<ComputeTile<float>>(); });
  const ComputeArgs compute{args, exceeds_caches(bytes)};
  const int task_dim = choose_task_dim(compute.tile_count(), bytes);
  call.log_detail("taskDim ", task_dim);
  context.reserve(0);
  launch(context, name, task_dim, Evenly{compute.tile_count()}, kernel, compute);
}

}  // namespace

void run_forward(Call& call, const Args& args) { run(call, args, "loss", loss_kernel(args.dtype)); }
void run_backward(Call& call, const Args& args) { run(call, args, "derivative", derivative_kernel(args.dtype)); }

}  // namespace mluop::focal_loss_sigmoid::native
