// The bins of RoIs over whole pixels, and the images of RoIs. Bins may overlap; the part of a bin outside the
// image is left out. Positions are fp32; the rules differ in what they round.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/arena.h"
#include "core/element.h"
#include "mlu_op.h"
#include "team/atomics.h"
#include "team/context.h"
#include "team/split.h"

namespace mluop {

// Along an axis, with the corners `low` and `high` of a RoI, the bins i = 0, 1, ... and bin = size / count:
enum class BinRule {
  // mmcv's CUDA kernel of RoI pooling. start = low scale, size = (high + 1) scale - start; without positive size
  // all bins are empty. Bin i: floor(i bin + start) to ceil((i + 1) bin + start).
  kExact,
  // Fast R-CNN, MLU-OPS: start = round(low scale), size = round(high scale) - start + 1, at least 1, halves away
  // from 0. Bin i: floor(i bin) + start to ceil((i + 1) bin) + start.
  kRoundedPixels,
  // R-FCN, MLU-OPS: start = round(low) scale, size = (round(high) + 1) scale - start, at least 0.1. Bins as
  // kExact.
  kRoundedCorners,
};

struct RoiBins {
  RoiBins() = default;
  RoiBins(Arena& arena, int64_t R, int64_t PH, int64_t PW)
      : images(arena.take<int64_t>("images", {R})),
        rows(arena.take<Range>("rows", {R, PH})),
        columns(arena.take<Range>("columns", {R, PW})) {}

  int64_t* images = nullptr;  // [R]
  Range* rows = nullptr;      // [R, PH]: pixels; an empty range begins and ends at 0
  Range* columns = nullptr;   // [R, PW]
};

struct RoiBinsArgs {
  BinRule rule;
  float spatial_scale;
  int64_t B, H, W, R, PH, PW;
  const void* rois;  // [R, 5] in the data type: image, x1, y1, x2, y2
  const RoiBins& to;
};

// Writes the bins; all are empty along an axis with an infinite or NaN corner. Throws Failure with BAD_PARAM if
// the image of a RoI, truncated, is outside [0, B).
void find_roi_bins(Context& context, mluOpDataType_t dtype, const RoiBinsArgs& args);

// The image of a RoI, the first number of `roi`; reports item r if it is outside [0, B).
template <class T>
int64_t read_roi_image(const T* roi, int64_t B, int64_t r, FirstBadItem& first_bad) {
  const float image = to_f32(roi[0]);
  if (image >= 0 && image < static_cast<float>(B)) return static_cast<int64_t>(image);
  first_bad.report(r);
  return 0;
}

// Throws Failure with BAD_PARAM if an item of rois [R, columns] was reported. `name`: of the tensor, in messages.
void require_roi_images(std::string_view name, mluOpDataType_t dtype, const FirstBadItem& first_bad,
                        const void* rois, int64_t columns, int64_t B);

}  // namespace mluop
