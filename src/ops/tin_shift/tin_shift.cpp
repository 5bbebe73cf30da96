// mluOpTinShiftForward and mluOpTinShiftBackward in one file: rules, kernel, launch, entries.
// Start with the entries at the end, then run(), which checks and launches, and the kernel shift(). MLU-OPS and
// mmcv shift gradients in the direction of the inputs, so that both functions compute the same.
//
// Letters: N videos of T frames of C channels of L pixels; G groups of channels. Elements are copied with all
// bits, so that half and bfloat16 share one implementation.
#include <algorithm>

#include "core/checks.h"
#include "mlu_op.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::tin_shift {
namespace {

struct Args {
  int64_t T, G;
  int64_t run;  // consecutive elements of a group in a frame
  const int32_t* shifts;
  const void* input;
  void* output;
};

// Work items: (n, t, g), each a run of the output.
template <class T>
void shift(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t g = item % args.G, t = item / args.G % args.T, n = item / args.G / args.T;
    const int64_t d = args.shifts[n * args.G + g];
    T* const to = static_cast<T*>(args.output) + item * args.run;
    if (0 <= t - d && t - d < args.T) {
      std::copy_n(static_cast<const T*>(args.input) + (item - d * args.G) * args.run, args.run, to);
    } else {
      std::fill_n(to, args.run, T{});
    }
  }
}

void run(Call& call, std::string_view input_name, const Input& input, const Input& shifts,
         std::string_view output_name, const Output& output) {
  const auto dtype = dtype_of(input.desc);
  const int64_t N = dim_of(input.desc, 0), T = dim_of(input.desc, 1), C = dim_of(input.desc, 2),
                L = dim_of(input.desc, 3), G = dim_of(shifts.desc, 1);
  call.input(input_name, input.desc, input.data, dtype, kAnyLayout, {kAny, kAny, kAny, kAny});
  call.input("shifts", shifts.desc, shifts.data, MLUOP_DTYPE_INT32, kAnyLayout, {N, kAny});
  call.output(output_name, output.desc, output.data, dtype, kAnyLayout, {N, T, C, L});
  if (has_no_elements(output.desc)) call.reads_nothing();

  call.check_pointers();
  require_element_type(input_name, dtype);
  call.check_tensors();
  if (has_no_elements(output.desc)) return;
  require(G > 0 && C % G == 0, MLUOP_STATUS_BAD_PARAM, "shifts dim 1 is ", G, ", expected a divisor of ",
          input_name, " dim 2, which is ", C);

  const int task_dim = choose_task_dim(N * T * G, byte_count(*output.desc));
  call.log_detail("native, taskDim ", task_dim);
  call.context().reserve(0);
  launch(call.context(), "shift", task_dim, Evenly{N * T * G},
         dispatch_size(dtype, [](auto element) -> RangeKernel<Args> { return shift<decltype(element)>; }),
         {T, G, C / G * L, static_cast<const int32_t*>(shifts.data), input.data, output.data});
}

}  // namespace
}  // namespace mluop::tin_shift

mluOpStatus_t MLUOP_WIN_API mluOpTinShiftForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                                 const void* input, const mluOpTensorDescriptor_t shifts_desc,
                                                 const void* shifts, const mluOpTensorDescriptor_t output_desc,
                                                 void* output) {
  return mluop::run_operator("mluOpTinShiftForward", handle, [&](mluop::Call& call) {
    mluop::tin_shift::run(call, "input", {input_desc, input}, {shifts_desc, shifts}, "output",
                          {output_desc, output});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpTinShiftBackward(mluOpHandle_t handle,
                                                  const mluOpTensorDescriptor_t grad_output_desc,
                                                  const void* grad_output,
                                                  const mluOpTensorDescriptor_t shifts_desc, const void* shifts,
                                                  const mluOpTensorDescriptor_t grad_input_desc,
                                                  void* grad_input) {
  return mluop::run_operator("mluOpTinShiftBackward", handle, [&](mluop::Call& call) {
    mluop::tin_shift::run(call, "grad_output", {grad_output_desc, grad_output}, {shifts_desc, shifts},
                          "grad_input", {grad_input_desc, grad_input});
  });
}
