// Requirements of the three indice convolutions and their workspace queries on pairs, scalars, sizes and filters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

using cases::Case;
using cases::Dims;

constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
const ErrorOptions kBoth = {.query = Query::kFails};
// Options for errors of data, and of parameters that the query does not have.
const ErrorOptions kOfOperator = {.query = Query::kSucceeds};

// Every filter offset has the maximum number of pairs, all in range.
Case make_valid(const IndiceConvolution& convolution,
                const IndiceConvolutionSizes& sizes = {50, 40, 6, 9, 3, 1, 2}) {
  std::mt19937 random;
  Case made = make_convolution(convolution, MLUOP_DTYPE_HALF, sizes, random);
  std::vector<int32_t> pairs(static_cast<size_t>(sizes.pairs_count()));
  const int64_t rows = std::min(sizes.num_act_in, sizes.num_act_out);
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<int32_t>(static_cast<int64_t>(i) % rows);
  set_pairs(made, pairs, std::vector<int64_t>(static_cast<size_t>(sizes.K()), sizes.num_act_in));
  return made;
}

Change set_num(size_t k, int64_t value) {
  return [=](OperatorCall& call) {
    std::vector<int64_t> numbers = call.parameters.list("indice_num");
    numbers[k] = value;
    call.parameters.set("indice_num", numbers);
  };
}

// Addresses of data too large for any memory, which the call does not access.
void move_apart(OperatorCall& call) {
  for (size_t i = 0; i < 4; ++i) call.arguments[i].data = reinterpret_cast<std::byte*>((i + 1) << 57);
}

TEST(OpsIndiceConvolutionErrors, Scalars) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op);
    const bool is_filter = convolution == kConvolutionBackwardFilter;
    expect_errors(
        make_valid(convolution),
        {{set("inverse", 1), "inverse is 1, expected 0", is_filter ? MLUOP_STATUS_BAD_PARAM : kNotSupported},
         {set("inverse", 2), "inverse is 2, expected 0"},
         {set_num(0, -1), "indice_num[0] is -1, expected 0 to 50"},
         {set_num(5, 51), "indice_num[5] is 51, expected 0 to 50"},
         {set_num(3, INT64_MAX), "indice_num[3] is 9223372036854775807, expected 0 to 50"}},
        kBoth);
  }
  expect_errors(
      make_valid(kConvolutionForward),
      {{set("num_active_out", 39), "num_act_out is 39, expected features_out dim 0, which is 40"},
       {set_shape("features_out", {41, 9}), "num_act_out is 40, expected features_out dim 0, which is 41"},
       {set("sub_m", 2), "sub_m is 2, expected 0 or 1"},
       {set("sub_m", -1), "sub_m is -1, expected 0 or 1"}},
      kBoth);
}

// The query of the gradient of data has no parameter sub_m.
TEST(OpsIndiceConvolutionErrors, SubmanifoldBackwardData) {
  expect_errors(make_valid(kConvolutionBackwardData),
                {{set("sub_m", 2), "sub_m is 2, expected 0 or 1"},
                 {set("sub_m", -1), "sub_m is -1, expected 0 or 1"},
                 {set("sub_m", 1), "output_grad dim 0 is 40, expected 50, the rows of input_grad, as sub_m is 1"}},
                kOfOperator);
  expect_errors(make_valid(kConvolutionBackwardData, {50, 50, 6, 9, 3, 1, 2}),
                {{set("sub_m", 1), "filters has 6 offsets, expected an odd number, as sub_m is 1"}}, kOfOperator);
  Case odd = make_valid(kConvolutionBackwardData, {50, 50, 6, 9, 3, 1, 3});
  odd.parameters.set("indice_num", {0, 1, 2, 3, 48, 5, 6, 49, 8});
  expect_errors(odd, {{set("sub_m", 1), "indice_num[4] is 48, expected 49, the maximum, as sub_m is 1"}},
                kOfOperator);
}

Change filters(const Dims& dims, mluOpTensorLayout_t layout) {
  return set_desc("filters", Descriptor(MLUOP_DTYPE_HALF, dims, layout));
}

// test/ops/errors_test.cpp has each dimension and stride of five dimensions.
TEST(OpsIndiceConvolutionErrors, Filters) {
  expect_errors(
      make_valid(kConvolutionForward),
      {{filters({9, 3, 1, 2, 6}, MLUOP_LAYOUT_NHWC), "filters has layout NHWC, expected NDHWC, NCDHW or ARRAY",
        kNotSupported},
       {filters({9, 3, 2, 6}, MLUOP_LAYOUT_NHWC), "filters has 4 dimensions, expected 5", kNotSupported},
       {set_shape("filters", {9, 0, 1, 2, 6}), "filters has shape [9, 0, 1, 2, 6], expected no dimension 0"},
       {filters({9, 3, 1, 2, 6}, MLUOP_LAYOUT_ARRAY), "features dim 1 is 6, expected 2"}},
      kBoth);
  expect_errors(make_valid(kConvolutionBackwardData),
                {{filters({9, 3, 1, 2, 6}, MLUOP_LAYOUT_NLC),
                  "filters has layout NLC, expected NHWC, NCHW, HWCN, NDHWC, NCDHW or ARRAY"},
                 {filters({9, 3, 1, 2, 6}, MLUOP_LAYOUT_NHWC), "filters has 5 dimensions, expected 4"},
                 {filters({9, 6, 3, 1, 2}, MLUOP_LAYOUT_NCHW), "filters has 5 dimensions, expected 4"},
                 {filters({3, 1, 2, 6, 9}, MLUOP_LAYOUT_HWCN), "filters has 5 dimensions, expected 4"},
                 {filters({9, 3, 2, 6}, MLUOP_LAYOUT_NDHWC), "filters has 4 dimensions, expected 5"},
                 {filters({9, 6, 3, 2}, MLUOP_LAYOUT_NCDHW), "filters has 4 dimensions, expected 5"},
                 {filters({6, 6, 9}, MLUOP_LAYOUT_ARRAY), "filters has 3 dimensions, expected 4 or 5"},
                 {filters({1, 9, 3, 1, 2, 6}, MLUOP_LAYOUT_ARRAY), "filters has 6 dimensions, expected 4 or 5"}},
                kBoth);
  expect_errors(
      make_valid(kConvolutionBackwardFilter),
      {{set_shape("filters_grad", {6, 6, 9}), "filters_grad has 3 dimensions, expected 4 or 5"},
       {set_shape("filters_grad", {1, 3, 1, 2, 6, 9}), "filters_grad has 6 dimensions, expected 4 or 5"}},
      kBoth);
}

// The message names the first of several indices out of range, for every number of tasks.
TEST(OpsIndiceConvolutionErrors, Indices) {
  MLUOP_LABELS(kNotEmulated);
  constexpr IndiceConvolutionSizes kSizes{12000, 11000, 4, 8, 1, 1, 3};
  const auto index = [](size_t k, size_t side, size_t l, int32_t value) {
    return set_element("indice_pairs", (k * 2 + side) * kSizes.num_act_in + l, value);
  };
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    const Case made = make_valid(convolution, kSizes);
    const std::string input = std::string(", expected less than 12000, the rows of ") + convolution.input_rows;
    const std::string output = std::string(", expected less than 11000, the rows of ") + convolution.output_rows;
    for (const int count : {1, 7, 64}) {
      SCOPED_TRACE(convolution.op + (' ' + std::to_string(count)));
      const ScopedThreads threads(count);
      expect_errors(
          made,
          {{index(0, 0, 0, 12000), "indice_pairs[0, 0, 0] is 12000" + input},
           {index(2, 0, 11999, INT_MAX), "indice_pairs[2, 0, 11999] is 2147483647" + input},
           {index(0, 1, 0, 11000), "indice_pairs[0, 1, 0] is 11000" + output},
           {index(2, 1, 11999, 11999), "indice_pairs[2, 1, 11999] is 11999" + output},
           {all_of({index(1, 0, 7, 12000), index(1, 1, 7, 11000)}), "indice_pairs[1, 0, 7] is 12000" + input},
           {all_of({index(2, 0, 2, 12000), index(1, 1, 9001, 11000), index(1, 1, 9000, 11001),
                    index(1, 0, 9001, 12000)}),
            "indice_pairs[1, 1, 9000] is 11001" + output}},
          kOfOperator);
    }
  }
}

TEST(OpsIndiceConvolutionErrors, LargeTensors) {
  MLUOP_LABELS(kNotEmulated);
  constexpr int64_t kRows = int64_t{1} << 31;
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op);
    const std::string inputs = convolution.input_rows, outputs = convolution.output_rows;
    const std::string filters = convolution.filters, too_many = " has 2147483648 rows, expected fewer than 2^31";
    expect_errors(make_valid(convolution),
                  {{all_of({set_shape(inputs, {kRows, 6}), set_shape("indice_pairs", {6, 2, kRows})}),
                    inputs + too_many, kNotSupported},
                   {all_of({set_shape(outputs, {kRows, 9}), set("num_active_out", kRows)}), outputs + too_many,
                    kNotSupported},
                   {all_of({set_shape(inputs, {kRows - 1, 6}), set_shape("indice_pairs", {6, 2, kRows - 1}),
                            set_list("indice_num", std::vector<int64_t>(6, kRows - 1)), move_apart}),
                    "indice_num counts 2^31 pairs or more, expected fewer", kNotSupported},
                   {set_shape(filters, {1, 1, 6, 6, int64_t{1} << 55}),
                    filters + " has 2594073385365405696 bytes, expected fewer than 2^56"}},
                  kBoth);
  }
}

// Sizes of tensors that fit int64_t, with scratch buffers that do not: 2^68 bytes of products.
TEST(OpsIndiceConvolutionErrors, ScratchSizeOverflow) {
  constexpr int64_t kChannels = int64_t{1} << 53;
  expect_errors(make_case(kConvolutionForward.op, MLUOP_DTYPE_FLOAT, {{"h", 1}, {"w", 1}}),
                {{all_of({set_shape("features", {8192, 1}), set_shape("filters", {kChannels, 1, 1, 1, 1}),
                          set_shape("indice_pairs", {1, 2, 8192}), set_shape("features_out", {1, kChannels}),
                          set("num_active_out", 1), set_list("indice_num", {8192}), move_apart}),
                  "the size in bytes of scratch buffer products [8192, 9007199254740992] exceeds 2^63 - 1"}},
                {.algorithms = {MLUOP_OMP_ALGORITHM_DEVICE}, .query = Query::kFails});
}

// The description of the operators never passes a null indice_num.
TEST(OpsIndiceConvolutionErrors, NullPairCounts) {
  const Handle handle;
  const OperatorCall forward(handle, make_valid(kConvolutionForward));
  const OperatorCall data(handle, make_valid(kConvolutionBackwardData));
  const OperatorCall filter(handle, make_valid(kConvolutionBackwardFilter));
  const cases::Arguments &f = forward.arguments, &d = data.arguments, &w = filter.arguments;
  size_t bytes = 0;
  const auto expect_refused = [](const std::string& function, mluOpStatus_t status) {
    EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpOmpGetLastError(), '[' + function + "] indice_num is null");
  };
  expect_refused(
      forward.op().function,
      mluOpIndiceConvolutionForward(handle, f[0].desc, f[0].data, f[1].desc, f[1].data, f[2].desc, f[2].data,
                                    nullptr, 40, 0, 0, f.workspace, f.workspace_size, f[3].desc, f[3].data));
  expect_refused(forward.op().query_function,
                 mluOpGetIndiceConvolutionForwardWorkspaceSize(handle, f[0].desc, f[1].desc, f[2].desc, f[3].desc,
                                                               nullptr, 40, 0, 0, &bytes));
  expect_refused(data.op().function, mluOpIndiceConvolutionBackwardData(
                                         handle, d[0].desc, d[0].data, d[1].desc, d[1].data, d[2].desc, d[2].data,
                                         nullptr, 0, 0, d.workspace, d.workspace_size, d[3].desc, d[3].data));
  expect_refused(data.op().query_function,
                 mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(handle, d[0].desc, d[1].desc, d[2].desc,
                                                                    d[3].desc, nullptr, 0, &bytes));
  expect_refused(filter.op().function,
                 mluOpIndiceConvolutionBackwardFilter(handle, w[0].desc, w[0].data, w[1].desc, w[1].data,
                                                      w[2].desc, w[2].data, nullptr, 0, 0, w.workspace,
                                                      w.workspace_size, w[3].desc, w[3].data));
  expect_refused(filter.op().query_function,
                 mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(handle, w[0].desc, w[1].desc, w[2].desc,
                                                                      w[3].desc, nullptr, 0, 0, &bytes));
}

Change set_onchip(const std::string& tensor, mluOpDataType_t dtype) {
  return [=](OperatorCall& call) { require(mluOpSetTensorDescriptorOnchipDataType(call[tensor].desc, dtype)); };
}

// The gradient of filters admits on-chip data types that are unset, equal to the data type, or for filters_grad at
// least as wide. They do not change the result.
TEST(OpsIndiceConvolutionErrors, OnchipDataTypes) {
  constexpr auto kHalf = MLUOP_DTYPE_HALF, kFloat = MLUOP_DTYPE_FLOAT, kInt16 = MLUOP_DTYPE_INT16;
  const Case half = make_valid(kConvolutionBackwardFilter);
  const std::string onchip = " has on-chip data type ",
                    filters = ", expected FLOAT, unset, or a 16-bit type for 16-bit filters";
  expect_errors(half,
                {{set_onchip("features", kFloat), "features" + onchip + "FLOAT, expected HALF or unset"},
                 {set_onchip("output_grad", kInt16), "output_grad" + onchip + "INT16, expected HALF or unset"},
                 {set_onchip("indice_pairs", kInt16), "indice_pairs" + onchip + "INT16, expected INT32 or unset"},
                 {set_onchip("filters_grad", kInt16), "filters_grad" + onchip + "INT16" + filters}},
                kBoth);
  std::mt19937 random;
  const Case single = make_convolution(kConvolutionBackwardFilter, kFloat, {50, 40, 6, 9, 3, 1, 2}, random);
  expect_errors(single, {{set_onchip("filters_grad", kHalf), "filters_grad" + onchip + "HALF" + filters}}, kBoth);

  const Handle handle;
  OperatorCall call(handle, half);
  require(call.run());
  const auto expected = call.outputs();
  for (const auto dtype : {kHalf, MLUOP_DTYPE_BFLOAT16, kFloat, MLUOP_DTYPE_INVALID}) {
    OperatorCall changed(handle, half);
    set_onchip("features", kHalf)(changed);
    set_onchip("output_grad", kHalf)(changed);
    set_onchip("indice_pairs", MLUOP_DTYPE_INT32)(changed);
    set_onchip("filters_grad", dtype)(changed);
    require(changed.run());
    EXPECT_TRUE(changed.outputs() == expected);
  }
}

// Offsets with several segments of the reduction need a workspace; offsets with one segment do not.
TEST(OpsIndiceConvolutionErrors, WorkspaceOfSegments) {
  const Case made = make_valid(kConvolutionBackwardFilter, {5000, 40, 6, 9, 3, 1, 2});
  const size_t needed = OperatorCall(Handle(), made).arguments.workspace_size;
  expect_errors(
      made,
      {{[](OperatorCall& call) { call.arguments.workspace = nullptr; }, "workspace is null"},
       {[](OperatorCall& call) { --call.arguments.workspace_size; },
        "workspace_size is " + std::to_string(needed - 1) + ", expected at least " + std::to_string(needed)},
       {[](OperatorCall& call) { call.arguments.workspace = call["filters_grad"].data; },
        "filters_grad overlaps workspace, expected disjoint memory"}},
      kOfOperator);
}

// The output of empty tensors is 0, without data of inputs or a workspace. Descriptors, scalars and the output are
// checked.
TEST(OpsIndiceConvolutionErrors, EmptyTensors) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const std::string extent : {"num_act_in", "num_act_out", "ci", "co", "h"}) {
      if (convolution == kConvolutionForward && !extent.starts_with("num")) continue;
      SCOPED_TRACE(convolution.op + (' ' + extent));
      Case made = make_case(convolution.op, MLUOP_DTYPE_HALF, {{extent, 0}});
      made.parameters.set("sub_m", 1);
      for (const auto algorithm : kAlgorithms) {
        const Handle handle(algorithm);
        OperatorCall call(handle, made);
        EXPECT_EQ(call.arguments.workspace_size, 0U);
        for (size_t i = 0; i < 3; ++i) call.arguments[i].data = nullptr;
        EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        EXPECT_THAT(output_of(call), ::testing::Each(0.0F));
        EXPECT_TRUE(call.intact());
      }
      expect_errors(made, {{set("inverse", 2), "inverse is 2, expected 0"}}, kBoth);
      const cases::Tensor& output = made.outputs[0];
      if (element_count(output) == 0) continue;
      expect_errors(made,
                    {{[&](OperatorCall& call) { call[output.id].data = nullptr; },
                      output.id + " is null, expected the data of a tensor " + cases::text_of(output.dims)}},
                    kOfOperator);
    }
  }
}

}  // namespace
}  // namespace mluop::test
