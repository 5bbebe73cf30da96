// Every rule that mluOpGetIndicePairs and its workspace query check.
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <string>

#include "ops/get_indice_pairs/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = GetIndicePairsCall;
using Table = ErrorTable<Call>;

constexpr auto kInt = MLUOP_DTYPE_INT32, kFloat = MLUOP_DTYPE_FLOAT;
constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;

// 2 x 6 x 9 x 8 cells in, 2 x 3 x 5 x 4 cells out.
const IndicePairsProblem kStrided = {2,         {6, 9, 8}, {3, 5, 4}, {3, 3, 3}, {2, 2, 2},
                                     {1, 1, 1}, {1, 1, 1}, false,     {}};
const IndicePairsProblem kSubmanifold = {2,         {6, 9, 8}, {6, 9, 8}, {3, 3, 3}, {1, 1, 1},
                                         {1, 1, 1}, {1, 1, 1}, true,      {}};

// 20 sites.
GetIndicePairsInputs valid_inputs(const IndicePairsProblem& convolution = kStrided) {
  auto random = seeded_random();
  auto inputs = random_get_indice_pairs(convolution, 20, random);
  inputs.capacity = 100;
  return inputs;
}

// Changes the convolution of the descriptor.
template <class Change>
auto convolution(const Change& change) {
  return [=](Call& call) {
    IndicePairsProblem problem = call.inputs.problem;
    change(problem);
    call.set_convolution(problem);
  };
}

TEST(OpsGetIndicePairsErrors, Shapes) {
  const SparseConvolutionDescriptor not_set;
  const mluOpSparseConvolutionDescriptor_t unset = not_set;
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null convolution", set(&Call::sparse_conv_desc, nullptr), "sparse_conv_desc is null"},
      {"null indices desc", set(&Call::indices_desc, nullptr), "indices_desc is null"},
      {"null pairs desc", set(&Call::indice_pairs_desc, nullptr), "indice_pairs_desc is null"},
      {"null out desc", set(&Call::out_indices_desc, nullptr), "out_indices_desc is null"},
      {"null num desc", set(&Call::indice_num_desc, nullptr), "indice_num_desc is null"},
      {"convolution not set", set(&Call::sparse_conv_desc, unset),
       "sparse_conv_desc is not set, expected mluOpSetSparseConvolutionDescriptor before"},
      {"indices dtype", set(&Call::indices_desc, Descriptor(kFloat, {20, 4})),
       "indices has data type FLOAT, expected INT32"},
      {"indices dims", set(&Call::indices_desc, Descriptor(kInt, {20, 4, 1})),
       "indices has 3 dimensions, expected 2"},
      {"indices columns", set(&Call::indices_desc, Descriptor(kInt, {20, 3})), "indices dim 1 is 3, expected 4"},
      {"indices strides", set(&Call::indices_desc, Descriptor::with_strides(kInt, {20, 4}, {5, 1})),
       "indices has strides [5, 1], expected a contiguous tensor of shape [20, 4]", kNotSupported},
      {"fewer indices", set(&Call::indices_desc, Descriptor(kInt, {19, 4})),
       "indice_pairs dim 2 is 20, expected 19"},
      {"pairs dtype", set(&Call::indice_pairs_desc, Descriptor(MLUOP_DTYPE_INT64, {27, 2, 20})),
       "indice_pairs has data type INT64, expected INT32"},
      {"pairs dims", set(&Call::indice_pairs_desc, Descriptor(kInt, {27, 40})),
       "indice_pairs has 2 dimensions, expected 3"},
      {"pairs offsets", set(&Call::indice_pairs_desc, Descriptor(kInt, {26, 2, 20})),
       "indice_pairs dim 0 is 26, expected 27"},
      {"pairs of spconv", set(&Call::indice_pairs_desc, Descriptor(kInt, {2, 27, 20})),
       "indice_pairs dim 0 is 2, expected 27"},
      {"pairs rows", set(&Call::indice_pairs_desc, Descriptor(kInt, {27, 1, 20})),
       "indice_pairs dim 1 is 1, expected 2"},
      {"pairs sites", set(&Call::indice_pairs_desc, Descriptor(kInt, {27, 2, 21})),
       "indice_pairs dim 2 is 21, expected 20"},
      {"pairs strides", set(&Call::indice_pairs_desc, Descriptor::with_strides(kInt, {27, 2, 20}, {20, 540, 1})),
       "indice_pairs has strides [20, 540, 1], expected a contiguous tensor of shape [27, 2, 20]", kNotSupported},
      {"out dtype", set(&Call::out_indices_desc, Descriptor(kFloat, {100, 4})),
       "out_indices has data type FLOAT, expected INT32"},
      {"out dims", set(&Call::out_indices_desc, Descriptor(kInt, {400})),
       "out_indices has 1 dimensions, expected 2"},
      {"out columns", set(&Call::out_indices_desc, Descriptor(kInt, {100, 5})),
       "out_indices dim 1 is 5, expected 4"},
      {"out strides", set(&Call::out_indices_desc, Descriptor::with_strides(kInt, {100, 4}, {1, 100})),
       "out_indices has strides [1, 100], expected a contiguous tensor of shape [100, 4]", kNotSupported},
      {"num dtype", set(&Call::indice_num_desc, Descriptor(MLUOP_DTYPE_INT64, {27})),
       "indice_num has data type INT64, expected INT32"},
      {"num dims", set(&Call::indice_num_desc, Descriptor(kInt, {27, 1})),
       "indice_num has 2 dimensions, expected 1"},
      {"num offsets", set(&Call::indice_num_desc, Descriptor(kInt, {28})), "indice_num dim 0 is 28, expected 27"},
      {"num strides", set(&Call::indice_num_desc, Descriptor::with_strides(kInt, {27}, {2})),
       "indice_num has strides [2], expected a contiguous tensor of shape [27]", kNotSupported},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

TEST(OpsGetIndicePairsErrors, Convolutions) {
  const Table::Rows rows = {
      {"other offsets", convolution([](auto& p) {
         p.kernel = {17, 241, 1};
       }),
       "indice_pairs dim 0 is 27, expected 4097"},
      {"offsets exceed int64", convolution([](auto& p) {
         p.kernel = {INT_MAX, INT_MAX, INT_MAX};
       }),
       "indice_pairs dim 0 is 27, expected 9223372036854775807"},
      {"stride and dilation of the depth", convolution([](auto& p) { p.dilation[0] = 3; }),
       "depth has stride 2 and dilation 3, expected one of them to be 1"},
      {"stride and dilation of the height", convolution([](auto& p) { p.dilation[1] = 2; }),
       "height has stride 2 and dilation 2, expected one of them to be 1"},
      {"stride and dilation of the width", convolution([](auto& p) { p.dilation[2] = 2; }),
       "width has stride 2 and dilation 2, expected one of them to be 1"},
      {"cells exceed 2^62", convolution([](auto& p) {
         p.output_space = {INT_MAX, INT_MAX, 2};
       }),
       "batch_size x output_space exceeds 2^62 cells", kNotSupported},
      {"cells exceed int64", convolution([](auto& p) {
         p.output_space = {INT_MAX, INT_MAX, INT_MAX};
       }),
       "batch_size x output_space exceeds 2^62 cells", kNotSupported},
      {"cells of depth and height exceed int64", convolution([](auto& p) {
         p.batch_size = 4;
         p.output_space = {INT_MAX, INT_MAX, 2};
       }),
       "batch_size x output_space exceeds 2^62 cells", kNotSupported},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

TEST(OpsGetIndicePairsErrors, Submanifold) {
  const Table::Rows rows = {
      {"other output space", convolution([](auto& p) { p.output_space[1] = 10; }),
       "height of output_space is 10, expected that of input_space with sub_m, which is 9"},
      {"stride", convolution([](auto& p) { p.stride[2] = 2; }), "width has stride 2, expected 1 with sub_m"},
      {"dilation", convolution([](auto& p) { p.dilation[0] = 2; }), "depth has dilation 2, expected 1 with sub_m"},
      {"capacity", set(&Call::out_indices_desc, Descriptor(kInt, {19, 4})),
       "out_indices dim 0 is 19, expected at least indices dim 0 with sub_m, which is 20"},
      {"no capacity", set(&Call::out_indices_desc, Descriptor(kInt, {0, 4})),
       "out_indices dim 0 is 0, expected at least indices dim 0 with sub_m, which is 20"},
  };
  expect_errors(
      Table{.inputs = valid_inputs(kSubmanifold), .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

// 2^31 sites cannot be allocated: the query tells.
TEST(OpsGetIndicePairsErrors, Limits) {
  constexpr int64_t kSites = int64_t{1} << 31;
  const auto change = set_all(convolution([](auto& p) {
                                p.kernel = {1, 1, 1};
                                p.input_space = {1 << 10, 1 << 15, 1 << 15};
                              }),
                              set(&Call::indices_desc, Descriptor(kInt, {kSites, 4})),
                              set(&Call::indice_pairs_desc, Descriptor(kInt, {1, 2, kSites})),
                              set(&Call::indice_num_desc, Descriptor(kInt, {1})));
  expect_errors(Table{
      .inputs = valid_inputs(),
      .functions = {Call::kQuery},
      .rows = {{"2^31 sites", change, "indices dim 0 is 2147483648, expected fewer than 2^31", kNotSupported}}});
}

// More sites and offsets than MLU-OPS allows, and the largest tensors: the query answers.
TEST(OpsGetIndicePairsErrors, LargeSizesAreAccepted) {
  const Handle handle;
  Call call(handle, valid_inputs());
  IndicePairsProblem problem = call.inputs.problem;
  problem.input_space = problem.output_space = {1 << 20, 1 << 20, 1 << 20};
  problem.kernel = {17, 17, 17};
  call.set_convolution(problem);
  const Descriptor indices(kInt, {INT_MAX, 4}), pairs(kInt, {4913, 2, INT_MAX}), num(kInt, {4913});
  const Descriptor out(kInt, {int64_t{1} << 58, 4});
  call.indices_desc = indices;
  call.indice_pairs_desc = pairs;
  call.out_indices_desc = out;
  call.indice_num_desc = num;
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

TEST(OpsGetIndicePairsErrors, Data) {
  const size_t needed = Call(Handle(), valid_inputs()).workspace_size;
  const Table::Rows rows = {
      {"null indices", set(&Call::indices, nullptr), "indices is null, expected the data of a tensor [20, 4]"},
      {"null pairs", set(&Call::indice_pairs, nullptr),
       "indice_pairs is null, expected the data of a tensor [27, 2, 20]"},
      {"null out", set(&Call::out_indices, nullptr),
       "out_indices is null, expected the data of a tensor [100, 4]"},
      {"null num", set(&Call::indice_num, nullptr), "indice_num is null, expected the data of a tensor [27]"},
      {"pairs in indices", [](Call& c) { c.indice_pairs = c.indices_buffer.data() + 79; },
       "indice_pairs overlaps indices, expected memory of its own"},
      {"out is indices", [](Call& c) { c.out_indices = c.indices_buffer.data(); },
       "out_indices overlaps indices, expected memory of its own"},
      {"num in pairs", [](Call& c) { c.indice_num = c.pairs_buffer.data() + 5; },
       "indice_pairs overlaps indice_num, expected memory of its own"},
      {"null workspace", set(&Call::workspace, nullptr), "workspace is null"},
      {"small workspace", [](Call& c) { --c.workspace_size; },
       "workspace_size is " + std::to_string(needed - 1) + ", expected at least " + std::to_string(needed)},
      {"pairs in workspace", [](Call& c) { c.indice_pairs = c.workspace_buffer.data(); },
       "indice_pairs overlaps workspace, expected memory of its own"},
      {"indices in workspace", [](Call& c) { c.indices = c.workspace_buffer.data(); },
       "workspace overlaps indices, expected memory of its own"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .accepted_by = {Call::kQuery}, .rows = rows});
}

// Sets a coordinate of a row.
auto coordinate(size_t row, size_t column, int32_t value) {
  return [=](Call& call) { call.indices_buffer[row * 4 + column] = value; };
}

// The message names the first bad row, at every number of threads.
TEST(OpsGetIndicePairsErrors, Coordinates) {
  for (const auto& problem : {kStrided, kSubmanifold}) {
    auto inputs = valid_inputs(problem);
    inputs.problem.sites[7] = {1, 2, 3, 4};
    inputs.problem.sites[9] = {0, 1, 1, 1};
    const std::string expected = ", expected a batch and coordinates of at least 0 and less than [2, 6, 9, 8]";
    const Table::Rows rows = {
        {"batch", coordinate(7, 0, 2), "indices[7] is [2, 2, 3, 4]" + expected},
        {"negative batch", coordinate(7, 0, -1), "indices[7] is [-1, 2, 3, 4]" + expected},
        {"depth", coordinate(7, 1, 6), "indices[7] is [1, 6, 3, 4]" + expected},
        {"height", coordinate(7, 2, 9), "indices[7] is [1, 2, 9, 4]" + expected},
        {"width", coordinate(7, 3, 8), "indices[7] is [1, 2, 3, 8]" + expected},
        {"smallest", coordinate(7, 3, INT_MIN), "indices[7] is [1, 2, 3, -2147483648]" + expected},
        {"largest", coordinate(7, 1, INT_MAX), "indices[7] is [1, 2147483647, 3, 4]" + expected},
        {"two", set_all(coordinate(9, 2, -5), coordinate(7, 2, -4)), "indices[7] is [1, 2, -4, 4]" + expected},
    };
    for (const int count : {1, 2, 7}) {
      const ScopedThreads threads(count);
      expect_errors(Table{.inputs = inputs, .accepted_by = {Call::kQuery}, .rows = rows});
    }
  }
}

TEST(OpsGetIndicePairsErrors, CoordinatesOfTwoDimensions) {
  IndicePairsProblem problem = kStrided;
  problem.input_space[0] = problem.output_space[0] = problem.kernel[0] = problem.stride[0] = 1;
  problem.pad[0] = 0;
  auto inputs = valid_inputs(problem);
  inputs.two_dimensions = true;
  inputs.capacity = 30;
  const auto change = [](Call& call) { call.indices_buffer[1] = 9; };
  const std::string site = "indices[0] is [" + std::to_string(inputs.problem.sites[0][0]) + ", 9, " +
                           std::to_string(inputs.problem.sites[0][3]) + "]";
  expect_errors(
      Table{.inputs = inputs,
            .rows = {{"height", change,
                      site + ", expected a batch and coordinates of at least 0 and less than [2, 9, 8]"}}});
}

// Direct cells, and hashed ones with slots for all outputs, and without.
TEST(OpsGetIndicePairsErrors, Capacity) {
  auto random = seeded_random();
  for (const int32_t extent : {9, 1 << 20}) {
    IndicePairsProblem problem = kStrided;
    problem.input_space = problem.output_space = {extent, extent, extent};
    auto inputs = random_get_indice_pairs(problem, 300, random);
    for (const int64_t capacity : {inputs.capacity - 1, inputs.capacity / 2, int64_t{1}, int64_t{0}}) {
      inputs.capacity = capacity;
      const std::string message =
          "out_indices dim 0 is " + std::to_string(capacity) + ", expected at least the number of output sites";
      for (const int count : {1, 3, 64}) {
        const ScopedThreads threads(count);
        expect_errors(
            Table{.inputs = inputs,
                  .accepted_by = {Call::kQuery},
                  .rows = {{"small capacity", no_change, message, MLUOP_STATUS_BAD_PARAM, Match::kBeginning}}});
      }
    }
  }
}

// The pairs of one site at 125 offsets, and at 4913.
TEST(OpsGetIndicePairsErrors, SmallNram) {
  IndicePairsProblem problem = kSubmanifold;
  const auto expect = [&](const char* kib, const std::string& message) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_errors(Table{.inputs = valid_inputs(problem),
                        .accepted_by = {Call::kQuery},
                        .rows = {{kib, no_change, message, MLUOP_STATUS_ALLOC_FAILED}}});
  };
  problem.kernel = {5, 5, 5};
  expect("1", "MLUOP_OMP_NRAM_KB is 1, expected room for the smallest tile: 1536 bytes");
  problem.kernel = {17, 17, 17};
  expect("57", "MLUOP_OMP_NRAM_KB is 57, expected room for the smallest tile: 59072 bytes");
}

TEST(OpsGetIndicePairsErrors, Devices) {
  for (const char* device : {"mlu270", "mlu290"}) {
    const ScopedEnvironment profile("MLUOP_OMP_DEVICE", device);
    const Handle handle;
    const Handle other = [] {
      const ScopedEnvironment supported("MLUOP_OMP_DEVICE", "mlu370");
      return Handle();
    }();
    Call call(other, valid_inputs());
    call.handle = handle;
    EXPECT_EQ(call.run(), MLUOP_STATUS_ARCH_MISMATCH);
    EXPECT_EQ(call.query(), MLUOP_STATUS_ARCH_MISMATCH);
  }
}

TEST(OpsGetIndicePairsErrors, QueryWithoutResult) {
  expect_errors(
      Table{.inputs = valid_inputs(),
            .functions = {Call::kQuery},
            .rows = {{"null workspace_size", set(&Call::queried_size, nullptr), "workspace_size is null"}}});
}

// The tensors may have any layout.
TEST(OpsGetIndicePairsErrors, Layouts) {
  const Handle handle;
  Call call(handle, valid_inputs());
  const Descriptor indices(kInt, {20, 4}, MLUOP_LAYOUT_NCHW);
  call.indices_desc = indices;
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
