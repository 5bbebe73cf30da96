// mluOpOmpUniqueRows and its workspace query. Start with find_distinct_rows() in primitives/sort/row_order.h.
#include "ops/unique_rows/unique_rows.h"

namespace mluop::unique_rows {
namespace {

void declare_rows(Call& call, const TensorDescriptor* desc, const void* rows) {
  call.input("rows", desc, rows, kInt, kAnyLayout, {kAny, kAny});
  if (dim_of(desc, 0) == 0) call.reads_nothing();
}

// The rules shared by the operator and its query. Their tensors must be declared.
void check_rows(Call& call, const TensorDescriptor* desc) {
  call.check_pointers();
  require_int32_count("rows dim 0", dim_of(desc, 0));
  call.check_tensors();
  require_columns("rows", dim_of(desc, 1));
}

size_t workspace_bytes(int64_t N) { return N == 0 ? 0 : workspace_bytes_of<DistinctRowsMemory>(N); }

}  // namespace
}  // namespace mluop::unique_rows

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetUniqueRowsWorkspaceSize(mluOpHandle_t handle,
                                                               const mluOpTensorDescriptor_t rows_desc,
                                                               size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::unique_rows;
  return run_workspace_query("mluOpOmpGetUniqueRowsWorkspaceSize", handle, workspace_size, [&](Call& call) {
    declare_rows(call, rows_desc, nullptr);
    check_rows(call, rows_desc);
    return workspace_bytes(dim_of(rows_desc, 0));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpUniqueRows(mluOpHandle_t handle, const bool ascending,
                                               const mluOpTensorDescriptor_t rows_desc, const void* rows,
                                               void* workspace, size_t workspace_size,
                                               const mluOpTensorDescriptor_t first_desc, void* first,
                                               const mluOpTensorDescriptor_t inverse_desc, void* inverse,
                                               const mluOpTensorDescriptor_t num_desc, void* num) {
  using namespace mluop;
  using namespace mluop::unique_rows;
  return run_operator("mluOpOmpUniqueRows", handle, [&](Call& call) {
    const int64_t N = dim_of(rows_desc, 0), columns = dim_of(rows_desc, 1);
    call.parameter("ascending", ascending);
    declare_rows(call, rows_desc, rows);
    call.output("first", first_desc, first, kInt, kAnyLayout, {N});
    call.output("inverse", inverse_desc, inverse, kInt, kAnyLayout, {N});
    call.output("num", num_desc, num, kInt, kAnyLayout, {1});
    check_rows(call, rows_desc);
    Arena arena = call.workspace(workspace, workspace_size, workspace_bytes(N));
    if (N == 0) {
      *static_cast<int32_t*>(num) = 0;
      return;
    }
    call.context().reserve(0);
    const int task_dim = choose_row_task_dim(N, columns);
    call.log_detail("native, taskDim ", task_dim);
    DistinctRowsMemory memory(arena, N);
    auto* const firsts = static_cast<int32_t*>(first);
    const int64_t distinct =
        find_distinct_rows(call.context(), task_dim, {static_cast<const int32_t*>(rows), N, nullptr, 0, columns},
                           ascending ? RowOrder::kAscending : RowOrder::kFirstOccurrence, memory, firsts,
                           static_cast<int32_t*>(inverse));
    std::fill(firsts + distinct, firsts + N, -1);
    *static_cast<int32_t*>(num) = static_cast<int32_t>(distinct);
  });
}
