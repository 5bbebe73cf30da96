// mluOpOmpFurthestPointSample, mluOpOmpFurthestPointSampleWithDist and their queries: entries and checks. Start
// with the entries at the end of this file, then rank.h, then furthest_point_sample_native_kernels.cpp: sample()
// is shared by both operators; add_sample() works on points, which furthest_point_sample_native_buckets.cpp sorts;
// add_row() works on distances.
#include "ops/furthest_point_sample/furthest_point_sample.h"

namespace mluop::furthest_point_sample {
namespace {

using native::From;

// Declares and checks the arguments of an operator or its query. `columns`: the columns of the input.
Sizes check_arguments(Call& call, const char* name, const TensorDescriptor* desc, const void* data,
                      int64_t columns, const TensorDescriptor* idx_desc, void* idx) {
  const Sizes sizes{dim_of(desc, 0), dim_of(desc, 1), dim_of(idx_desc, 1)};
  call.input(name, desc, data, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kAny, columns});
  call.output("idx", idx_desc, idx, MLUOP_DTYPE_INT32, kAnyLayout, {sizes.B, kAny});
  if (sizes.is_empty()) call.reads_nothing();

  call.check_pointers();
  require_int32_count(std::string(name) + " dim 1", sizes.N);
  call.check_tensors();
  require(sizes.is_empty() || sizes.N > 0, MLUOP_STATUS_BAD_PARAM, name, " dim 1 is 0, expected at least 1");
  return sizes;
}

Sizes check_points(Call& call, const TensorDescriptor* points_desc, const void* points,
                   const TensorDescriptor* idx_desc, void* idx) {
  return check_arguments(call, "points", points_desc, points, 3, idx_desc, idx);
}

Sizes check_distances(Call& call, const TensorDescriptor* distances_desc, const void* distances,
                      const TensorDescriptor* idx_desc, void* idx) {
  return check_arguments(call, "distances", distances_desc, distances, dim_of(distances_desc, 1), idx_desc, idx);
}

void run(Call& call, From from, const Sizes& sizes, const void* input, void* workspace, size_t workspace_size,
         void* idx) {
  const Arena arena = call.workspace(workspace, workspace_size, native::workspace_bytes(from, sizes));
  if (sizes.is_empty()) return;
  native::run(call, from, {sizes, static_cast<const float*>(input), static_cast<int32_t*>(idx)}, arena);
}

}  // namespace
}  // namespace mluop::furthest_point_sample

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetFurthestPointSampleWorkspaceSize(mluOpHandle_t handle,
                                                                        const mluOpTensorDescriptor_t points_desc,
                                                                        const mluOpTensorDescriptor_t idx_desc,
                                                                        size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::furthest_point_sample;
  return run_workspace_query("mluOpOmpGetFurthestPointSampleWorkspaceSize", handle, workspace_size,
                             [&](Call& call) {
                               const Sizes sizes = check_points(call, points_desc, nullptr, idx_desc, nullptr);
                               return native::workspace_bytes(From::kPoints, sizes);
                             });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpFurthestPointSample(mluOpHandle_t handle,
                                                        const mluOpTensorDescriptor_t points_desc,
                                                        const void* points, void* workspace, size_t workspace_size,
                                                        const mluOpTensorDescriptor_t idx_desc, void* idx) {
  using namespace mluop;
  using namespace mluop::furthest_point_sample;
  return run_operator("mluOpOmpFurthestPointSample", handle, [&](Call& call) {
    const Sizes sizes = check_points(call, points_desc, points, idx_desc, idx);
    run(call, From::kPoints, sizes, points, workspace, workspace_size, idx);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetFurthestPointSampleWithDistWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t distances_desc, const mluOpTensorDescriptor_t idx_desc,
    size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::furthest_point_sample;
  return run_workspace_query(
      "mluOpOmpGetFurthestPointSampleWithDistWorkspaceSize", handle, workspace_size, [&](Call& call) {
        const Sizes sizes = check_distances(call, distances_desc, nullptr, idx_desc, nullptr);
        return native::workspace_bytes(From::kDistances, sizes);
      });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpFurthestPointSampleWithDist(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t distances_desc, const void* distances, void* workspace,
    size_t workspace_size, const mluOpTensorDescriptor_t idx_desc, void* idx) {
  using namespace mluop;
  using namespace mluop::furthest_point_sample;
  return run_operator("mluOpOmpFurthestPointSampleWithDist", handle, [&](Call& call) {
    const Sizes sizes = check_distances(call, distances_desc, distances, idx_desc, idx);
    run(call, From::kDistances, sizes, distances, workspace, workspace_size, idx);
  });
}
