// The first launch of operators on RoIs: checks the image of each RoI and prepares its geometry.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "core/checks.h"
#include "core/dtype.h"
#include "primitives/geometry/roi_bins.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop {

// Checks the samples of a bin along an axis, if they are given: `name` is the parameter.
inline void require_sampling_ratio(std::string_view name, int ratio) {
  constexpr int kMaxRatio = 64;
  require(ratio <= kMaxRatio, MLUOP_STATUS_NOT_SUPPORTED, name, " is ", ratio, ", expected at most ", kMaxRatio);
}

// RoIs as the caller passes them: rows of numbers, the first of which is the image.
template <int kColumns>
struct RoiRows {
  int64_t count;
  int64_t images;  // number of images
  mluOpDataType_t dtype;
  const void* rows;  // [count, kColumns]
};

// Writes image_of[r] and calls prepare(r, numbers), with the row in fp32, for each RoI; in parallel. Throws
// Failure with BAD_PARAM if the image of a RoI, truncated, does not exist.
template <int kColumns, class Prepare>
void prepare_rois(Context& context, const RoiRows<kColumns>& rois, int32_t* image_of, const Prepare& prepare) {
  struct Args {
    std::array<float, kColumns> row(int64_t r) const {
      std::array<float, kColumns> numbers;
      dispatch_dtype(rois.dtype, [&](auto element) {
        const auto* from = static_cast<const decltype(element)*>(rois.rows) + r * kColumns;
        for (float& number : numbers) number = to_f32(*from++);
      });
      return numbers;
    }

    const RoiRows<kColumns>& rois;
    int32_t* image_of;
    const Prepare& prepare;
    FirstBadItem& first_bad;
  };
  constexpr int64_t kRoiBytes = 512;  // cost of a RoI, in bytes of memory traffic
  FirstBadItem first_bad;
  const Args args{rois, image_of, prepare, first_bad};
  launch<Args>(
      context, "prepare", choose_task_dim(rois.count, rois.count * kRoiBytes), Evenly{rois.count},
      [](const Args& each, int64_t begin, int64_t end, Task&) {
        for (int64_t r = begin; r < end; ++r) {
          const auto numbers = each.row(r);
          const float image = numbers[0];
          if (!(image >= 0 && image < static_cast<float>(each.rois.images))) {
            return each.first_bad.report(r);
          }
          each.image_of[r] = static_cast<int32_t>(image);
          each.prepare(r, numbers.data());
        }
      },
      args);
  require_roi_images("rois", rois.dtype, first_bad, rois.rows, kColumns, rois.images);
}

}  // namespace mluop
