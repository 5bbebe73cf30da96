// mluOpOmpIndiceMaxpoolBackward: entry and checks.
// Start with the entry below, then run_backward() in indice_maxpool_native.cpp; the kernels: count_pairs(),
// sort_pairs() and add_gradients() in indice_maxpool_native_kernels.cpp.
#include "mlu_op_omp.h"
#include "ops/indice_maxpool/indice_maxpool.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpIndiceMaxpoolBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t features_out_desc, const void* features_out,
    const mluOpTensorDescriptor_t output_grad_desc, const void* output_grad,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const mluOpTensorDescriptor_t input_grad_desc, void* input_grad) {
  using namespace mluop;
  return run_operator("mluOpOmpIndiceMaxpoolBackward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(features_desc);
    const int64_t inputs = dim_of(features_desc, 0), C = dim_of(features_desc, 1),
                  outputs = dim_of(features_out_desc, 0), K = dim_of(indice_pairs_desc, 0);
    call.input("features", features_desc, features, dtype, array, {kAny, kAny});
    call.input("features_out", features_out_desc, features_out, dtype, array, {kAny, C});
    call.input("output_grad", output_grad_desc, output_grad, dtype, array, {outputs, C});
    call.input("indice_pairs", indice_pairs_desc, indice_pairs, MLUOP_DTYPE_INT32, array, {kAny, 2, inputs});
    call.host_array("indice_num", indice_num, K);
    call.output("input_grad", input_grad_desc, input_grad, dtype, array, {inputs, C});
    const bool is_empty = inputs * C == 0;
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_element_type("features", dtype);
    check_row_count("features", inputs);
    check_row_count("features_out", outputs);
    call.check_tensors();
    check_pair_counts(indice_num, K, inputs);
    if (is_empty) return;
    indice_maxpool::native::run_backward(
        call, {{{K, inputs, outputs, inputs, sum_of_pairs(indice_num, K), 1,
                 static_cast<const int32_t*>(indice_pairs), indice_num, "features_out", "features"},
                C,
                dtype},
               features,
               features_out,
               output_grad,
               input_grad});
  });
}
