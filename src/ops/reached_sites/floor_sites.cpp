// mluOpOmpFloorSites and its workspace query in one file: kernel, checks, entries. Start with the entry at the
// end, then run(). find_distinct_rows() is in primitives/sort/row_order.cpp.
#include <cstdint>

#include "core/checks.h"
#include "mlu_op_omp.h"
#include "primitives/indices/site_rules.h"
#include "primitives/sort/row_order.h"
#include "team/atomics.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::floor_sites {
namespace {

// The arguments of the call, checked.
struct Args {
  int64_t N, D;
  const int32_t* sites;      // [N, 1 + D]
  const int32_t* multiples;  // [D]
  int32_t* floors;           // [N, 1 + D]
  int32_t* inverse;          // [N]
  int32_t* num;
};

struct Workspace {
  Workspace(Arena& arena, int64_t N, int64_t D)
      : rows(arena.take<int32_t>("floors of sites", {N, D + 1})),
        first(arena.take<int32_t>("sites of distinct floors", {N})),
        distinct(arena, N) {}

  int32_t* rows;   // [N, 1 + D], the floor of each site
  int32_t* first;  // [N]
  DistinctRowsMemory distinct;
};

// The largest multiple of m up to x.
int64_t floor_of(int32_t x, int32_t m) { return int64_t{x} - floor_modulo(x, m); }

struct FloorArgs : Args {
  int32_t* rows;
  FirstBadItem& bad_element;
};

// Work items: sites.
void floor_rows(const FloorArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t n = begin; n < end; ++n) {
    const int32_t* const site = args.sites + n * (args.D + 1);
    int32_t* const to = args.rows + n * (args.D + 1);
    to[0] = site[0];
    for (int64_t d = 0; d < args.D; ++d) {
      const int64_t floor = floor_of(site[d + 1], args.multiples[d]);
      if (floor < INT32_MIN) args.bad_element.report(n * args.D + d);
      to[d + 1] = static_cast<int32_t>(floor);
    }
  }
}

void check_floors(const Args& args, const FirstBadItem& bad_element) {
  if (!bad_element.found()) return;
  const int64_t n = bad_element.item() / args.D, d = bad_element.item() % args.D;
  const int32_t x = args.sites[n * (args.D + 1) + d + 1], m = args.multiples[d];
  throw Failure(MLUOP_STATUS_BAD_PARAM, text("sites[", n, ", ", d + 1, "] is ", x, ", its floor to a multiple of ",
                                             m, " is ", floor_of(x, m), ", expected an int32"));
}

// Requires sites.
void run(Call& call, Arena arena, const Args& args) {
  constexpr int64_t kSiteBytes = 200;  // cost of a site, in bytes of memory traffic
  Context& context = call.context();
  context.reserve(0);
  call.log_detail("native");
  Workspace memory(arena, args.N, args.D);
  const int task_dim = choose_task_dim(args.N, args.N * kSiteBytes);
  FirstBadItem bad_element;
  launch<FloorArgs>(context, "floor_rows", task_dim, Evenly{args.N}, floor_rows, {args, memory.rows, bad_element});
  check_floors(args, bad_element);
  const RowView rows{memory.rows, args.N, nullptr, 0, args.D + 1};
  const int64_t count = find_distinct_rows(context, task_dim, rows, RowOrder::kAscending, memory.distinct,
                                           memory.first, args.inverse);
  gather_rows(context, task_dim, rows, memory.first, count, args.floors, args.N);
  *args.num = static_cast<int32_t>(count);
}

// Declares the inputs of the operator and of its query.
void declare_inputs(Call& call, const Input& sites, const Input& multiples) {
  call.input("sites", sites.desc, sites.data, MLUOP_DTYPE_INT32, kAnyLayout, {kAny, kAny});
  call.input("multiples", multiples.desc, multiples.data, MLUOP_DTYPE_INT32, kAnyLayout,
             {dim_of(sites.desc, 1) - 1});
  if (dim_of(sites.desc, 0) == 0) call.reads_nothing();
}

void check(Call& call, const TensorDescriptor* sites_desc) {
  call.check_pointers();
  require_int32_count("sites dim 0", dim_of(sites_desc, 0));
  call.check_tensors();
  require_site_columns("sites", sites_desc->dims[1]);
}

// Requires checked sites.
size_t workspace_bytes(const TensorDescriptor& sites_desc) {
  const int64_t N = sites_desc.dims[0];
  return N == 0 ? 0 : workspace_bytes_of<Workspace>(N, sites_desc.dims[1] - 1);
}

}  // namespace
}  // namespace mluop::floor_sites

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetFloorSitesWorkspaceSize(mluOpHandle_t handle,
                                                               const mluOpTensorDescriptor_t sites_desc,
                                                               const mluOpTensorDescriptor_t multiples_desc,
                                                               size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::floor_sites;
  return run_workspace_query("mluOpOmpGetFloorSitesWorkspaceSize", handle, workspace_size, [&](Call& call) {
    declare_inputs(call, {sites_desc}, {multiples_desc});
    check(call, sites_desc);
    return workspace_bytes(*sites_desc);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpFloorSites(mluOpHandle_t handle, const mluOpTensorDescriptor_t sites_desc,
                                               const void* sites, const mluOpTensorDescriptor_t multiples_desc,
                                               const void* multiples, void* workspace, size_t workspace_size,
                                               const mluOpTensorDescriptor_t floors_desc, void* floors,
                                               const mluOpTensorDescriptor_t inverse_desc, void* inverse,
                                               const mluOpTensorDescriptor_t num_desc, void* num) {
  using namespace mluop;
  using namespace mluop::floor_sites;
  return run_operator("mluOpOmpFloorSites", handle, [&](Call& call) {
    const int64_t N = dim_of(sites_desc, 0), columns = dim_of(sites_desc, 1);
    declare_inputs(call, {sites_desc, sites}, {multiples_desc, multiples});
    call.output("floors", floors_desc, floors, MLUOP_DTYPE_INT32, kAnyLayout, {N, columns});
    call.output("inverse", inverse_desc, inverse, MLUOP_DTYPE_INT32, kAnyLayout, {N});
    call.output("num", num_desc, num, MLUOP_DTYPE_INT32, kAnyLayout, {1});
    check(call, sites_desc);
    auto* const count = static_cast<int32_t*>(num);
    if (N == 0) {
      *count = 0;
      return;
    }
    const auto* const steps = static_cast<const int32_t*>(multiples);
    require_axis_steps("multiples", steps, columns - 1);
    const Arena arena = call.workspace(workspace, workspace_size, workspace_bytes(*sites_desc));
    run(call, arena,
        {N, columns - 1, static_cast<const int32_t*>(sites), steps, static_cast<int32_t*>(floors),
         static_cast<int32_t*>(inverse), count});
  });
}
