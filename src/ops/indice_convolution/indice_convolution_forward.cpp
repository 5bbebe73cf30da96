// mluOpIndiceConvolutionForward and its workspace query: entries and checks. Start with check(), then read run()
// in indice_convolution_native.cpp and what it launches: count_pairs() and sort_pairs() in
// indice_convolution_native_sort_kernels.cpp, pack_filters() and convolve() in
// indice_convolution_native_kernels.cpp. convolve() reads the sorted pairs with batch_reader-inl.h and multiplies
// their rows with the microkernel, primitives/gemm/gemm_microkernel-inl.h; on tile registers, that is
// primitives/gemm/amx_microkernels-inl.h. The device algorithm is run() in indice_convolution_device.cpp.
#include <functional>
#include <numeric>

#include "core/dtype.h"
#include "ops/indice_convolution/indice_convolution.h"
#include "ops/indice_convolution/indice_convolution_rules.h"

namespace mluop::indice_convolution::forward {
namespace {

using indice_convolution::Args;

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;
constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;

// The parameters shared by the operator and its query; the query has no data.
struct Params {
  const TensorDescriptor *features_desc, *filters_desc, *indice_pairs_desc, *features_out_desc;
  const int64_t* indice_num;
  int64_t num_act_out, inverse, sub_m;
  const void *features = nullptr, *filters = nullptr, *indice_pairs = nullptr;
  void* features_out = nullptr;
};

// The dimensions of a filter layout: the dimensions of the channels, and the first of the three dimensions of an
// offset.
struct FilterDims {
  int co, ci, depth;
};

FilterDims filter_dims(mluOpTensorLayout_t layout) {
  switch (layout) {
    case MLUOP_LAYOUT_NDHWC: return {0, 4, 1};
    case MLUOP_LAYOUT_NCDHW: return {0, 1, 2};
    default: return {4, 3, 0};
  }
}

void check_filters(const TensorDescriptor& filters) {
  require(filters.dim_count == 5, kNotSupported, "filters has ", filters.dim_count, " dimensions, expected 5");
  require(filters.layout == MLUOP_LAYOUT_NDHWC || filters.layout == MLUOP_LAYOUT_NCDHW ||
              filters.layout == MLUOP_LAYOUT_ARRAY,
          kNotSupported, "filters has layout ", name_of(filters.layout), ", expected NDHWC, NCDHW or ARRAY");
  if (element_count(filters) == 0) {
    throw Failure(kBadParam, text("filters has shape ", shape_text(filters.shape()), ", expected no dimension 0"));
  }
  indice_convolution::check_filter_bytes("filters", byte_count(filters));
}

// Declares and checks the arguments shared by the operator and its query.
Args check(Call& call, const Params& params) {
  const TensorDescriptor* filters_desc = params.filters_desc;
  const auto layout = filters_desc == nullptr ? MLUOP_LAYOUT_ARRAY : filters_desc->layout;
  const FilterDims at = filter_dims(layout);
  Args args{};
  args.dtype = dtype_of(params.features_desc);
  args.N = dim_of(params.features_desc, 0);
  args.M = dim_of(params.features_out_desc, 0);
  args.L = args.N;
  args.Ci = dim_of(filters_desc, at.ci);
  args.Co = dim_of(filters_desc, at.co);
  args.K =
      dim_of(filters_desc, at.depth) * dim_of(filters_desc, at.depth + 1) * dim_of(filters_desc, at.depth + 2);
  args.features = params.features;
  args.filters = params.filters;
  args.indice_pairs = static_cast<const int32_t*>(params.indice_pairs);
  args.indice_num = params.indice_num;
  args.features_out = params.features_out;
  args.inputs_of = "features";
  args.outputs_of = "features_out";

  constexpr auto kArray = MLUOP_LAYOUT_ARRAY;
  call.parameter("num_active_out", params.num_act_out);
  call.parameter("inverse", params.inverse);
  call.parameter("sub_m", params.sub_m);
  call.input("features", params.features_desc, params.features, args.dtype, kArray, {kAny, args.Ci});
  call.input("filters", filters_desc, params.filters, args.dtype, layout, {kAny, kAny, kAny, kAny, kAny});
  call.input("indice_pairs", params.indice_pairs_desc, params.indice_pairs, MLUOP_DTYPE_INT32, kArray,
             {args.K, 2, args.N});
  call.host_array("indice_num", params.indice_num, args.K);
  call.output("features_out", params.features_out_desc, params.features_out, args.dtype, kArray, {kAny, args.Co});
  if (args.is_empty()) call.reads_nothing();

  call.check_pointers();
  call.check_not_200_series();
  require_element_type("features", args.dtype);
  check_filters(*filters_desc);
  check_row_count("features", args.N);
  check_row_count("features_out", args.M);
  call.check_tensors();
  require(params.num_act_out == args.M, kBadParam, "num_act_out is ", params.num_act_out,
          ", expected features_out dim 0, which is ", args.M);
  require(params.inverse == 0 || params.inverse == 1, kBadParam, "inverse is ", params.inverse, ", expected 0");
  require(params.inverse == 0, kNotSupported, "inverse is 1, expected 0");
  require_flag("sub_m", params.sub_m);
  check_pair_counts(args.indice_num, args.K, args.N);

  args.pair_count = sum_of_pairs(args.indice_num, args.K);
  // Dimensions of size 1 may have any stride in the descriptor.
  const auto stride = [&](int dim) {
    const int64_t* dims = filters_desc->dims.data();
    return std::accumulate(dims + dim + 1, dims + 5, int64_t{1}, std::multiplies<>());
  };
  args.strides = {stride(at.co), stride(at.depth + 2), stride(at.ci)};
  return args;
}

size_t queried_bytes(const Context& context, const Args& args) {
  return context.algorithm == MLUOP_OMP_ALGORITHM_DEVICE ? indice_convolution::device::workspace_bytes(args)
                                                         : indice_convolution::native::workspace_bytes(args);
}

}  // namespace
}  // namespace mluop::indice_convolution::forward

mluOpStatus_t MLUOP_WIN_API mluOpGetIndiceConvolutionForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const mluOpTensorDescriptor_t filters_desc,
    const mluOpTensorDescriptor_t indice_pairs_desc, const mluOpTensorDescriptor_t features_out_desc,
    const int64_t indice_num[], const int64_t num_act_out, const int64_t inverse, const int64_t sub_m,
    size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::indice_convolution::forward;
  return run_workspace_query(
      "mluOpGetIndiceConvolutionForwardWorkspaceSize", handle, workspace_size, [&](Call& call) {
        const Args args = check(call, {features_desc, filters_desc, indice_pairs_desc, features_out_desc,
                                       indice_num, num_act_out, inverse, sub_m});
        return queried_bytes(call.context(), args);
      });
}

mluOpStatus_t MLUOP_WIN_API mluOpIndiceConvolutionForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t filters_desc, const void* filters,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const int64_t num_act_out, const int64_t inverse, const int64_t sub_m, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t features_out_desc, void* features_out) {
  using namespace mluop;
  using namespace mluop::indice_convolution::forward;
  return run_operator("mluOpIndiceConvolutionForward", handle, [&](Call& call) {
    const Args args = check(call, {features_desc, filters_desc, indice_pairs_desc, features_out_desc, indice_num,
                                   num_act_out, inverse, sub_m, features, filters, indice_pairs, features_out});
    const Arena arena = call.workspace(workspace, workspace_size, queried_bytes(call.context(), args));
    if (call.context().algorithm == MLUOP_OMP_ALGORITHM_DEVICE) {
      indice_convolution::device::run(call, args, arena);
    } else {
      indice_convolution::native::run(call, args, arena);
    }
  });
}
