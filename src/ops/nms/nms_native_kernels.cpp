#include "ops/nms/nms_native_kernels.h"

#include <cmath>
#include <limits>

#include "core/dtype.h"

namespace mluop::nms::native {
namespace {

template <class T>
const T* confidences_of(const Args& args, int64_t b, int64_t c) {
  return static_cast<const T*>(args.confidence) + (b * args.C + c) * args.N;
}

// A number of box n of batch b.
template <class T>
T number_of(const Args& args, int64_t b, int64_t n, int64_t column) {
  const int64_t columns = args.box_columns();
  const T* const boxes = static_cast<const T*>(args.boxes) + b * args.N * columns;
  return boxes[args.by_column ? column * args.N + n : n * columns + column];
}

// True for NaN too.
bool is_candidate(const Args& args, float confidence) { return !(confidence <= args.confidence_threshold); }

template <class T>
void count_selected(const SelectArgs& args, int64_t begin, int64_t end, Task&) {
  const T* const confidences = confidences_of<T>(args, args.b, args.c);
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range boxes = args.selection.boxes_of(chunk, args.N);
    args.selection.chunk_starts[chunk] =
        std::count_if(confidences + boxes.begin, confidences + boxes.end,
                      [&](T confidence) { return is_candidate(args, to_f32(confidence)); });
  }
}

template <class T>
void collect_selected(const SelectArgs& args, int64_t begin, int64_t end, Task&) {
  const T* const confidences = confidences_of<T>(args, args.b, args.c);
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range boxes = args.selection.boxes_of(chunk, args.N);
    int64_t at = args.selection.chunk_starts[chunk];
    for (int64_t n = boxes.begin; n < boxes.end; ++n) {
      const float confidence = to_f32(confidences[n]);
      if (!is_candidate(args, confidence)) continue;
      args.selection.boxes[at] = static_cast<int32_t>(n);
      args.selection.scores[at++] = confidence;
    }
  }
}

Rectangle rectangle_of(const Args& args, const float* box) {
  Rectangle made{};
  switch (args.box_kind) {
    case BoxKind::kCorners: made = {{box[0], box[1], box[2], box[3]}, 0}; break;
    case BoxKind::kCenter:
      made = {{box[0] - box[2] / 2, box[1] - box[3] / 2, 0, 0}, 0};
      made.max_x = made.min_x + box[2];
      made.max_y = made.min_y + box[3];
      break;
    default:
      return {{box[0] - box[3] / 2, box[1] - box[4] / 2, box[0] + box[3] / 2, box[1] + box[4] / 2},
              box[3] * box[4]};
  }
  made.area = area_of(made, args.offset);
  return made;
}

// Whether the rectangle may share an area with another one. For any other rectangle, the shared width or height is
// 0 in the formula, because differences and sums are rounded monotonically, or the IoU is NaN or a finite number
// over infinity. None of these exceeds a non-negative threshold.
bool may_overlap(const Rectangle& r, float offset) {
  const float width = r.max_x - r.min_x + offset, height = r.max_y - r.min_y + offset;
  return width > 0 && height > 0 && std::isfinite(width) && std::isfinite(height) && std::isfinite(r.area);
}

// Rectangles that share an area have bounds that meet. With x1 and x2 the least and the greatest x of a rectangle,
// a shared width min(x2) - max(x1) + offset above 0 implies x2 + offset > x1 for either x2 and either x1, in exact
// numbers: if the difference is at most -offset, so is the rounded difference. Since rounding is monotonic and x1
// is a float, the rounded x2 + offset is at least x1.
Bounds bounds_of(const Rectangle& r, float offset) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  if (!may_overlap(r, offset)) return {kNone, kNone, kNone, kNone};
  return {r.min_x, r.min_y, r.max_x + offset, r.max_y + offset};
}

// A rectangle that overlaps no other.
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Rectangle kEmpty = {{kInfinity, kInfinity, -kInfinity, -kInfinity}, 0};

template <class T>
void prepare(const CandidateArgs& args, int64_t begin, int64_t end, Task&) {
  const Candidates& candidates = args.candidates;
  for (int64_t i = begin; i < end; ++i) {
    float box[7] = {};
    for (int64_t column = 0; column < args.box_columns(); ++column) {
      box[column] = to_f32(number_of<T>(args, args.b, args.box_of(i), column));
    }
    if (args.box_kind == BoxKind::kTurned) {
      candidates.turned[i] = {make_bev_box(box), box[3] * box[4]};
      candidates.bounds.set(i, mluop::bounds_of(candidates.turned[i].box));
      continue;
    }
    Rectangle& rectangle = candidates.rectangles[i] = rectangle_of(args, box);
    // The minimum or maximum of NaN and a corner of another rectangle may be the corner.
    if (args.box_kind == BoxKind::kUpright && !may_overlap(rectangle, args.offset)) rectangle = kEmpty;
    candidates.bounds.set(i, bounds_of(rectangle, args.offset));
  }
  if (end == candidates.bounds.count) candidates.bounds.pad();
}

// The IoU of 3-D boxes. A NaN union becomes the smallest union.
float iou_over_least(float intersection, float area_a, float area_b) {
  constexpr float kLeastUnion = 1e-8F;
  return intersection / std::fmax(area_a + area_b - intersection, kLeastUnion);
}

bool suppresses_rectangle(const void* opaque, int64_t kept, int64_t other) {
  const PairTest& test = *static_cast<const PairTest*>(opaque);
  const Rectangle &a = test.candidates.rectangles[kept], &b = test.candidates.rectangles[other];
  return iou_of(shared_area(a, b, test.offset), a.area, b.area) > test.iou_threshold;
}

bool suppresses_upright(const void* opaque, int64_t kept, int64_t other) {
  const PairTest& test = *static_cast<const PairTest*>(opaque);
  const Rectangle &a = test.candidates.rectangles[kept], &b = test.candidates.rectangles[other];
  return iou_over_least(shared_area(a, b, 0), a.area, b.area) > test.iou_threshold;
}

bool suppresses_turned(const void* opaque, int64_t kept, int64_t other) {
  const PairTest& test = *static_cast<const PairTest*>(opaque);
  const TurnedBox &a = test.candidates.turned[kept], &b = test.candidates.turned[other];
  return iou_over_least(overlap_of(a.box, b.box), a.area, b.area) > test.iou_threshold;
}

template <class T>
void write_box(const WriteArgs& args, int64_t n, int64_t row) {
  auto* const numbers = static_cast<int32_t*>(args.output);
  switch (args.output_mode) {
    case MLUOP_NMS_OUTPUT_TARGET_INDICES: numbers[row] = static_cast<int32_t>(n); return;
    case MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS:
      numbers[row * 3] = static_cast<int32_t>(args.b);
      numbers[row * 3 + 1] = static_cast<int32_t>(args.c);
      numbers[row * 3 + 2] = static_cast<int32_t>(n);
      return;
    default: break;
  }
  const bool is_row = args.output_mode == MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1;
  T* const to = static_cast<T*>(args.output) + (is_row ? row * 5 : row);
  const int64_t stride = is_row ? 1 : args.row_count;
  to[0] = confidences_of<T>(args, args.b, args.c)[n];
  for (int64_t column = 0; column < 4; ++column) to[(column + 1) * stride] = number_of<T>(args, args.b, n, column);
}

template <class T>
void write_kept(const WriteArgs& args, int64_t, int64_t, Task&) {
  args.rows = 0;
  for (int64_t i = 0; i < args.candidates.bounds.count && args.rows < args.max_output_size; ++i) {
    if (args.candidates.is_suppressed[i] == 0) write_box<T>(args, args.box_of(i), args.first_row + args.rows++);
  }
}

}  // namespace

RangeKernel<SelectArgs> count_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype,
                        [](auto element) -> RangeKernel<SelectArgs> { return count_selected<decltype(element)>; });
}

RangeKernel<SelectArgs> collect_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(
      dtype, [](auto element) -> RangeKernel<SelectArgs> { return collect_selected<decltype(element)>; });
}

RangeKernel<CandidateArgs> prepare_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype,
                        [](auto element) -> RangeKernel<CandidateArgs> { return prepare<decltype(element)>; });
}

Suppresses suppresses_of(BoxKind kind) {
  switch (kind) {
    case BoxKind::kUpright: return suppresses_upright;
    case BoxKind::kTurned: return suppresses_turned;
    default: return suppresses_rectangle;
  }
}

RangeKernel<WriteArgs> write_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype,
                        [](auto element) -> RangeKernel<WriteArgs> { return write_kept<decltype(element)>; });
}

}  // namespace mluop::nms::native
