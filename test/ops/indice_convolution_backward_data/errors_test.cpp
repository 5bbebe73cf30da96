// Every rule that mluOpIndiceConvolutionBackwardData and its workspace query check.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>
#include <string>

#include "ops/indice_convolution_backward_data/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = IndiceConvolutionBackwardDataCall<Half>;
using Table = ErrorTable<Call>;

constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
constexpr auto kHalf = MLUOP_DTYPE_HALF;
constexpr auto kInt = MLUOP_DTYPE_INT32;

IndiceConvolutionBackwardDataInputs<Half> valid_inputs() {
  auto random = seeded_random();
  auto inputs = random_indice_convolution_backward_data<Half>({50, 40, 6, 9, 3, 1, 2}, kFilterFormats[0], random);
  // Every filter offset has the maximum number of pairs, all in range.
  inputs.indice_num.assign(6, 50);
  for (size_t i = 0; i < inputs.indice_pairs.size(); ++i) inputs.indice_pairs[i] = static_cast<int32_t>(i % 40);
  return inputs;
}

// The operator and its query report the errors.
void expect_errors_of_both(const Table::Rows& rows,
                           const IndiceConvolutionBackwardDataInputs<Half>& inputs = valid_inputs()) {
  expect_errors(Table{.inputs = inputs, .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

// The operator reports the errors. The query, which has fewer parameters, accepts the arguments.
void expect_errors_of_operator(const Table::Rows& rows,
                               const IndiceConvolutionBackwardDataInputs<Half>& inputs = valid_inputs()) {
  expect_errors(Table{.inputs = inputs, .accepted_by = {Call::kQuery}, .rows = rows});
}

TEST(OpsIndiceConvolutionBackwardDataErrors, Descriptors) {
  const auto kNdhwc = MLUOP_LAYOUT_NDHWC;
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null output_grad desc", set(&Call::output_grad_desc, nullptr), "output_grad_desc is null"},
      {"null filters desc", set(&Call::filters_desc, nullptr), "filters_desc is null"},
      {"null pairs desc", set(&Call::indice_pairs_desc, nullptr), "indice_pairs_desc is null"},
      {"null input_grad desc", set(&Call::input_grad_desc, nullptr), "input_grad_desc is null"},
      {"output_grad neither half nor float", set(&Call::output_grad_desc, Descriptor(kInt, {40, 9})),
       "output_grad has data type INT32, expected FLOAT or HALF"},
      {"filters dtype", set(&Call::filters_desc, Descriptor(MLUOP_DTYPE_FLOAT, {9, 3, 1, 2, 6}, kNdhwc)),
       "filters has data type FLOAT, expected HALF"},
      {"input_grad dtype", set(&Call::input_grad_desc, Descriptor(MLUOP_DTYPE_FLOAT, {50, 6})),
       "input_grad has data type FLOAT, expected HALF"},
      {"output_grad layout", set(&Call::output_grad_desc, Descriptor(kHalf, {40, 9}, MLUOP_LAYOUT_NC)),
       "output_grad has layout NC, expected ARRAY"},
      {"input_grad layout", set(&Call::input_grad_desc, Descriptor(kHalf, {50, 6}, MLUOP_LAYOUT_NC)),
       "input_grad has layout NC, expected ARRAY"},
      {"filters layout", set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 1, 2, 6}, MLUOP_LAYOUT_NLC)),
       "filters has layout NLC, expected NHWC, NCHW, HWCN, NDHWC, NCDHW or ARRAY"},
      {"NHWC of five dimensions", set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 1, 2, 6}, MLUOP_LAYOUT_NHWC)),
       "filters has 5 dimensions, expected 4"},
      {"NDHWC of four dimensions", set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 2, 6}, kNdhwc)),
       "filters has 4 dimensions, expected 5"},
      {"NCHW of five dimensions", set(&Call::filters_desc, Descriptor(kHalf, {9, 6, 3, 1, 2}, MLUOP_LAYOUT_NCHW)),
       "filters has 5 dimensions, expected 4"},
      {"HWCN of five dimensions", set(&Call::filters_desc, Descriptor(kHalf, {3, 1, 2, 6, 9}, MLUOP_LAYOUT_HWCN)),
       "filters has 5 dimensions, expected 4"},
      {"NCDHW of four dimensions", set(&Call::filters_desc, Descriptor(kHalf, {9, 6, 3, 2}, MLUOP_LAYOUT_NCDHW)),
       "filters has 4 dimensions, expected 5"},
      {"ARRAY of three dimensions", set(&Call::filters_desc, Descriptor(kHalf, {6, 6, 9})),
       "filters has 3 dimensions, expected 4 or 5"},
      {"offsets of NHWC", set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 3, 6}, MLUOP_LAYOUT_NHWC)),
       "indice_pairs dim 0 is 6, expected 9"},
      {"output channels of NCHW", set(&Call::filters_desc, Descriptor(kHalf, {8, 6, 3, 2}, MLUOP_LAYOUT_NCHW)),
       "output_grad dim 1 is 9, expected 8"},
      {"input channels of HWCN", set(&Call::filters_desc, Descriptor(kHalf, {3, 2, 7, 9}, MLUOP_LAYOUT_HWCN)),
       "input_grad dim 1 is 6, expected 7"},
      {"strides of four dimensions",
       set(&Call::filters_desc, Descriptor::with_strides(kHalf, {3, 2, 6, 9}, {108, 54, 1, 6})),
       "filters has strides [108, 54, 1, 6], expected a contiguous tensor of shape [3, 2, 6, 9]", kNotSupported},
      {"ARRAY of six dimensions", set(&Call::filters_desc, Descriptor(kHalf, {1, 9, 3, 1, 2, 6})),
       "filters has 6 dimensions, expected 4 or 5"},
      {"output_grad dims", set(&Call::output_grad_desc, Descriptor(kHalf, {40, 9, 1})),
       "output_grad has 3 dimensions, expected 2"},
      {"output channels", set(&Call::output_grad_desc, Descriptor(kHalf, {40, 8})),
       "output_grad dim 1 is 8, expected 9"},
      {"input channels", set(&Call::input_grad_desc, Descriptor(kHalf, {50, 7})),
       "input_grad dim 1 is 7, expected 6"},
      {"input rows", set(&Call::input_grad_desc, Descriptor(kHalf, {51, 6})),
       "indice_pairs dim 2 is 50, expected 51"},
      {"filters strides",
       set(&Call::filters_desc, Descriptor::with_strides(kHalf, {9, 3, 1, 2, 6}, {1, 108, 108, 54, 9}, kNdhwc)),
       "filters has strides [1, 108, 108, 54, 9], expected a contiguous tensor of shape [9, 3, 1, 2, 6]",
       kNotSupported},
      {"pairs dtype", set(&Call::indice_pairs_desc, Descriptor(MLUOP_DTYPE_INT64, {6, 2, 50})),
       "indice_pairs has data type INT64, expected INT32"},
      {"pairs layout", set(&Call::indice_pairs_desc, Descriptor(kInt, {6, 2, 50}, MLUOP_LAYOUT_NCL)),
       "indice_pairs has layout NCL, expected ARRAY"},
      {"pairs dims", set(&Call::indice_pairs_desc, Descriptor(kInt, {12, 50})),
       "indice_pairs has 2 dimensions, expected 3"},
      {"pairs offsets", set(&Call::indice_pairs_desc, Descriptor(kInt, {7, 2, 50})),
       "indice_pairs dim 0 is 7, expected 6"},
      {"not two of a pair", set(&Call::indice_pairs_desc, Descriptor(kInt, {6, 3, 50})),
       "indice_pairs dim 1 is 3, expected 2"},
      {"pairs rows", set(&Call::indice_pairs_desc, Descriptor(kInt, {6, 2, 49})),
       "indice_pairs dim 2 is 49, expected 50"},
      {"pairs strides", set(&Call::indice_pairs_desc, Descriptor::with_strides(kInt, {6, 2, 50}, {100, 1, 2})),
       "indice_pairs has strides [100, 1, 2], expected a contiguous tensor of shape [6, 2, 50]", kNotSupported},
  };
  expect_errors_of_both(rows);
}

TEST(OpsIndiceConvolutionBackwardDataErrors, Scalars) {
  const auto num = [](size_t k, int64_t value) { return [=](Call& c) { c.num_buffer[k] = value; }; };
  const Table::Rows rows = {
      {"inverse", set(&Call::inverse, 1), "inverse is 1, expected 0", kNotSupported},
      {"inverse 2", set(&Call::inverse, 2), "inverse is 2, expected 0"},
      {"inverse -1", set(&Call::inverse, -1), "inverse is -1, expected 0"},
      {"null indice_num", set(&Call::indice_num, nullptr), "indice_num is null"},
      {"negative indice_num", num(0, -1), "indice_num[0] is -1, expected 0 to 50"},
      {"last indice_num", num(5, 51), "indice_num[5] is 51, expected 0 to 50"},
      {"smallest indice_num", num(3, INT64_MIN), "indice_num[3] is -9223372036854775808, expected 0 to 50"},
      {"largest indice_num", num(3, INT64_MAX), "indice_num[3] is 9223372036854775807, expected 0 to 50"},
  };
  expect_errors_of_both(rows);
}

// The query has no parameter sub_m.
TEST(OpsIndiceConvolutionBackwardDataErrors, Submanifold) {
  const Table::Rows rows = {
      {"sub_m 2", set(&Call::sub_m, 2), "sub_m is 2, expected 0 or 1"},
      {"sub_m -1", set(&Call::sub_m, -1), "sub_m is -1, expected 0 or 1"},
      {"rows", set(&Call::sub_m, 1),
       "output_grad dim 0 is 40, expected 50, the rows of input_grad, as sub_m is 1"},
  };
  expect_errors_of_operator(rows);
  auto random = seeded_random();
  const auto even =
      random_indice_convolution_backward_data<Half>({50, 50, 6, 9, 3, 1, 2}, kFilterFormats[0], random);
  expect_errors_of_operator(
      {{"offsets", set(&Call::sub_m, 1), "filters has 6 offsets, expected an odd number, as sub_m is 1"}}, even);
  auto odd = random_indice_convolution_backward_data<Half>({50, 50, 6, 9, 3, 1, 3}, kFilterFormats[0], random);
  odd.indice_num = {0, 1, 2, 3, 48, 5, 6, 49, 8};
  expect_errors_of_operator(
      {{"pairs", set(&Call::sub_m, 1), "indice_num[4] is 48, expected 49, the maximum, as sub_m is 1"}}, odd);
}

TEST(OpsIndiceConvolutionBackwardDataErrors, Memory) {
  const std::string missing = " is null, expected the data of a tensor ";
  const std::string own = ", expected memory of its own";
  const Table::Rows rows = {
      {"null output_grad", set(&Call::output_grad, nullptr), "output_grad" + missing + "[40, 9]"},
      {"null filters", set(&Call::filters, nullptr), "filters" + missing + "[9, 3, 1, 2, 6]"},
      {"null pairs", set(&Call::indice_pairs, nullptr), "indice_pairs" + missing + "[6, 2, 50]"},
      {"null output", set(&Call::input_grad, nullptr), "input_grad" + missing + "[50, 6]"},
      {"in place", [](auto& c) { c.input_grad = c.output_grad_buffer.data(); },
       "input_grad overlaps output_grad" + own},
      {"output in filters", [](auto& c) { c.filters = c.input_grad_buffer.data() + 1; },
       "input_grad overlaps filters" + own},
      {"output in pairs", [](auto& c) { c.indice_pairs = c.input_grad_buffer.data() + 2; },
       "input_grad overlaps indice_pairs" + own},
      {"null workspace", set(&Call::workspace, nullptr), "workspace is null"},
      {"output in workspace", [](auto& c) { c.workspace = c.input_grad; }, "input_grad overlaps workspace" + own},
      {"output_grad in workspace", [](auto& c) { c.output_grad = c.workspace; },
       "workspace overlaps output_grad" + own},
  };
  expect_errors_of_operator(rows);
}

TEST(OpsIndiceConvolutionBackwardDataErrors, SmallWorkspace) {
  const auto inputs = valid_inputs();
  const std::string needed = std::to_string(Call(Handle(), inputs).workspace_size);
  const Table::Rows rows = {
      {"one byte less", [](auto& c) { --c.workspace_size; },
       "workspace_size is " + std::to_string(std::stoull(needed) - 1) + ", expected at least " + needed},
      {"none", set(&Call::workspace_size, size_t{0}), "workspace_size is 0, expected at least " + needed},
  };
  expect_errors_of_operator(rows, inputs);
}

TEST(OpsIndiceConvolutionBackwardDataErrors, NullQuery) {
  expect_errors(
      Table{.inputs = valid_inputs(),
            .functions = {Call::kQuery},
            .accepted_by = {Call::kOperator},
            .rows = {{"null workspace_size", set(&Call::queried_size, nullptr), "workspace_size is null"}}});
}

TEST(OpsIndiceConvolutionBackwardDataErrors, Indices) {
  const auto index = [](size_t k, size_t side, size_t l, int32_t value) {
    return [=](Call& c) { c.pairs_buffer[(k * 2 + side) * 50 + l] = value; };
  };
  const std::string input = ", expected less than 50, the rows of input_grad";
  const std::string output = ", expected less than 40, the rows of output_grad";
  const Table::Rows rows = {
      {"first input", index(0, 0, 0, 50), "indice_pairs[0, 0, 0] is 50" + input},
      {"input in the middle", index(3, 0, 23, 51), "indice_pairs[3, 0, 23] is 51" + input},
      {"last input", index(5, 0, 49, INT_MAX), "indice_pairs[5, 0, 49] is 2147483647" + input},
      {"first output", index(0, 1, 0, 40), "indice_pairs[0, 1, 0] is 40" + output},
      {"output in the middle", index(2, 1, 31, 49), "indice_pairs[2, 1, 31] is 49" + output},
      {"last output", index(5, 1, 49, INT_MAX), "indice_pairs[5, 1, 49] is 2147483647" + output},
      {"both of a pair", set_all(index(2, 0, 7, 50), index(2, 1, 7, 40)), "indice_pairs[2, 0, 7] is 50" + input},
      {"several", set_all(index(4, 0, 2, 60), index(1, 1, 30, 40), index(1, 0, 31, 50)),
       "indice_pairs[1, 1, 30] is 40" + output},
  };
  expect_errors_of_operator(rows);
}

// The message names the first of several indices out of range, for every number of tasks.
TEST(OpsIndiceConvolutionBackwardDataErrors, FirstIndexOutOfRangeOfManyTasks) {
  auto random = seeded_random();
  auto inputs =
      random_indice_convolution_backward_data<Half>({30000, 30000, 4, 8, 1, 1, 3}, kFilterFormats[0], random);
  inputs.indice_num.assign(3, 30000);
  for (int32_t& index : inputs.indice_pairs) index = static_cast<int32_t>(random() % 28000);
  for (const size_t place : {29999, 29000, 28001}) inputs.indice_pairs[2 * 60000 + place] = 30000;
  for (const size_t place : {25000, 17003, 17004}) inputs.indice_pairs[60000 + 30000 + place] = 30001;
  const Table::Rows rows = {
      {"several indices", no_change,
       "indice_pairs[1, 1, 17003] is 30001, expected less than 30000, the rows of output_grad"}};
  for (const int count : {1, 2, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_errors_of_operator(rows, inputs);
  }
}

TEST(OpsIndiceConvolutionBackwardDataErrors, LargeTensors) {
  const Table::Rows rows = {
      {"2^31 inputs",
       set_all(set(&Call::input_grad_desc, Descriptor(kHalf, {int64_t{1} << 31, 6})),
               set(&Call::indice_pairs_desc, Descriptor(kInt, {6, 2, int64_t{1} << 31}))),
       "input_grad has 2147483648 rows, expected fewer than 2^31", kNotSupported},
      {"2^31 outputs", set(&Call::output_grad_desc, Descriptor(kHalf, {int64_t{1} << 31, 9})),
       "output_grad has 2147483648 rows, expected fewer than 2^31", kNotSupported},
      {"bytes of filters",
       set_all(set(&Call::output_grad_desc, Descriptor(kHalf, {40, int64_t{1} << 55})),
               set(&Call::filters_desc, Descriptor(kHalf, {int64_t{1} << 55, 1, 1, 6, 6}, MLUOP_LAYOUT_NDHWC))),
       "filters has 2594073385365405696 bytes, expected fewer than 2^56"},
  };
  expect_errors_of_both(rows);
}

// Tests the query, which has no data: tensors this large would overlap.
TEST(OpsIndiceConvolutionBackwardDataErrors, ManyPairs) {
  const auto many = std::make_shared<std::vector<int64_t>>(3000, 1000000);
  const Table::Rows rows = {
      {"2^31 pairs",
       set_all(set(&Call::input_grad_desc, Descriptor(kHalf, {1000000, 6})),
               set(&Call::output_grad_desc, Descriptor(kHalf, {1000000, 9})),
               set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 1, 1000, 6}, MLUOP_LAYOUT_NDHWC)),
               set(&Call::indice_pairs_desc, Descriptor(kInt, {3000, 2, 1000000})),
               [many](auto& c) { c.indice_num = many->data(); }),
       "indice_num counts 2^31 pairs or more, expected fewer", kNotSupported},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kQuery}, .rows = rows});
}

TEST(OpsIndiceConvolutionBackwardDataErrors, DevicesWithoutTheOperator) {
  const auto handle_of = [](const char* device) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    return Handle();
  };
  for (const char* device : {"mlu270", "mlu290"}) {
    const Handle handle = handle_of(device);
    expect_errors_of_both(
        {{device, [&](auto& c) { c.handle = handle; },
          std::string("device is ") + device + ", expected mlu370 or mlu590", MLUOP_STATUS_ARCH_MISMATCH}});
  }
  EXPECT_EQ(Call(handle_of("mlu590"), valid_inputs()).run(), MLUOP_STATUS_SUCCESS);
}

// Empty tensors do not need data or workspace. Descriptors, scalars and the output are checked.
TEST(OpsIndiceConvolutionBackwardDataErrors, EmptyTensors) {
  auto inputs = valid_inputs();
  inputs.sizes.num_act_out = 0;
  inputs.output_grad.clear();
  inputs.indice_num.assign(6, 0);
  expect_errors_of_both(
      {{"indice_num", [](auto& c) { c.num_buffer[1] = -1; }, "indice_num[1] is -1, expected 0 to 50"}}, inputs);
  expect_errors_of_operator({{"null output", set(&Call::input_grad, nullptr),
                              "input_grad is null, expected the data of a tensor [50, 6]"}},
                            inputs);
}

}  // namespace
}  // namespace mluop::test
