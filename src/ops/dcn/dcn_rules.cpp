#include "ops/dcn/dcn_rules.h"

#include <initializer_list>
#include <utility>

#include "core/checks.h"
#include "core/sizes.h"

namespace mluop::dcn {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;
constexpr auto kNhwc = MLUOP_LAYOUT_NHWC;

// The extent of the output along an axis, including all padding; less than 1 if the filter does not fit.
int64_t output_extent(int64_t padded, int64_t kernel, int64_t stride, int64_t dilation) {
  const auto last = checked_product(dilation, kernel - 1);
  return last && *last < padded ? (padded - *last - 1) / stride + 1 : 0;
}

void require_divisible(std::string_view name, int64_t value, std::string_view divisor_name, int64_t divisor) {
  require(value % divisor == 0, kBadParam, name, " is ", value, ", expected a multiple of ", divisor_name,
          ", which is ", divisor);
}

}  // namespace

void declare_convolution(Call& call, const DcnDescriptor* dcn_desc) {
  require_not_null("dcn_desc", dcn_desc);
  require(dcn_desc->is_set, kBadParam, "dcn_desc is not set, expected mluOpSetDCNDescriptor before");
  call.parameter("dimnb", dcn_desc->dim_count);
  call.parameter("pad", std::span(dcn_desc->pad));
  call.parameter("stride", std::span(dcn_desc->stride));
  call.parameter("dilation", std::span(dcn_desc->dilation));
  call.parameter("deformable_group", dcn_desc->deformable_group);
  call.parameter("conv_group", dcn_desc->conv_group);
  call.parameter("im2col_step", dcn_desc->im2col_step);
}

Sizes sizes_of(const DcnDescriptor& dcn_desc, const Shapes& shapes) {
  const auto& [top, bottom, left, right] = dcn_desc.pad;
  Sizes sizes{};
  sizes.N = dim_of(shapes.input_desc, 0);
  sizes.H = dim_of(shapes.input_desc, 1);
  sizes.W = dim_of(shapes.input_desc, 2);
  sizes.Ci = dim_of(shapes.input_desc, 3);
  sizes.Co = dim_of(shapes.filter_desc, 0);
  sizes.kernel_h = dim_of(shapes.filter_desc, 1);
  sizes.kernel_w = dim_of(shapes.filter_desc, 2);
  sizes.pad_top = top;
  sizes.pad_left = left;
  sizes.stride_h = dcn_desc.stride[0];
  sizes.stride_w = dcn_desc.stride[1];
  sizes.dilation_h = dcn_desc.dilation[0];
  sizes.dilation_w = dcn_desc.dilation[1];
  sizes.deformable_groups = dcn_desc.deformable_group;
  sizes.groups = dcn_desc.conv_group;
  const auto extent = [](int64_t in, int64_t pads, int64_t kernel, int64_t stride, int64_t dilation) {
    const auto padded = checked_sum(in, pads);
    return kernel > 0 && padded ? output_extent(*padded, kernel, stride, dilation) : 0;
  };
  sizes.Ho = extent(sizes.H, int64_t{top} + bottom, sizes.kernel_h, sizes.stride_h, sizes.dilation_h);
  sizes.Wo = extent(sizes.W, int64_t{left} + right, sizes.kernel_w, sizes.stride_w, sizes.dilation_w);
  return sizes;
}

int64_t sample_count(const Sizes& sizes) {
  return saturated_product({sizes.deformable_groups, sizes.kernel_h, sizes.kernel_w});
}

int64_t offset_count(const Sizes& sizes) { return saturated_product({sample_count(sizes), 2}); }

Args declare_samples(Call& call, const Sizes& sizes, const Input& input, const Input& offset, const Input& mask) {
  const mluOpDataType_t dtype = dtype_of(input.desc);
  const int64_t N = sizes.N, Ho = sizes.Ho, Wo = sizes.Wo;
  call.input("input", input.desc, input.data, dtype, kNhwc, {kAny, kAny, kAny, kAny});
  call.input("offset", offset.desc, offset.data, dtype, kNhwc, {N, Ho, Wo, offset_count(sizes)});
  const void* const masks = call.optional_input("mask", mask, dtype, kNhwc, {N, Ho, Wo, sample_count(sizes)});
  return {sizes, dtype, input.data, offset.data, masks};
}

void check(Call& call, const DcnDescriptor& dcn_desc, const Sizes& sizes, const Shapes& shapes) {
  call.check_pointers();
  require_element_type("input", dtype_of(shapes.input_desc));
  constexpr std::string_view kDims[] = {" dim 0", " dim 1", " dim 2", " dim 3"};
  for (const auto& [name, desc] : {std::pair(std::string_view("input"), shapes.input_desc),
                                   std::pair(shapes.filter_name, shapes.filter_desc)}) {
    require(desc->dim_count == 4, kBadParam, name, " has ", desc->dim_count, " dimensions, expected 4");
    for (int i = 0; i < 4; ++i) require_positive(text(name, kDims[i]), desc->dims[static_cast<size_t>(i)]);
  }
  require_divisible("input dim 3", sizes.Ci, "deformable_group", sizes.deformable_groups);
  require_divisible("input dim 3", sizes.Ci, "conv_group", sizes.groups);
  require_divisible(text(shapes.filter_name, " dim 0"), sizes.Co, "conv_group", sizes.groups);
  require_divisible("input dim 0", sizes.N, "im2col_step", dcn_desc.im2col_step);
  require(sizes.Ho > 0, kBadParam, shapes.filter_name, " dim 1 is ", sizes.kernel_h,
          ", expected a filter within the padded height of input, with dilation ", sizes.dilation_h);
  require(sizes.Wo > 0, kBadParam, shapes.filter_name, " dim 2 is ", sizes.kernel_w,
          ", expected a filter within the padded width of input, with dilation ", sizes.dilation_w);
  call.check_tensors();
  require_int32_count("input dim 1 x dim 2", sizes.H * sizes.W);
}

}  // namespace mluop::dcn
