// mluOpOmpPixelGroup in one file: kernels, launches, entry.
// Start with the entry at the end, then run() and the kernel group(); primitives/geometry/pixel_regions.h has the
// flood fill.
//
// Letters: R regions.
#include <algorithm>

#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op_omp.h"
#include "primitives/geometry/pixel_regions.h"
#include "team/atomics.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::pixel_group {
namespace {

struct Args {
  int64_t H, W, C, R;
  float threshold_square;
  const float* score;      // [H, W]
  const uint8_t* mask;     // [H, W]
  const float* embedding;  // [H, W, C]
  const int32_t* labels;   // [H, W]
  const uint8_t* contour;  // [H, W]
  float* region_score;     // [R]
  int32_t* region_pixels;  // [R]
  int32_t* text_label;     // [H, W]

  int64_t pixels() const { return H * W; }
  // The largest number of labels that occur.
  int64_t means() const { return std::min(R, pixels()); }
};

struct Scratch {
  Scratch(Arena& arena, const Args& args)
      : regions(arena, args.H, args.W),
        mean_of(arena.take<int32_t>("mean of", {args.R})),
        counts(arena.take<int32_t>("counts", {args.means()})),
        means(arena.take<float>("means", {args.means(), args.C})) {}

  PixelRegions regions;
  int32_t* mean_of;  // [R]: the row of counts and means of each label
  int32_t* counts;   // [means()]
  float* means;      // [means(), C]
};

struct KernelArgs : Args {
  Scratch& scratch;
};

struct CheckArgs : Args {
  FirstBadItem& first_bad;
};

// Work items: pixels.
void check_labels(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const auto is_bad = [&](int32_t label) { return label > 0 && label >= args.R; };
  const auto* const bad = std::find_if(args.labels + begin, args.labels + end, is_bad);
  if (bad != args.labels + end) args.first_bad.report(bad - args.labels);
}

// A sum of ones in fp32, which ends at 2^24.
float fp32_count(int32_t count) { return static_cast<float>(std::min(count, 1 << 24)); }

// Sums in row order, then divides.
void average_embeddings(const KernelArgs& args) {
  const Scratch& scratch = args.scratch;
  std::fill_n(scratch.mean_of, args.R, -1);
  int32_t used = 0;
  for (int64_t i = 0; i < args.pixels(); ++i) {
    if (args.labels[i] <= 0) continue;
    int32_t& row = scratch.mean_of[args.labels[i]];
    if (row < 0) {
      row = used++;
      scratch.counts[row] = 0;
      std::fill_n(scratch.means + row * args.C, args.C, 0.0F);
    }
    ++scratch.counts[row];
    float* const sum = scratch.means + row * args.C;
    for (int64_t c = 0; c < args.C; ++c) sum[c] += args.embedding[i * args.C + c];
  }
  for (int32_t row = 0; row < used; ++row) {
    const float count = fp32_count(scratch.counts[row]);
    for (int64_t c = 0; c < args.C; ++c) scratch.means[row * args.C + c] /= count;
  }
}

// Each square is added in double, which is exact but for the sum, and the sum is rounded to fp32. NaN is near.
bool is_near(const Args& args, const float* mean, const float* embedding) {
  float distance = 0;
  for (int64_t c = 0; c < args.C; ++c) {
    const double difference{mean[c] - embedding[c]};
    distance = static_cast<float>(double{distance} + difference * difference);
    if (distance >= args.threshold_square) return false;
  }
  return true;
}

// Sums the scores in row order, then divides.
void average_scores(const Args& args) {
  std::fill_n(args.region_score, args.R, 0.0F);
  std::fill_n(args.region_pixels, args.R, 0);
  for (int64_t i = 0; i < args.pixels(); ++i) {
    const int32_t label = args.text_label[i];
    if (label == 0) continue;
    args.region_score[label] += args.score[i];
    ++args.region_pixels[label];
  }
  for (int64_t r = 0; r < args.R; ++r) {
    if (args.region_pixels[r] > 0) args.region_score[r] /= fp32_count(args.region_pixels[r]);
  }
}

// One work item: all regions.
void group(const KernelArgs& args, int64_t, int64_t, Task&) {
  const Scratch& scratch = args.scratch;
  PixelRegions& regions = args.scratch.regions;
  average_embeddings(args);
  // Without channels there is no distance: nothing grows.
  const bool has_channels = args.C > 0;
  regions.start([&](int64_t i) { return args.labels[i]; }, [&](int64_t i) { return args.mask[i] != 0; },
                [&](int64_t i) { return has_channels && args.contour[i] != 0; });
  regions.grow(PixelRegions::Order::kColumnsFirst, [&](int32_t label, int64_t i) {
    return is_near(args, scratch.means + scratch.mean_of[label] * args.C, args.embedding + i * args.C);
  });
  regions.write(args.text_label);
  average_scores(args);
}

void run(Call& call, const Args& args) {
  Context& context = call.context();
  call.log_detail("native");
  Arena arena = context.reserve(bytes_of<Scratch>(args));
  Scratch scratch(arena, args);
  FirstBadItem first_bad;
  launch<CheckArgs>(context, "check labels",
                    choose_task_dim(args.pixels(), args.pixels() * int64_t{sizeof(int32_t)}),
                    Evenly{args.pixels()}, check_labels, {args, first_bad});
  if (first_bad.found()) {
    const int64_t i = first_bad.item();
    throw Failure(MLUOP_STATUS_BAD_PARAM, text("kernel_label[", i / args.W, ", ", i % args.W, "] is ",
                                               args.labels[i], ", expected less than ", args.R));
  }
  launch<KernelArgs>(context, "group", 1, Evenly{1}, group, {args, scratch});
}

}  // namespace
}  // namespace mluop::pixel_group

mluOpStatus_t MLUOP_WIN_API
mluOpOmpPixelGroup(mluOpHandle_t handle, const float distance_threshold, const mluOpTensorDescriptor_t score_desc,
                   const void* score, const mluOpTensorDescriptor_t mask_desc, const void* mask,
                   const mluOpTensorDescriptor_t embedding_desc, const void* embedding,
                   const mluOpTensorDescriptor_t kernel_label_desc, const void* kernel_label,
                   const mluOpTensorDescriptor_t kernel_contour_desc, const void* kernel_contour,
                   const mluOpTensorDescriptor_t region_score_desc, void* region_score,
                   const mluOpTensorDescriptor_t region_pixels_desc, void* region_pixels,
                   const mluOpTensorDescriptor_t text_label_desc, void* text_label) {
  using namespace mluop;
  using namespace mluop::pixel_group;
  return run_operator("mluOpOmpPixelGroup", handle, [&](Call& call) {
    constexpr auto kFloat = MLUOP_DTYPE_FLOAT, kInt = MLUOP_DTYPE_INT32;
    const int64_t H = dim_of(score_desc, 0), W = dim_of(score_desc, 1), R = dim_of(region_score_desc, 0);
    call.parameter("distance_threshold", distance_threshold);
    call.input("score", score_desc, score, kFloat, kAnyLayout, {kAny, kAny});
    call.input("mask", mask_desc, mask, MLUOP_DTYPE_BOOL, kAnyLayout, {H, W});
    call.input("embedding", embedding_desc, embedding, kFloat, kAnyLayout, {H, W, kAny});
    call.input("kernel_label", kernel_label_desc, kernel_label, kInt, kAnyLayout, {H, W});
    call.input("kernel_contour", kernel_contour_desc, kernel_contour, MLUOP_DTYPE_UINT8, kAnyLayout, {H, W});
    call.output("region_score", region_score_desc, region_score, kFloat, kAnyLayout, {kAny});
    call.output("region_pixels", region_pixels_desc, region_pixels, kInt, kAnyLayout, {R});
    call.output("text_label", text_label_desc, text_label, kInt, kAnyLayout, {H, W});
    const bool is_empty = has_no_elements(text_label_desc);
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    if (!is_empty) PixelRegions::require_size("score", H, W);
    call.check_tensors();
    const Args args{
        .H = H,
        .W = W,
        .C = dim_of(embedding_desc, 2),
        .R = R,
        .threshold_square = distance_threshold * distance_threshold,
        .score = static_cast<const float*>(score),
        .mask = static_cast<const uint8_t*>(mask),
        .embedding = static_cast<const float*>(embedding),
        .labels = static_cast<const int32_t*>(kernel_label),
        .contour = static_cast<const uint8_t*>(kernel_contour),
        .region_score = static_cast<float*>(region_score),
        .region_pixels = static_cast<int32_t*>(region_pixels),
        .text_label = static_cast<int32_t*>(text_label),
    };
    if (is_empty) return average_scores(args);  // zeros
    run(call, args);
  });
}
