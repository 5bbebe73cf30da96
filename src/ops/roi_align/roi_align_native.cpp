// RoI align: the launches of the native algorithm. The first checks the RoIs and writes their tables. Forward is
// one launch over ranges of channels of images and RoIs. Backward is one over ranges of channels of images, whose
// owners add the gradients of the RoIs in their order.
#include "ops/roi_align/roi_align.h"

#include <algorithm>

#include "core/checks.h"
#include "ops/roi_align/roi_align_native_kernels.h"
#include "primitives/geometry/roi_bins.h"
#include "team/fit_tile.h"

namespace mluop::roi_align::native {
namespace {

constexpr int64_t kVectorChannels = 16;
// Channels of a work item in NHWC. Tasks that read or write parts of the same rows of channels take each other's
// prefetched cache lines: ranges of 64 channels take 1.7 to 3.9 times as long on maps of 256 to 1024 channels.
constexpr int64_t kMaxRange = 32 * kVectorChannels;
// The sums of 16-bit gradients of a task.
constexpr int64_t kMaxSumBytes = 16 << 20;
// Estimated number of pixels read for a RoI, used to choose the number of tasks.
constexpr int64_t kRoiPixels = 200;
constexpr int64_t kRoiBlock = 32, kItemsPerTask = 8;

struct ForwardScratch {
  ForwardScratch(Arena& arena, const Args& args, int64_t copy_count, int64_t range)
      : tables(arena, args),
        copies(arena.take<std::byte>(
            "copies", {copy_count, args.image_pixels(), range, static_cast<int64_t>(size_of(args.dtype))})) {}

  Tables tables;
  std::byte* copies;  // [tasks, H, W, range]
};

struct Scratch {
  Scratch(Arena& arena, const Args& args, int64_t task_count, int64_t range)
      : tables(arena, args),
        sums(arena.take<float>("sums", {is_16_bit(args.dtype) ? task_count : 0, args.image_pixels(), range})) {}

  Tables tables;
  float* sums;  // [taskDim, H, W, range]
};

Division divide(const Context& context, const Args& args, int64_t max_range) {
  const int64_t wanted = std::min(args.C, max_range);
  const auto channels = [&](int64_t vectors) { return std::min(wanted, vectors * kVectorChannels); };
  const int64_t vectors = fit_tile(context, ceil_div(wanted, kVectorChannels), [&](int64_t count) {
    return args.mode == PoolMode::kMax ? bytes_of<MaximumTile>(channels(count))
                                       : bytes_of<MeanTile>(args.W, channels(count));
  });
  return {channels(vectors)};
}

// In NCHW: whether the pixels of work items are transposed, so that vectors hold channels. Not if this takes
// longer than reading the few RoIs of a large image one channel at a time.
bool pays_for_copies(const Context& context, const Args& args) {
  if (args.channels_last) return false;
  // Number of pixels whose transposition costs as much as vectors save for a RoI.
  const int64_t pixels_per_roi = args.mode == PoolMode::kMax ? 4000 : 200;
  return args.B * args.image_pixels() / pixels_per_roi <= args.R &&
         bytes_of<MeanTile>(args.W, kVectorChannels) <= context.nram_capacity;
}

// Estimated bytes of the pixels that RoIs read or add to.
int64_t traffic(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  const int64_t pixels = args.B * args.C * args.image_pixels(), of_rois = args.R * args.C * args.bins();
  total_bytes({pixels * element, of_rois * element, of_rois * element});
  constexpr int64_t kMany = int64_t{1} << 40;
  return std::min(of_rois, kMany) + std::min(args.R * args.C, kMany) * kRoiPixels * element;
}

// The channels of a work item of the gradients in NHWC: as many as their sums, if sums are kept, and the number of
// tasks allow.
int64_t gradient_range(const Args& args, int64_t bytes, bool has_sums) {
  const int most_tasks = choose_task_dim(args.B * ceil_div(args.C, kVectorChannels), bytes);
  int64_t range = kMaxRange;
  while (has_sums && range > kVectorChannels &&
         saturated_product({args.image_pixels(), range, int64_t{sizeof(float)}}) > kMaxSumBytes) {
    range /= 2;
  }
  while (range > kVectorChannels && args.B * ceil_div(args.C, range) < most_tasks) range /= 2;
  return range;
}

void fill_tables(Context& context, const Args& args, const Tables& tables, bool is_forward) {
  constexpr int64_t kRoiBytes = 4096;
  FirstBadItem first_bad;
  launch(context, "fill", choose_task_dim(args.R, args.R * kRoiBytes), Evenly{args.R}, fill_kernel(args.dtype),
         {args, tables, is_forward, first_bad});
  require_roi_images("boxes", args.dtype, first_bad, args.boxes, 5, args.B);
}

}  // namespace

void run_forward(Call& call, const ForwardArgs& args) {
  if (args.R * args.C == 0) return;
  Context& context = call.context();
  const int64_t bytes = traffic(args);
  const bool is_copied = pays_for_copies(context, args);
  const Division division = divide(context, args,
                                   args.channels_last ? kMaxRange
                                   : is_copied        ? kVectorChannels
                                                      : 1);
  const int64_t ranges = args.B * division.range_count(args);
  const int task_dim = choose_task_dim(ranges * args.R, bytes);
  // RoIs are divided if there are few ranges.
  const int64_t block = ranges >= kItemsPerTask * task_dim ? args.R : std::min(args.R, kRoiBlock);
  const int64_t copies = is_copied ? task_dim : 0;
  Arena arena = context.reserve(bytes_of<ForwardScratch>(args, copies, division.range));
  const ForwardScratch scratch(arena, args, copies, division.range);
  const Tables& tables = scratch.tables;
  const PoolArgs pooled{args, tables, division, block, is_copied ? scratch.copies : nullptr};
  const int64_t items = ranges * pooled.roi_blocks();
  call.log_detail("taskDim ", task_dim, ", ranges of ", division.range, " channels");
  fill_tables(context, args, tables, true);
  const auto chunks = static_cast<int>(std::min<int64_t>(items, kItemsPerTask * task_dim));
  launch_dynamic(context, "pool", task_dim, chunks, Evenly{items}, pool_kernel(args), pooled);
}

void run_backward(Call& call, const BackwardArgs& args) {
  if (args.B * args.C * args.image_pixels() == 0) return;
  Context& context = call.context();
  const int64_t bytes =
      traffic(args) + args.B * args.C * args.image_pixels() * static_cast<int64_t>(sizeof(float));
  const bool has_sums = is_16_bit(args.dtype);
  const Division division = divide(context, args, args.channels_last ? gradient_range(args, bytes, has_sums) : 1);
  const int64_t items = args.B * division.range_count(args);
  const int task_dim = choose_task_dim(items, bytes);
  Arena arena = context.reserve(bytes_of<Scratch>(args, task_dim, division.range));
  const Scratch scratch(arena, args, task_dim, division.range);
  call.log_detail("taskDim ", task_dim, ", ranges of ", division.range, " channels");
  fill_tables(context, args, scratch.tables, false);
  const auto chunks = static_cast<int>(std::min<int64_t>(items, kItemsPerTask * task_dim));
  launch_dynamic(context, "add", task_dim, chunks, Evenly{items}, add_kernel(args),
                 {args, scratch.tables, division, has_sums ? scratch.sums : nullptr});
}

}  // namespace mluop::roi_align::native
