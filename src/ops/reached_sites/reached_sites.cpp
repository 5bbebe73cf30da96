// mluOpOmpReachedSites and its workspace query: checks and entries. Start with the entry at the end, then run() in
// reached_sites_native.cpp.
#include "ops/reached_sites/reached_sites.h"

#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op_omp.h"
#include "primitives/indices/site_rules.h"

namespace mluop::reached_sites {
namespace {

// Declares the inputs of the operator and of its query.
void declare_inputs(Call& call, const Input& sites, const Input& offsets, const Input& multiples) {
  const int64_t D = dim_of(sites.desc, 1) - 1;
  call.input("sites", sites.desc, sites.data, MLUOP_DTYPE_INT32, kAnyLayout, {kAny, kAny});
  call.input("offsets", offsets.desc, offsets.data, MLUOP_DTYPE_INT32, kAnyLayout, {kAny, D});
  call.input("multiples", multiples.desc, multiples.data, MLUOP_DTYPE_INT32, kAnyLayout, {D});
  if (dim_of(sites.desc, 0) == 0 || dim_of(offsets.desc, 0) == 0) call.reads_nothing();
}

// The number of sums. INT64_MAX if it exceeds int64_t.
int64_t sums_of(const TensorDescriptor* sites_desc, const TensorDescriptor* offsets_desc) {
  return saturated_product({dim_of(sites_desc, 0), dim_of(offsets_desc, 0)});
}

void check(Call& call, const TensorDescriptor* sites_desc, const TensorDescriptor* offsets_desc) {
  call.check_pointers();
  require_int32_count("sites dim 0 times offsets dim 0", sums_of(sites_desc, offsets_desc));
  call.check_tensors();
  require_site_columns("sites", sites_desc->dims[1]);
}

}  // namespace
}  // namespace mluop::reached_sites

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetReachedSitesWorkspaceSize(mluOpHandle_t handle,
                                                                 const mluOpTensorDescriptor_t sites_desc,
                                                                 const mluOpTensorDescriptor_t offsets_desc,
                                                                 const mluOpTensorDescriptor_t multiples_desc,
                                                                 size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::reached_sites;
  return run_workspace_query("mluOpOmpGetReachedSitesWorkspaceSize", handle, workspace_size, [&](Call& call) {
    declare_inputs(call, {sites_desc}, {offsets_desc}, {multiples_desc});
    check(call, sites_desc, offsets_desc);
    return native::workspace_bytes({sites_desc->dims[0], offsets_desc->dims[0], sites_desc->dims[1] - 1});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpReachedSites(mluOpHandle_t handle, const mluOpTensorDescriptor_t sites_desc,
                                                 const void* sites, const mluOpTensorDescriptor_t offsets_desc,
                                                 const void* offsets, const mluOpTensorDescriptor_t multiples_desc,
                                                 const void* multiples, void* workspace, size_t workspace_size,
                                                 const mluOpTensorDescriptor_t reached_desc, void* reached,
                                                 const mluOpTensorDescriptor_t num_desc, void* num) {
  using namespace mluop;
  using namespace mluop::reached_sites;
  return run_operator("mluOpOmpReachedSites", handle, [&](Call& call) {
    const int64_t columns = dim_of(sites_desc, 1);
    const Sizes sizes{dim_of(sites_desc, 0), dim_of(offsets_desc, 0), columns - 1};
    declare_inputs(call, {sites_desc, sites}, {offsets_desc, offsets}, {multiples_desc, multiples});
    call.output("reached", reached_desc, reached, MLUOP_DTYPE_INT32, kAnyLayout,
                {sums_of(sites_desc, offsets_desc), columns});
    call.output("num", num_desc, num, MLUOP_DTYPE_INT32, kAnyLayout, {1});
    check(call, sites_desc, offsets_desc);
    auto* const count = static_cast<int32_t*>(num);
    if (sizes.is_empty()) {
      *count = 0;
      return;
    }
    const auto* const steps = static_cast<const int32_t*>(multiples);
    require_axis_steps("multiples", steps, sizes.D);
    const Arena arena = call.workspace(workspace, workspace_size, native::workspace_bytes(sizes));
    native::run(call, arena,
                {sizes, static_cast<const int32_t*>(sites), static_cast<const int32_t*>(offsets), steps,
                 static_cast<int32_t*>(reached), count});
  });
}
