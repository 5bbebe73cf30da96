// mluOpOmpSitePairs and its workspace query: entries and checks.
// Start with the entry at the end of this file, then run() in site_pairs_native.cpp, and RowMatcher in
// primitives/sort/row_matcher.h.
#include "ops/site_pairs/site_pairs.h"

#include <algorithm>

#include "primitives/indices/site_rules.h"

namespace mluop::site_pairs {
namespace {

constexpr auto kInt = MLUOP_DTYPE_INT32;

// The tensors shared by the operator and its query; data are null in the query.
struct Sites {
  int64_t N() const { return dim_of(inputs.desc, 0); }
  int64_t M() const { return dim_of(outputs.desc, 0); }
  int64_t K() const { return dim_of(offsets.desc, 0); }
  int64_t columns() const { return dim_of(inputs.desc, 1); }
  bool has_no_pairs() const { return N() == 0 || M() == 0 || K() == 0; }
  size_t workspace_bytes() const { return has_no_pairs() ? 0 : native::workspace_bytes(N(), M(), K()); }

  Input inputs, outputs, offsets;
};

void declare_sites(Call& call, const Sites& sites) {
  call.input("inputs", sites.inputs.desc, sites.inputs.data, kInt, kAnyLayout, {kAny, kAny});
  call.input("outputs", sites.outputs.desc, sites.outputs.data, kInt, kAnyLayout, {kAny, sites.columns()});
  call.input("offsets", sites.offsets.desc, sites.offsets.data, kInt, kAnyLayout, {kAny, sites.columns() - 1});
  if (sites.has_no_pairs()) call.reads_nothing();
}

// The rules shared by the operator and its query. Their tensors must be declared.
void check_arguments(Call& call, const Sites& sites) {
  call.check_pointers();
  require_int32_count("inputs dim 0", sites.N());
  require_int32_count("outputs dim 0", sites.M());
  call.check_tensors();
  require_site_columns("inputs", sites.columns());
}

}  // namespace
}  // namespace mluop::site_pairs

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetSitePairsWorkspaceSize(mluOpHandle_t handle,
                                                              const mluOpTensorDescriptor_t inputs_desc,
                                                              const mluOpTensorDescriptor_t outputs_desc,
                                                              const mluOpTensorDescriptor_t offsets_desc,
                                                              size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::site_pairs;
  return run_workspace_query("mluOpOmpGetSitePairsWorkspaceSize", handle, workspace_size, [&](Call& call) {
    const Sites sites{{inputs_desc}, {outputs_desc}, {offsets_desc}};
    declare_sites(call, sites);
    check_arguments(call, sites);
    return sites.workspace_bytes();
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpSitePairs(mluOpHandle_t handle, const mluOpTensorDescriptor_t inputs_desc,
                                              const void* inputs, const mluOpTensorDescriptor_t outputs_desc,
                                              const void* outputs, const mluOpTensorDescriptor_t offsets_desc,
                                              const void* offsets, void* workspace, size_t workspace_size,
                                              const mluOpTensorDescriptor_t indice_pairs_desc, void* indice_pairs,
                                              const mluOpTensorDescriptor_t indice_num_desc, void* indice_num) {
  using namespace mluop;
  using namespace mluop::site_pairs;
  return run_operator("mluOpOmpSitePairs", handle, [&](Call& call) {
    const Sites sites{{inputs_desc, inputs}, {outputs_desc, outputs}, {offsets_desc, offsets}};
    const int64_t N = sites.N(), K = sites.K();
    declare_sites(call, sites);
    call.output("indice_pairs", indice_pairs_desc, indice_pairs, kInt, kAnyLayout, {K, 2, N});
    call.output("indice_num", indice_num_desc, indice_num, kInt, kAnyLayout, {K});
    check_arguments(call, sites);
    const Arena arena = call.workspace(workspace, workspace_size, sites.workspace_bytes());
    const Args args{
        .N = N,
        .M = sites.M(),
        .K = K,
        .columns = sites.columns(),
        .inputs = static_cast<const int32_t*>(inputs),
        .outputs = static_cast<const int32_t*>(outputs),
        .offsets = static_cast<const int32_t*>(offsets),
        .indice_pairs = static_cast<int32_t*>(indice_pairs),
        .indice_num = static_cast<int32_t*>(indice_num),
    };
    if (sites.has_no_pairs()) {
      std::fill_n(args.indice_pairs, K * 2 * N, -1);
      std::fill_n(args.indice_num, K, 0);
      return;
    }
    native::run(call, args, arena);
  });
}
