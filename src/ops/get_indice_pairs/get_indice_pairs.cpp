// mluOpGetIndicePairs and its workspace query: entries and checks.
// Start with the entry at the end of this file, then run() of class Steps in get_indice_pairs_native.cpp, with the
// set of active cells in get_indice_pairs_native_cells.h and the runs of sites in runs-inl.h. The kernels, in the
// order of their launches, find and rank the active cells in get_indice_pairs_native_cell_kernels.cpp, from
// claim() on, and write the pairs in get_indice_pairs_native_pair_kernels.cpp, from find_pairs() on.
#include <limits>

#include "core/sizes.h"
#include "core/sparse_convolution.h"
#include "ops/get_indice_pairs/get_indice_pairs.h"

namespace mluop::get_indice_pairs {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;
constexpr const char* kAxisNames[] = {"depth", "height", "width"};

// The parameters shared by the operator and its query.
struct Parameters {
  const SparseConvolutionDescriptor* sparse_conv_desc;
  const TensorDescriptor *indices_desc, *indice_pairs_desc, *out_indices_desc, *indice_num_desc;

  // Requires checked tensors.
  bool no_sites() const { return indices_desc->dims[0] == 0; }
};

// The data of the tensors; null in the query.
struct Data {
  const void* indices;
  void *indice_pairs, *out_indices, *indice_num;
};

// The number of cells of a space; INT64_MAX if it exceeds int64_t.
int64_t cells_of(int32_t batch_size, const SparseConvolutionDescriptor::Extent& space) {
  return saturated_product({batch_size, space[0], space[1], space[2]});
}

int64_t offsets_of(const SparseConvolutionDescriptor& desc) { return cells_of(1, desc.filter_space); }

// The rules of the convolution itself.
void check_convolution(const SparseConvolutionDescriptor& desc) {
  constexpr int64_t kMaxCells = int64_t{1} << 62;
  for (size_t i = 0; i < desc.stride.size(); ++i) {
    require(desc.stride[i] == 1 || desc.dilation[i] == 1, kBadParam, kAxisNames[i], " has stride ", desc.stride[i],
            " and dilation ", desc.dilation[i], ", expected one of them to be 1");
    if (!desc.sub_m) continue;
    require(desc.stride[i] == 1, kBadParam, kAxisNames[i], " has stride ", desc.stride[i],
            ", expected 1 with sub_m");
    require(desc.dilation[i] == 1, kBadParam, kAxisNames[i], " has dilation ", desc.dilation[i],
            ", expected 1 with sub_m");
    require(desc.input_space[i] == desc.output_space[i], kBadParam, kAxisNames[i], " of output_space is ",
            desc.output_space[i], ", expected input_space with sub_m, which is ", desc.input_space[i]);
  }
  require(cells_of(desc.batch_size, desc.output_space) <= kMaxCells, MLUOP_STATUS_NOT_SUPPORTED,
          "batch_size x output_space exceeds 2^62 cells");
}

// The rules for the numbers of rows, for checked tensors. Rows may outnumber cells because sites may repeat.
void check_row_counts(const SparseConvolutionDescriptor& desc, const Parameters& p) {
  const int64_t sites = p.indices_desc->dims[0], capacity = p.out_indices_desc->dims[0];
  require(!desc.sub_m || capacity >= sites || p.no_sites(), kBadParam, "out_indices dim 0 is ", capacity,
          ", expected at least indices dim 0 with sub_m, which is ", sites);
  require(sites <= std::numeric_limits<int32_t>::max(), MLUOP_STATUS_NOT_SUPPORTED, "indices dim 0 is ", sites,
          ", expected fewer than 2^31");
}

// Declares the convolution as parameters of the call.
void declare_convolution(Call& call, const SparseConvolutionDescriptor& desc) {
  const size_t axes = desc.dim_count == 4 ? 2 : 3;
  const auto declare = [&](std::string_view name, const SparseConvolutionDescriptor::Extent& values) {
    call.parameter(name, std::span(values).last(axes));
  };
  call.parameter("dimnb", desc.dim_count);
  call.parameter("batch", desc.batch_size);
  declare("pad", desc.pad);
  declare("stride", desc.stride);
  declare("dilation", desc.dilation);
  declare("input_space", desc.input_space);
  declare("filter_space", desc.filter_space);
  declare("output_space", desc.output_space);
  call.parameter("sub_m", int64_t{desc.sub_m});
  // An output: read after the call.
  call.parameter("num_act_out", std::span(&desc.num_act_out, 1));
}

// Declares the tensors and checks everything except the workspace.
void check_arguments(Call& call, const Parameters& p, const Data& data) {
  require_not_null("sparse_conv_desc", p.sparse_conv_desc);
  const SparseConvolutionDescriptor& desc = *p.sparse_conv_desc;
  const auto dtype = MLUOP_DTYPE_INT32;
  const int64_t columns = desc.dim_count - 1, offsets = offsets_of(desc);
  const int64_t sites = dim_of(p.indices_desc, 0);
  declare_convolution(call, desc);
  call.input("indices", p.indices_desc, data.indices, dtype, kAnyLayout, {kAny, columns});
  // Rows past the last output site are unchanged.
  call.inout("out_indices", p.out_indices_desc, data.out_indices, dtype, kAnyLayout, {kAny, columns});
  call.output("indice_pairs", p.indice_pairs_desc, data.indice_pairs, dtype, kAnyLayout, {offsets, 2, sites});
  call.output("indice_num", p.indice_num_desc, data.indice_num, dtype, kAnyLayout, {offsets});
  if (sites == 0) call.reads_nothing();

  call.check_pointers();
  call.check_not_200_series();
  require(desc.dim_count != 0, kBadParam,
          "sparse_conv_desc is not set, expected mluOpSetSparseConvolutionDescriptor before");
  check_convolution(desc);
  call.check_tensors();
  check_row_counts(desc, p);
}

// Requires checked arguments.
Args make_args(const Parameters& p, const Data& data) {
  const SparseConvolutionDescriptor& desc = *p.sparse_conv_desc;
  Args args{
      .site_count = p.indices_desc->dims[0],
      .columns = desc.dim_count - 1,
      .capacity = p.out_indices_desc->dims[0],
      .batch_size = desc.batch_size,
      .axes = {},
      .sub_m = desc.sub_m,
      .indices = static_cast<const int32_t*>(data.indices),
      .indice_pairs = static_cast<int32_t*>(data.indice_pairs),
      .out_indices = static_cast<int32_t*>(data.out_indices),
      .indice_num = static_cast<int32_t*>(data.indice_num),
  };
  for (size_t i = 0; i < args.axes.size(); ++i) {
    args.axes[i] = {desc.pad[i],         desc.stride[i],       desc.dilation[i],
                    desc.input_space[i], desc.filter_space[i], desc.output_space[i]};
  }
  return args;
}

}  // namespace
}  // namespace mluop::get_indice_pairs

mluOpStatus_t MLUOP_WIN_API mluOpGetIndicePairsWorkspaceSize(
    mluOpHandle_t handle, const mluOpSparseConvolutionDescriptor_t sparse_conv_desc,
    const mluOpTensorDescriptor_t indices_desc, const mluOpTensorDescriptor_t indice_pairs_desc,
    const mluOpTensorDescriptor_t out_indices_desc, const mluOpTensorDescriptor_t indice_num_desc,
    size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::get_indice_pairs;
  return run_workspace_query("mluOpGetIndicePairsWorkspaceSize", handle, workspace_size, [&](Call& call) {
    const Parameters parameters{sparse_conv_desc, indices_desc, indice_pairs_desc, out_indices_desc,
                                indice_num_desc};
    check_arguments(call, parameters, {});
    return parameters.no_sites() ? 0 : native::workspace_bytes(make_args(parameters, {}));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetIndicePairs(mluOpHandle_t handle,
                                                const mluOpSparseConvolutionDescriptor_t sparse_conv_desc,
                                                const mluOpTensorDescriptor_t indices_desc, const void* indices,
                                                void* workspace, const size_t workspace_size,
                                                const mluOpTensorDescriptor_t indice_pairs_desc,
                                                void* indice_pairs, const mluOpTensorDescriptor_t out_indices_desc,
                                                void* out_indices, const mluOpTensorDescriptor_t indice_num_desc,
                                                void* indice_num) {
  using namespace mluop;
  using namespace mluop::get_indice_pairs;
  return run_operator("mluOpGetIndicePairs", handle, [&](Call& call) {
    const Parameters parameters{sparse_conv_desc, indices_desc, indice_pairs_desc, out_indices_desc,
                                indice_num_desc};
    const Data data{indices, indice_pairs, out_indices, indice_num};
    check_arguments(call, parameters, data);
    const Args args = make_args(parameters, data);
    const bool empty = parameters.no_sites();
    const Arena arena = call.workspace(workspace, workspace_size, empty ? 0 : native::workspace_bytes(args));
    sparse_conv_desc->num_act_out = empty ? native::run_empty(args) : native::run(call, args, arena);
  });
}
