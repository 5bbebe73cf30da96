// mluOpIndiceConvolutionForward with the device algorithm: launches, division into tasks, traffic and atomics as
// in the design document.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/labels.h"
#include "team/split.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr auto kDevice = MLUOP_OMP_ALGORITHM_DEVICE;

Case make(mluOpDataType_t dtype, const IndiceConvolutionSizes& sizes, mluOpTensorLayout_t layout) {
  auto random = seeded_random();
  return make_integers(kConvolutionForward, dtype, sizes, random, {layout});
}

// The launches of a call, which must be launches of these kernels, and whose output must equal the definition.
std::vector<Launch> run_recorded(const Case& made, int task_dim, const std::vector<std::string>& kernels) {
  const ScopedThreads threads(task_dim);
  const Handle handle(kDevice);
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  EXPECT_TRUE(same_bits(output_of(call), expected_output(made)));
  std::vector<Launch> launches = launches_of(handle);
  std::vector<std::string> found;
  for (const Launch& launch : launches) found.push_back(launch.kernel);
  EXPECT_EQ(found, kernels);
  launches.resize(kernels.size());
  return launches;
}

struct Traffic {
  int64_t loaded, stored, atomics, atomic_elements;
};

// Checks the division of `items` and the traffic of each task; expected(n) is the traffic of n work items.
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

// One offset with as many pairs as inputs, all with valid indices.
Case one_offset(mluOpDataType_t dtype, const IndiceConvolutionSizes& sizes, mluOpTensorLayout_t layout) {
  Case made = make(dtype, sizes, layout);
  std::vector<int32_t> pairs;
  for (int64_t l = 0; l < sizes.num_act_in; ++l) pairs.push_back(static_cast<int32_t>(sizes.num_act_in - 1 - l));
  for (int64_t l = 0; l < sizes.num_act_in; ++l) pairs.push_back(static_cast<int32_t>(l * 7 % sizes.num_act_out));
  set_pairs(made, pairs, {sizes.num_act_in});
  return made;
}

// The example of the document: 35064 pairs of one offset, 32 channels to 64, NDHWC. With these counts the tasks
// have the traffic in the document's table.
TEST(OpsIndiceConvolutionForwardDevice, TrafficOfTheExample) {
  MLUOP_LABELS(kManyThreads);
  constexpr int64_t kPairs = 35064, kCi = 32, kCo = 64, kOutputs = 9000, kFilterBytes = kCi * kCo * 4;
  const Case made = one_offset(MLUOP_DTYPE_FLOAT, {kPairs, kOutputs, kCi, kCo, 1, 1, 1}, MLUOP_LAYOUT_NDHWC);
  for (const int task_dim : {1, 4, 16}) {
    SCOPED_TRACE(task_dim);
    const auto launches =
        run_recorded(made, task_dim, {"check_indices", "fill", "transpose", "gather", "matmul", "scatter_add"});
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

// Offsets are processed in ascending order, offsets without pairs are left out; ARRAY filters are not transposed.
TEST(OpsIndiceConvolutionForwardDevice, OrderOfOffsets) {
  Case made = make(MLUOP_DTYPE_FLOAT, {50, 40, 6, 9, 1, 1, 4}, MLUOP_LAYOUT_ARRAY);
  set_pairs(made, std::vector<int32_t>(4 * 2 * 50, 5), {0, 20, 0, 3});
  const auto launches = run_recorded(
      made, 2, {"check_indices", "fill", "gather", "matmul", "scatter_add", "gather", "matmul", "scatter_add"});
  const auto expected = [](int64_t n) { return Traffic{n * 6 * 4 + 6 * 9 * 4, n * 9 * 4, 0, 0}; };
  expect_tasks(launches[3], 2, 20, expected);
  expect_tasks(launches[6], 2, 3, expected);
}

// Half: a separate launch rounds the fp32 sums. Skipped pairs are neither loaded nor added: an infinite weight
// does not reach their outputs.
TEST(OpsIndiceConvolutionForwardDevice, HalfAndSkippedPairs) {
  Case made = one_offset(MLUOP_DTYPE_HALF, {50, 40, 6, 9, 1, 1, 1}, MLUOP_LAYOUT_ARRAY);
  std::vector<int32_t> pairs = int32s_of(made, "indice_pairs");
  pairs[10] = -1;
  pairs[50 + 20] = -3;
  set_values(made, "indice_pairs", pairs);
  std::vector<float> filters = floats_of(made, "filters");
  filters[3] = std::numeric_limits<float>::infinity();
  set_values(made, "filters", filters);
  const auto launches =
      run_recorded(made, 1, {"check_indices", "fill", "gather", "matmul", "scatter_add", "f32_to_f16"});
  expect_tasks(launches[2], 1, 50, [](int64_t n) { return Traffic{n * 8 + (n - 2) * 6 * 2, n * 6 * 2, 0, 0}; });
  expect_tasks(launches[3], 1, 50, [](int64_t n) { return Traffic{(n * 6 + 6 * 9) * 2, n * 9 * 4, 0, 0}; });
  expect_tasks(launches[4], 1, 50, [](int64_t n) { return Traffic{n * (8 + 9 * 4), 0, n - 2, (n - 2) * 9}; });
  expect_tasks(launches[5], 1, 40 * 9, [](int64_t n) { return Traffic{n * 4, n * 2, 0, 0}; });
}

// The workspace in the document.
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

}  // namespace
}  // namespace mluop::test
