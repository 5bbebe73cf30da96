// Requirements of the deformable convolution on its descriptor, and on combinations of sizes.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "core/dcn.h"
#include "support/api_errors.h"
#include "support/call_errors.h"

namespace mluop::test {
namespace {

using cases::Case;
using cases::DcnDescriptor;

constexpr const char* kOperators[] = {"dcn_forward", "dcn_backward_data", "dcn_backward_weight"};

// input [2, 7, 6, 6], filter [4, 3, 2, 3], two groups and two deformable groups.
Case make(const char* op, const std::map<std::string, int64_t>& sizes = {}) {
  return make_case(op, MLUOP_DTYPE_FLOAT, sizes);
}

struct Values {
  int dimNb = 4;
  std::array<int, 4> pad = {0, 1, 2, 3};
  std::array<int, 2> stride = {1, 2}, dilation = {1, 2};
  int deformable_group = 1, conv_group = 1, im2col_step = 1;
  mluOpDataType_t compute_type = MLUOP_DTYPE_FLOAT;

  mluOpStatus_t set(mluOpDCNDescriptor_t desc) const {
    return mluOpSetDCNDescriptor(desc, dimNb, pad.data(), stride.data(), dilation.data(), deformable_group,
                                 conv_group, im2col_step, compute_type);
  }
};

TEST(OpsDcnErrors, Descriptor) {
  const DcnDescriptor desc;
  ASSERT_EQ(Values().set(desc), MLUOP_STATUS_SUCCESS);
  const auto contents = [&desc] {
    std::array<std::byte, sizeof(mluOpDCNStruct)> bytes;
    std::memcpy(bytes.data(), mluOpDCNDescriptor_t{desc}, bytes.size());
    return bytes;
  };
  const auto before = contents();
  const std::pair<std::function<void(Values&)>, const char*> rows[] = {
      {[](Values& v) { v.dimNb = 5; }, "dimNb is 5, expected 4"},
      {[](Values& v) { v.pad[3] = -1; }, "pad[3] is -1, expected at least 0"},
      {[](Values& v) { v.stride[1] = 0; }, "stride[1] is 0, expected at least 1"},
      {[](Values& v) { v.dilation[0] = 0; }, "dilation[0] is 0, expected at least 1"},
      {[](Values& v) { v.deformable_group = 0; }, "deformable_group is 0, expected at least 1"},
      {[](Values& v) { v.conv_group = -2; }, "conv_group is -2, expected at least 1"},
      {[](Values& v) { v.im2col_step = 0; }, "im2col_step is 0, expected at least 1"},
      {[](Values& v) { v.compute_type = MLUOP_DTYPE_HALF; }, "compute_type is HALF, expected FLOAT"}};
  for (const auto& [change, message] : rows) {
    Values values;
    change(values);
    expect_failure([&] { return values.set(desc); }, MLUOP_STATUS_BAD_PARAM,
                   std::string("[mluOpSetDCNDescriptor] ") + message);
  }
  const std::array<int, 4> ones = {1, 1, 1, 1};
  const auto set_arrays = [&](mluOpDCNDescriptor_t to, const int* pad, const int* stride, const int* dilation) {
    return mluOpSetDCNDescriptor(to, 4, pad, stride, dilation, 1, 1, 1, MLUOP_DTYPE_FLOAT);
  };
  const int* const set = ones.data();
  const auto expect_null = [&](const std::string& name, const std::function<mluOpStatus_t()>& call) {
    expect_failure(call, MLUOP_STATUS_BAD_PARAM, "[mluOpSetDCNDescriptor] " + name + " is null");
  };
  expect_null("dcn_desc", [&] { return set_arrays(nullptr, set, set, set); });
  expect_null("pad", [&] { return set_arrays(desc, nullptr, set, set); });
  expect_null("stride", [&] { return set_arrays(desc, set, nullptr, set); });
  expect_null("dilation", [&] { return set_arrays(desc, set, set, nullptr); });
  EXPECT_EQ(contents(), before);
  expect_failure([] { return mluOpCreateDCNDescriptor(nullptr); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpCreateDCNDescriptor] dcn_desc is null");
  expect_failure([] { return mluOpDestroyDCNDescriptor(nullptr); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpDestroyDCNDescriptor] dcn_desc is null");
}

TEST(OpsDcnErrors, NoDescriptor) {
  const Handle handle;
  const DcnDescriptor not_set;
  const OperatorCall call(handle, make("dcn_forward"));
  const cases::Arguments& a = call.arguments;
  const std::pair<mluOpDCNDescriptor_t, const char*> rows[] = {
      {nullptr, "dcn_desc is null"}, {not_set, "dcn_desc is not set, expected mluOpSetDCNDescriptor before"}};
  for (const auto& [desc, message] : rows) {
    expect_failure(
        [&, desc = desc] {
          return mluOpDCNForward(handle, desc, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc, a[2].data,
                                 a[3].desc, a[3].data, a[4].desc, a[4].data, a.workspace, a.workspace_size,
                                 a[5].desc, a[5].data);
        },
        MLUOP_STATUS_BAD_PARAM, std::string("[mluOpDCNForward] ") + message);
  }
}

TEST(OpsDcnErrors, Sizes) {
  for (const char* op : kOperators) {
    const std::string filter = op == std::string("dcn_backward_weight") ? "grad_filter" : "filter";
    expect_errors(
        make(op),
        {{set("deformable_group", 4), "input dim 3 is 6, expected a multiple of deformable_group, which is 4"},
         {set("conv_group", 5), "input dim 3 is 6, expected a multiple of conv_group, which is 5"},
         {set("conv_group", 3), filter + " dim 0 is 8, expected a multiple of conv_group, which is 3"},
         {set("im2col_step", 3), "input dim 0 is 2, expected a multiple of im2col_step, which is 3"},
         {set_list("dilation", {9, 1}),
          filter + " dim 1 is 3, expected a filter within the padded height of input, with dilation 9"},
         {set_list("dilation", {1, 9}),
          filter + " dim 2 is 2, expected a filter within the padded width of input, with dilation 9"},
         {with_sizes(op, {{"h", 1 << 16}, {"w", 1 << 15}, {"ci", 1}}),
          "input dim 1 x dim 2 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED}},
        {.query = Query::kFails});
    const std::pair<const char*, std::string> empty[] = {
        {"n", "input dim 0"},      {"h", "input dim 1"},      {"w", "input dim 2"},     {"ci", "input dim 3"},
        {"co", filter + " dim 0"}, {"kh", filter + " dim 1"}, {"kw", filter + " dim 2"}};
    for (const auto& [size, name] : empty) {
      expect_errors(make(op, {{size, 0}}), {{no_change, name + " is 0, expected at least 1"}},
                    {.query = Query::kFails});
    }
  }
}

TEST(OpsDcnErrors, OptionalTensorsWithoutDescriptor) {
  const std::pair<const char*, const char*> rows[] = {
      {"dcn_forward", "mask"},         {"dcn_forward", "bias"},
      {"dcn_backward_data", "mask"},   {"dcn_backward_data", "grad_mask"},
      {"dcn_backward_weight", "mask"}, {"dcn_backward_weight", "grad_bias"}};
  for (const auto& [op, tensor] : rows) {
    const auto without_descriptor = [tensor = tensor](OperatorCall& call) { call[tensor].desc = nullptr; };
    expect_errors(make(op), {{without_descriptor, std::string(tensor) + "_desc is null"}});
  }
}

TEST(OpsDcnErrors, ExtentsOverflow) {
  const auto of_filter = [](OperatorCall& call) {
    for (const char* groups : {"deformable_group", "conv_group"}) set(groups, 1)(call);
    set_list("dilation", {9, 1})(call);
    set_shape("filter", {1, int64_t{1} << 60, 1, 1})(call);
  };
  const auto of_samples = [](OperatorCall& call) {
    set("deformable_group", 16)(call);
    set_shape("filter", {1, int64_t{1} << 60, 1, 1})(call);
  };
  const auto of_input = set_desc("input", Descriptor(MLUOP_DTYPE_INT8, {1, INT64_MAX, 1, 1}, MLUOP_LAYOUT_NHWC));
  expect_errors(make("dcn_forward"),
                {{of_filter,
                  "filter dim 1 is 1152921504606846976, expected a filter within the padded height of input, with "
                  "dilation 9"},
                 {of_samples, "input dim 3 is 6, expected a multiple of deformable_group, which is 16"},
                 {of_input, "input has data type INT8, expected FLOAT, HALF or BFLOAT16"}});
}

TEST(OpsDcnErrors, GradientOfMaskWithoutMask) {
  const auto without_mask = [](OperatorCall& call) {
    call["mask"].desc = nullptr;
    call["mask"].data = nullptr;
  };
  expect_errors(make("dcn_backward_data"), {{without_mask, "grad_mask is not null, expected null without mask"}},
                {.query = Query::kFails});
  const auto without_gradient = [](OperatorCall& call) {
    call["grad_mask"].desc = nullptr;
    call["grad_mask"].data = nullptr;
  };
  expect_errors(make("dcn_backward_data"), {{without_gradient, "grad_mask_desc is null"}});
}

}  // namespace
}  // namespace mluop::test
