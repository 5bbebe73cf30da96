// mluOpMutualInformationForward and mluOpMutualInformationBackward. Start with the entries at the end, then run();
// mutual_information_native_kernels.cpp has the loops.
#include "ops/mutual_information/mutual_information.h"

#include <algorithm>

#include "core/checks.h"
#include "team/operator_call.h"

namespace mluop::mutual_information {
namespace {

constexpr auto kFloat = MLUOP_DTYPE_FLOAT;

struct Sizes {
  int64_t B, S, T;
};

struct Inputs {
  Input px, py, opt_boundary;
};

// Declares px, py and opt_boundary.
Sizes declare_inputs(Call& call, const Inputs& inputs) {
  const Sizes sizes{dim_of(inputs.px.desc, 0), dim_of(inputs.px.desc, 1), dim_of(inputs.py.desc, 2)};
  const auto [B, S, T] = sizes;
  call.input("px", inputs.px.desc, inputs.px.data, kFloat, kAnyLayout, {kAny, kAny, T + 1});
  call.input("py", inputs.py.desc, inputs.py.data, kFloat, kAnyLayout, {B, S + 1, kAny});
  call.optional_input("opt_boundary", inputs.opt_boundary, MLUOP_DTYPE_INT64, kAnyLayout, {B, 4});
  return sizes;
}

void check(Call& call, const Sizes& sizes, const Inputs& inputs, const TensorDescriptor* p_desc) {
  if (sizes.B == 0) call.reads_nothing();
  call.check_pointers();
  call.check_not_200_series();
  const bool is_modified = inputs.px.desc->dim_count == 3 && inputs.px.desc->dims[2] == sizes.T;
  require(!is_modified || dim_of(p_desc, 2) != sizes.T + 1, MLUOP_STATUS_NOT_SUPPORTED, "px dim 2 is ", sizes.T,
          ", expected ", sizes.T + 1, "; the modified recursion of k2 is not supported");
  call.check_tensors();
}

// The bytes of the workspace of either function. diagonal: ans or ans_grad.
mluOpStatus_t query(std::string_view function, mluOpHandle_t handle, const Inputs& inputs, const Input& p,
                    std::string_view last_name, const Input& last, size_t* workspace_size) {
  return run_workspace_query(function, handle, workspace_size, [&](Call& call) {
    const Sizes sizes = declare_inputs(call, inputs);
    call.input("p", p.desc, nullptr, kFloat, kAnyLayout, {sizes.B, sizes.S + 1, sizes.T + 1});
    call.input(last_name, last.desc, nullptr, kFloat, kAnyLayout, {sizes.B});
    check(call, sizes, inputs, p.desc);
    return size_t{0};
  });
}

struct Scratch {
  Scratch(Arena& arena, int task_dim, int64_t S)
      : diagonals(arena.take<float>("diagonals", {task_dim, kDiagonals, S + 2})) {}

  float* diagonals;
};

void check_boundaries(const Args& args) {
  for (int64_t b = 0; args.boundaries != nullptr && b < args.B; ++b) {
    const auto [s_begin, t_begin, s_end, t_end] = args.boundary(b);
    const bool is_inside = s_begin >= 0 && t_begin >= 0 && s_end <= args.S && t_end <= args.T;
    require(is_inside, MLUOP_STATUS_BAD_PARAM, "opt_boundary[", b, "] is [", s_begin, ", ", t_begin, ", ", s_end,
            ", ", t_end, "], expected begins of at least 0 and ends of at most ", args.S, " and ", args.T);
  }
}

template <class KernelArgs>
void run(Call& call, const char* name, RangeKernel<KernelArgs> kernel, KernelArgs args) {
  constexpr int64_t kCellBytes = 32;  // cost of a cell, in bytes of memory traffic
  // Sequences differ in the size of their boundaries.
  constexpr int64_t kChunksPerTask = 16;
  check_boundaries(args);
  Context& context = call.context();
  const int task_dim = choose_task_dim(args.B, saturated_product({args.B, args.S + 1, args.T + 1, kCellBytes}));
  call.log_detail("native, taskDim ", task_dim);
  Arena arena = context.reserve(bytes_of<Scratch>(task_dim, args.S));
  args.diagonals = Scratch(arena, task_dim, args.S).diagonals;
  launch_dynamic(context, name, task_dim, static_cast<int>(std::min(args.B, task_dim * kChunksPerTask)),
                 Evenly{args.B}, kernel, args);
}

Args args_of(const Sizes& sizes, const Inputs& inputs) {
  return {sizes.B,
          sizes.S,
          sizes.T,
          static_cast<const float*>(inputs.px.data),
          static_cast<const float*>(inputs.py.data),
          inputs.opt_boundary.is_missing() ? nullptr : static_cast<const int64_t*>(inputs.opt_boundary.data),
          nullptr};
}

}  // namespace
}  // namespace mluop::mutual_information

mluOpStatus_t MLUOP_WIN_API mluOpGetMutualInformationForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t px_desc, const mluOpTensorDescriptor_t py_desc,
    const mluOpTensorDescriptor_t opt_boundary_desc, const mluOpTensorDescriptor_t p_desc,
    const mluOpTensorDescriptor_t ans_desc, size_t* workspace_size) {
  return mluop::mutual_information::query("mluOpGetMutualInformationForwardWorkspaceSize", handle,
                                          {{px_desc}, {py_desc}, {opt_boundary_desc}}, {p_desc}, "ans", {ans_desc},
                                          workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpMutualInformationForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t px_desc, const void* px,
    const mluOpTensorDescriptor_t py_desc, const void* py, const mluOpTensorDescriptor_t opt_boundary_desc,
    const void* opt_boundary, const mluOpTensorDescriptor_t p_desc, void* p, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t ans_desc, void* ans) {
  using namespace mluop;
  using namespace mluop::mutual_information;
  return run_operator("mluOpMutualInformationForward", handle, [&](Call& call) {
    const Inputs inputs{{px_desc, px}, {py_desc, py}, {opt_boundary_desc, opt_boundary}};
    const Sizes sizes = declare_inputs(call, inputs);
    call.inout("p", p_desc, p, kFloat, kAnyLayout, {sizes.B, sizes.S + 1, sizes.T + 1});
    call.output("ans", ans_desc, ans, kFloat, kAnyLayout, {sizes.B});
    check(call, sizes, inputs, p_desc);
    call.workspace(workspace, workspace_size, 0);
    if (sizes.B == 0) return;
    run<ForwardArgs>(call, "forward", forward_kernel(),
                     {args_of(sizes, inputs), static_cast<float*>(p), static_cast<float*>(ans)});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetMutualInformationBackwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t px_desc, const mluOpTensorDescriptor_t py_desc,
    const mluOpTensorDescriptor_t opt_boundary_desc, const mluOpTensorDescriptor_t p_desc,
    const mluOpTensorDescriptor_t ans_grad_desc, const bool, size_t* workspace_size) {
  return mluop::mutual_information::query("mluOpGetMutualInformationBackwardWorkspaceSize", handle,
                                          {{px_desc}, {py_desc}, {opt_boundary_desc}}, {p_desc}, "ans_grad",
                                          {ans_grad_desc}, workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpMutualInformationBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t px_desc, const void* px,
    const mluOpTensorDescriptor_t py_desc, const void* py, const mluOpTensorDescriptor_t opt_boundary_desc,
    const void* opt_boundary, const mluOpTensorDescriptor_t p_desc, const void* p,
    const mluOpTensorDescriptor_t ans_grad_desc, void* ans_grad, const bool overwrite_ans_grad, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t px_grad_desc, void* px_grad,
    const mluOpTensorDescriptor_t py_grad_desc, void* py_grad) {
  using namespace mluop;
  using namespace mluop::mutual_information;
  return run_operator("mluOpMutualInformationBackward", handle, [&](Call& call) {
    const Inputs inputs{{px_desc, px}, {py_desc, py}, {opt_boundary_desc, opt_boundary}};
    call.parameter("overwrite_ans_grad", overwrite_ans_grad);
    const Sizes sizes = declare_inputs(call, inputs);
    const auto [B, S, T] = sizes;
    call.input("p", p_desc, p, kFloat, kAnyLayout, {B, S + 1, T + 1});
    call.inout("ans_grad", ans_grad_desc, ans_grad, kFloat, kAnyLayout, {B});
    call.output("px_grad", px_grad_desc, px_grad, kFloat, kAnyLayout, {B, S, T + 1});
    call.output("py_grad", py_grad_desc, py_grad, kFloat, kAnyLayout, {B, S + 1, T});
    check(call, sizes, inputs, p_desc);
    call.workspace(workspace, workspace_size, 0);
    if (B == 0) return;
    run<BackwardArgs>(call, "backward", backward_kernel(),
                      {args_of(sizes, inputs), static_cast<const float*>(p), static_cast<float*>(ans_grad),
                       overwrite_ans_grad, static_cast<float*>(px_grad), static_cast<float*>(py_grad)});
  });
}
