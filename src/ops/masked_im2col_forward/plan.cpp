#include "ops/masked_im2col_forward/plan.h"

#include <algorithm>
#include <limits>

#include "ops/masked_im2col_forward/packed_plane.h"

namespace mluop::masked_im2col_forward {
namespace {

// Outputs from here on bypass the caches. Measured with 2 threads and a last level of 32 MiB: 18 MB are found
// there again and written faster so (0.23 ms, not 0.29), 37 MB are not (0.79 ms, not 0.55).
constexpr int64_t kStreamBytes = 24 << 20;

// Rows of this many masks stay in the first-level cache until they are copied; and they lie apart by no power of
// two, so that they do not compete for the same lines of it. Measured on 4000 masks: 256, 480, 496 are alike, 1024
// takes 1.2 times as long.
constexpr int64_t kMaxTileMasks = 480;

// Packing this many pixels costs as much as it saves on one pixel of a mask. Measured on planes of 20 x 20 and
// 100 x 152, where it is between 5 and 14.
constexpr int64_t kPackedPixels = 8;

// NRAM of a mask: its element in each row of a group, and its place in a plane.
constexpr int64_t kRowBytes = kPixelBytes;
constexpr int64_t kPlaceBytes = sizeof(int32_t);
constexpr int64_t kPackedBytes = kRowBytes + kPlaceBytes;
constexpr int64_t kDirectBytes = kRowBytes + int64_t{sizeof(int64_t)};

// The least that MLUOP_OMP_NRAM_KB allows holds the smallest tile, a line of masks of 2 bytes: no size fails.
static_assert(kLineBytes / 2 * kDirectBytes <= 1024);

int64_t output_bytes(const Args& args) {
  return args.channels * args.kernel_h * args.kernel_w * args.mask_cnt * args.element_size;
}

bool packing_pays(const Args& args, int task_dim) {
  // Tasks that share a group pack it each.
  const int64_t tasks_of_group = ceil_div(task_dim, args.group_count());
  const auto saved = checked_product(args.kernel_h * args.kernel_w, ceil_div(args.mask_cnt, tasks_of_group));
  return args.height * args.width / kPackedPixels <= saved.value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.task_dim = choose_task_dim(args.item_count(), output_bytes(args));
  plan.stream = output_bytes(args) >= kStreamBytes;
  const int64_t line = args.line_masks();
  const int64_t all_masks = args.line_count() * line;
  const int64_t most = std::min(all_masks, kMaxTileMasks);
  auto room = static_cast<int64_t>(context.nram_capacity);
  if (PackedPlane::representable(args) && packing_pays(args, plan.task_dim)) {
    const auto planes =
        static_cast<int64_t>(nram_bytes<std::byte>(static_cast<size_t>(PackedPlane(args).bytes())));
    plan.packed = planes + line * kPackedBytes <= room;
    if (plan.packed) room -= planes;
  }
  if (plan.packed) {
    plan.tile_masks = std::min(most, room / (line * kPackedBytes) * line);
    const int64_t left = room - plan.tile_masks * kRowBytes;
    plan.located_masks = std::min(all_masks, left / (line * kPlaceBytes) * line);
  } else {
    plan.tile_masks = std::min(most, room / (line * kDirectBytes) * line);
  }
  return plan;
}

void run(Context& context, const Plan& plan, const Args& args) {
  const auto kernel = plan.packed ? packed_kernel(args.element_size) : direct_kernel(args.element_size);
  launch(context, plan.task_dim, Evenly{args.item_count()}, kernel,
         {args, plan.located_masks, plan.tile_masks, plan.stream});
}

}  // namespace mluop::masked_im2col_forward
