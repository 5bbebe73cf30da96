// mluOpOmpKnn and its workspace query: entries and checks. Start with the entry at the end of this file, then
// run() in knn_native.cpp. The kernels: separate() in primitives/geometry/point_planes.cpp; probe() and search()
// in knn_native_kernels.cpp, which use Center (compares vectors of points), the functions above them, and
// NeighborHeap (neighbor_heap.h) where distances are equal; the kernels of primitives/geometry/point_grid.cpp.
#include "ops/knn/knn.h"
#include "mlu_op_omp.h"

namespace mluop::knn {
namespace {

// Declares the inputs of the operator and of its query.
void declare_inputs(Call& call, int k, const TensorDescriptor* xyz_desc, const void* xyz,
                    const TensorDescriptor* new_xyz_desc, const void* new_xyz) {
  call.parameter("k", k);
  call.input("xyz", xyz_desc, xyz, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kAny, 3});
  const int64_t B = dim_of(xyz_desc, 0);
  call.input("new_xyz", new_xyz_desc, new_xyz, MLUOP_DTYPE_FLOAT, kAnyLayout, {B, kAny, 3});
}

// Checks the arguments shared by the operator and its query.
void check(Call& call, int k, const TensorDescriptor* xyz_desc) {
  call.check_pointers();
  require(kMinK <= k && k <= kMaxK, MLUOP_STATUS_BAD_PARAM, "k is ", k, ", expected ", kMinK, " to ", kMaxK);
  require_int32_count("xyz dim 1", dim_of(xyz_desc, 1));
  call.check_tensors();
}

Sizes sizes_of(int k, const TensorDescriptor* xyz_desc, const TensorDescriptor* new_xyz_desc) {
  return {dim_of(xyz_desc, 0), dim_of(new_xyz_desc, 1), dim_of(xyz_desc, 1), k};
}

}  // namespace
}  // namespace mluop::knn

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetKnnWorkspaceSize(mluOpHandle_t handle, const int k,
                                                        const mluOpTensorDescriptor_t xyz_desc,
                                                        const mluOpTensorDescriptor_t new_xyz_desc,
                                                        size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::knn;
  return run_workspace_query("mluOpOmpGetKnnWorkspaceSize", handle, workspace_size, [&](Call& call) {
    declare_inputs(call, k, xyz_desc, nullptr, new_xyz_desc, nullptr);
    check(call, k, xyz_desc);
    return native::workspace_bytes(sizes_of(k, xyz_desc, new_xyz_desc));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpKnn(mluOpHandle_t handle, const int k, const mluOpTensorDescriptor_t xyz_desc,
                                        const void* xyz, const mluOpTensorDescriptor_t new_xyz_desc,
                                        const void* new_xyz, void* workspace, size_t workspace_size,
                                        const mluOpTensorDescriptor_t idx_desc, void* idx,
                                        const mluOpTensorDescriptor_t dist2_desc, void* dist2) {
  using namespace mluop;
  using namespace mluop::knn;
  return run_operator("mluOpOmpKnn", handle, [&](Call& call) {
    const Sizes sizes = sizes_of(k, xyz_desc, new_xyz_desc);
    declare_inputs(call, k, xyz_desc, xyz, new_xyz_desc, new_xyz);
    call.output("idx", idx_desc, idx, MLUOP_DTYPE_INT32, kAnyLayout, {sizes.B, sizes.M, k});
    call.output("dist2", dist2_desc, dist2, MLUOP_DTYPE_FLOAT, kAnyLayout, {sizes.B, sizes.M, k});
    if (sizes.is_empty()) call.reads_nothing();

    check(call, k, xyz_desc);
    const Arena arena = call.workspace(workspace, workspace_size, native::workspace_bytes(sizes));
    if (sizes.is_empty()) return;
    native::run(call,
                {
                    sizes,
                    static_cast<const float*>(xyz),
                    static_cast<const float*>(new_xyz),
                    static_cast<int32_t*>(idx),
                    static_cast<float*>(dist2),
                },
                arena);
  });
}
