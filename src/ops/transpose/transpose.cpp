// mluOpOmpTranspose: rules, launch, entry. Start with the entry at the end, then transpose_rows() in
// transpose_native_kernels.cpp. Elements are copied with all bits, in squares that are transposed in registers.
#include "ops/transpose/transpose.h"

#include "core/caches.h"
#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op_omp.h"
#include "team/operator_call.h"

namespace mluop::transpose {
namespace {

void run(Call& call, const Input& input, const Output& output) {
  const auto dtype = dtype_of(input.desc);
  const int64_t N = dim_of(input.desc, 0), A = dim_of(input.desc, 1), B = dim_of(input.desc, 2);
  call.input("input", input.desc, input.data, dtype, kAnyLayout, {kAny, kAny, kAny});
  call.output("output", output.desc, output.data, dtype, kAnyLayout, {N, B, A});
  if (has_no_elements(output.desc)) call.reads_nothing();
  call.check_pointers();
  require_element_type("input", dtype);
  call.check_tensors();
  if (has_no_elements(output.desc)) return;

  const int64_t bytes = byte_count(*output.desc), items = N * ceil_div(B, kRows);
  const int task_dim = choose_task_dim(items, 2 * bytes);
  // Non-temporal stores fill whole lines.
  const bool whole_lines =
      A * size_of(dtype) % kCacheLine == 0 && reinterpret_cast<uintptr_t>(output.data) % kCacheLine == 0;
  const bool stream = whole_lines && exceeds_caches(bytes);
  call.log_detail("native, taskDim ", task_dim, stream ? ", streamed" : "");
  call.context().reserve(0);
  launch(call.context(), "transpose", task_dim, Evenly{items}, transpose_kernel(dtype),
         {N, A, B, input.data, output.data, stream});
}

}  // namespace
}  // namespace mluop::transpose

mluOpStatus_t MLUOP_WIN_API mluOpOmpTranspose(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                              const void* input, const mluOpTensorDescriptor_t output_desc,
                                              void* output) {
  return mluop::run_operator("mluOpOmpTranspose", handle, [&](mluop::Call& call) {
    mluop::transpose::run(call, {input_desc, input}, {output_desc, output});
  });
}
