// mluOpOmpBoxesOverlapBev: entry and checks.
// Start with the entry below, then run() in boxes_overlap_bev_native.cpp. The kernels: prepare() and intersect()
// in boxes_overlap_bev_native_kernels.cpp, which use bounds and overlap of primitives/geometry/bev_box.h.
#include "ops/boxes_overlap_bev/boxes_overlap_bev.h"
#include "mlu_op_omp.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpBoxesOverlapBev(mluOpHandle_t handle,
                                                    const mluOpTensorDescriptor_t boxes_a_desc,
                                                    const void* boxes_a,
                                                    const mluOpTensorDescriptor_t boxes_b_desc,
                                                    const void* boxes_b,
                                                    const mluOpTensorDescriptor_t overlaps_desc, void* overlaps) {
  using namespace mluop;
  return run_operator("mluOpOmpBoxesOverlapBev", handle, [&](Call& call) {
    const int64_t N = dim_of(boxes_a_desc, 0), M = dim_of(boxes_b_desc, 0);
    call.input("boxes_a", boxes_a_desc, boxes_a, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, 7});
    call.input("boxes_b", boxes_b_desc, boxes_b, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, 7});
    call.output("overlaps", overlaps_desc, overlaps, MLUOP_DTYPE_FLOAT, kAnyLayout, {N, M});
    const bool is_empty = N == 0 || M == 0;
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_int32_count("boxes_a dim 0", N);
    require_int32_count("boxes_b dim 0", M);
    call.check_tensors();
    if (is_empty) return;

    boxes_overlap_bev::native::run(call, {
                                             .N = N,
                                             .M = M,
                                             .boxes_a = static_cast<const float*>(boxes_a),
                                             .boxes_b = static_cast<const float*>(boxes_b),
                                             .overlaps = static_cast<float*>(overlaps),
                                         });
  });
}
