#include "reference/points_in_boxes.h"

#include <cmath>

namespace mluop::reference {

bool is_in_box(BoxRule rule, const float* point, const float* box) {
  float center_z = box[2];
  if (rule == BoxRule::kMmcv) center_z = static_cast<float>(static_cast<double>(center_z) + box[5] / 2.0);
  if (std::fabs(point[2] - center_z) > box[5] / 2.0) return false;

  const float x = point[0] - box[0], y = point[1] - box[1];
  const auto c = static_cast<float>(std::cos(-static_cast<double>(box[6])));
  const auto s = static_cast<float>(std::sin(-static_cast<double>(box[6])));
  const float local_x = x * c + y * -s, local_y = x * s + y * c;
  if (rule == BoxRule::kMlu) {
    constexpr float kMargin = 1e-5F;
    return std::fabs(local_x) < box[3] / 2.0 + kMargin && std::fabs(local_y) < box[4] / 2.0 + kMargin;
  }
  return local_x > -box[3] / 2.0 && local_x < box[3] / 2.0 && local_y > -box[4] / 2.0 && local_y < box[4] / 2.0;
}

void points_in_boxes_part(BoxRule rule, const PointsInBoxesSizes& sizes, const float* points, const float* boxes,
                          int32_t* indices) {
  for (int64_t i = 0; i < sizes.B * sizes.M; ++i) {
    const float* of_batch = boxes + i / sizes.M * sizes.T * 7;
    indices[i] = -1;
    for (int64_t t = 0; t < sizes.T && indices[i] < 0; ++t) {
      if (is_in_box(rule, points + i * 3, of_batch + t * 7)) indices[i] = static_cast<int32_t>(t);
    }
  }
}

void points_in_boxes_all(BoxRule rule, const PointsInBoxesSizes& sizes, const float* points, const float* boxes,
                         int32_t* is_inside) {
  for (int64_t i = 0; i < sizes.B * sizes.M; ++i) {
    const float* of_batch = boxes + i / sizes.M * sizes.T * 7;
    for (int64_t t = 0; t < sizes.T; ++t) {
      is_inside[i * sizes.T + t] = is_in_box(rule, points + i * 3, of_batch + t * 7) ? 1 : 0;
    }
  }
}

}  // namespace mluop::reference
