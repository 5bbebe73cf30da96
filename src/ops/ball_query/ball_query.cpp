// mluOpBallQuery: entry and checks. Start with the entry below, then run() in ball_query_native.cpp. The kernels:
// separate() in primitives/geometry/point_planes.cpp; probe() and query() in ball_query_native_kernels.cpp, which
// use Ball (compares vectors of points) and Row, defined above them; the kernels of
// primitives/geometry/point_grid.cpp.
#include "ops/ball_query/ball_query.h"

mluOpStatus_t MLUOP_WIN_API mluOpBallQuery(mluOpHandle_t handle, const mluOpTensorDescriptor_t new_xyz_desc,
                                           const void* new_xyz, const mluOpTensorDescriptor_t xyz_desc,
                                           const void* xyz, const float min_radius, const float max_radius,
                                           const int nsample, const mluOpTensorDescriptor_t idx_desc, void* idx) {
  using namespace mluop;
  return run_operator("mluOpBallQuery", handle, [&](Call& call) {
    const auto dtype = dtype_of(new_xyz_desc);
    const int64_t B = dim_of(new_xyz_desc, 0), M = dim_of(new_xyz_desc, 1), N = dim_of(xyz_desc, 1);
    call.input("new_xyz", new_xyz_desc, new_xyz, dtype, kAnyLayout, {kAny, kAny, 3});
    call.input("xyz", xyz_desc, xyz, dtype, kAnyLayout, {B, kAny, 3});
    // Rows without a member are unchanged.
    call.inout("idx", idx_desc, idx, MLUOP_DTYPE_INT32, kAnyLayout, {B, M, kAny});
    call.parameter("min_radius", min_radius, AtLeast{0});
    call.parameter("max_radius", max_radius, AtLeast{0});
    call.parameter("nsample", nsample, AtLeast{0});
    if (N == 0 || nsample == 0) call.reads_nothing();

    call.check_pointers();
    require_int32_count("xyz dim 1", N);
    require_element_type("new_xyz", dtype);
    call.check_parameters();
    call.check_tensors();
    require_positive("new_xyz dim 0", B);
    require_positive("new_xyz dim 1", M);
    const int64_t samples = idx_desc->dims[2];
    require(samples == nsample, MLUOP_STATUS_BAD_PARAM, "idx dim 2 is ", samples, ", expected nsample, which is ",
            nsample);
    if (N == 0 || nsample == 0) return;

    ball_query::native::run(call, {
                                      .B = B,
                                      .M = M,
                                      .N = N,
                                      .nsample = nsample,
                                      .dtype = dtype,
                                      .is_ball = min_radius * min_radius == 0 && max_radius * max_radius > 0,
                                      .min_squared_radius = min_radius * min_radius,
                                      .max_squared_radius = max_radius * max_radius,
                                      .marks_empty = false,
                                      .new_xyz = new_xyz,
                                      .xyz = xyz,
                                      .idx = static_cast<int32_t*>(idx),
                                  });
  });
}
