// mluOpOmpUnionRows and its workspace query. Start with find_distinct_rows() in primitives/sort/row_order.h.
#include "ops/unique_rows/unique_rows.h"

namespace mluop::unique_rows {
namespace {

struct Workspace {
  Workspace(Arena& arena, int64_t rows)
      : distinct(arena, rows),
        first(arena.take<int32_t>("first rows", {rows})),
        inverse(arena.take<int32_t>("places of rows", {rows})) {}

  DistinctRowsMemory distinct;
  int32_t* first;    // [rows], of the distinct rows
  int32_t* inverse;  // [rows]
};

// The tensors shared by the operator and its query; data are null in the query.
struct Lists {
  int64_t N() const { return dim_of(a.desc, 0); }
  int64_t M() const { return dim_of(b.desc, 0); }
  int64_t columns() const { return dim_of(a.desc, 1); }
  int64_t count() const { return N() + M(); }
  size_t workspace_bytes() const { return count() == 0 ? 0 : workspace_bytes_of<Workspace>(count()); }

  Input a, b;
};

void declare_lists(Call& call, const Lists& lists) {
  call.input("a", lists.a.desc, lists.a.data, kInt, kAnyLayout, {kAny, kAny});
  call.input("b", lists.b.desc, lists.b.data, kInt, kAnyLayout, {kAny, lists.columns()});
  if (lists.count() == 0) call.reads_nothing();
}

// The rules shared by the operator and its query. Their tensors must be declared.
void check_lists(Call& call, const Lists& lists) {
  call.check_pointers();
  require_int32_count("a dim 0", lists.N());
  require_int32_count("b dim 0", lists.M());
  require_int32_count("a dim 0 plus b dim 0", lists.count());
  call.check_tensors();
  require_columns("a", lists.columns());
}

}  // namespace
}  // namespace mluop::unique_rows

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetUnionRowsWorkspaceSize(mluOpHandle_t handle,
                                                              const mluOpTensorDescriptor_t a_desc,
                                                              const mluOpTensorDescriptor_t b_desc,
                                                              size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::unique_rows;
  return run_workspace_query("mluOpOmpGetUnionRowsWorkspaceSize", handle, workspace_size, [&](Call& call) {
    const Lists lists{{a_desc}, {b_desc}};
    declare_lists(call, lists);
    check_lists(call, lists);
    return lists.workspace_bytes();
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpUnionRows(mluOpHandle_t handle, const mluOpTensorDescriptor_t a_desc,
                                              const void* a, const mluOpTensorDescriptor_t b_desc, const void* b,
                                              void* workspace, size_t workspace_size,
                                              const mluOpTensorDescriptor_t rows_desc, void* rows,
                                              const mluOpTensorDescriptor_t index_a_desc, void* index_a,
                                              const mluOpTensorDescriptor_t index_b_desc, void* index_b,
                                              const mluOpTensorDescriptor_t num_desc, void* num) {
  using namespace mluop;
  using namespace mluop::unique_rows;
  return run_operator("mluOpOmpUnionRows", handle, [&](Call& call) {
    const Lists lists{{a_desc, a}, {b_desc, b}};
    const int64_t N = lists.N(), M = lists.M(), count = lists.count(), columns = lists.columns();
    declare_lists(call, lists);
    call.output("rows", rows_desc, rows, kInt, kAnyLayout, {count, columns});
    call.output("index_a", index_a_desc, index_a, kInt, kAnyLayout, {N});
    call.output("index_b", index_b_desc, index_b, kInt, kAnyLayout, {M});
    call.output("num", num_desc, num, kInt, kAnyLayout, {1});
    check_lists(call, lists);
    Arena arena = call.workspace(workspace, workspace_size, lists.workspace_bytes());
    if (count == 0) {
      *static_cast<int32_t*>(num) = 0;
      return;
    }
    Context& context = call.context();
    context.reserve(0);
    const int task_dim = choose_row_task_dim(count, columns);
    call.log_detail("native, taskDim ", task_dim);
    Workspace memory(arena, count);
    const RowView view{static_cast<const int32_t*>(a), N, static_cast<const int32_t*>(b), M, columns};
    const int64_t distinct = find_distinct_rows(context, task_dim, view, RowOrder::kFirstOccurrence,
                                                memory.distinct, memory.first, memory.inverse);
    gather_rows(context, task_dim, view, memory.first, distinct, static_cast<int32_t*>(rows), count);
    std::copy_n(memory.inverse, N, static_cast<int32_t*>(index_a));
    std::copy_n(memory.inverse + N, M, static_cast<int32_t*>(index_b));
    *static_cast<int32_t*>(num) = static_cast<int32_t>(distinct);
  });
}
