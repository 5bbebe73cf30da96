#include "reference/roi_pooling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/element.h"
#include "reference/points_in_boxes.h"

namespace mluop::reference {
namespace {

template <size_t kCount, class T>
std::array<float, kCount> floats(const T* from) {
  std::array<float, kCount> result;
  for (size_t i = 0; i < kCount; ++i) result[i] = to_f32(from[i]);
  return result;
}

// The voxel along an axis of a RoI for a point at distance `offset` from the first face.
int64_t voxel_of(float offset, float side, int64_t count) {
  const float position = offset / (side / static_cast<float>(count));
  if (std::isnan(position)) return 0;
  return std::clamp<int64_t>(static_cast<int64_t>(std::clamp(position, -1.0F, 0x1p31F)), 0, count - 1);
}

int64_t voxel_of(const RoiawarePool3dSizes& sizes, const std::array<float, 3>& point,
                 const std::array<float, 7>& roi) {
  const float x = point[0] - roi[0], y = point[1] - roi[1];
  const auto c = static_cast<float>(std::cos(-static_cast<double>(roi[6])));
  const auto s = static_cast<float>(std::sin(-static_cast<double>(roi[6])));
  const float local_x = x * c + y * -s, local_y = x * s + y * c;
  return (voxel_of(local_x + roi[3] / 2, roi[3], sizes.X) * sizes.Y +
          voxel_of(local_y + roi[4] / 2, roi[4], sizes.Y)) *
             sizes.Z +
         voxel_of(point[2] - roi[2], roi[5], sizes.Z);
}

template <class T>
void pool(bool is_max, int64_t C, int64_t c, const int32_t* listed, const T* features, int32_t* argmax,
          T* pooled) {
  const int32_t count = listed[0];
  float greatest = -std::numeric_limits<float>::infinity(), sum = 0;
  int32_t of_point = -1;
  for (int32_t i = 1; i <= count; ++i) {
    const float feature = to_f32(features[listed[i] * C + c]);
    sum += feature;
    if (feature > greatest) {
      greatest = feature;
      of_point = listed[i];
    }
  }
  *argmax = is_max ? of_point : 0;
  if (is_max) {
    put(of_point < 0 ? 0.0F : greatest, pooled);
  } else {
    put(count == 0 ? 0.0F : sum / static_cast<float>(count), pooled);
  }
}

}  // namespace

template <class T>
void roiaware_pool3d_forward(bool is_max, const RoiawarePool3dSizes& sizes, const T* rois, const T* pts,
                             const T* features, int32_t* argmax, int32_t* pts_idx_of_voxels, T* pooled) {
  const int64_t C = sizes.C, P = sizes.P, V = sizes.X * sizes.Y * sizes.Z;
  std::fill_n(pts_idx_of_voxels, sizes.voxels() * P, 0);
  for (int64_t r = 0; r < sizes.R; ++r) {
    const auto roi = floats<7>(rois + r * 7);
    for (int64_t n = 0; n < sizes.N; ++n) {
      const auto point = floats<3>(pts + n * 3);
      if (!is_in_box(BoxRule::kMmcv, point.data(), roi.data())) continue;
      int32_t* listed = pts_idx_of_voxels + (r * V + voxel_of(sizes, point, roi)) * P;
      if (listed[0] < P - 1) listed[++listed[0]] = static_cast<int32_t>(n);
    }
  }
  for (int64_t i = 0; i < sizes.voxels() * C; ++i) {
    pool(is_max, C, i % C, pts_idx_of_voxels + i / C * P, features, argmax + i, pooled + i);
  }
}

template <class T, class Output>
void roiaware_pool3d_backward(bool is_max, const RoiawarePool3dSizes& sizes, const int32_t* pts_idx_of_voxels,
                              const int32_t* argmax, const T* grad_out, Output* grad_in) {
  using Sum = SumOf<Output>;
  const int64_t C = sizes.C;
  std::vector<Sum> sums(static_cast<size_t>(sizes.N * C));
  const auto sum_of = [&](int32_t n, int64_t c) -> Sum& { return sums[static_cast<size_t>(n * C + c)]; };
  for (int64_t voxel = 0; voxel < sizes.voxels(); ++voxel) {
    const int32_t *listed = pts_idx_of_voxels + voxel * sizes.P, *maxima = argmax + voxel * C;
    for (int64_t c = 0; c < C; ++c) {
      const auto grad = static_cast<Sum>(to_f32(grad_out[voxel * C + c]));
      if (is_max) {
        if (maxima[c] >= 0) sum_of(maxima[c], c) += grad;
        continue;
      }
      const Sum scale = Sum{1} / static_cast<Sum>(listed[0]);
      for (int32_t i = 1; i <= listed[0]; ++i) sum_of(listed[i], c) += grad * scale;
    }
  }
  for (const Sum sum : sums) put(sum, grad_in++);
}

template <class T>
void roipoint_pool3d(const RoipointPool3dSizes& sizes, const T* points, const T* features, const T* boxes,
                     T* pooled, int32_t* is_empty) {
  const auto [B, N, M, C, S] = sizes;
  for (int64_t item = 0; item < B * M; ++item) {
    const int64_t b = item / M;
    const auto box = floats<7>(boxes + item * 7);
    std::vector<int64_t> samples;
    for (int64_t n = b * N; n < (b + 1) * N && static_cast<int64_t>(samples.size()) < S; ++n) {
      if (is_in_box(BoxRule::kMmcv, floats<3>(points + n * 3).data(), box.data())) samples.push_back(n);
    }
    is_empty[item] = samples.empty() ? 1 : 0;
    for (int64_t j = 0; j < S; ++j) {
      T* row = pooled + (item * S + j) * (3 + C);
      if (samples.empty()) {
        std::fill_n(row, 3 + C, T{});
        continue;
      }
      const int64_t n = samples[static_cast<size_t>(j) % samples.size()];
      std::copy_n(points + n * 3, 3, row);
      std::copy_n(features + n * C, C, row + 3);
    }
  }
}

template void roiaware_pool3d_forward(bool, const RoiawarePool3dSizes&, const float*, const float*, const float*,
                                      int32_t*, int32_t*, float*);
template void roiaware_pool3d_forward(bool, const RoiawarePool3dSizes&, const Half*, const Half*, const Half*,
                                      int32_t*, int32_t*, Half*);
template void roiaware_pool3d_forward(bool, const RoiawarePool3dSizes&, const BFloat16*, const BFloat16*,
                                      const BFloat16*, int32_t*, int32_t*, BFloat16*);
template void roiaware_pool3d_backward(bool, const RoiawarePool3dSizes&, const int32_t*, const int32_t*,
                                       const float*, float*);
template void roiaware_pool3d_backward(bool, const RoiawarePool3dSizes&, const int32_t*, const int32_t*,
                                       const float*, double*);
template void roiaware_pool3d_backward(bool, const RoiawarePool3dSizes&, const int32_t*, const int32_t*,
                                       const Half*, Half*);
template void roiaware_pool3d_backward(bool, const RoiawarePool3dSizes&, const int32_t*, const int32_t*,
                                       const BFloat16*, BFloat16*);
template void roiaware_pool3d_backward(bool, const RoiawarePool3dSizes&, const int32_t*, const int32_t*,
                                       const Half*, double*);
template void roiaware_pool3d_backward(bool, const RoiawarePool3dSizes&, const int32_t*, const int32_t*,
                                       const BFloat16*, double*);
template void roipoint_pool3d(const RoipointPool3dSizes&, const float*, const float*, const float*, float*,
                              int32_t*);
template void roipoint_pool3d(const RoipointPool3dSizes&, const Half*, const Half*, const Half*, Half*, int32_t*);
template void roipoint_pool3d(const RoipointPool3dSizes&, const BFloat16*, const BFloat16*, const BFloat16*,
                              BFloat16*, int32_t*);

}  // namespace mluop::reference
