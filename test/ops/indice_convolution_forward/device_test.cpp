// mluOpIndiceConvolutionForward with the device algorithm: launches, division into tasks, traffic and atomics as
// in the design document.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "team/split.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr auto kDevice = MLUOP_OMP_ALGORITHM_DEVICE;

// Integers, with filters in this layout.
Case make(mluOpDataType_t dtype, const IndiceConvolutionSizes& sizes, mluOpTensorLayout_t layout) {
  auto random = seeded_random();
  Case made = with_integers(make_convolution(kConvolutionForward, dtype, sizes, random), random);
  set_filter_shape(made, {layout});
  return made;
}

// The launches of a call, whose output must equal that of the definition.
std::vector<Launch> run_recorded(const Case& made, int task_dim) {
  const ScopedThreads threads(task_dim);
  const Handle handle(kDevice);
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  EXPECT_TRUE(same_bits(output_of(call), expected_output(made)));
  return launches_of(handle);
}

std::vector<std::string> kernels_of(const std::vector<Launch>& launches) {
  std::vector<std::string> kernels;
  for (const Launch& launch : launches) kernels.push_back(launch.kernel);
  return kernels;
}

const Launch& find(const std::vector<Launch>& launches, const std::string& kernel) {
  return *std::find_if(launches.begin(), launches.end(), [&](const Launch& l) { return l.kernel == kernel; });
}

struct Traffic {
  int64_t loaded, stored, atomics, atomic_elements;
};

// Checks the division of `items` and the traffic of each task; expected(n) is that of n work items.
template <class Expected>
void expect_tasks(const Launch& launch, int task_dim, int64_t items, const Expected& expected) {
  SCOPED_TRACE(launch.kernel);
  ASSERT_EQ(launch.tasks.size(), static_cast<size_t>(task_dim));
  for (int id = 0; id < task_dim; ++id) {
    SCOPED_TRACE(id);
    const auto& task = launch.tasks[static_cast<size_t>(id)];
    const Range range = split(items, task_dim, id);
    const Traffic traffic = range.size() == 0 ? Traffic{} : expected(range.size());
    EXPECT_EQ(task.first_item, range.begin);
    EXPECT_EQ(task.item_count, range.size());
    EXPECT_EQ(task.tiles > 0, range.size() > 0);
    EXPECT_EQ(task.bytes_loaded, traffic.loaded);
    EXPECT_EQ(task.bytes_stored, traffic.stored);
    EXPECT_EQ(task.atomics, traffic.atomics);
    EXPECT_EQ(task.atomic_elements, traffic.atomic_elements);
  }
}

// ARRAY filters of one offset, or several, whose pairs all name row 5.
Case pairs_of_row_5(mluOpDataType_t dtype, int64_t W, const std::vector<int64_t>& indice_num) {
  Case made = make(dtype, {50, 40, 6, 9, 1, 1, W}, MLUOP_LAYOUT_ARRAY);
  set_values(made, "indice_pairs", std::vector<int32_t>(static_cast<size_t>(W) * 100, 5));
  made.parameters.set("indice_num", indice_num);
  return made;
}

// Skips two of the 50 pairs of the offset.
void skip_two_pairs(Case& made) {
  std::vector<int32_t> pairs = int32s_of(made, "indice_pairs");
  pairs[10] = -1;
  pairs[50 + 20] = -3;
  set_values(made, "indice_pairs", pairs);
}

// One offset with as many pairs as inputs, all with valid indices.
Case one_offset(const IndiceConvolutionSizes& sizes, mluOpTensorLayout_t layout) {
  Case made = make(MLUOP_DTYPE_FLOAT, sizes, layout);
  std::vector<int32_t> pairs;
  for (int64_t l = 0; l < sizes.num_act_in; ++l) pairs.push_back(static_cast<int32_t>(sizes.num_act_in - 1 - l));
  for (int64_t l = 0; l < sizes.num_act_in; ++l) pairs.push_back(static_cast<int32_t>(l * 7 % sizes.num_act_out));
  set_values(made, "indice_pairs", pairs);
  made.parameters.set("indice_num", std::vector<int64_t>{sizes.num_act_in});
  return made;
}

// The example of the document: 35064 pairs of one offset, 32 channels to 64, NDHWC.
constexpr int64_t kPairs = 35064, kCi = 32, kCo = 64, kOutputs = 9000;

std::vector<Launch> run_example(int task_dim) {
  return run_recorded(one_offset({kPairs, kOutputs, kCi, kCo, 1, 1, 1}, MLUOP_LAYOUT_NDHWC), task_dim);
}

TEST(OpsIndiceConvolutionForwardDevice, TrafficOfTheExample) {
  constexpr int64_t kFilterBytes = kCi * kCo * 4;
  for (const int task_dim : {1, 4, 16}) {
    SCOPED_TRACE(task_dim);
    const auto launches = run_example(task_dim);
    ASSERT_EQ(kernels_of(launches),
              (std::vector<std::string>{"check_indices", "fill", "transpose", "gather", "matmul", "scatter_add"}));
    expect_tasks(launches[0], task_dim, kPairs, [](int64_t n) { return Traffic{n * 8, 0, 0, 0}; });
    expect_tasks(launches[1], task_dim, kOutputs * kCo * 4, [](int64_t n) { return Traffic{0, n, 0, 0}; });
    expect_tasks(launches[2], task_dim, kCi, [](int64_t n) { return Traffic{n * kCo * 4, n * kCo * 4, 0, 0}; });
    expect_tasks(launches[3], task_dim, kPairs, [](int64_t n) {
      return Traffic{n * (4 + kCi * 4), n * kCi * 4, 0, 0};
    });
    expect_tasks(launches[4], task_dim, kPairs, [](int64_t n) {
      return Traffic{n * kCi * 4 + kFilterBytes, n * kCo * 4, 0, 0};
    });
    expect_tasks(launches[5], task_dim, kPairs, [](int64_t n) {
      return Traffic{n * (4 + kCo * 4), 0, n, n * kCo};
    });
  }
}

// The numbers of the document's table, for its first and last task.
struct TableRow {
  int task_dim;
  int64_t last_first, gather_load, gather_store, matmul_load, matmul_store, scatter_load, atomics;
};

constexpr TableRow kTable[] = {{1, 0, 4628448, 4488192, 4496384, 8976384, 9116640, 35064},
                               {4, 26298, 1157112, 1122048, 1130240, 2244096, 2279160, 8766},
                               {16, 32873, 289344, 280576, 288768, 561152, 569920, 2192}};

TEST(OpsIndiceConvolutionForwardDevice, TableOfTheExample) {
  for (const TableRow& row : kTable) {
    SCOPED_TRACE(row.task_dim);
    const auto launches = run_example(row.task_dim);
    const auto &gathers = find(launches, "gather").tasks, &products = find(launches, "matmul").tasks,
               &scatters = find(launches, "scatter_add").tasks;
    EXPECT_EQ(gathers.back().first_item, row.last_first);
    EXPECT_EQ(gathers[0].bytes_loaded, row.gather_load);
    EXPECT_EQ(gathers[0].bytes_stored, row.gather_store);
    EXPECT_EQ(products[0].bytes_loaded, row.matmul_load);
    EXPECT_EQ(products[0].bytes_stored, row.matmul_store);
    EXPECT_EQ(scatters[0].bytes_loaded, row.scatter_load);
    EXPECT_EQ(scatters[0].atomics, row.atomics);
    EXPECT_EQ(scatters[0].atomic_elements, row.atomics * kCo);
  }
}

// Offsets in ascending order, those without pairs left out; ARRAY filters are not transposed.
TEST(OpsIndiceConvolutionForwardDevice, OrderOfOffsets) {
  const std::vector<std::string> expected = {"check_indices", "fill",   "gather", "matmul",
                                             "scatter_add",   "gather", "matmul", "scatter_add"};
  const auto launches = run_recorded(pairs_of_row_5(MLUOP_DTYPE_FLOAT, 4, {0, 20, 0, 3}), 2);
  ASSERT_EQ(kernels_of(launches), expected);
  expect_tasks(launches[3], 2, 20, [](int64_t n) { return Traffic{n * 6 * 4 + 6 * 9 * 4, n * 9 * 4, 0, 0}; });
  expect_tasks(launches[6], 2, 3, [](int64_t n) { return Traffic{n * 6 * 4 + 6 * 9 * 4, n * 9 * 4, 0, 0}; });
}

// Half: fp32 sums are rounded by a launch of their own. Skipped pairs are neither loaded nor added.
TEST(OpsIndiceConvolutionForwardDevice, HalfAndSkippedPairs) {
  Case made = pairs_of_row_5(MLUOP_DTYPE_HALF, 1, {50});
  skip_two_pairs(made);
  const auto launches = run_recorded(made, 1);
  ASSERT_EQ(kernels_of(launches),
            (std::vector<std::string>{"check_indices", "fill", "gather", "matmul", "scatter_add", "f32_to_f16"}));
  expect_tasks(launches[2], 1, 50, [](int64_t n) { return Traffic{n * 8 + (n - 2) * 6 * 2, n * 6 * 2, 0, 0}; });
  expect_tasks(launches[3], 1, 50, [](int64_t n) { return Traffic{(n * 6 + 6 * 9) * 2, n * 9 * 4, 0, 0}; });
  expect_tasks(launches[4], 1, 50, [](int64_t n) { return Traffic{n * (8 + 9 * 4), 0, n - 2, (n - 2) * 9}; });
  expect_tasks(launches[5], 1, 40 * 9, [](int64_t n) { return Traffic{n * 4, n * 2, 0, 0}; });
}

// A weight that is not a number does not reach the outputs of a skipped pair.
TEST(OpsIndiceConvolutionForwardDevice, SkippedPairsAddNothing) {
  Case made = one_offset({50, 40, 6, 9, 1, 1, 1}, MLUOP_LAYOUT_ARRAY);
  skip_two_pairs(made);
  std::vector<float> filters = floats_of(made, "filters");
  filters[3] = std::numeric_limits<float>::infinity();
  set_values(made, "filters", filters);
  for (const int task_dim : {1, 3}) run_recorded(made, task_dim);
}

// The workspace of the document.
TEST(OpsIndiceConvolutionForwardDevice, Workspace) {
  constexpr size_t kSlack = 63;
  const Handle handle(kDevice);
  std::vector<int64_t> numbers(27, 10);
  numbers[13] = 48;
  const auto workspace_size = [&](mluOpDataType_t dtype, mluOpTensorLayout_t layout) {
    Case made = make(dtype, {64, 80, 32, 64, 3, 3, 3}, layout);
    made.parameters.set("indice_num", numbers);
    return OperatorCall(handle, made).arguments.workspace_size;
  };
  EXPECT_EQ(workspace_size(MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_NDHWC), 221184 + 48 * 64 * 4 + 48 * 32 * 4 + kSlack);
  EXPECT_EQ(workspace_size(MLUOP_DTYPE_HALF, MLUOP_LAYOUT_ARRAY),
            48 * 64 * 4 + 48 * 32 * 2 + 80 * 64 * 4 + kSlack);
}

// The result does not depend on the number of tasks and the size of NRAM, where sums are exact.
TEST(OpsIndiceConvolutionForwardDevice, TaskDimsAndNramSizes) {
  for (const Case& made : {make(MLUOP_DTYPE_FLOAT, {900, 700, 70, 150, 1, 3, 3}, MLUOP_LAYOUT_NCDHW),
                           make(MLUOP_DTYPE_HALF, {900, 700, 600, 40, 1, 1, 3}, MLUOP_LAYOUT_NDHWC)}) {
    const std::vector<float> expected = expected_output(made);
    for (const char* kib : {"16", "64", "384", "640", "1024"}) {
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      for (const int task_dim : {1, 2, 3, 16, 64}) {
        SCOPED_TRACE(std::string(kib) + " KiB, taskDim " + std::to_string(task_dim));
        const ScopedThreads threads(task_dim);
        EXPECT_TRUE(same_bits(result_of(made, kDevice), expected));
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
