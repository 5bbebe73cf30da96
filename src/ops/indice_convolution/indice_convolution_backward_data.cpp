// mluOpIndiceConvolutionBackwardData and its workspace query: entries and checks. The gradient is the convolution
// by the same index pairs with inputs and outputs exchanged, and with the matrices of the filters transposed.
// Start with check(), then read run() in indice_convolution_native.cpp, as for the forward operator.
#include <algorithm>
#include <functional>
#include <numeric>

#include "core/dtype.h"
#include "ops/indice_convolution/indice_convolution.h"
#include "ops/indice_convolution/indice_convolution_rules.h"

namespace mluop::indice_convolution::backward_data {
namespace {

using indice_convolution::Args;

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;
constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;

// The parameters shared by the operator and its query; the query has no data and no sub_m.
struct Params {
  const TensorDescriptor *output_grad_desc, *filters_desc, *indice_pairs_desc, *input_grad_desc;
  const int64_t* indice_num;
  int64_t inverse;
  int64_t sub_m = 0;
  const void *output_grad = nullptr, *filters = nullptr, *indice_pairs = nullptr;
  void* input_grad = nullptr;
};

// The dimensions of a filter layout: the dimensions of the channels, the first dimension of an offset, and how
// many an offset has.
struct FilterDims {
  int co, ci, first, count;
  int dim_count() const { return count + 2; }
};

FilterDims filter_dims(const TensorDescriptor* filters) {
  switch (filters == nullptr ? MLUOP_LAYOUT_ARRAY : filters->layout) {
    case MLUOP_LAYOUT_NHWC: return {0, 3, 1, 2};
    case MLUOP_LAYOUT_NCHW: return {0, 1, 2, 2};
    case MLUOP_LAYOUT_HWCN: return {3, 2, 0, 2};
    case MLUOP_LAYOUT_NDHWC: return {0, 4, 1, 3};
    case MLUOP_LAYOUT_NCDHW: return {0, 1, 2, 3};
    default: break;
  }
  return filters != nullptr && filters->dim_count == 4 ? FilterDims{3, 2, 0, 2} : FilterDims{4, 3, 0, 3};
}

void check_filters(const TensorDescriptor& filters, const FilterDims& at) {
  constexpr mluOpTensorLayout_t kLayouts[] = {MLUOP_LAYOUT_NHWC,  MLUOP_LAYOUT_NCHW,  MLUOP_LAYOUT_HWCN,
                                              MLUOP_LAYOUT_NDHWC, MLUOP_LAYOUT_NCDHW, MLUOP_LAYOUT_ARRAY};
  require(std::ranges::find(kLayouts, filters.layout) != std::end(kLayouts), kBadParam, "filters has layout ",
          name_of(filters.layout), ", expected NHWC, NCHW, HWCN, NDHWC, NCDHW or ARRAY");
  const bool is_array = filters.layout == MLUOP_LAYOUT_ARRAY;
  require(filters.dim_count == at.dim_count(), kBadParam, "filters has ", filters.dim_count,
          " dimensions, expected ", is_array ? "4 or " : "", at.dim_count());
  indice_convolution::check_filter_bytes("filters", byte_count(filters));
}

// A submanifold convolution has as many outputs as inputs, and one offset that pairs each row with itself.
void check_submanifold(const Args& args, int64_t input_rows, int64_t output_rows) {
  require(input_rows == output_rows, kBadParam, "output_grad dim 0 is ", output_rows, ", expected ", input_rows,
          ", the rows of input_grad, as sub_m is 1");
  require(args.K % 2 == 1, kBadParam, "filters has ", args.K, " offsets, expected an odd number, as sub_m is 1");
  const int64_t most = *std::max_element(args.indice_num, args.indice_num + args.K);
  require(args.indice_num[args.K / 2] == most, kBadParam, "indice_num[", args.K / 2, "] is ",
          args.indice_num[args.K / 2], ", expected ", most, ", the maximum, as sub_m is 1");
}

// Declares and checks the arguments shared by the operator and its query. The inputs of the convolution are the
// rows of output_grad.
Args check(Call& call, const Params& params) {
  const TensorDescriptor* filters_desc = params.filters_desc;
  const FilterDims at = filter_dims(filters_desc);
  const int64_t output_rows = dim_of(params.output_grad_desc, 0);
  const int64_t input_rows = dim_of(params.input_grad_desc, 0);
  const int64_t Ci = dim_of(filters_desc, at.ci), Co = dim_of(filters_desc, at.co);
  Args args{};
  args.dtype = dtype_of(params.output_grad_desc);
  args.K = 1;
  for (int d = at.first; d < at.first + at.count; ++d) args.K *= dim_of(filters_desc, d);
  args.L = input_rows;
  args.N = output_rows;
  args.M = input_rows;
  args.input_side = 1;
  args.indice_pairs = static_cast<const int32_t*>(params.indice_pairs);
  args.indice_num = params.indice_num;
  args.inputs_of = "output_grad";
  args.outputs_of = "input_grad";
  args.Ci = Co;
  args.Co = Ci;
  args.features = params.output_grad;
  args.filters = params.filters;
  args.features_out = params.input_grad;

  constexpr auto kArray = MLUOP_LAYOUT_ARRAY;
  const auto layout = filters_desc == nullptr ? kArray : filters_desc->layout;
  call.parameter("inverse", params.inverse);
  call.parameter("sub_m", params.sub_m);
  call.input("output_grad", params.output_grad_desc, params.output_grad, args.dtype, kArray, {kAny, Co});
  if (at.count == 2) {
    call.input("filters", filters_desc, params.filters, args.dtype, layout, {kAny, kAny, kAny, kAny});
  } else {
    call.input("filters", filters_desc, params.filters, args.dtype, layout, {kAny, kAny, kAny, kAny, kAny});
  }
  call.input("indice_pairs", params.indice_pairs_desc, params.indice_pairs, MLUOP_DTYPE_INT32, kArray,
             {args.K, 2, args.L});
  call.host_array("indice_num", params.indice_num, args.K);
  call.output("input_grad", params.input_grad_desc, params.input_grad, args.dtype, kArray, {kAny, Ci});
  if (args.is_empty()) call.reads_nothing();

  call.check_pointers();
  call.check_not_200_series();
  require_element_type("output_grad", args.dtype);
  check_filters(*filters_desc, at);
  check_row_count("output_grad", output_rows);
  check_row_count("input_grad", input_rows);
  call.check_tensors();
  require(params.inverse == 0 || params.inverse == 1, kBadParam, "inverse is ", params.inverse, ", expected 0");
  require(params.inverse == 0, kNotSupported, "inverse is 1, expected 0");
  require_flag("sub_m", params.sub_m);
  check_pair_counts(args.indice_num, args.K, args.L);
  if (params.sub_m == 1 && !args.is_empty()) check_submanifold(args, input_rows, output_rows);

  args.pair_count = sum_of_pairs(args.indice_num, args.K);
  // Dimensions of size 1 may have any stride in the descriptor.
  const auto stride = [&](int dim) {
    const int64_t* dims = filters_desc->dims.data();
    return std::accumulate(dims + dim + 1, dims + at.dim_count(), int64_t{1}, std::multiplies<>());
  };
  args.strides = {.co = stride(at.ci), .k = stride(at.first + at.count - 1), .ci = stride(at.co)};
  return args;
}

}  // namespace
}  // namespace mluop::indice_convolution::backward_data

mluOpStatus_t MLUOP_WIN_API mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t output_grad_desc,
    const mluOpTensorDescriptor_t filters_desc, const mluOpTensorDescriptor_t indice_pairs_desc,
    const mluOpTensorDescriptor_t input_grad_desc, const int64_t indice_num[], const int64_t inverse,
    size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::indice_convolution::backward_data;
  return run_workspace_query(
      "mluOpGetIndiceConvolutionBackwardDataWorkspaceSize", handle, workspace_size, [&](Call& call) {
        const Args args =
            check(call, {output_grad_desc, filters_desc, indice_pairs_desc, input_grad_desc, indice_num, inverse});
        return indice_convolution::native::workspace_bytes(args);
      });
}

mluOpStatus_t MLUOP_WIN_API mluOpIndiceConvolutionBackwardData(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t output_grad_desc, const void* output_grad,
    const mluOpTensorDescriptor_t filters_desc, const void* filters,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const int64_t inverse, const int64_t sub_m, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t input_grad_desc, void* input_grad) {
  using namespace mluop;
  using namespace mluop::indice_convolution::backward_data;
  return run_operator("mluOpIndiceConvolutionBackwardData", handle, [&](Call& call) {
    const Args args = check(call, {output_grad_desc, filters_desc, indice_pairs_desc, input_grad_desc, indice_num,
                                   inverse, sub_m, output_grad, filters, indice_pairs, input_grad});
    const Arena arena =
        call.workspace(workspace, workspace_size, indice_convolution::native::workspace_bytes(args));
    indice_convolution::native::run(call, args, arena);
  });
}
