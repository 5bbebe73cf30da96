// mluOpMoeDispatchForward, mluOpMoeDispatchBackwardGate and mluOpMoeDispatchBackwardData. Start with the entries
// at the end, then declare_sizes(); moe_dispatch_native_kernels.cpp has the loops.
#include "ops/moe_dispatch/moe_dispatch.h"

#include "core/checks.h"
#include "mlu_op.h"
#include "primitives/memory/fill.h"
#include "team/operator_call.h"

namespace mluop::moe_dispatch {
namespace {

constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
constexpr auto kInt32 = MLUOP_DTYPE_INT32;

struct Sizes {
  int64_t rows() const { return experts * capacity; }  // below 2^62

  int64_t samples, capacity, hidden, experts;
};

void declare_sizes(Call& call, const Sizes& sizes) {
  call.parameter("samples", sizes.samples, AtLeast{0});
  call.parameter("capacity", sizes.capacity, AtLeast{0});
  call.parameter("hidden", sizes.hidden, AtLeast{0});
  call.parameter("num_experts", sizes.experts, AtLeast{0});
}

void check(Call& call) {
  call.check_pointers();
  call.check_not_200_series();
  call.check_parameters();
}

// The result if there is nothing to read.
void write_zeros(Call& call, const Output& output) {
  call.context().reserve(0);
  if (!has_no_elements(output.desc)) fill_zero(call.context(), output.data, byte_count(*output.desc));
}

struct Scratch {
  Scratch(Arena& arena, int64_t rows) : last(arena.take<int32_t>("last", {rows})) {}

  int32_t* last;  // [rows]
};

}  // namespace
}  // namespace mluop::moe_dispatch

mluOpStatus_t MLUOP_WIN_API mluOpMoeDispatchForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t gates_desc, const void* gates,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t locations_desc,
    const void* locations, const mluOpTensorDescriptor_t input_desc, const void* input, const int samples,
    const int capacity, const int hidden, const int num_experts, const mluOpTensorDescriptor_t dispatch_desc,
    void* dispatch) {
  using namespace mluop;
  using namespace mluop::moe_dispatch;
  return run_operator("mluOpMoeDispatchForward", handle, [&](Call& call) {
    const Sizes sizes{samples, capacity, hidden, num_experts};
    declare_sizes(call, sizes);
    call.input("gates", gates_desc, gates, kFloat, kAnyLayout, {samples});
    call.input("indices", indices_desc, indices, kInt32, kAnyLayout, {samples});
    call.input("locations", locations_desc, locations, kInt32, kAnyLayout, {samples});
    call.input("input", input_desc, input, kFloat, kAnyLayout, {samples, hidden});
    call.inout("dispatch", dispatch_desc, dispatch, kFloat, kAnyLayout, {sizes.rows(), hidden});
    const bool is_empty = has_no_elements(input_desc);
    if (is_empty) call.reads_nothing();
    check(call);
    require(samples <= sizes.rows(), MLUOP_STATUS_BAD_PARAM, "samples is ", samples, ", expected at most ",
            sizes.rows(), ", num_experts * capacity");
    call.check_tensors();
    if (is_empty) return;
    Arena arena = call.context().reserve(bytes_of<Scratch>(sizes.rows()));
    const Scratch scratch(arena, sizes.rows());
    const Args args{samples,
                    capacity,
                    hidden,
                    num_experts,
                    static_cast<const float*>(gates),
                    static_cast<const int32_t*>(indices),
                    static_cast<const int32_t*>(locations),
                    static_cast<const float*>(input),
                    nullptr,
                    static_cast<float*>(dispatch),
                    scratch.last,
                    false};
    for (int32_t i = 0; i < samples; ++i) {
      const int64_t row = args.row_of(i);
      if (row >= 0) scratch.last[row] = i;
    }
    run_forward(call, args);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetMoeDispatchBackwardGateWorkspaceSize(mluOpHandle_t handle,
                                                                         const mluOpTensorDescriptor_t input_desc,
                                                                         size_t* workspace_size) {
  using namespace mluop;
  return run_workspace_query(
      "mluOpGetMoeDispatchBackwardGateWorkspaceSize", handle, workspace_size, [&](Call& call) {
        call.input("input", input_desc, nullptr, moe_dispatch::kFloat, kAnyLayout, {kAny, kAny});
        moe_dispatch::check(call);
        call.check_tensors();
        return size_t{0};
      });
}

mluOpStatus_t MLUOP_WIN_API mluOpMoeDispatchBackwardGate(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t indices_desc, const void* indices,
    const mluOpTensorDescriptor_t locations_desc, const void* locations, const mluOpTensorDescriptor_t input_desc,
    const void* input, const mluOpTensorDescriptor_t dispatch_desc, const void* dispatch, const int samples,
    const int capacity, const int hidden, const int num_experts, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t grad_gates_desc, void* grad_gates) {
  using namespace mluop;
  using namespace mluop::moe_dispatch;
  return run_operator("mluOpMoeDispatchBackwardGate", handle, [&](Call& call) {
    const Sizes sizes{samples, capacity, hidden, num_experts};
    declare_sizes(call, sizes);
    call.input("indices", indices_desc, indices, kInt32, kAnyLayout, {samples});
    call.input("locations", locations_desc, locations, kInt32, kAnyLayout, {samples});
    call.input("input", input_desc, input, kFloat, kAnyLayout, {samples, hidden});
    call.input("dispatch", dispatch_desc, dispatch, kFloat, kAnyLayout, {sizes.rows(), hidden});
    call.output("grad_gates", grad_gates_desc, grad_gates, kFloat, kAnyLayout, {samples});
    const bool is_empty = has_no_elements(input_desc) || has_no_elements(dispatch_desc);
    if (is_empty) call.reads_nothing();
    check(call);
    call.check_tensors();
    call.workspace(workspace, workspace_size, 0);
    if (is_empty) return write_zeros(call, {grad_gates_desc, grad_gates});
    call.context().reserve(0);
    run_backward_gate(call,
                      {samples, capacity, hidden, num_experts, nullptr, static_cast<const int32_t*>(indices),
                       static_cast<const int32_t*>(locations), static_cast<const float*>(input),
                       static_cast<const float*>(dispatch), static_cast<float*>(grad_gates), nullptr, false});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpMoeDispatchBackwardData(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t gates_desc, const void* gates,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t locations_desc,
    const void* locations, const mluOpTensorDescriptor_t dispatch_desc, const void* dispatch, const int samples,
    const int capacity, const int hidden, const int num_experts, const mluOpTensorDescriptor_t grad_input_desc,
    void* grad_input) {
  using namespace mluop;
  using namespace mluop::moe_dispatch;
  return run_operator("mluOpMoeDispatchBackwardData", handle, [&](Call& call) {
    const Sizes sizes{samples, capacity, hidden, num_experts};
    declare_sizes(call, sizes);
    call.input("gates", gates_desc, gates, kFloat, kAnyLayout, {samples});
    call.input("indices", indices_desc, indices, kInt32, kAnyLayout, {samples});
    call.input("locations", locations_desc, locations, kInt32, kAnyLayout, {samples});
    call.input("dispatch", dispatch_desc, dispatch, kFloat, kAnyLayout, {sizes.rows(), hidden});
    call.output("grad_input", grad_input_desc, grad_input, kFloat, kAnyLayout, {samples, hidden});
    const bool is_empty = has_no_elements(grad_input_desc) || has_no_elements(dispatch_desc);
    if (is_empty) call.reads_nothing();
    check(call);
    call.check_tensors();
    if (is_empty) return write_zeros(call, {grad_input_desc, grad_input});
    call.context().reserve(0);
    run_backward_data(call,
                      {samples, capacity, hidden, num_experts, static_cast<const float*>(gates),
                       static_cast<const int32_t*>(indices), static_cast<const int32_t*>(locations), nullptr,
                       static_cast<const float*>(dispatch), static_cast<float*>(grad_input), nullptr, false});
  });
}
