// mluOpIndiceConvolutionBackwardFilter and its workspace query: entries and checks. Start with check(), then read
// run() in indice_convolution_backward_filter_native.cpp and its launches: check_pairs(), multiply() and combine()
// in indice_convolution_backward_filter_native_kernels.cpp. The microkernel is in
// primitives/gemm/outer_products-inl.h.
#include "ops/indice_convolution/indice_convolution.h"
#include "ops/indice_convolution/indice_convolution_rules.h"

namespace mluop::indice_convolution::backward_filter {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;

// The parameters shared by the operator and its query; the query has no data.
struct Params {
  const TensorDescriptor *features_desc, *output_grad_desc, *indice_pairs_desc, *filters_grad_desc;
  const int64_t* indice_num;
  int64_t inverse, sub_m;
  const void *features = nullptr, *output_grad = nullptr, *indice_pairs = nullptr;
  void* filters_grad = nullptr;
};

// Products are added in fp32 with any on-chip data type that the rules admit.
void check_onchip_dtypes(const Params& params) {
  const auto require_unset_or_equal = [](std::string_view name, const TensorDescriptor& desc) {
    require(desc.onchip_dtype == MLUOP_DTYPE_INVALID || desc.onchip_dtype == desc.dtype, kBadParam, name,
            " has on-chip data type ", name_of(desc.onchip_dtype), ", expected ", name_of(desc.dtype),
            " or unset");
  };
  require_unset_or_equal("features", *params.features_desc);
  require_unset_or_equal("output_grad", *params.output_grad_desc);
  require_unset_or_equal("indice_pairs", *params.indice_pairs_desc);
  const TensorDescriptor& filters = *params.filters_grad_desc;
  require(filters.onchip_dtype == MLUOP_DTYPE_INVALID || filters.onchip_dtype == MLUOP_DTYPE_FLOAT ||
              (is_16_bit(filters.onchip_dtype) && is_16_bit(filters.dtype)),
          kBadParam, "filters_grad has on-chip data type ", name_of(filters.onchip_dtype),
          ", expected FLOAT, unset, or a 16-bit type for 16-bit filters");
}

// Declares and checks the arguments shared by the operator and its query.
Args check(Call& call, const Params& params) {
  const TensorDescriptor* filters = params.filters_grad_desc;
  // [(D,) H, W, Ci, Co], read by position.
  const int offset_dims = filters != nullptr && filters->dim_count == 4 ? 2 : 3;
  Args args{};
  args.dtype = dtype_of(params.features_desc);
  args.K = 1;
  for (int d = 0; d < offset_dims; ++d) args.K *= dim_of(filters, d);
  args.Ci = dim_of(filters, offset_dims);
  args.Co = dim_of(filters, offset_dims + 1);
  args.N = dim_of(params.features_desc, 0);
  args.M = dim_of(params.output_grad_desc, 0);
  args.L = args.N;
  args.indice_pairs = static_cast<const int32_t*>(params.indice_pairs);
  args.indice_num = params.indice_num;
  args.inputs_of = "features";
  args.outputs_of = "output_grad";
  args.features = params.features;
  args.output_grad = params.output_grad;
  args.filters_grad = params.filters_grad;

  constexpr auto kArray = MLUOP_LAYOUT_ARRAY;
  call.parameter("inverse", params.inverse);
  call.parameter("sub_m", params.sub_m);
  call.input("features", params.features_desc, params.features, args.dtype, kArray, {kAny, args.Ci});
  call.input("output_grad", params.output_grad_desc, params.output_grad, args.dtype, kArray, {kAny, args.Co});
  call.input("indice_pairs", params.indice_pairs_desc, params.indice_pairs, MLUOP_DTYPE_INT32, kArray,
             {args.K, 2, args.L});
  call.host_array("indice_num", params.indice_num, args.K);
  if (offset_dims == 2) {
    call.output("filters_grad", filters, params.filters_grad, args.dtype, kAnyLayout, {kAny, kAny, kAny, kAny});
  } else {
    call.output("filters_grad", filters, params.filters_grad, args.dtype, kAnyLayout,
                {kAny, kAny, kAny, kAny, kAny});
  }
  if (args.is_empty()) call.reads_nothing();

  call.check_pointers();
  call.check_not_200_series();
  require_element_type("features", args.dtype);
  require(filters->dim_count == offset_dims + 2, kBadParam, "filters_grad has ", filters->dim_count,
          " dimensions, expected 4 or 5");
  indice_convolution::check_filter_bytes("filters_grad", byte_count(*filters));
  check_row_count("features", args.N);
  check_row_count("output_grad", args.M);
  check_onchip_dtypes(params);
  require(params.inverse == 0, kBadParam, "inverse is ", params.inverse, ", expected 0");
  call.check_tensors();
  check_pair_counts(args.indice_num, args.K, args.L);

  args.pair_count = sum_of_pairs(args.indice_num, args.K);
  return args;
}

}  // namespace
}  // namespace mluop::indice_convolution::backward_filter

mluOpStatus_t MLUOP_WIN_API mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc,
    const mluOpTensorDescriptor_t output_grad_desc, const mluOpTensorDescriptor_t indice_pairs_desc,
    const mluOpTensorDescriptor_t filters_grad_desc, const int64_t indice_num[], const int64_t inverse,
    const int64_t sub_m, size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::indice_convolution::backward_filter;
  return run_workspace_query(
      "mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize", handle, workspace_size, [&](Call& call) {
        return indice_convolution::backward_filter::workspace_bytes(check(
            call,
            {features_desc, output_grad_desc, indice_pairs_desc, filters_grad_desc, indice_num, inverse, sub_m}));
      });
}

mluOpStatus_t MLUOP_WIN_API mluOpIndiceConvolutionBackwardFilter(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t output_grad_desc, const void* output_grad,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const int64_t inverse, const int64_t sub_m, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t filters_grad_desc, void* filters_grad) {
  using namespace mluop;
  using namespace mluop::indice_convolution::backward_filter;
  namespace backward_filter = indice_convolution::backward_filter;
  return run_operator("mluOpIndiceConvolutionBackwardFilter", handle, [&](Call& call) {
    const Args args = check(call, {features_desc, output_grad_desc, indice_pairs_desc, filters_grad_desc,
                                   indice_num, inverse, sub_m, features, output_grad, indice_pairs, filters_grad});
    const Arena arena = call.workspace(workspace, workspace_size, backward_filter::workspace_bytes(args));
    backward_filter::run(call, args, arena);
  });
}
