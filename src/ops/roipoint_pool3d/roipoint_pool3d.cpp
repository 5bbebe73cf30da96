// mluOpRoiPointPool3d and its workspace query: entries and checks.
// Start with the entry at the end of this file, then run() in roipoint_pool3d_native.cpp. The kernels: prepare()
// in primitives/geometry/point_boxes.cpp, bound() in primitives/geometry/bounded_points.cpp, then sample() in
// roipoint_pool3d_native_kernels.cpp, which uses visit_points_in_box() of
// primitives/geometry/bounded_points-inl.h.
#include "ops/roipoint_pool3d/roipoint_pool3d.h"
#include "mlu_op.h"

namespace mluop::roipoint_pool3d {
namespace {

// The parameters shared by the operator and its query.
struct Parameters {
  int batch_size, pts_num, boxes_num, feature_in_len, sampled_pts_num;
  const TensorDescriptor *points_desc, *point_features_desc, *boxes3d_desc, *pooled_features_desc,
      *pooled_empty_flag_desc;

  Sizes sizes() const { return {batch_size, pts_num, boxes_num, feature_in_len, sampled_pts_num}; }
};

// The data of the tensors; null in the query.
struct Data {
  const void *points, *point_features, *boxes3d;
  void *pooled_features, *pooled_empty_flag;
};

// Checks a scalar that equals a dimension, which may belong to an empty tensor; a negative scalar never equals
// one.
void require_size(std::string_view dim, std::string_view scalar, int64_t size) {
  require_positive(size == 0 ? dim : scalar, size);
}

// Declares the tensors and checks everything except the workspace.
void check_arguments(Call& call, const Parameters& p, const Data& data) {
  const auto dtype = dtype_of(p.points_desc);
  const Sizes sizes = p.sizes();
  const auto [B, N, M, C, S] = sizes;
  call.parameter("num_sampled_points", p.sampled_pts_num);
  call.input("points", p.points_desc, data.points, dtype, kAnyLayout, {B, N, 3});
  call.input("point_features", p.point_features_desc, data.point_features, dtype, kAnyLayout, {B, N, C});
  call.input("boxes3d", p.boxes3d_desc, data.boxes3d, dtype, kAnyLayout, {B, M, 7});
  call.output("pooled_features", p.pooled_features_desc, data.pooled_features, dtype, kAnyLayout,
              {B, M, S, sizes.row()});
  call.output("pooled_empty_flag", p.pooled_empty_flag_desc, data.pooled_empty_flag, MLUOP_DTYPE_INT32, kAnyLayout,
              {B, M});

  call.check_pointers();
  require_element_type("points", dtype);
  call.check_tensors();
  require_size("points dim 0", "batch_size", B);
  require_size("points dim 1", "pts_num", N);
  require_size("boxes3d dim 1", "boxes_num", M);
  require_size("point_features dim 2", "feature_in_len", C);
  require_size("pooled_features dim 2", "sampled_pts_num", S);
}

}  // namespace
}  // namespace mluop::roipoint_pool3d

mluOpStatus_t MLUOP_WIN_API mluOpGetRoiPointPool3dWorkspaceSize(
    mluOpHandle_t handle, const int batch_size, const int pts_num, const int boxes_num, const int feature_in_len,
    const int sampled_pts_num, const mluOpTensorDescriptor_t points_desc,
    const mluOpTensorDescriptor_t point_features_desc, const mluOpTensorDescriptor_t boxes3d_desc,
    const mluOpTensorDescriptor_t pooled_features_desc, const mluOpTensorDescriptor_t pooled_empty_flag_desc,
    size_t* size) {
  using namespace mluop;
  using namespace mluop::roipoint_pool3d;
  return run_workspace_query("mluOpGetRoiPointPool3dWorkspaceSize", handle, size, [&](Call& call) {
    const Parameters parameters{batch_size,
                                pts_num,
                                boxes_num,
                                feature_in_len,
                                sampled_pts_num,
                                points_desc,
                                point_features_desc,
                                boxes3d_desc,
                                pooled_features_desc,
                                pooled_empty_flag_desc};
    check_arguments(call, parameters, {});
    return native::workspace_bytes(parameters.sizes());
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiPointPool3d(
    mluOpHandle_t handle, const int batch_size, const int pts_num, const int boxes_num, const int feature_in_len,
    const int sampled_pts_num, const mluOpTensorDescriptor_t points_desc, const void* points,
    const mluOpTensorDescriptor_t point_features_desc, const void* point_features,
    const mluOpTensorDescriptor_t boxes3d_desc, const void* boxes3d, void* workspace, size_t workspace_size,
    const mluOpTensorDescriptor_t pooled_features_desc, void* pooled_features,
    const mluOpTensorDescriptor_t pooled_empty_flag_desc, void* pooled_empty_flag) {
  using namespace mluop;
  using namespace mluop::roipoint_pool3d;
  return run_operator("mluOpRoiPointPool3d", handle, [&](Call& call) {
    const Parameters parameters{batch_size,
                                pts_num,
                                boxes_num,
                                feature_in_len,
                                sampled_pts_num,
                                points_desc,
                                point_features_desc,
                                boxes3d_desc,
                                pooled_features_desc,
                                pooled_empty_flag_desc};
    check_arguments(call, parameters, {points, point_features, boxes3d, pooled_features, pooled_empty_flag});
    const Sizes sizes = parameters.sizes();
    const Arena arena = call.workspace(workspace, workspace_size, native::workspace_bytes(sizes));
    native::run(call,
                {sizes, dtype_of(points_desc), points, point_features, boxes3d, pooled_features,
                 static_cast<int32_t*>(pooled_empty_flag)},
                arena);
  });
}
