// mluOpThreeNNForward and its workspace query: entries and checks. Start with the entries below, then run() in
// three_nn_forward_native.cpp and three_nn_forward_native_kernels.h. For few known points: compare() in
// three_nn_forward_native_compare_kernels.cpp, then best-inl.h. For many: tree.h; the kernels from sample() on in
// three_nn_forward_native_tree_kernels.cpp; search() in three_nn_forward_native_search_kernels.cpp.
#include "ops/three_nn_forward/three_nn_forward.h"

namespace mluop::three_nn_forward {
namespace {

// Requires a checked descriptor.
KnownSizes known_sizes(const TensorDescriptor& desc) { return {desc.dims[0], desc.dims[1], desc.dtype}; }

}  // namespace
}  // namespace mluop::three_nn_forward

mluOpStatus_t MLUOP_WIN_API mluOpGetThreeNNForwardWorkspaceSize(const mluOpHandle_t handle,
                                                                const mluOpTensorDescriptor_t known_desc,
                                                                size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::three_nn_forward;
  return run_workspace_query("mluOpGetThreeNNForwardWorkspaceSize", handle, workspace_size, [&](Call& call) {
    call.input("known", known_desc, nullptr, dtype_of(known_desc), kAnyLayout, {kAny, kAny, 3});
    call.check_pointers();
    require_element_type("known", known_desc->dtype);
    require_int32_count("known dim 1", dim_of(known_desc, 1));
    call.check_tensors();
    require_positive("known dim 0", known_desc->dims[0]);
    return native::workspace_bytes(known_sizes(*known_desc));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpThreeNNForward(const mluOpHandle_t handle,
                                                const mluOpTensorDescriptor_t unknown_desc, const void* unknown,
                                                const mluOpTensorDescriptor_t known_desc, const void* known,
                                                void* workspace, const size_t workspace_size,
                                                const mluOpTensorDescriptor_t dist2_desc, void* dist2,
                                                const mluOpTensorDescriptor_t idx_desc, void* idx) {
  using namespace mluop;
  using namespace mluop::three_nn_forward;
  return run_operator("mluOpThreeNNForward", handle, [&](Call& call) {
    const auto dtype = dtype_of(unknown_desc);
    const int64_t B = dim_of(unknown_desc, 0), N = dim_of(unknown_desc, 1);
    call.input("unknown", unknown_desc, unknown, dtype, kAnyLayout, {kAny, kAny, 3});
    call.input("known", known_desc, known, dtype, kAnyLayout, {B, kAny, 3});
    call.output("dist2", dist2_desc, dist2, dtype, kAnyLayout, {B, N, 3});
    call.output("idx", idx_desc, idx, MLUOP_DTYPE_INT32, kAnyLayout, {B, N, 3});

    call.check_pointers();
    require_element_type("unknown", dtype);
    require_int32_count("known dim 1", dim_of(known_desc, 1));
    call.check_tensors();
    require_positive("unknown dim 0", B);
    require_positive("unknown dim 1", N);

    const Arena arena =
        call.workspace(workspace, workspace_size, native::workspace_bytes(known_sizes(*known_desc)));
    native::run(call,
                {
                    .B = B,
                    .N = N,
                    .M = known_desc->dims[1],
                    .dtype = dtype,
                    .unknown = unknown,
                    .known = known,
                    .dist2 = dist2,
                    .idx = static_cast<int32_t*>(idx),
                },
                arena);
  });
}
