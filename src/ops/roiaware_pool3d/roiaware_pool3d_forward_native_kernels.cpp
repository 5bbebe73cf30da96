#include "ops/roiaware_pool3d/roiaware_pool3d_forward_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roiaware_pool3d/roiaware_pool3d_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/dtype.h"
#include "core/simd.h"
#include "primitives/geometry/bounded_points-inl.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d::forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::visit_points_in_box;

// The voxels of a RoI. The operations are the operations of the definition, each rounded to fp32.
class RoiVoxels {
 public:
  // T, here and below: an element type.
  template <class T>
  HWY_INLINE RoiVoxels(const Sizes& sizes, const PointBox& box, const T* roi)
      : box_(box),
        bottom_(to_f32(roi[2])),
        half_dx_(to_f32(roi[3]) / 2),
        half_dy_(to_f32(roi[4]) / 2),
        x_{to_f32(roi[3]) / static_cast<float>(sizes.X), sizes.X},
        y_{to_f32(roi[4]) / static_cast<float>(sizes.Y), sizes.Y},
        z_{to_f32(roi[5]) / static_cast<float>(sizes.Z), sizes.Z} {}

  // The voxel of a point inside the RoI.
  HWY_INLINE int64_t voxel(float x, float y, float z) const {
    const float dx = x - box_.x, dy = y - box_.y;
    const float u = dx * box_.cosine + dy * box_.sine, v = dy * box_.cosine - dx * box_.sine;
    return (x_.cell(u + half_dx_) * y_.count + y_.cell(v + half_dy_)) * z_.count + z_.cell(z - bottom_);
  }

 private:
  struct Axis {
    // Truncates and clamps to the axis; NaN becomes 0.
    HWY_INLINE int64_t cell(float offset) const {
      const float position = offset / size;
      return position > 0 ? std::min(static_cast<int64_t>(std::min(position, 0x1p31F)), count - 1) : 0;
    }

    float size;  // size of a voxel
    int64_t count;
  };

  const PointBox& box_;
  float bottom_, half_dx_, half_dy_;
  Axis x_, y_, z_;
};

HWY_INLINE void fill(const PoolArgs& args, const StreamWriter& writer, void* data, uint8_t value, int64_t bytes) {
  if (args.stream) {
    writer.fill(static_cast<uint8_t*>(data), value, static_cast<size_t>(bytes));
  } else {
    std::memset(data, value, static_cast<size_t>(bytes));
  }
}

// Writes the points of the voxels of a RoI. counts[v] = the number of points of voxel v.
template <class T>
HWY_INLINE void place_points(const PoolArgs& args, int64_t r, const StreamWriter& writer, int32_t* counts) {
  const int64_t V = args.roi_voxels(), P = args.P;
  const PointPlanes& planes = args.points.planes;
  const float* const x = planes.plane(0, 0);
  const float* const y = planes.plane(0, 1);
  const float* const z = planes.plane(0, 2);
  const RoiVoxels voxels(args, args.prepared_rois.boxes[r], static_cast<const T*>(args.rois) + r * 7);
  int32_t* const rows = args.pts_idx_of_voxels + r * V * P;
  fill(args, writer, rows, 0, V * P * int64_t{sizeof(int32_t)});
  std::fill_n(counts, V, 0);
  visit_points_in_box(args.prepared_rois, 0, r, args.points, [&](int64_t n) {
    const int64_t v = voxels.voxel(x[n], y[n], z[n]);
    if (counts[v] < P - 1) rows[v * P + ++counts[v]] = static_cast<int32_t>(n);
    return true;
  });
  for (int64_t v = 0; v < V; ++v) {
    if (counts[v] > 0) rows[v * P] = counts[v];
  }
}

// The first of the greatest features of the points, and its point; 0 and -1 where no feature is above -infinity.
template <class T>
HWY_INLINE void pool_max(const T* features, int64_t stride, const int32_t* points, int32_t count, int64_t channels,
                         T* pooled, int32_t* argmax) {
  for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    auto greatest = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto of_point = hn::Set(di, -1);
    for (int32_t i = 0; i < count; ++i) {
      const auto feature = load_f32(d, features + points[i] * stride + c);
      // False for NaN.
      const auto is_greater = hn::Gt(feature, greatest);
      greatest = hn::IfThenElse(is_greater, feature, greatest);
      of_point = hn::IfThenElse(hn::RebindMask(di, is_greater), hn::Set(di, points[i]), of_point);
    }
    const auto is_none = hn::RebindMask(d, hn::Lt(of_point, hn::Zero(di)));
    store_f32(hn::IfThenZeroElse(is_none, greatest), d, pooled + c);
    hn::StoreU(of_point, di, argmax + c);
  });
}

// The mean of the features of the points: their sum in fp32, in the order of the points, divided by their number.
template <class T>
HWY_INLINE void pool_mean(const T* features, int64_t stride, const int32_t* points, int32_t count,
                          int64_t channels, T* pooled) {
  for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int32_t i = 0; i < count; ++i) sum = hn::Add(sum, load_f32(d, features + points[i] * stride + c));
    store_f32(hn::Div(sum, hn::Set(d, static_cast<float>(count))), d, pooled + c);
  });
}

template <class T>
HWY_INLINE void pool_voxel(const PoolArgs& args, int64_t voxel, int32_t count) {
  const T* const features = static_cast<const T*>(args.pts_feature);
  const int32_t* const points = args.pts_idx_of_voxels + voxel * args.P + 1;
  T* const pooled = static_cast<T*>(args.pooled_features) + voxel * args.C;
  int32_t* const argmax = args.argmax + voxel * args.C;
  if (args.method == PoolMethod::kMax) {
    pool_max(features, args.C, points, count, args.C, pooled, argmax);
  } else {
    pool_mean(features, args.C, points, count, args.C, pooled);
    std::fill_n(argmax, args.C, 0);
  }
}

// Handles voxels without points, which are most voxels, as runs.
template <class T>
void pool(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t V = args.roi_voxels(), C = args.C;
  const uint8_t no_point = args.method == PoolMethod::kMax ? 0xFF : 0;  // the bytes of -1, or of 0
  int32_t* const counts = args.counts + task.taskId * V;
  const StreamWriter writer;
  for (int64_t r = begin; r < end; ++r) {
    place_points<T>(args, r, writer, counts);
    for (int64_t v = 0; v < V;) {
      const int64_t first = v;
      while (v < V && counts[v] == 0) ++v;
      const int64_t elements = (v - first) * C, at = (r * V + first) * C;
      fill(args, writer, static_cast<T*>(args.pooled_features) + at, 0, elements * int64_t{sizeof(T)});
      fill(args, writer, args.argmax + at, no_point, elements * int64_t{sizeof(int32_t)});
      for (; v < V && counts[v] > 0; ++v) pool_voxel<T>(args, r * V + v, counts[v]);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(pool, PoolArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roiaware_pool3d::forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roiaware_pool3d::forward::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_kernel, pool, PoolArgs);

}  // namespace mluop::roiaware_pool3d::forward::native
#endif
