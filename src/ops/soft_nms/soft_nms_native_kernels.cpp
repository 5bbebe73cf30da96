#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/soft_nms/soft_nms_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/simd.h"
#include "ops/soft_nms/soft_nms_native_kernels.h"
#include "primitives/geometry/box_bounds.h"
#include "team/split.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::soft_nms::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, Candidates::kPadding>;
using V = hn::Vec<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
// Chunks do not share a vector.
static_assert(Candidates::kChunkBoxes % kLanes == 0);

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// std::max and std::min of each lane: the first operand if the operands are equal or one is NaN.
HWY_INLINE V first_max(V a, V b) { return hn::IfThenElse(hn::Lt(a, b), b, a); }
HWY_INLINE V first_min(V a, V b) { return hn::IfThenElse(hn::Lt(b, a), b, a); }

HWY_INLINE Range boxes_of(const Candidates& all, int64_t chunk) {
  const int64_t first = all.chosen + chunk * Candidates::kChunkBoxes;
  return {first, std::min(first + Candidates::kChunkBoxes, all.count)};
}

HWY_INLINE Summary summary_of(const Candidates& all, const Range& boxes) {
  const D d;
  V min = hn::Set(d, kInfinity), max = hn::Set(d, -kInfinity);
  for (int64_t i = boxes.begin; i < boxes.end; i += kLanes) {
    const V scores = hn::LoadU(d, all.scores + i);
    min = first_min(min, scores);
    max = first_max(max, scores);
  }
  return {hn::GetLane(hn::MinOfLanes(d, min)), hn::GetLane(hn::MaxOfLanes(d, max))};
}

HWY_INLINE float box_area(const float* box, float offset) {
  return area_of({box[0], box[1], box[2], box[3]}, offset);
}

void load(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const Candidates& all = args.candidates;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range boxes = boxes_of(all, chunk);
    for (int64_t i = boxes.begin; i < boxes.end; ++i) {
      const float* box = args.boxes + i * 4;
      all.x1[i] = box[0];
      all.y1[i] = box[1];
      all.x2[i] = box[2];
      all.y2[i] = box[3];
      all.areas[i] = box_area(box, args.offset);
      all.scores[i] = args.scores[i];
      all.indices[i] = static_cast<int32_t>(i);
    }
    if (boxes.end == args.N) {
      for (float* padded : {all.x1, all.y1, all.x2, all.y2, all.areas, all.scores}) {
        std::fill_n(padded + args.N, Candidates::kPadding, kNan);
      }
    }
    all.summaries[chunk] = summary_of(all, boxes);
  }
}

// The first box, from `first` on, whose score accept(scores) selects; `count` if there is none.
template <class Accept>
HWY_INLINE int64_t find(const Candidates& all, int64_t first, const Accept& accept) {
  const D d;
  for (int64_t i = first; i < all.count; i += kLanes) {
    const auto lane = hn::FindFirstTrue(d, accept(hn::LoadU(d, all.scores + i)));
    if (lane >= 0) return i + static_cast<int64_t>(lane);
  }
  return all.count;
}

HWY_INLINE void copy(const Candidates& all, int64_t from, int64_t to) {
  for (float* numbers : {all.x1, all.y1, all.x2, all.y2, all.areas, all.scores}) numbers[to] = numbers[from];
  all.indices[to] = all.indices[from];
}

// Drops boxes; the last box replaces each dropped box.
HWY_INLINE void drop(Candidates& all, float min_score) {
  const auto is_low = [min_score](V scores) { return hn::Lt(scores, hn::Set(D(), min_score)); };
  for (int64_t i = find(all, all.chosen, is_low); i < all.count; i = find(all, i, is_low)) {
    --all.count;
    copy(all, all.count, i);
    all.scores[all.count] = kNan;
  }
}

// Returns whether a box remained.
HWY_INLINE bool choose_one(const KernelArgs& args) {
  Candidates& all = args.candidates;
  Summary summary{kInfinity, -kInfinity};
  for (int64_t chunk = 0; chunk < all.chunks(); ++chunk) {
    summary.min = std::min(summary.min, all.summaries[chunk].min);
    summary.max = std::max(summary.max, all.summaries[chunk].max);
  }
  // The first box is chosen before any box is dropped. A dropped box does not hold the maximum unless all other
  // scores are NaN.
  if (all.chosen > 0 && summary.min < args.min_score) drop(all, args.min_score);
  if (all.remaining() == 0) return false;
  const auto is_max = [&](V scores) { return hn::Eq(scores, hn::Set(D(), summary.max)); };
  const int64_t i = std::isnan(all.scores[all.chosen]) ? all.chosen : find(all, all.chosen, is_max);
  float* row = args.dets + all.chosen * kColumns;
  for (const float* numbers : {all.x1, all.y1, all.x2, all.y2, all.scores}) *row++ = numbers[i];
  args.inds[all.chosen] = all.indices[i];
  copy(all, all.chosen, i);
  ++all.chosen;
  return true;
}

HWY_INLINE float gaussian_weight(float iou, float sigma) { return std::exp(-(iou * iou) / sigma); }

// The factors of the scores. weight_of_0: the gaussian weight without overlap.
HWY_INLINE V weights_of(const Args& args, V iou, float weight_of_0) {
  const D d;
  if (args.method != MLUOP_OMP_SOFT_NMS_GAUSSIAN) {
    const V one = hn::Set(d, 1);
    const V decayed = args.method == MLUOP_OMP_SOFT_NMS_NAIVE ? hn::Zero(d) : hn::Sub(one, iou);
    return hn::IfThenElse(hn::Ge(iou, hn::Set(d, args.iou_threshold)), decayed, one);
  }
  if (hn::AllTrue(d, hn::Eq(iou, hn::Zero(d)))) return hn::Set(d, weight_of_0);
  alignas(64) float weights[kLanes];
  hn::Store(iou, d, weights);
  for (float& each : weights) each = each == 0 ? weight_of_0 : gaussian_weight(each, args.sigma);
  return hn::Load(d, weights);
}

void decay(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const D d;
  const Candidates& all = args.candidates;
  const float* chosen = args.dets + (all.chosen - 1) * kColumns;
  const V x1 = hn::Set(d, chosen[0]), y1 = hn::Set(d, chosen[1]);
  const V x2 = hn::Set(d, chosen[2]), y2 = hn::Set(d, chosen[3]);
  const V area = hn::Set(d, box_area(chosen, args.offset)), offset = hn::Set(d, args.offset);
  const float weight_of_0 = gaussian_weight(0, args.sigma);
  const auto overlap = [&](V low, V high, const float* lows, const float* highs) {
    const V last = first_min(high, hn::LoadU(d, highs)), first = first_max(low, hn::LoadU(d, lows));
    return first_max(hn::Zero(d), hn::Add(hn::Sub(last, first), offset));
  };
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range boxes = boxes_of(all, chunk);
    for (int64_t i = boxes.begin; i < boxes.end; i += kLanes) {
      const V intersection =
          hn::Mul(overlap(x1, x2, all.x1 + i, all.x2 + i), overlap(y1, y2, all.y1 + i, all.y2 + i));
      const V both = hn::Add(area, hn::LoadU(d, all.areas + i));
      const V iou = hn::Div(intersection, hn::Sub(both, intersection));
      hn::StoreU(hn::Mul(hn::LoadU(d, all.scores + i), weights_of(args, iou, weight_of_0)), d, all.scores + i);
    }
    all.summaries[chunk] = summary_of(all, boxes);
  }
}

void choose(const KernelArgs& args, int64_t, int64_t, Task&) { choose_one(args); }

void choose_all(const KernelArgs& args, int64_t, int64_t, Task& task) {
  while (choose_one(args)) decay(args, 0, args.candidates.chunks(), task);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::soft_nms::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::soft_nms::native {

MLUOP_EXPORT_KERNEL(load_kernel, load, KernelArgs);
MLUOP_EXPORT_KERNEL(choose_kernel, choose, KernelArgs);
MLUOP_EXPORT_KERNEL(decay_kernel, decay, KernelArgs);
MLUOP_EXPORT_KERNEL(choose_all_kernel, choose_all, KernelArgs);

}  // namespace mluop::soft_nms::native
#endif
