// mluOpOmpGatherPointsBackward and its workspace query: entries and checks.
// Start with the entry at the end of this file, then run() and make_plan() in gather_points_backward_native.cpp;
// the kernel: sum() in gather_points_backward_native_kernels.cpp, which follows its helpers and uses those of
// primitives/channel_strip-inl.h.
#include "mlu_op_omp.h"
#include "ops/gather_points_backward/gather_points_backward_native.h"
#include "primitives/point_indices.h"

namespace mluop {
namespace {

// Data are null in the query.
struct Tensors {
  const TensorDescriptor *grad_output_desc, *indices_desc, *grad_features_desc;
  const void *grad_output, *indices;
  void* grad_features;
};

void declare(Call& call, const Tensors& t) {
  const auto array = MLUOP_LAYOUT_ARRAY;
  const auto dtype = dtype_of(t.grad_output_desc);
  const auto dim = [&](int i) { return dim_of(t.grad_output_desc, i); };
  if (has_samples(t.indices_desc, t.grad_output_desc)) {
    call.input("grad_output", t.grad_output_desc, t.grad_output, dtype, array, {kAny, kAny, kAny, kAny});
    call.input("indices", t.indices_desc, t.indices, MLUOP_DTYPE_INT32, array, {dim(0), dim(2), dim(3)});
  } else {
    call.input("grad_output", t.grad_output_desc, t.grad_output, dtype, array, {kAny, kAny, kAny});
    call.input("indices", t.indices_desc, t.indices, MLUOP_DTYPE_INT32, array, {dim(0), dim(2)});
  }
  call.output("grad_features", t.grad_features_desc, t.grad_features, dtype, array, {dim(0), dim(1), kAny});
  if (has_no_elements(t.grad_features_desc)) call.reads_nothing();
}

void check(Call& call, const Tensors& t) {
  call.check_pointers();
  require_float_or_half("grad_output", dtype_of(t.grad_output_desc));
  call.check_tensors();
  const int64_t N = dim_of(t.grad_features_desc, 2);
  if (!has_no_elements(t.grad_output_desc)) require_positive("grad_features dim 2", N);
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetGatherPointsBackwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc,
    const mluOpTensorDescriptor_t indices_desc, const mluOpTensorDescriptor_t grad_features_desc,
    size_t* workspace_size) {
  using namespace mluop;
  return run_workspace_query(
      "mluOpOmpGetGatherPointsBackwardWorkspaceSize", handle, workspace_size, [&](Call& call) {
        const Tensors tensors{grad_output_desc, indices_desc, grad_features_desc, nullptr, nullptr, nullptr};
        declare(call, tensors);
        check(call, tensors);
        return gather_points_backward::native::kWorkspaceBytes;
      });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpGatherPointsBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, void* workspace, size_t workspace_size,
    const mluOpTensorDescriptor_t grad_features_desc, void* grad_features) {
  using namespace mluop;
  return run_operator("mluOpOmpGatherPointsBackward", handle, [&](Call& call) {
    const Tensors tensors{grad_output_desc, indices_desc, grad_features_desc, grad_output, indices, grad_features};
    declare(call, tensors);
    check(call, tensors);
    call.workspace(workspace, workspace_size, gather_points_backward::native::kWorkspaceBytes);
    if (has_no_elements(grad_features_desc)) return;

    const int64_t B = dim_of(grad_output_desc, 0);
    gather_points_backward::native::run(call, {
                                                  .B = B,
                                                  .C = dim_of(grad_output_desc, 1),
                                                  .M = element_count(*indices_desc) / B,
                                                  .N = dim_of(grad_features_desc, 2),
                                                  .dtype = dtype_of(grad_output_desc),
                                                  .indices_shape = indices_desc->shape(),
                                                  .grad_output = grad_output,
                                                  .indices = static_cast<const int32_t*>(indices),
                                                  .grad_features = grad_features,
                                              });
  });
}
