// What the three indice convolutions and their workspace queries require of pairs, scalars, sizes and filters.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/call_errors.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using cases::Case;
using cases::Dims;

constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
const ErrorOptions kBoth = {.query = Query::kFails};
// For errors of data, and of parameters that the query does not have.
const ErrorOptions kOfOperator = {.query = Query::kSucceeds};

// Every filter offset has the maximum number of pairs, all in range.
Case make_valid(const IndiceConvolution& convolution, int64_t num_act_out = 40, int64_t W = 2) {
  Case made = make_case(
      convolution.op, MLUOP_DTYPE_HALF,
      {{"num_act_in", 50}, {"num_act_out", num_act_out}, {"ci", 6}, {"co", 9}, {"d", 3}, {"h", 1}, {"w", W}});
  std::vector<int32_t> pairs(static_cast<size_t>(3 * W * 2 * 50));
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<int32_t>(i % 40);
  set_values(made, "indice_pairs", pairs);
  made.parameters.set("indice_num", std::vector<int64_t>(static_cast<size_t>(3 * W), 50));
  return made;
}

Change set_num(size_t k, int64_t value) {
  return [=](OperatorCall& call) {
    std::vector<int64_t> numbers = call.parameters.list("indice_num");
    numbers[k] = value;
    call.parameters.set("indice_num", numbers);
  };
}

// indice_pairs[k, side, l] of make_valid().
Change set_index(size_t k, size_t side, size_t l, int32_t value) {
  return set_element("indice_pairs", (k * 2 + side) * 50 + l, value);
}

// Addresses of data too large for any memory, which the call does not access.
void move_apart(OperatorCall& call) {
  for (size_t i = 0; i < 4; ++i) call.arguments[i].data = reinterpret_cast<std::byte*>((i + 1) << 57);
}

Change without_data(const std::string& tensor) {
  return [=](OperatorCall& call) { call[tensor].data = nullptr; };
}

TEST(OpsIndiceConvolutionErrors, Scalars) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op);
    const bool is_filter = convolution == kConvolutionBackwardFilter;
    expect_errors(
        make_valid(convolution),
        {{set("inverse", 1), "inverse is 1, expected 0", is_filter ? MLUOP_STATUS_BAD_PARAM : kNotSupported},
         {set("inverse", 2), "inverse is 2, expected 0"},
         {set("inverse", -1), "inverse is -1, expected 0"},
         {set_num(0, -1), "indice_num[0] is -1, expected 0 to 50"},
         {set_num(5, 51), "indice_num[5] is 51, expected 0 to 50"},
         {set_num(3, INT64_MIN), "indice_num[3] is -9223372036854775808, expected 0 to 50"},
         {set_num(3, INT64_MAX), "indice_num[3] is 9223372036854775807, expected 0 to 50"}},
        kBoth);
  }
  expect_errors(
      make_valid(kConvolutionForward),
      {{set("num_active_out", 39), "num_act_out is 39, expected features_out dim 0, which is 40"},
       {set("num_active_out", -1), "num_act_out is -1, expected features_out dim 0, which is 40"},
       {set_shape("features_out", {41, 9}), "num_act_out is 40, expected features_out dim 0, which is 41"},
       {set("sub_m", 2), "sub_m is 2, expected 0 or 1"},
       {set("sub_m", -1), "sub_m is -1, expected 0 or 1"}},
      kBoth);
}

// The query of the gradient of data has no parameter sub_m.
TEST(OpsIndiceConvolutionBackwardDataErrors, Submanifold) {
  expect_errors(make_valid(kConvolutionBackwardData),
                {{set("sub_m", 2), "sub_m is 2, expected 0 or 1"},
                 {set("sub_m", -1), "sub_m is -1, expected 0 or 1"},
                 {set("sub_m", 1), "output_grad dim 0 is 40, expected 50, the rows of input_grad, as sub_m is 1"}},
                kOfOperator);
  expect_errors(make_valid(kConvolutionBackwardData, 50),
                {{set("sub_m", 1), "filters has 6 offsets, expected an odd number, as sub_m is 1"}}, kOfOperator);
  Case odd = make_valid(kConvolutionBackwardData, 50, 3);
  odd.parameters.set("indice_num", {0, 1, 2, 3, 48, 5, 6, 49, 8});
  expect_errors(odd, {{set("sub_m", 1), "indice_num[4] is 48, expected 49, the maximum, as sub_m is 1"}},
                kOfOperator);
}

const std::string kContiguous = ", expected a contiguous tensor of shape [3, 2, 6, 9]";

Change filters(const Dims& dims, mluOpTensorLayout_t layout) {
  return set_desc("filters", Descriptor(MLUOP_DTYPE_HALF, dims, layout));
}

TEST(OpsIndiceConvolutionForwardErrors, Filters) {
  expect_errors(
      make_valid(kConvolutionForward),
      {{filters({9, 3, 1, 2, 6}, MLUOP_LAYOUT_NHWC), "filters has layout NHWC, expected NDHWC, NCDHW or ARRAY",
        kNotSupported},
       {filters({9, 3, 2, 6}, MLUOP_LAYOUT_NHWC), "filters has 4 dimensions, expected 5", kNotSupported},
       {filters({1, 9, 3, 1, 2, 6}, MLUOP_LAYOUT_ARRAY), "filters has 6 dimensions, expected 5", kNotSupported},
       {set_shape("filters", {0, 3, 1, 2, 6}), "filters has shape [0, 3, 1, 2, 6], expected no dimension 0"},
       {set_shape("filters", {9, 0, 1, 2, 6}), "filters has shape [9, 0, 1, 2, 6], expected no dimension 0"},
       {set_shape("filters", {9, 3, 1, 2, 0}), "filters has shape [9, 3, 1, 2, 0], expected no dimension 0"},
       {filters({9, 3, 1, 2, 6}, MLUOP_LAYOUT_NCDHW), "features dim 1 is 6, expected 3"},
       {filters({9, 3, 1, 2, 6}, MLUOP_LAYOUT_ARRAY), "features dim 1 is 6, expected 2"}},
      kBoth);
}

TEST(OpsIndiceConvolutionBackwardDataErrors, Filters) {
  expect_errors(make_valid(kConvolutionBackwardData),
                {{filters({9, 3, 1, 2, 6}, MLUOP_LAYOUT_NLC),
                  "filters has layout NLC, expected NHWC, NCHW, HWCN, NDHWC, NCDHW or ARRAY"},
                 {filters({9, 3, 1, 2, 6}, MLUOP_LAYOUT_NHWC), "filters has 5 dimensions, expected 4"},
                 {filters({9, 6, 3, 1, 2}, MLUOP_LAYOUT_NCHW), "filters has 5 dimensions, expected 4"},
                 {filters({3, 1, 2, 6, 9}, MLUOP_LAYOUT_HWCN), "filters has 5 dimensions, expected 4"},
                 {filters({9, 3, 2, 6}, MLUOP_LAYOUT_NDHWC), "filters has 4 dimensions, expected 5"},
                 {filters({9, 6, 3, 2}, MLUOP_LAYOUT_NCDHW), "filters has 4 dimensions, expected 5"},
                 {filters({6, 6, 9}, MLUOP_LAYOUT_ARRAY), "filters has 3 dimensions, expected 4 or 5"},
                 {filters({1, 9, 3, 1, 2, 6}, MLUOP_LAYOUT_ARRAY), "filters has 6 dimensions, expected 4 or 5"},
                 {filters({9, 3, 3, 6}, MLUOP_LAYOUT_NHWC), "indice_pairs dim 0 is 6, expected 9"},
                 {filters({8, 6, 3, 2}, MLUOP_LAYOUT_NCHW), "output_grad dim 1 is 9, expected 8"},
                 {filters({3, 2, 7, 9}, MLUOP_LAYOUT_HWCN), "input_grad dim 1 is 6, expected 7"},
                 {set_desc("filters", Descriptor::with_strides(MLUOP_DTYPE_HALF, {3, 2, 6, 9}, {108, 54, 1, 6})),
                  "filters has strides [108, 54, 1, 6]" + kContiguous, kNotSupported}},
                kBoth);
}

// The dimensions are read by position, whatever the layout is.
TEST(OpsIndiceConvolutionBackwardFilterErrors, Filters) {
  expect_errors(
      make_valid(kConvolutionBackwardFilter),
      {{set_shape("filters_grad", {6, 6, 9}), "filters_grad has 3 dimensions, expected 4 or 5"},
       {set_shape("filters_grad", {1, 3, 1, 2, 6, 9}), "filters_grad has 6 dimensions, expected 4 or 5"},
       {set_shape("filters_grad", {3, 3, 6, 9}), "indice_pairs dim 0 is 6, expected 9"},
       {set_shape("filters_grad", {3, 2, 7, 9}), "features dim 1 is 6, expected 7"},
       {set_shape("filters_grad", {3, 2, 6, 8}), "output_grad dim 1 is 9, expected 8"},
       {set_desc("filters_grad", Descriptor(MLUOP_DTYPE_HALF, {9, 3, 1, 2, 6}, MLUOP_LAYOUT_NDHWC)),
        "features dim 1 is 6, expected 2"},
       {set_desc("filters_grad", Descriptor(MLUOP_DTYPE_FLOAT, {3, 2, 6, 9})),
        "filters_grad has data type FLOAT, expected HALF"},
       {set_desc("filters_grad", Descriptor::with_strides(MLUOP_DTYPE_HALF, {3, 2, 6, 9}, {108, 54, 1, 6})),
        "filters_grad has strides [108, 54, 1, 6]" + kContiguous, kNotSupported}},
      kBoth);
}

TEST(OpsIndiceConvolutionErrors, Indices) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op);
    const std::string input = std::string(", expected less than 50, the rows of ") + convolution.input_rows;
    const std::string output = std::string(", expected less than 40, the rows of ") + convolution.output_rows;
    expect_errors(
        make_valid(convolution),
        {{set_index(0, 0, 0, 50), "indice_pairs[0, 0, 0] is 50" + input},
         {set_index(3, 0, 23, 51), "indice_pairs[3, 0, 23] is 51" + input},
         {set_index(5, 0, 49, INT_MAX), "indice_pairs[5, 0, 49] is 2147483647" + input},
         {set_index(0, 1, 0, 40), "indice_pairs[0, 1, 0] is 40" + output},
         {set_index(2, 1, 31, 49), "indice_pairs[2, 1, 31] is 49" + output},
         {set_index(5, 1, 49, INT_MAX), "indice_pairs[5, 1, 49] is 2147483647" + output},
         {all_of({set_index(2, 0, 7, 50), set_index(2, 1, 7, 40)}), "indice_pairs[2, 0, 7] is 50" + input},
         {all_of({set_index(4, 0, 2, 60), set_index(1, 1, 30, 40), set_index(1, 0, 31, 50)}),
          "indice_pairs[1, 1, 30] is 40" + output}},
        kOfOperator);
  }
}

// The message names the first of several indices out of range, for every number of tasks.
TEST(OpsIndiceConvolutionErrors, FirstIndexOutOfRangeOfManyTasks) {
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    Case made = make_convolution(convolution, MLUOP_DTYPE_HALF, {30000, 28000, 4, 8, 1, 1, 3}, random);
    std::vector<int32_t> pairs(size_t{6} * 30000);
    for (int32_t& index : pairs) index = static_cast<int32_t>(random() % 28000);
    for (const size_t place : {29999, 29000, 28001}) pairs[2 * 60000 + place] = 30000;
    for (const size_t place : {25000, 17003, 17004}) pairs[60000 + 30000 + place] = 28000;
    set_values(made, "indice_pairs", pairs);
    made.parameters.set("indice_num", {30000, 30000, 30000});
    for (const int count : {1, 2, 7, 64}) {
      SCOPED_TRACE(convolution.op + (' ' + std::to_string(count)));
      const ScopedThreads threads(count);
      expect_errors(made,
                    {{no_change, std::string("indice_pairs[1, 1, 17003] is 28000, expected less than 28000, the "
                                             "rows of ") +
                                     convolution.output_rows}},
                    kOfOperator);
    }
  }
}

TEST(OpsIndiceConvolutionErrors, LargeTensors) {
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

// Sizes of tensors that fit int64_t, and of scratch buffers that do not: 2^68 bytes of products.
TEST(OpsIndiceConvolutionForwardErrors, ScratchSizeOverflow) {
  constexpr int64_t kChannels = int64_t{1} << 53;
  expect_errors(make_case(kConvolutionForward.op, MLUOP_DTYPE_FLOAT, {{"h", 1}, {"w", 1}}),
                {{all_of({set_shape("features", {8192, 1}), set_shape("filters", {kChannels, 1, 1, 1, 1}),
                          set_shape("indice_pairs", {1, 2, 8192}), set_shape("features_out", {1, kChannels}),
                          set("num_active_out", 1), set_list("indice_num", {8192}), move_apart}),
                  "the size in bytes of scratch buffer products [8192, 9007199254740992] exceeds 2^63 - 1"}},
                {.algorithms = {MLUOP_OMP_ALGORITHM_DEVICE}, .query = Query::kFails});
}

// The description of the operators passes neither as null.
TEST(OpsIndiceConvolutionErrors, NullHostPointers) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    const Handle handle;
    const OperatorCall call(handle, make_valid(convolution));
    EXPECT_EQ(call.op().query(call.arguments, nullptr), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpOmpGetLastError(), '[' + call.op().query_function + "] workspace_size is null");
  }
  const auto expect_refused = [](const IndiceConvolution& convolution, const auto& run, const auto& query) {
    const Handle handle;
    const OperatorCall call(handle, make_valid(convolution));
    const cases::Arguments& a = call.arguments;
    size_t bytes = 0;
    mluOpSetQueue(nullptr, nullptr);  // replaces the last error
    EXPECT_EQ(run(a), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpOmpGetLastError(), '[' + call.op().function + "] indice_num is null");
    EXPECT_EQ(query(a, &bytes), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpOmpGetLastError(), '[' + call.op().query_function + "] indice_num is null");
  };
  using Arguments = const cases::Arguments;
  expect_refused(
      kConvolutionForward,
      [](Arguments& a) {
        return mluOpIndiceConvolutionForward(a.handle, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc,
                                             a[2].data, nullptr, 40, 0, 0, a.workspace, a.workspace_size,
                                             a[3].desc, a[3].data);
      },
      [](Arguments& a, size_t* bytes) {
        return mluOpGetIndiceConvolutionForwardWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a[3].desc,
                                                             nullptr, 40, 0, 0, bytes);
      });
  expect_refused(
      kConvolutionBackwardData,
      [](Arguments& a) {
        return mluOpIndiceConvolutionBackwardData(a.handle, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc,
                                                  a[2].data, nullptr, 0, 0, a.workspace, a.workspace_size,
                                                  a[3].desc, a[3].data);
      },
      [](Arguments& a, size_t* bytes) {
        return mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc,
                                                                  a[3].desc, nullptr, 0, bytes);
      });
  expect_refused(
      kConvolutionBackwardFilter,
      [](Arguments& a) {
        return mluOpIndiceConvolutionBackwardFilter(a.handle, a[0].desc, a[0].data, a[1].desc, a[1].data,
                                                    a[2].desc, a[2].data, nullptr, 0, 0, a.workspace,
                                                    a.workspace_size, a[3].desc, a[3].data);
      },
      [](Arguments& a, size_t* bytes) {
        return mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc,
                                                                    a[3].desc, nullptr, 0, 0, bytes);
      });
}

// The output ends in the first input, or begins in the pairs.
TEST(OpsIndiceConvolutionErrors, Overlaps) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    const Case made = make_valid(convolution);
    const std::string output = made.outputs[0].id, own = ", expected memory of its own";
    const auto end_in_input = [](OperatorCall& call) {
      call.arguments[0].data = call.arguments[3].data + call.arguments[3].bytes() - 1;
    };
    const auto begin_in_pairs = [](OperatorCall& call) {
      call.arguments[2].data = call.arguments[3].data - call.arguments[2].bytes() + 1;
    };
    expect_errors(made,
                  {{end_in_input, output + " overlaps " + made.inputs[0].id + own},
                   {begin_in_pairs, output + " overlaps indice_pairs" + own}},
                  kOfOperator);
  }
}

// Offsets of several segments of the reduction need a workspace; those of one segment do not.
TEST(OpsIndiceConvolutionBackwardFilterErrors, Workspace) {
  auto random = seeded_random();
  const IndiceConvolutionSizes sizes{5000, 40, 6, 9, 3, 1, 2};
  Case made = make_convolution(kConvolutionBackwardFilter, MLUOP_DTYPE_HALF, sizes, random);
  for (size_t k = 0; k < 6; ++k) set_pair_count(made, k, 5000, sizes);
  const size_t needed = OperatorCall(Handle(), made).arguments.workspace_size;
  const std::string own = ", expected memory of its own",
                    expected = ", expected at least " + std::to_string(needed);
  const auto null = [](OperatorCall& call) { call.arguments.workspace = nullptr; };
  const auto small = [](OperatorCall& call) { --call.arguments.workspace_size; };
  const auto none = [](OperatorCall& call) { call.arguments.workspace_size = 0; };
  const auto of_output = [](OperatorCall& call) { call.arguments.workspace = call["filters_grad"].data; };
  const auto of_input = [](OperatorCall& call) { call.arguments.workspace = call["output_grad"].data; };
  expect_errors(made,
                {{null, "workspace is null"},
                 {small, "workspace_size is " + std::to_string(needed - 1) + expected},
                 {none, "workspace_size is 0" + expected},
                 {of_output, "filters_grad overlaps workspace" + own},
                 {of_input, "workspace overlaps output_grad" + own}},
                kOfOperator);
}

// The query returns the size for the algorithm of the handle. The algorithm that needs more does not accept the
// size of the other.
TEST(OpsIndiceConvolutionForwardErrors, QueryIsOfTheAlgorithm) {
  const Case made = make_valid(kConvolutionForward);
  const auto bytes_of = [&](mluOpOmpAlgorithm_t algorithm) {
    return OperatorCall(Handle(algorithm), made).arguments.workspace_size;
  };
  const size_t native = bytes_of(MLUOP_OMP_ALGORITHM_NATIVE), device = bytes_of(MLUOP_OMP_ALGORITHM_DEVICE);
  EXPECT_NE(native, device);
  const Handle handle(native < device ? MLUOP_OMP_ALGORITHM_DEVICE : MLUOP_OMP_ALGORITHM_NATIVE);
  OperatorCall call(handle, made);
  call.arguments.workspace_size = std::min(native, device);
  EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  require(mluOpOmpSetAlgorithm(handle, native < device ? MLUOP_OMP_ALGORITHM_NATIVE : MLUOP_OMP_ALGORITHM_DEVICE));
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

TEST(OpsIndiceConvolutionErrors, DevicesWithoutTheOperators) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    const Case made = make_valid(convolution);
    for (const char* device : {"mlu270", "mlu290"}) {
      const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
      expect_errors(made,
                    {{no_change, std::string("device is ") + device + ", expected mlu370 or mlu590",
                      MLUOP_STATUS_ARCH_MISMATCH}},
                    kBoth);
    }
    for (const char* device : {"mlu370", "mlu590"}) {
      const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
      expect_oracle(made);
    }
  }
}

// Empty tensors do not need data or workspace. Descriptors, scalars and the output are checked.
TEST(OpsIndiceConvolutionErrors, EmptyTensors) {
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    const bool is_forward = convolution == kConvolutionForward;
    const Case made =
        make_case(convolution.op, MLUOP_DTYPE_HALF, {{is_forward ? "num_act_in" : "num_act_out", 0}});
    const std::string most = std::to_string(made.inputs[2].dims[2]);
    expect_errors(made,
                  {{set("inverse", -1), "inverse is -1, expected 0"},
                   {set_num(1, -1), "indice_num[1] is -1, expected 0 to " + most},
                   {set_num(1, 41), "indice_num[1] is 41, expected 0 to " + most}},
                  kBoth);
    const std::string output = made.outputs[0].id;
    expect_errors(made,
                  {{without_data(output),
                    output + " is null, expected the data of a tensor " + cases::text_of(made.outputs[0].dims)}},
                  kOfOperator);
  }
}

}  // namespace
}  // namespace mluop::test
