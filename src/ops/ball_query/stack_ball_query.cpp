// mluOpOmpStackBallQuery: entry and checks. Start with the entry below, then run_stacked() in
// ball_query_native.cpp, which queries one cloud at a time; continue as ball_query.cpp lists.
#include "mlu_op_omp.h"
#include "ops/ball_query/ball_query.h"
#include "primitives/indices/cloud_counts.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpStackBallQuery(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t new_xyz_desc, const void* new_xyz,
    const mluOpTensorDescriptor_t new_xyz_batch_cnt_desc, const void* new_xyz_batch_cnt,
    const mluOpTensorDescriptor_t xyz_desc, const void* xyz, const mluOpTensorDescriptor_t xyz_batch_cnt_desc,
    const void* xyz_batch_cnt, const float max_radius, const int nsample, const mluOpTensorDescriptor_t idx_desc,
    void* idx) {
  using namespace mluop;
  return run_operator("mluOpOmpStackBallQuery", handle, [&](Call& call) {
    const auto dtype = dtype_of(new_xyz_desc);
    const int64_t M = dim_of(new_xyz_desc, 0), B = dim_of(new_xyz_batch_cnt_desc, 0);
    call.input("new_xyz", new_xyz_desc, new_xyz, dtype, kAnyLayout, {kAny, 3});
    call.input("new_xyz_batch_cnt", new_xyz_batch_cnt_desc, new_xyz_batch_cnt, MLUOP_DTYPE_INT32, kAnyLayout,
               {kAny});
    call.input("xyz", xyz_desc, xyz, dtype, kAnyLayout, {kAny, 3});
    call.input("xyz_batch_cnt", xyz_batch_cnt_desc, xyz_batch_cnt, MLUOP_DTYPE_INT32, kAnyLayout, {B});
    call.output("idx", idx_desc, idx, MLUOP_DTYPE_INT32, kAnyLayout, {M, kAny});
    call.parameter("max_radius", max_radius, AtLeast{0});
    call.parameter("nsample", nsample, AtLeast{0});
    const bool is_empty = M == 0 || nsample == 0;
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_element_type("new_xyz", dtype);
    call.check_parameters();
    call.check_tensors();
    const int64_t samples = idx_desc->dims[1];
    require(samples == nsample, MLUOP_STATUS_BAD_PARAM, "idx dim 1 is ", samples, ", expected nsample, which is ",
            nsample);
    if (is_empty) return;
    const auto* const center_counts = static_cast<const int32_t*>(new_xyz_batch_cnt);
    const auto* const point_counts = static_cast<const int32_t*>(xyz_batch_cnt);
    check_cloud_counts("new_xyz_batch_cnt", center_counts, B, "new_xyz", M);
    check_cloud_counts("xyz_batch_cnt", point_counts, B, "xyz", xyz_desc->dims[0]);

    ball_query::native::run_stacked(call, {
                                              .clouds = B,
                                              .center_counts = center_counts,
                                              .point_counts = point_counts,
                                              .first = {.B = 1,
                                                        .M = 0,
                                                        .N = 0,
                                                        .nsample = nsample,
                                                        .dtype = dtype,
                                                        .is_ball = true,
                                                        .min_squared_radius = 0,
                                                        .max_squared_radius = max_radius * max_radius,
                                                        .marks_empty = true,
                                                        .new_xyz = new_xyz,
                                                        .xyz = xyz,
                                                        .idx = static_cast<int32_t*>(idx)},
                                          });
  });
}
