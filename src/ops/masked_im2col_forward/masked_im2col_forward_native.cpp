// Masked im2col forward, native algorithm: the decisions of a call, and its launch.
#include "ops/masked_im2col_forward/masked_im2col_forward.h"

#include <algorithm>

#include "ops/masked_im2col_forward/masked_im2col_forward_native_kernels.h"
#include "team/fit_tile.h"

namespace mluop::masked_im2col_forward::native {
namespace {

// Rows of this many masks stay in L1 until they are copied. The size is not a power of two, so that rows do not
// compete for the same lines of L1. Measured on 4000 masks: 256, 480 and 496 are alike, 1024 takes 1.2 times as
// long.
constexpr int64_t kMaxTileMasks = 480;

// Packing this many pixels costs as much as one pixel of a mask saves. Measured on planes of 20 x 20 and 100 x
// 152: between 5 and 14.
constexpr int64_t kPackedPixels = 8;

int64_t output_bytes(const Args& args) {
  return args.channels * args.kernel_h * args.kernel_w * args.mask_cnt * args.element_size;
}

// Measured with 2 threads and an LLC of 32 MiB: an output of 18 MB takes 0.23 ms through the caches and 0.29 ms
// past them; an output of 37 MB takes 0.79 ms and 0.55 ms. exceeds_caches() would bypass them from 8 MiB on.
bool output_exceeds_caches(const Args& args) { return output_bytes(args) >= cache_sizes().llc / 4 * 3; }

bool packing_pays(const Args& args, int task_dim) {
  // Each task that shares a group packs it.
  const int64_t tasks_of_group = ceil_div(task_dim, group_count(args));
  return args.height * args.width / kPackedPixels <=
         saturated_product({args.kernel_h, args.kernel_w, ceil_div(args.mask_cnt, tasks_of_group)});
}

bool planes_fit(const Context& context, const Args& args) {
  const int64_t line = line_masks(args);
  return PackedPlane::representable(args) &&
         bytes_of<PackedBuffers>(PackedPlane(args), line, line) <= context.nram_capacity;
}

// The largest number of whole lines of masks, at most max_lines, with bytes(masks) in NRAM.
template <class Bytes>
int64_t fit_lines(const Context& context, const Args& args, int64_t max_lines, const Bytes& bytes) {
  const int64_t line = line_masks(args);
  return line * fit_tile(context, max_lines, [&](int64_t lines) { return bytes(lines * line); });
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.task_dim = choose_task_dim(item_count(args), output_bytes(args));
  plan.stream = output_exceeds_caches(args);
  plan.packed = packing_pays(args, plan.task_dim) && planes_fit(context, args);
  const int64_t max_lines = std::min(line_count(args), kMaxTileMasks / line_masks(args));
  if (plan.packed) {
    const PackedPlane plane(args);
    plan.tile_masks = fit_lines(context, args, max_lines,
                                [&](int64_t masks) { return bytes_of<PackedBuffers>(plane, masks, masks); });
    plan.located_masks = fit_lines(context, args, line_count(args), [&](int64_t masks) {
      return bytes_of<PackedBuffers>(plane, masks, plan.tile_masks);
    });
  } else {
    plan.tile_masks =
        fit_lines(context, args, max_lines, [](int64_t masks) { return bytes_of<DirectBuffers>(masks); });
  }
  return plan;
}

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  call.log_detail(plan.packed ? "packed" : "direct", ", taskDim ", plan.task_dim, ", tile of ", plan.tile_masks,
                  " masks");
  context.reserve(0);
  launch(context, plan.packed ? "gather_packed" : "gather_direct", plan.task_dim, Evenly{item_count(args)},
         plan.packed ? packed_kernel(args.element_size) : direct_kernel(args.element_size),
         {args, plan.located_masks, plan.tile_masks, plan.stream});
}

}  // namespace mluop::masked_im2col_forward::native
