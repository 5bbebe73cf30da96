// mluOpActiveRotatedFilterForward, its workspace query and mluOpOmpActiveRotatedFilterBackward in one file: rules,
// kernels, launches, entries. Start with the entries at the end, then forward() and backward(), which check and
// launch.
//
// Letters: O x I filters of E entries, which are orientations and kernel elements; r rotations. Rotation t moves
// entry l to entry indices[l,t] - 1.
#include <algorithm>

#include "core/checks.h"
#include "mlu_op.h"
#include "mlu_op_omp.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::active_rotated_filter {
namespace {

// The shape of indices.
struct Table {
  explicit Table(const TensorDescriptor* desc)
      : n(dim_of(desc, 0)), kH(dim_of(desc, 1)), kW(dim_of(desc, 2)), r(dim_of(desc, 3)) {}
  int64_t entries() const { return saturated_product({n, kH, kW}); }

  int64_t n, kH, kW, r;
};

struct Args {
  int64_t I, E, r;
  const int32_t* indices;  // [E, r]
  const int64_t* sources;  // forward [r, E]: the entry that each entry of a rotated filter copies, or -1
  const void* input;
  void* output;
};

struct Scratch {
  Scratch(Arena& pool, const Table& table) : sources(pool.take<int64_t>("sources", {table.r, table.entries()})) {}

  int64_t* sources;
};

// Throws Failure (BAD_PARAM) that names the first index outside of the entries.
void check_targets(const Table& table, const int32_t* indices) {
  const int64_t E = table.entries();
  for (int64_t i = 0; i < E * table.r; ++i) {
    if (1 <= indices[i] && indices[i] <= E) continue;
    const int64_t l = i / table.r;
    throw Failure(MLUOP_STATUS_BAD_PARAM,
                  text("indices[", l / table.kW / table.kH, ", ", l / table.kW % table.kH, ", ", l % table.kW,
                       ", ", i % table.r, "] is ", indices[i], ", expected 1 to ", E));
  }
}

// Work items: rotated filters (o, t). Each is a row of I * E elements of the output.
template <class T>
void rotate(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t* const sources = args.sources + item % args.r * args.E;
    const T* from = static_cast<const T*>(args.input) + item / args.r * args.I * args.E;
    T* to = static_cast<T*>(args.output) + item * args.I * args.E;
    for (int64_t i = 0; i < args.I; ++i, from += args.E, to += args.E) {
      for (int64_t e = 0; e < args.E; ++e) to[e] = sources[e] < 0 ? T{} : from[sources[e]];
    }
  }
}

// Work items: filters (o, i).
template <class T>
void add_rotations(const Args& args, int64_t begin, int64_t end, Task&) {
  const int64_t row = args.I * args.E;
  for (int64_t item = begin; item < end; ++item) {
    const T* const from =
        static_cast<const T*>(args.input) + item / args.I * args.r * row + item % args.I * args.E;
    T* const to = static_cast<T*>(args.output) + item * args.E;
    for (int64_t l = 0; l < args.E; ++l) {
      float sum = 0;
      for (int64_t t = 0; t < args.r; ++t) sum += to_f32(from[t * row + args.indices[l * args.r + t] - 1]);
      round_to(sum, to + l);
    }
  }
}

void forward(Call& call, const Input& input, const Input& indices, const Output& output, void* workspace,
             size_t workspace_size) {
  const auto dtype = dtype_of(input.desc);
  const int64_t O = dim_of(input.desc, 0), I = dim_of(input.desc, 1), n = dim_of(input.desc, 2),
                kH = dim_of(input.desc, 3), kW = dim_of(input.desc, 4);
  const Table table(indices.desc);
  call.input("input", input.desc, input.data, dtype, kAnyLayout, {kAny, kAny, kAny, kAny, kAny});
  call.input("indices", indices.desc, indices.data, MLUOP_DTYPE_INT32, kAnyLayout, {n, kH, kW, kAny});
  call.output("output", output.desc, output.data, dtype, kAnyLayout,
              {saturated_product({O, table.r}), saturated_product({I, n}), kH, kW});
  const bool is_empty = has_no_elements(output.desc);
  if (is_empty) call.reads_nothing();

  call.check_pointers();
  require_element_type("input", dtype);
  call.check_tensors();
  call.workspace(workspace, workspace_size, 0);
  if (is_empty) return;
  const auto* const targets = static_cast<const int32_t*>(indices.data);
  check_targets(table, targets);

  const int64_t E = table.entries(), r = table.r;
  Arena pool = call.context().reserve(bytes_of<Scratch>(table));
  const Scratch scratch(pool, table);
  std::fill_n(scratch.sources, r * E, -1);
  for (int64_t l = 0; l < E; ++l) {
    for (int64_t t = 0; t < r; ++t) scratch.sources[t * E + targets[l * r + t] - 1] = l;
  }
  const int task_dim = choose_task_dim(O * r, byte_count(*output.desc));
  call.log_detail("native, taskDim ", task_dim);
  launch(call.context(), "rotate", task_dim, Evenly{O * r},
         dispatch_size(dtype, [](auto element) -> RangeKernel<Args> { return rotate<decltype(element)>; }),
         {I, E, r, targets, scratch.sources, input.data, output.data});
}

void backward(Call& call, const Input& grad_output, const Input& indices, const Output& grad_input) {
  const auto dtype = dtype_of(grad_output.desc);
  const int64_t O = dim_of(grad_input.desc, 0), I = dim_of(grad_input.desc, 1);
  const Table table(indices.desc);
  call.input("grad_output", grad_output.desc, grad_output.data, dtype, kAnyLayout,
             {saturated_product({O, table.r}), saturated_product({I, table.n}), table.kH, table.kW});
  call.input("indices", indices.desc, indices.data, MLUOP_DTYPE_INT32, kAnyLayout, {kAny, kAny, kAny, kAny});
  call.output("grad_input", grad_input.desc, grad_input.data, dtype, kAnyLayout,
              {kAny, kAny, table.n, table.kH, table.kW});
  const bool is_empty = has_no_elements(grad_input.desc);
  if (is_empty) call.reads_nothing();

  call.check_pointers();
  require_element_type("grad_output", dtype);
  call.check_tensors();
  if (is_empty) return;
  check_targets(table, static_cast<const int32_t*>(indices.data));

  const int task_dim = choose_task_dim(O * I, byte_count(*grad_output.desc));
  call.log_detail("native, taskDim ", task_dim);
  call.context().reserve(0);
  launch(call.context(), "add_rotations", task_dim, Evenly{O * I},
         dispatch_dtype(dtype, [](auto element) -> RangeKernel<Args> { return add_rotations<decltype(element)>; }),
         {I, table.entries(), table.r, static_cast<const int32_t*>(indices.data), nullptr, grad_output.data,
          grad_input.data});
}

}  // namespace
}  // namespace mluop::active_rotated_filter

mluOpStatus_t MLUOP_WIN_API mluOpGetActiveRotatedFilterForwardWorkspaceSize(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, size_t* workspace_size) {
  using namespace mluop;
  return run_workspace_query(
      "mluOpGetActiveRotatedFilterForwardWorkspaceSize", handle, workspace_size, [&](Call& call) -> size_t {
        const auto dtype = dtype_of(input_desc);
        call.input("input", input_desc, nullptr, dtype, kAnyLayout, {kAny, kAny, kAny, kAny, kAny});
        call.check_pointers();
        require_element_type("input", dtype);
        call.check_tensors();
        return 0;
      });
}

mluOpStatus_t MLUOP_WIN_API mluOpActiveRotatedFilterForward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t output_desc, void* output) {
  return mluop::run_operator("mluOpActiveRotatedFilterForward", handle, [&](mluop::Call& call) {
    mluop::active_rotated_filter::forward(call, {input_desc, input}, {indices_desc, indices},
                                          {output_desc, output}, workspace, workspace_size);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpActiveRotatedFilterBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t grad_input_desc,
    void* grad_input) {
  return mluop::run_operator("mluOpOmpActiveRotatedFilterBackward", handle, [&](mluop::Call& call) {
    mluop::active_rotated_filter::backward(call, {grad_output_desc, grad_output}, {indices_desc, indices},
                                           {grad_input_desc, grad_input});
  });
}
