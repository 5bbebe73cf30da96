// Soft NMS, native algorithm: its workspace, and its launches.
#include "ops/soft_nms/soft_nms.h"

#include <algorithm>

#include "ops/soft_nms/soft_nms_native_kernels.h"

namespace mluop::soft_nms::native {
namespace {

// Cost of copying a box, in bytes of memory traffic.
constexpr int64_t kLoadBytes = 48;
// Cost of decaying a score, divided by four because each step is a launch.
constexpr int64_t kDecayBytes = 2;

}  // namespace

size_t workspace_bytes(int64_t N) { return N == 0 ? 0 : workspace_bytes_of<Candidates>(N); }

void run(Call& call, const Args& args, Arena arena) {
  Context& context = call.context();
  context.reserve(0);
  call.log_detail("native");
  Candidates candidates(arena, args.N);
  const KernelArgs kernel_args{args, candidates};
  const auto each_chunk = [&](const char* name, int64_t box_bytes, RangeKernel<KernelArgs> kernel) {
    const int64_t chunks = candidates.chunks();
    launch(context, name, choose_task_dim(chunks, candidates.remaining() * box_bytes), Evenly{chunks}, kernel,
           kernel_args);
  };
  each_chunk("load", kLoadBytes, load_kernel());
  while (candidates.remaining() > 0) {
    // Once several tasks no longer pay off, one launch runs all remaining steps.
    const bool is_small = choose_task_dim(candidates.chunks(), candidates.remaining() * kDecayBytes) == 1;
    launch(context, "choose", 1, Evenly{1}, is_small ? choose_all_kernel() : choose_kernel(), kernel_args);
    if (is_small) break;
    each_chunk("decay", kDecayBytes, decay_kernel());
  }
  const int64_t chosen = candidates.chosen;
  *args.result_num = static_cast<int32_t>(chosen);
  std::fill(args.dets + chosen * kColumns, args.dets + args.N * kColumns, 0.0F);
  std::fill(args.inds + chosen, args.inds + args.N, 0);
}

}  // namespace mluop::soft_nms::native
