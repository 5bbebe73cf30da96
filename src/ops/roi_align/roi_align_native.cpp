// RoI align: the launches of the native algorithm. The first checks the RoIs and writes their tables. Forward is
// one launch over ranges of channels of images and RoIs. Backward is one over bands of rows and ranges of channels
// of images, whose owners add the gradients of the RoIs in their order.
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
// The sums of a task, where grads_image does not hold them: they stay in L2, except the sums of maxima.
constexpr int64_t kSumBytes = 1 << 20, kMaximumSumBytes = 16 << 20;
// Rows of a band. A row of bins is computed for each band that it lies in.
constexpr int64_t kMinBand = 8;
// Estimated number of pixels read for a RoI, used to choose the number of tasks.
constexpr int64_t kRoiPixels = 200;
constexpr int64_t kRoiBlock = 32, kItemsPerTask = 8;

struct ForwardScratch {
  ForwardScratch(Arena& arena, const Args& args, int64_t copy_count, int64_t range)
      : tables(arena, args),
        copies(arena.take<std::byte>(
            "copies", {copy_count, args.image_pixels(), range, static_cast<int64_t>(size_of(args.dtype))})) {}

  Tables tables;
  std::byte* copies;  // [copy_count, H, W, range]
};

struct Scratch {
  Scratch(Arena& arena, const Args& args, int64_t task_count, const Division& division)
      : tables(arena, args),
        sums(arena.take<float>("sums", {task_count, division.rows, args.W, division.range})) {}

  Tables tables;
  float* sums;  // [tasks, rows, W, range]
};

// The channels of a range, at most max_range, so that a tile fits NRAM.
int64_t fit_range(const Context& context, const Args& args, int64_t max_range) {
  const int64_t wanted = std::min(args.C, max_range);
  const auto channels = [&](int64_t vectors) { return std::min(wanted, vectors * kVectorChannels); };
  const int64_t vectors = fit_tile(context, ceil_div(wanted, kVectorChannels), [&](int64_t count) {
    return args.mode == PoolMode::kMax ? bytes_of<MaximumTile>(channels(count))
                                       : bytes_of<MeanTile>(args.W, channels(count));
  });
  return channels(vectors);
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

int64_t input_bytes(const Args& args) {
  return args.B * args.C * args.image_pixels() * static_cast<int64_t>(size_of(args.dtype));
}

// Estimated bytes of the pixels that RoIs read or add to.
int64_t traffic(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  const int64_t pixels = args.B * args.C * args.image_pixels(), of_rois = args.R * args.C * args.bins();
  total_bytes({pixels * element, of_rois * element, of_rois * element});
  constexpr int64_t kMany = int64_t{1} << 40;
  return std::min(of_rois, kMany) + std::min(args.R * args.C, kMany) * kRoiPixels * element;
}

// Whether grads_image holds the sums of a part while they grow: fp32 sums in whole rows of channels, or of maxima.
// Sums in parts of these rows would take each other's cache lines, and defeat prefetches.
bool sums_in_place(const BackwardArgs& args, const Division& division) {
  if (is_16_bit(args.dtype)) return false;
  return args.mode == PoolMode::kMax || (args.channels_last && division.range == args.C);
}

// The estimated latency of the gradients with parts of this size, relative to the latency of one task. A row of
// bins is computed for each band that it lies in, and a RoI costs each part as much as some channels.
double latency_of(const Division& division, const Args& args, int tasks) {
  constexpr double kRowsOfBin = 6;
  const double channels_of_roi = args.channels_last ? 64 : 8;
  const auto rows = static_cast<double>(division.rows), range = static_cast<double>(division.range);
  const double repetition = division.rows < args.H ? 1 + kRowsOfBin / rows : 1;
  // Parts differ in their numbers of RoIs.
  const int64_t parts = division.part_count(args);
  const double longest = static_cast<double>(ceil_div(parts, tasks)) + (tasks > 1 ? 0.3 : 0);
  return repetition * (1 + channels_of_roi / range) * longest / static_cast<double>(parts);
}

// The parts of the gradients. Maxima have no bands, each of which would read the argmax of all bins.
Division divide_gradients(const Context& context, const BackwardArgs& args, int64_t bytes) {
  const bool is_max = args.mode == PoolMode::kMax;
  const int64_t wanted = args.channels_last ? kMaxRange : is_max ? 1 : kVectorChannels;
  const int64_t max_range = fit_range(context, args, wanted);
  const int64_t min_range = std::min(max_range, args.channels_last ? kVectorChannels : kVectorChannels / 2);
  const int64_t min_rows = is_max ? args.H : std::min(args.H, kMinBand);
  Division best{min_range, min_rows};
  const int tasks = choose_task_dim(best.part_count(args), bytes);
  const auto fits = [&](const Division& division) {
    const int64_t sum_bytes = saturated_product({division.rows, args.W, division.range, int64_t{sizeof(float)}});
    return sums_in_place(args, division) || sum_bytes <= (is_max ? kMaximumSumBytes : kSumBytes);
  };
  for (int64_t rows = args.H;; rows = std::max(ceil_div(rows, 2), min_rows)) {
    for (int64_t range = max_range; range >= min_range; range /= 2) {
      const Division division{range, rows};
      if (fits(division) && latency_of(division, args, tasks) < latency_of(best, args, tasks)) best = division;
    }
    if (rows == min_rows) return best;
  }
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
  const int64_t max_range = args.channels_last ? kMaxRange : is_copied ? kVectorChannels : 1;
  const Division division{fit_range(context, args, max_range), std::max<int64_t>(args.H, 1)};
  const int64_t ranges = args.B * division.range_count(args);
  const int task_dim = choose_task_dim(ranges * args.R, bytes);
  // RoIs are divided if there are few ranges.
  const int64_t wanted = kItemsPerTask * task_dim;
  const int64_t block =
      ranges >= wanted ? args.R : std::clamp<int64_t>(ceil_div(ranges * args.R, wanted), 1, kRoiBlock);
  // A part whose RoIs are divided is copied once.
  const bool copies_parts = is_copied && block < args.R;
  const int64_t copies = copies_parts ? division.part_count(args) : is_copied ? task_dim : 0;
  Arena arena = context.reserve(bytes_of<ForwardScratch>(args, copies, division.range));
  const ForwardScratch scratch(arena, args, copies, division.range);
  const Tables& tables = scratch.tables;
  const PoolArgs pooled{args, tables, division, block, is_copied ? scratch.copies : nullptr, copies_parts};
  const int64_t items = ranges * pooled.roi_blocks();
  call.log_detail("taskDim ", task_dim, ", ranges of ", division.range, " channels");
  fill_tables(context, args, tables, true);
  if (copies_parts) {
    const int64_t rows = division.part_count(args) * args.H;
    launch(context, "copy", choose_task_dim(rows, input_bytes(args)), Evenly{rows}, copy_kernel(args.dtype),
           pooled);
  }
  const auto chunks = static_cast<int>(std::min<int64_t>(items, kItemsPerTask * task_dim));
  launch_dynamic(context, "pool", task_dim, chunks, Evenly{items}, pool_kernel(args), pooled);
}

void run_backward(Call& call, const BackwardArgs& args) {
  if (args.B * args.C * args.image_pixels() == 0) return;
  Context& context = call.context();
  const int64_t bytes =
      traffic(args) + args.B * args.C * args.image_pixels() * static_cast<int64_t>(sizeof(float));
  const Division division = divide_gradients(context, args, bytes);
  const int64_t parts = division.part_count(args);
  const int task_dim = choose_task_dim(parts, bytes);
  const bool in_place = sums_in_place(args, division);
  Arena arena = context.reserve(bytes_of<Scratch>(args, in_place ? 0 : task_dim, division));
  const Scratch scratch(arena, args, in_place ? 0 : task_dim, division);
  call.log_detail("taskDim ", task_dim, ", bands of ", division.rows, " rows, ranges of ", division.range,
                  " channels");
  fill_tables(context, args, scratch.tables, false);
  const auto chunks = static_cast<int>(std::min<int64_t>(parts, kItemsPerTask * task_dim));
  launch_dynamic(context, "add", task_dim, chunks, Evenly{parts}, add_kernel(args),
                 {args, scratch.tables, division, in_place ? nullptr : scratch.sums});
}

}  // namespace mluop::roi_align::native
