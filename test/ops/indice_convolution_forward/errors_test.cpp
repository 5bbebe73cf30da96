// Every rule that mluOpIndiceConvolutionForward and its workspace query check.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>

#include "ops/indice_convolution_forward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = IndiceConvolutionCall<Half>;
using Table = ErrorTable<Call>;

constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
constexpr auto kHalf = MLUOP_DTYPE_HALF;

IndiceConvolutionInputs<Half> valid_inputs() {
  auto random = seeded_random();
  return random_indice_convolution<Half>({50, 40, 6, 9, 3, 1, 2}, FilterLayout::kNdhwc, random);
}

// The operator and its query report the errors.
void expect_errors_of_both(const Table::Rows& rows, const IndiceConvolutionInputs<Half>& inputs = valid_inputs()) {
  expect_errors(Table{.inputs = inputs, .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

// The operator reports the errors. The query, which has fewer parameters, accepts the arguments.
void expect_errors_of_operator(const Table::Rows& rows,
                               const IndiceConvolutionInputs<Half>& inputs = valid_inputs()) {
  expect_errors(Table{.inputs = inputs, .accepted_by = {Call::kQuery}, .rows = rows});
}

TEST(OpsIndiceConvolutionForwardErrors, Descriptors) {
  const auto kInt = MLUOP_DTYPE_INT32;
  const auto kNdhwc = MLUOP_LAYOUT_NDHWC;
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null features desc", set(&Call::features_desc, nullptr), "features_desc is null"},
      {"null filters desc", set(&Call::filters_desc, nullptr), "filters_desc is null"},
      {"null pairs desc", set(&Call::indice_pairs_desc, nullptr), "indice_pairs_desc is null"},
      {"null output desc", set(&Call::features_out_desc, nullptr), "features_out_desc is null"},
      {"features neither half nor float", set(&Call::features_desc, Descriptor(kInt, {50, 6})),
       "features has data type INT32, expected FLOAT or HALF"},
      {"empty descriptor", set(&Call::features_desc, Descriptor()),
       "features has data type INVALID, expected FLOAT or HALF"},
      {"float features, half filters", set(&Call::features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {50, 6})),
       "filters has data type HALF, expected FLOAT"},
      {"filters dtype", set(&Call::filters_desc, Descriptor(MLUOP_DTYPE_FLOAT, {9, 3, 1, 2, 6}, kNdhwc)),
       "filters has data type FLOAT, expected HALF"},
      {"pairs dtype", set(&Call::indice_pairs_desc, Descriptor(MLUOP_DTYPE_INT64, {6, 2, 50})),
       "indice_pairs has data type INT64, expected INT32"},
      {"output dtype", set(&Call::features_out_desc, Descriptor(MLUOP_DTYPE_FLOAT, {40, 9})),
       "features_out has data type FLOAT, expected HALF"},
      {"features layout", set(&Call::features_desc, Descriptor(kHalf, {50, 6}, MLUOP_LAYOUT_NC)),
       "features has layout NC, expected ARRAY"},
      {"filters layout", set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 1, 2, 6}, MLUOP_LAYOUT_NHWC)),
       "filters has layout NHWC, expected NDHWC, NCDHW or ARRAY", kNotSupported},
      {"pairs layout", set(&Call::indice_pairs_desc, Descriptor(kInt, {6, 2, 50}, MLUOP_LAYOUT_NCL)),
       "indice_pairs has layout NCL, expected ARRAY"},
      {"output layout", set(&Call::features_out_desc, Descriptor(kHalf, {40, 9}, MLUOP_LAYOUT_NC)),
       "features_out has layout NC, expected ARRAY"},
      {"features dims", set(&Call::features_desc, Descriptor(kHalf, {50, 6, 1})),
       "features has 3 dimensions, expected 2"},
      {"two-dimensional filters", set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 2, 6}, MLUOP_LAYOUT_NHWC)),
       "filters has 4 dimensions, expected 5", kNotSupported},
      {"four-dimensional filters", set(&Call::filters_desc, Descriptor(kHalf, {1, 9, 3, 1, 2, 6})),
       "filters has 6 dimensions, expected 5", kNotSupported},
      {"pairs dims", set(&Call::indice_pairs_desc, Descriptor(kInt, {12, 50})),
       "indice_pairs has 2 dimensions, expected 3"},
      {"output dims", set(&Call::features_out_desc, Descriptor(kHalf, {40, 9, 1})),
       "features_out has 3 dimensions, expected 2"},
      {"filters without output channels", set(&Call::filters_desc, Descriptor(kHalf, {0, 3, 1, 2, 6}, kNdhwc)),
       "filters has shape [0, 3, 1, 2, 6], expected no dimension 0"},
      {"filters without depth", set(&Call::filters_desc, Descriptor(kHalf, {9, 0, 1, 2, 6}, kNdhwc)),
       "filters has shape [9, 0, 1, 2, 6], expected no dimension 0"},
      {"filters without input channels", set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 1, 2, 0}, kNdhwc)),
       "filters has shape [9, 3, 1, 2, 0], expected no dimension 0"},
      {"features channels", set(&Call::features_desc, Descriptor(kHalf, {50, 7})),
       "features dim 1 is 7, expected 6"},
      {"features rows", set(&Call::features_desc, Descriptor(kHalf, {51, 6})),
       "indice_pairs dim 2 is 50, expected 51"},
      {"the filters' shape in NCDHW",
       set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 1, 2, 6}, MLUOP_LAYOUT_NCDHW)),
       "features dim 1 is 6, expected 3"},
      {"the filters' shape in ARRAY", set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 1, 2, 6})),
       "features dim 1 is 6, expected 2"},
      {"pairs offsets", set(&Call::indice_pairs_desc, Descriptor(kInt, {7, 2, 50})),
       "indice_pairs dim 0 is 7, expected 6"},
      {"not two of a pair", set(&Call::indice_pairs_desc, Descriptor(kInt, {6, 3, 50})),
       "indice_pairs dim 1 is 3, expected 2"},
      {"pairs rows", set(&Call::indice_pairs_desc, Descriptor(kInt, {6, 2, 49})),
       "indice_pairs dim 2 is 49, expected 50"},
      {"output channels", set(&Call::features_out_desc, Descriptor(kHalf, {40, 8})),
       "features_out dim 1 is 8, expected 9"},
      {"output rows", set(&Call::features_out_desc, Descriptor(kHalf, {41, 9})),
       "num_act_out is 40, expected features_out dim 0, which is 41"},
      {"features strides", set(&Call::features_desc, Descriptor::with_strides(kHalf, {50, 6}, {7, 1})),
       "features has strides [7, 1], expected a contiguous tensor of shape [50, 6]", MLUOP_STATUS_NOT_SUPPORTED},
      {"filters strides",
       set(&Call::filters_desc, Descriptor::with_strides(kHalf, {9, 3, 1, 2, 6}, {1, 108, 108, 54, 9}, kNdhwc)),
       "filters has strides [1, 108, 108, 54, 9], expected a contiguous tensor of shape [9, 3, 1, 2, 6]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"pairs strides", set(&Call::indice_pairs_desc, Descriptor::with_strides(kInt, {6, 2, 50}, {100, 1, 2})),
       "indice_pairs has strides [100, 1, 2], expected a contiguous tensor of shape [6, 2, 50]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"output strides", set(&Call::features_out_desc, Descriptor::with_strides(kHalf, {40, 9}, {1, 40})),
       "features_out has strides [1, 40], expected a contiguous tensor of shape [40, 9]",
       MLUOP_STATUS_NOT_SUPPORTED},
  };
  expect_errors_of_both(rows);
}

TEST(OpsIndiceConvolutionForwardErrors, Scalars) {
  const auto num = [](size_t k, int64_t value) { return [=](Call& c) { c.num_buffer[k] = value; }; };
  const Table::Rows rows = {
      {"num_act_out", set(&Call::num_act_out, 39), "num_act_out is 39, expected features_out dim 0, which is 40"},
      {"negative num_act_out", set(&Call::num_act_out, -1),
       "num_act_out is -1, expected features_out dim 0, which is 40"},
      {"inverse", set(&Call::inverse, 1), "inverse is 1, expected 0", kNotSupported},
      {"inverse 2", set(&Call::inverse, 2), "inverse is 2, expected 0"},
      {"inverse -1", set(&Call::inverse, -1), "inverse is -1, expected 0"},
      {"sub_m 2", set(&Call::sub_m, 2), "sub_m is 2, expected 0 or 1"},
      {"sub_m -1", set(&Call::sub_m, -1), "sub_m is -1, expected 0 or 1"},
      {"null indice_num", set(&Call::indice_num, nullptr), "indice_num is null"},
      {"negative indice_num", num(0, -1), "indice_num[0] is -1, expected 0 to 50"},
      {"last indice_num", num(5, 51), "indice_num[5] is 51, expected 0 to 50"},
      {"smallest indice_num", num(3, INT64_MIN), "indice_num[3] is -9223372036854775808, expected 0 to 50"},
      {"largest indice_num", num(3, INT64_MAX), "indice_num[3] is 9223372036854775807, expected 0 to 50"},
  };
  expect_errors_of_both(rows);
}

TEST(OpsIndiceConvolutionForwardErrors, Memory) {
  const std::string missing = " is null, expected the data of a tensor ";
  const std::string own = ", expected memory of its own";
  const Table::Rows rows = {
      {"null features", set(&Call::features, nullptr), "features" + missing + "[50, 6]"},
      {"null filters", set(&Call::filters, nullptr), "filters" + missing + "[9, 3, 1, 2, 6]"},
      {"null pairs", set(&Call::indice_pairs, nullptr), "indice_pairs" + missing + "[6, 2, 50]"},
      {"null output", set(&Call::features_out, nullptr), "features_out" + missing + "[40, 9]"},
      {"null workspace", set(&Call::workspace, nullptr), "workspace is null"},
      {"in place", [](auto& c) { c.features_out = c.features_buffer.data(); },
       "features_out overlaps features" + own},
      {"output ends in filters", [](auto& c) { c.filters = c.features_out_buffer.data() + 359; },
       "features_out overlaps filters" + own},
      {"output begins in pairs", [](auto& c) { c.indice_pairs = c.features_out_buffer.data() - 598 * 2 - 2; },
       "features_out overlaps indice_pairs" + own},
      {"output in workspace", [](auto& c) { c.workspace = c.features_out; },
       "features_out overlaps workspace" + own},
      {"features in workspace", [](auto& c) { c.features = c.workspace; }, "workspace overlaps features" + own},
      {"filters in workspace", [](auto& c) { c.filters = c.workspace; }, "workspace overlaps filters" + own},
      {"pairs in workspace", [](auto& c) { c.indice_pairs = c.workspace; },
       "workspace overlaps indice_pairs" + own},
  };
  expect_errors_of_operator(rows);
}

TEST(OpsIndiceConvolutionForwardErrors, SmallWorkspace) {
  const auto inputs = valid_inputs();
  for (const auto algorithm : kAlgorithms) {
    const std::string needed = std::to_string(Call(Handle(algorithm), inputs).workspace_size);
    const Table::Rows rows = {
        {"one byte less", [](auto& c) { --c.workspace_size; },
         "workspace_size is " + std::to_string(std::stoull(needed) - 1) + ", expected at least " + needed},
        {"none", set(&Call::workspace_size, size_t{0}), "workspace_size is 0, expected at least " + needed},
    };
    expect_errors(Table{.inputs = inputs, .accepted_by = {Call::kQuery}, .algorithms = {algorithm}, .rows = rows});
  }
}

// The query returns the size for the algorithm of the handle. The algorithm that needs more does not accept the
// size of the other.
TEST(OpsIndiceConvolutionForwardErrors, QueryIsOfTheAlgorithm) {
  const auto inputs = valid_inputs();
  size_t bytes[2] = {0, 0};
  const Handle handle;
  const Call call(handle, inputs);
  for (const auto algorithm : kAlgorithms) {
    require(mluOpOmpSetAlgorithm(handle, algorithm));
    require(call.query());
    bytes[algorithm == MLUOP_OMP_ALGORITHM_DEVICE] = call.queried_buffer[0];
  }
  EXPECT_NE(bytes[0], bytes[1]);
  require(
      mluOpOmpSetAlgorithm(handle, bytes[0] < bytes[1] ? MLUOP_OMP_ALGORITHM_DEVICE : MLUOP_OMP_ALGORITHM_NATIVE));
  Call small(handle, inputs);
  small.workspace_size = std::min(bytes[0], bytes[1]);
  EXPECT_EQ(small.run(), MLUOP_STATUS_BAD_PARAM);
  require(
      mluOpOmpSetAlgorithm(handle, bytes[0] < bytes[1] ? MLUOP_OMP_ALGORITHM_NATIVE : MLUOP_OMP_ALGORITHM_DEVICE));
  EXPECT_EQ(small.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

TEST(OpsIndiceConvolutionForwardErrors, NullQuery) {
  expect_errors(
      Table{.inputs = valid_inputs(),
            .functions = {Call::kQuery},
            .accepted_by = {Call::kOperator},
            .rows = {{"null workspace_size", set(&Call::queried_size, nullptr), "workspace_size is null"}}});
}

TEST(OpsIndiceConvolutionForwardErrors, Indices) {
  const auto index = [](size_t k, size_t side, size_t l, int32_t value) {
    return [=](Call& c) {
      c.pairs_buffer[(k * 2 + side) * 50 + l] = value;
      c.pairs_buffer[(k * 2 + 1 - side) * 50 + l] = 0;
    };
  };
  const std::string input = ", expected less than 50, the rows of features";
  const std::string output = ", expected less than 40, the rows of features_out";
  const Table::Rows rows = {
      {"first input", index(0, 0, 0, 50), "indice_pairs[0, 0, 0] is 50" + input},
      {"input in the middle", index(3, 0, 23, 51), "indice_pairs[3, 0, 23] is 51" + input},
      {"last input", index(5, 0, 49, INT_MAX), "indice_pairs[5, 0, 49] is 2147483647" + input},
      {"first output", index(0, 1, 0, 40), "indice_pairs[0, 1, 0] is 40" + output},
      {"output in the middle", index(2, 1, 31, 49), "indice_pairs[2, 1, 31] is 49" + output},
      {"last output", index(5, 1, 49, INT_MAX), "indice_pairs[5, 1, 49] is 2147483647" + output},
      {"several",
       [&](auto& c) {
         index(4, 0, 2, 60)(c);
         index(1, 1, 30, 40)(c);
         index(1, 0, 31, 50)(c);
       },
       "indice_pairs[1, 1, 30] is 40" + output},
  };
  // Every filter offset has the maximum number of pairs, all in range.
  auto inputs = valid_inputs();
  inputs.indice_num.assign(6, 50);
  for (size_t i = 0; i < inputs.indice_pairs.size(); ++i) inputs.indice_pairs[i] = static_cast<int32_t>(i % 40);
  expect_errors_of_operator(rows, inputs);
}

// The message names the first of several indices out of range, for every number of tasks.
TEST(OpsIndiceConvolutionForwardErrors, FirstIndexOutOfRangeOfManyTasks) {
  const IndiceConvolutionSizes sizes{30000, 28000, 4, 8, 1, 1, 3};
  auto random = seeded_random();
  auto inputs = random_indice_convolution<Half>(sizes, FilterLayout::kNdhwc, random);
  inputs.indice_num.assign(3, 30000);
  for (int32_t& index : inputs.indice_pairs) index = static_cast<int32_t>(random() % 28000);
  for (const size_t place : {29999, 29000, 28001}) inputs.indice_pairs[2 * 60000 + place] = 30000;
  for (const size_t place : {25000, 17003, 17004}) inputs.indice_pairs[60000 + 30000 + place] = 28000;
  const Table::Rows rows = {
      {"several indices", no_change,
       "indice_pairs[1, 1, 17003] is 28000, expected less than 28000, the rows of features_out"}};
  for (const int count : {1, 2, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_errors_of_operator(rows, inputs);
  }
}

TEST(OpsIndiceConvolutionForwardErrors, LargeTensors) {
  constexpr auto kInt = MLUOP_DTYPE_INT32;
  constexpr int64_t kRowCount = int64_t{1} << 31, kChannels = int64_t{1} << 56;
  const Table::Rows rows = {
      {"2^31 inputs",
       set_all(set(&Call::features_desc, Descriptor(kHalf, {kRowCount, 6})),
               set(&Call::indice_pairs_desc, Descriptor(kInt, {6, 2, kRowCount}))),
       "features has 2147483648 rows, expected fewer than 2^31", kNotSupported},
      {"2^31 outputs",
       set_all(set(&Call::features_out_desc, Descriptor(kHalf, {kRowCount, 9})),
               set(&Call::num_act_out, kRowCount)),
       "features_out has 2147483648 rows, expected fewer than 2^31", kNotSupported},
      {"2^31 pairs",
       set_all(set(&Call::features_desc, Descriptor(kHalf, {kRowCount - 1, 6})),
               set(&Call::indice_pairs_desc, Descriptor(kInt, {6, 2, kRowCount - 1})),
               [](auto& c) { std::fill_n(c.num_buffer.data(), 6, kRowCount - 1); }),
       "indice_num counts 2^31 pairs or more, expected fewer", kNotSupported},
      {"2^62 bytes of filters",
       set_all(set(&Call::features_desc, Descriptor(kHalf, {50, kChannels})),
               set(&Call::filters_desc, Descriptor(kHalf, {9, 3, 1, 2, kChannels}, MLUOP_LAYOUT_NDHWC))),
       "filters has 7782220156096217088 bytes, expected fewer than 2^56"},
  };
  expect_errors_of_both(rows);
}

// Sizes of tensors that fit int64_t, and of scratch buffers that do not.
TEST(OpsIndiceConvolutionForwardErrors, ScratchSizeOverflow) {
  constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
  constexpr int64_t kChannels = int64_t{1} << 53;
  const auto pointer = [](uintptr_t address) { return reinterpret_cast<void*>(address); };
  expect_errors(
      Table{.inputs = valid_inputs(),
            .functions = {Call::kOperator, Call::kQuery},
            .algorithms = {MLUOP_OMP_ALGORITHM_DEVICE},
            .rows = {{"2^68 bytes of products",
                      set_all(
                          set(&Call::features_desc, Descriptor(kFloat, {8192, 1})),
                          set(&Call::filters_desc, Descriptor(kFloat, {1, 1, 1, 1, kChannels})),
                          set(&Call::indice_pairs_desc, Descriptor(MLUOP_DTYPE_INT32, {1, 2, 8192})),
                          set(&Call::features_out_desc, Descriptor(kFloat, {1, kChannels})),
                          set(&Call::num_act_out, int64_t{1}), [](auto& c) { c.num_buffer[0] = 8192; },
                          // Memory that does not overlap; it is not accessed.
                          set(&Call::features, pointer(1 << 12)), set(&Call::indice_pairs, pointer(1 << 20)),
                          set(&Call::filters, pointer(uintptr_t{1} << 57)),
                          set(&Call::features_out, pointer(uintptr_t{1} << 58))),
                      "the size in bytes of scratch buffer products [8192, 9007199254740992] exceeds 2^63 - 1"}}});
}

TEST(OpsIndiceConvolutionForwardErrors, DevicesWithoutTheOperator) {
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
TEST(OpsIndiceConvolutionForwardErrors, EmptyTensors) {
  IndiceConvolutionInputs<Half> inputs{{0, 40, 6, 9, 3, 1, 2}, FilterLayout::kNdhwc, {}, {}, {}, {}};
  inputs.indice_num.assign(6, 0);
  const Table::Rows rows = {
      {"inverse", set(&Call::inverse, 1), "inverse is 1, expected 0", kNotSupported},
      {"indice_num", [](auto& c) { c.num_buffer[1] = 1; }, "indice_num[1] is 1, expected 0 to 0"},
  };
  expect_errors_of_both(rows, inputs);
  expect_errors_of_operator({{"null output", set(&Call::features_out, nullptr),
                              "features_out is null, expected the data of a tensor [40, 9]"}},
                            inputs);
}

}  // namespace
}  // namespace mluop::test
