// mluOpOmpIndiceMaxpoolForward: entry and checks.
// Start with the entry below, then run_forward() in indice_maxpool_native.cpp; the kernels: count_pairs(),
// sort_pairs() and pool() in indice_maxpool_native_kernels.cpp.
#include "mlu_op_omp.h"
#include "ops/indice_maxpool/indice_maxpool.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpIndiceMaxpoolForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const mluOpTensorDescriptor_t features_out_desc, void* features_out) {
  using namespace mluop;
  return run_operator("mluOpOmpIndiceMaxpoolForward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(features_desc);
    const int64_t N = dim_of(features_desc, 0), C = dim_of(features_desc, 1), M = dim_of(features_out_desc, 0),
                  K = dim_of(indice_pairs_desc, 0);
    call.input("features", features_desc, features, dtype, array, {kAny, kAny});
    call.input("indice_pairs", indice_pairs_desc, indice_pairs, MLUOP_DTYPE_INT32, array, {kAny, 2, N});
    call.host_array("indice_num", indice_num, K);
    call.output("features_out", features_out_desc, features_out, dtype, array, {kAny, C});
    const bool is_empty = M * C == 0;
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_element_type("features", dtype);
    check_row_count("features", N);
    check_row_count("features_out", M);
    call.check_tensors();
    check_pair_counts(indice_num, K, N);
    if (is_empty) return;
    indice_maxpool::native::run_forward(
        call, {{{K, N, N, M, sum_of_pairs(indice_num, K), 0, static_cast<const int32_t*>(indice_pairs), indice_num,
                 "features", "features_out"},
                C,
                dtype},
               features,
               features_out});
  });
}
