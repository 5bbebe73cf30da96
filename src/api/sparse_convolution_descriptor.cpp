#include <algorithm>

#include "core/checks.h"
#include "core/descriptor.h"
#include "core/sparse_convolution.h"

namespace mluop {
namespace {

using Extent = SparseConvolutionDescriptor::Extent;

// Reads an array of `spatial` numbers; with two spatial dimensions, the depth becomes `depth`.
Extent read_extent(std::string_view name, const int* values, int spatial, int32_t depth, int32_t min) {
  require_not_null(name, values);
  Extent extent = {depth};
  for (int i = 0; i < spatial; ++i) {
    require(values[i] >= min, MLUOP_STATUS_BAD_PARAM, name, "[", i, "] is ", values[i], ", expected at least ",
            min);
    extent[static_cast<size_t>(i + 3 - spatial)] = values[i];
  }
  return extent;
}

void require_zero(std::string_view name, int value) {
  require(value == 0, MLUOP_STATUS_BAD_PARAM, name, " is ", value, ", expected 0");
}

void require_initialized(std::string_view name, const void* pointer) {
  require(pointer != nullptr, MLUOP_STATUS_NOT_INITIALIZED, name, " is null");
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API
mluOpCreateSparseConvolutionDescriptor(mluOpSparseConvolutionDescriptor_t* sparse_conv_desc) {
  return mluop::create_descriptor("mluOpCreateSparseConvolutionDescriptor", "sparse_conv_desc", sparse_conv_desc);
}

mluOpStatus_t MLUOP_WIN_API
mluOpDestroySparseConvolutionDescriptor(mluOpSparseConvolutionDescriptor_t sparse_conv_desc) {
  using namespace mluop;
  return run_guarded("mluOpDestroySparseConvolutionDescriptor", [&] {
    require(sparse_conv_desc != nullptr, MLUOP_STATUS_EXECUTION_FAILED, "sparse_conv_desc is null");
    delete sparse_conv_desc;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetSparseConvolutionDescriptor(
    mluOpSparseConvolutionDescriptor_t sparse_conv_desc, int dimNb, int batch_size, const int pad[],
    const int stride[], const int dilation[], const int input_space[], const int filter_space[],
    const int output_space[], const int sub_m, const int transpose, const int inverse) {
  using namespace mluop;
  return run_guarded("mluOpSetSparseConvolutionDescriptor", [&] {
    require_not_null("sparse_conv_desc", sparse_conv_desc);
    require(dimNb == 4 || dimNb == 5, MLUOP_STATUS_BAD_PARAM, "dimNb is ", dimNb, ", expected 4 or 5");
    require_positive("batch_size", batch_size);
    const int spatial = dimNb - 2;
    SparseConvolutionDescriptor requested;
    requested.dim_count = dimNb;
    requested.batch_size = batch_size;
    requested.pad = read_extent("pad", pad, spatial, 0, 0);
    requested.stride = read_extent("stride", stride, spatial, 1, 1);
    requested.dilation = read_extent("dilation", dilation, spatial, 1, 1);
    requested.input_space = read_extent("input_space", input_space, spatial, 1, 1);
    requested.filter_space = read_extent("filter_space", filter_space, spatial, 1, 1);
    requested.output_space = read_extent("output_space", output_space, spatial, 1, 1);
    requested.sub_m = sub_m != 0;
    require_zero("transpose", transpose);
    require_zero("inverse", inverse);
    *sparse_conv_desc = requested;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetSparseConvolutionNumActOut(mluOpSparseConvolutionDescriptor_t sparse_conv_desc,
                                                               int* num_act_out) {
  using namespace mluop;
  return run_guarded("mluOpGetSparseConvolutionNumActOut", [&] {
    require_initialized("sparse_conv_desc", sparse_conv_desc);
    require_initialized("num_act_out", num_act_out);
    *num_act_out = sparse_conv_desc->num_act_out;
  });
}
