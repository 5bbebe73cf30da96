// mluOpOmpConvexGiou: entry and launch. write_giou() is in primitives/geometry/generalized_iou.cpp.
#include "core/checks.h"
#include "mlu_op_omp.h"
#include "primitives/geometry/generalized_iou.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::convex_giou {
namespace {

struct Args {
  int64_t N;
  const float *pointsets, *polygons;  // [N, 18], [N, 8]
  float* output;                      // [N, 19]
};

}  // namespace
}  // namespace mluop::convex_giou

mluOpStatus_t MLUOP_WIN_API mluOpOmpConvexGiou(mluOpHandle_t handle, const mluOpTensorDescriptor_t pointsets_desc,
                                               const void* pointsets, const mluOpTensorDescriptor_t polygons_desc,
                                               const void* polygons, const mluOpTensorDescriptor_t output_desc,
                                               void* output) {
  using namespace mluop;
  using namespace mluop::convex_giou;
  return run_operator("mluOpOmpConvexGiou", handle, [&](Call& call) {
    constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
    const int64_t N = dim_of(pointsets_desc, 0);
    call.input("pointsets", pointsets_desc, pointsets, kFloat, kAnyLayout, {kAny, PointSet::kColumns});
    call.input("polygons", polygons_desc, polygons, kFloat, kAnyLayout, {N, 8});
    call.output("output", output_desc, output, kFloat, kAnyLayout, {N, PointSet::kColumns + 1});
    if (N == 0) call.reads_nothing();
    call.check_pointers();
    call.check_tensors();
    if (N == 0) return;
    constexpr int64_t kRowBytes = 1 << 16;  // cost of a row, in bytes of memory traffic
    call.log_detail("native");
    call.context().reserve(0);
    launch<Args>(call.context(), "giou", choose_task_dim(N, N * kRowBytes), Evenly{N},
                 [](const Args& args, int64_t begin, int64_t end, Task&) {
                   for (int64_t n = begin; n < end; ++n) {
                     write_giou(PointSet(args.pointsets + n * PointSet::kColumns),
                                Quadrilateral(args.polygons + n * 8), args.output + n * (PointSet::kColumns + 1));
                   }
                 },
                 {N, static_cast<const float*>(pointsets), static_cast<const float*>(polygons),
                  static_cast<float*>(output)});
  });
}
