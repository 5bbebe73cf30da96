// mluOpYoloBox in one file: kernel, launch, entry.
// Start with the entry at the end, then the kernel decode(), which calls confidence(), write_sides() and
// write_scores() for the cells of a work item.
//
// Letters: N images, S anchors, H x W cells.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/yolo_box/yolo_box.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "core/checks.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "primitives/simd/exp_log-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "primitives/simd/round_to_float-inl.h"
#include "team/launch.h"
#include "team/operator_call.h"

#ifndef MLUOP_YOLO_BOX_ONCE
#define MLUOP_YOLO_BOX_ONCE
namespace mluop::yolo_box {

struct Args {
  int64_t S, H, W, classes;
  int downsample_ratio;
  float conf_thresh, scale, iou_aware_factor;
  bool clips, is_iou_aware;
  const float* x;           // [N, C, H W]: with is_iou_aware, S channels first; then S times 5 + classes channels
  const int32_t* img_size;  // [N, 2]: height, width
  const int32_t* anchors;   // [S, 2]: width, height
  float* boxes;             // [N, S, 4, H W]
  float* scores;            // [N, S, classes, H W]

  int64_t cells() const { return H * W; }
};

// Cells of a work item: their confidences and a row of scores stay in L1.
constexpr int64_t kChunk = 1024;
// The confidence of a cell below the threshold.
constexpr float kSuppressed = -1;

// The channels of an anchor of an image.
struct Channels {
  Channels(const Args& args, int64_t n, int64_t s) {
    const int64_t channels = args.S * (5 + args.classes), ious = args.is_iou_aware ? args.S : 0;
    const float* const image = args.x + n * (ious + channels) * args.cells();
    iou = image + s * args.cells();
    box = image + (ious + s * (5 + args.classes)) * args.cells();
  }

  const float* iou;  // if there are such channels
  const float* box;  // [5 + classes, H W]: x, y, w, h, confidence, classes
};

inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }

inline float confidence(const Args& args, const Channels& channels, int64_t cell) {
  double conf = logistic(double{channels.box[4 * args.cells() + cell]});
  if (args.is_iou_aware) {
    const double factor = args.iou_aware_factor;
    conf = std::pow(conf, 1 - factor) * std::pow(logistic(double{channels.iou[cell]}), factor);
  }
  const auto rounded = static_cast<float>(conf);
  return rounded < args.conf_thresh ? kSuppressed : rounded;
}

// An axis of the cells of a work item.
struct Axis {
  const int32_t* index;  // of the cells, along the axis
  int64_t cells;
  int32_t pixels, anchor;      // sizes of image and anchor
  const float *center, *size;  // channels
  float *low, *high;           // coordinates of boxes
};

}  // namespace mluop::yolo_box
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::yolo_box {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::exp_of_double;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::round_to_float;
using mluop::HWY_NAMESPACE::sigmoid;

// to[i] = confidences[i] * sigmoid(from[i]), 0 for suppressed cells
HWY_INLINE void write_scores(const float* HWY_RESTRICT confidences, const float* HWY_RESTRICT from, int64_t count,
                             float* HWY_RESTRICT to) {
  for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto confidence = hn::LoadU(d, confidences + i);
    const auto score = hn::Mul(confidence, sigmoid(d, hn::LoadU(d, from + i)));
    hn::StoreU(hn::IfThenZeroElse(hn::Lt(confidence, hn::Zero(d)), score), d, to + i);
  });
}

// Writes the coordinates of boxes along an axis; 0 for suppressed cells.
void write_sides(const Args& args, const Axis& axis, const float* confidences, int64_t count) {
  const double scale = args.scale, pixels = axis.pixels, anchor = axis.anchor;
  const auto cells = static_cast<double>(axis.cells);
  for_each_vector<hn::MaxLanes(hn::CappedTag<double, 8>())>(count, [&](auto d, int64_t i) HWY_ATTR {
    const hn::Rebind<double, decltype(d)> dd;
    const hn::Rebind<int32_t, decltype(d)> di;
    const auto load = [&](const float* from) HWY_ATTR { return hn::PromoteTo(dd, hn::LoadU(d, from + i)); };
    const auto one = hn::Set(dd, 1.0), of_pixels = hn::Set(dd, pixels);
    const auto logistic = hn::Div(one, hn::Add(one, exp_of_double(dd, hn::Neg(load(axis.center)))));
    const auto index = hn::PromoteTo(dd, hn::LoadU(di, axis.index + i));
    const auto position =
        hn::Sub(hn::Add(index, hn::Mul(logistic, hn::Set(dd, scale))), hn::Set(dd, (scale - 1) / 2));
    const auto middle = hn::Div(hn::Mul(position, of_pixels), hn::Set(dd, cells));
    const auto length = hn::Mul(hn::Mul(exp_of_double(dd, load(axis.size)), hn::Set(dd, anchor)), of_pixels);
    const auto half = hn::Mul(hn::Div(length, hn::Set(dd, args.downsample_ratio * cells)), hn::Set(dd, 0.5));
    auto low = round_to_float(d, hn::Sub(middle, half)), high = round_to_float(d, hn::Add(middle, half));
    if (args.clips) {
      // NaN becomes a border.
      const auto first = hn::Zero(d), last = hn::Set(d, static_cast<float>(axis.pixels - 1));
      low = hn::IfThenElse(hn::Gt(low, first), low, first);
      high = hn::IfThenElse(hn::Lt(high, last), high, last);
    }
    const auto is_suppressed = hn::Lt(hn::LoadU(d, confidences + i), hn::Zero(d));
    hn::StoreU(hn::IfThenZeroElse(is_suppressed, low), d, axis.low + i);
    hn::StoreU(hn::IfThenZeroElse(is_suppressed, high), d, axis.high + i);
  });
}

// Work items: (n, s, chunk of cells), chunks fastest.
void decode(const Args& args, int64_t begin, int64_t end, Task&) {
  const int64_t plane = args.cells(), chunks = ceil_div(plane, kChunk);
  float confidences[kChunk];
  int32_t columns[kChunk], rows[kChunk];
  for (int64_t item = begin; item < end; ++item) {
    const int64_t n = item / chunks / args.S, s = item / chunks % args.S, first = item % chunks * kChunk;
    const int64_t count = std::min(kChunk, plane - first);
    const Channels channels(args, n, s);
    float* const boxes = args.boxes + (n * args.S + s) * 4 * plane + first;
    float* const scores = args.scores + (n * args.S + s) * args.classes * plane + first;
    bool is_any_kept = false;
    for (int64_t i = 0; i < count; ++i) {
      confidences[i] = confidence(args, channels, first + i);
      is_any_kept = is_any_kept || confidences[i] != kSuppressed;
    }
    if (!is_any_kept) {
      for (int64_t k = 0; k < 4; ++k) std::fill_n(boxes + k * plane, count, 0.0F);
      for (int64_t c = 0; c < args.classes; ++c) std::fill_n(scores + c * plane, count, 0.0F);
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      columns[i] = static_cast<int32_t>((first + i) % args.W);
      rows[i] = static_cast<int32_t>((first + i) / args.W);
    }
    const float* const from = channels.box + first;
    const int32_t *const size = args.img_size + n * 2, *const anchor = args.anchors + s * 2;
    write_sides(args, {columns, args.W, size[1], anchor[0], from, from + 2 * plane, boxes, boxes + 2 * plane},
                confidences, count);
    write_sides(
        args, {rows, args.H, size[0], anchor[1], from + plane, from + 3 * plane, boxes + plane, boxes + 3 * plane},
        confidences, count);
    for (int64_t c = 0; c < args.classes; ++c) {
      write_scores(confidences, from + (5 + c) * plane, count, scores + c * plane);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::yolo_box
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::yolo_box {
namespace {

MLUOP_EXPORT_KERNEL(decode_kernel, decode, Args);

}  // namespace
}  // namespace mluop::yolo_box

mluOpStatus_t MLUOP_WIN_API mluOpYoloBox(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc, const void* x,
                                         const mluOpTensorDescriptor_t img_size_desc, const void* img_size,
                                         const mluOpTensorDescriptor_t anchors_desc, const void* anchors,
                                         const int class_num, const float conf_thresh, const int downsample_ratio,
                                         const bool clip_bbox, const float scale, const bool iou_aware,
                                         const float iou_aware_factor, const mluOpTensorDescriptor_t boxes_desc,
                                         void* boxes, const mluOpTensorDescriptor_t scores_desc, void* scores) {
  using namespace mluop;
  using namespace mluop::yolo_box;
  return run_operator("mluOpYoloBox", handle, [&](Call& call) {
    constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
    constexpr auto kInt = MLUOP_DTYPE_INT32;
    const int64_t N = dim_of(x_desc, 0), H = dim_of(x_desc, 2), W = dim_of(x_desc, 3);
    const int64_t numbers = dim_of(anchors_desc, 0), S = numbers / 2;
    const int64_t cells = saturated_product({H, W}),
                  per_anchor = (iou_aware ? int64_t{6} : int64_t{5}) + class_num;
    call.parameter("class_num", class_num, AtLeast{1});
    call.parameter("conf_thresh", conf_thresh);
    call.parameter("downsample_ratio", downsample_ratio);
    call.parameter("clip_bbox", clip_bbox);
    call.parameter("scale_x_y", scale);
    call.parameter("iou_aware", iou_aware);
    call.parameter("iou_aware_factor", iou_aware_factor);
    call.input("x", x_desc, x, kFloat, kAnyLayout, {kAny, saturated_product({S, per_anchor}), kAny, kAny});
    call.input("img_size", img_size_desc, img_size, kInt, kAnyLayout, {N, 2});
    call.input("anchors", anchors_desc, anchors, kInt, kAnyLayout, {kAny});
    call.output("boxes", boxes_desc, boxes, kFloat, kAnyLayout, {N, S, 4, cells});
    call.output("scores", scores_desc, scores, kFloat, kAnyLayout, {N, S, class_num, cells});
    if (has_no_elements(x_desc)) call.reads_nothing();

    call.check_pointers();
    call.check_parameters();
    require(!iou_aware || (0 <= iou_aware_factor && iou_aware_factor <= 1), MLUOP_STATUS_BAD_PARAM,
            "iou_aware_factor is ", iou_aware_factor, ", expected 0 to 1");
    call.check_tensors();
    require(numbers > 0 && numbers % 2 == 0, MLUOP_STATUS_BAD_PARAM, "anchors dim 0 is ", numbers,
            ", expected a positive even number");
    if (has_no_elements(x_desc)) return;
    constexpr int64_t kScoreBytes = 16;  // cost of a score, in bytes of memory traffic
    const int64_t items = N * S * ceil_div(cells, kChunk);
    const int task_dim = choose_task_dim(items, saturated_product({N, S, class_num, cells, kScoreBytes}));
    call.log_detail("native, taskDim ", task_dim);
    call.context().reserve(0);
    launch(call.context(), "decode", task_dim, Evenly{items}, decode_kernel(),
           {S, H, W, class_num, downsample_ratio, conf_thresh, scale, iou_aware_factor, clip_bbox, iou_aware,
            static_cast<const float*>(x), static_cast<const int32_t*>(img_size),
            static_cast<const int32_t*>(anchors), static_cast<float*>(boxes), static_cast<float*>(scores)});
  });
}
#endif
