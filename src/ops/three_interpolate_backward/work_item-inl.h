// Three interpolate backward, native algorithm: work items. Per-target code of Highway:
// include it inside foreach_target.
#if defined(MLUOP_THREE_INTERPOLATE_BACKWARD_WORK_ITEM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_INTERPOLATE_BACKWARD_WORK_ITEM_INL_H
#undef MLUOP_THREE_INTERPOLATE_BACKWARD_WORK_ITEM_INL_H
#else
#define MLUOP_THREE_INTERPOLATE_BACKWARD_WORK_ITEM_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "ops/three_interpolate_backward/three_interpolate_backward_native_kernels.h"
#include "primitives/simd/channel_strip-inl.h"
#include "primitives/simd/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::copy_edge;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::kSquarePoints;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::load_row;
using mluop::HWY_NAMESPACE::load_row_in_place;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::localize_indices;
using mluop::HWY_NAMESPACE::prefetch_points;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::unpack;
using mluop::HWY_NAMESPACE::write_strip;

constexpr int64_t kStrip = Tiling::kStrip;
using D = mluop::HWY_NAMESPACE::StripTag;
constexpr int64_t kLanes = mluop::HWY_NAMESPACE::kStripLanes;

// The operands of a work item. T, here and below: an element type.
template <class T>
struct WorkItem {
  WorkItem(const Args& args, const Tiling& tiling, int64_t number) {
    const int64_t channel_tiles = tiling.channel_tiles(args);
    const int64_t feature_tiles = tiling.feature_tiles(args);
    const int64_t first_channel = number % channel_tiles * tiling.channels;
    b = number / channel_tiles / feature_tiles;
    first_feature = number / channel_tiles % feature_tiles * tiling.features;
    features = std::min(tiling.features, args.M - first_feature);
    channels = std::min(tiling.channels, args.C - first_channel);
    grad_output = static_cast<const T*>(args.grad_output) + (b * args.C + first_channel) * args.N;
    indices = args.indices + b * args.N * 3;
    weights = static_cast<const T*>(args.weights) + b * args.N * 3;
    grad_features = static_cast<T*>(args.grad_features) + (b * args.C + first_channel) * args.M + first_feature;
  }

  // Whether some int32_t can be the index of one of the features.
  bool indexable() const { return first_feature <= std::numeric_limits<int32_t>::max(); }

  int64_t b, first_feature, features, channels;
  const T* grad_output;    // [channels, N]
  const int32_t* indices;  // [N, 3]
  const T* weights;        // [N, 3]
  T* grad_features;        // [channels, features], rows M apart
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
