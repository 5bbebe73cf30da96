// mluOpPointsInBoxes, mluOpOmpPointsInBoxesPart and mluOpOmpPointsInBoxesAll: entries and checks.
// Start with the entries at the end of this file, then run() in points_in_boxes_native.cpp. The kernels:
// prepare() in primitives/geometry/point_boxes.cpp, then find_first() or mark() in
// points_in_boxes_native_kernels.cpp; these use PointGroup, above them, and BoxTest of
// primitives/geometry/point_boxes-inl.h.
#include "ops/points_in_boxes/points_in_boxes.h"
#include "mlu_op_omp.h"

namespace mluop::points_in_boxes {
namespace {

// The operators of mmcv. `results`: [B, M] for the first box, [B, M, T] for each box.
mluOpStatus_t run_of_mmcv(const char* function, mluOpHandle_t handle, const TensorDescriptor* boxes_desc,
                          const void* boxes, const TensorDescriptor* points_desc, const void* points,
                          Result result, const char* name, const TensorDescriptor* results_desc, void* results) {
  return run_operator(function, handle, [&](Call& call) {
    const int64_t B = dim_of(boxes_desc, 0), T = dim_of(boxes_desc, 1), M = dim_of(points_desc, 1);
    call.input("boxes", boxes_desc, boxes, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kAny, 7});
    call.input("points", points_desc, points, MLUOP_DTYPE_FLOAT, kAnyLayout, {B, kAny, 3});
    if (result == Result::kFirstBox) {
      call.output(name, results_desc, results, MLUOP_DTYPE_INT32, kAnyLayout, {B, M});
    } else {
      call.output(name, results_desc, results, MLUOP_DTYPE_INT32, kAnyLayout, {B, M, T});
    }
    const bool is_empty = B == 0 || M == 0 || (result == Result::kEachBox && T == 0);
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_int32_count("boxes dim 1", T);
    call.check_tensors();
    if (is_empty) return;

    native::run(call, {
                          .B = B,
                          .M = M,
                          .T = T,
                          .rule = BoxRule::kOnItsBottom,
                          .result = result,
                          .points = static_cast<const float*>(points),
                          .boxes = static_cast<const float*>(boxes),
                          .results = static_cast<int32_t*>(results),
                      });
  });
}

}  // namespace
}  // namespace mluop::points_in_boxes

mluOpStatus_t MLUOP_WIN_API mluOpPointsInBoxes(mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc,
                                               const void* points, const mluOpTensorDescriptor_t boxes_desc,
                                               const void* boxes,
                                               const mluOpTensorDescriptor_t points_indices_desc,
                                               void* points_indices) {
  using namespace mluop;
  using namespace mluop::points_in_boxes;
  using namespace mluop::points_in_boxes;
  return run_operator("mluOpPointsInBoxes", handle, [&](Call& call) {
    constexpr auto kArray = MLUOP_LAYOUT_ARRAY;
    const int64_t B = dim_of(points_desc, 0), M = dim_of(points_desc, 1), T = dim_of(boxes_desc, 1);
    call.input("points", points_desc, points, MLUOP_DTYPE_FLOAT, kArray, {kAny, kAny, 3});
    call.input("boxes", boxes_desc, boxes, MLUOP_DTYPE_FLOAT, kArray, {B, kAny, 7});
    // With no boxes, the output is left unchanged.
    call.inout("points_indices", points_indices_desc, points_indices, MLUOP_DTYPE_INT32, kArray, {B, M});
    const bool is_empty = B == 0 || M == 0 || T == 0;
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_int32_count("boxes dim 1", T);
    call.check_tensors();
    if (is_empty) return;

    native::run(call, {
                          .B = B,
                          .M = M,
                          .T = T,
                          .rule = BoxRule::kCentered,
                          .result = Result::kFirstBox,
                          .points = static_cast<const float*>(points),
                          .boxes = static_cast<const float*>(boxes),
                          .results = static_cast<int32_t*>(points_indices),
                      });
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpPointsInBoxesPart(mluOpHandle_t handle,
                                                      const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                                      const mluOpTensorDescriptor_t points_desc,
                                                      const void* points,
                                                      const mluOpTensorDescriptor_t indices_desc, void* indices) {
  using namespace mluop;
  using namespace mluop::points_in_boxes;
  return run_of_mmcv("mluOpOmpPointsInBoxesPart", handle, boxes_desc, boxes, points_desc, points,
                     Result::kFirstBox, "indices", indices_desc, indices);
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpPointsInBoxesAll(mluOpHandle_t handle,
                                                     const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                                     const mluOpTensorDescriptor_t points_desc, const void* points,
                                                     const mluOpTensorDescriptor_t is_inside_desc,
                                                     void* is_inside) {
  using namespace mluop;
  using namespace mluop::points_in_boxes;
  return run_of_mmcv("mluOpOmpPointsInBoxesAll", handle, boxes_desc, boxes, points_desc, points, Result::kEachBox,
                     "is_inside", is_inside_desc, is_inside);
}
