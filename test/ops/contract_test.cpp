// Every operator against its oracle: random sizes, sizes 0 and 1; values of any kind; any number of threads, any
// NRAM, and tensors anywhere in memory. A call that succeeds has the result of the oracle; any other call names an
// argument and changes no tensor.
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "ops/operator_cases.h"
#include "support/child_process.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/sanitizers.h"
#include "support/temporary_folder.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;
using cases::Operator;
using cases::Recipe;
using cases::SizeRule;

std::string name_of(const Recipe& recipe) {
  std::string text(cases::dtype_name(recipe.dtype));
  for (const auto& [name, value] : recipe.sizes) text += ' ' + name + '=' + std::to_string(value);
  return text + " seed=" + std::to_string(recipe.seed);
}

class OpsContract : public ::testing::Test {
 protected:
  int64_t draw(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }
  template <class T, size_t kCount>
  T pick(const T (&values)[kCount]) {
    return values[draw(0, kCount - 1)];
  }
  Recipe draw_recipe(const Operator& op, int64_t max_bytes) {
    const mluOpDataType_t dtype =
        op.dtypes[static_cast<size_t>(draw(0, static_cast<int64_t>(op.dtypes.size()) - 1))];
    return cases::draw_recipe(
        op, dtype, [this](int64_t low, int64_t high) { return draw(low, high); }, max_bytes);
  }

  std::mt19937 random = seeded_random();
};

TEST_F(OpsContract, RandomSizes) {
  // Fewer calls if kernels are emulated or slow, or if the instruction set is not the best of the machine.
  const bool is_repeated = is_left_out({Label::kNetworkSize, Label::kOnce, Label::kSlow});
  const int rounds = is_left_out({Label::kNotEmulated}) ? 3 : kSanitizer ? 6 : is_repeated ? 12 : 24;
  constexpr const char* kNram[] = {"64", "65", "128", "384", "768", "1024"};
  for (const Operator& op : cases::operators()) {
    for (int round = 0; round < rounds; ++round) {
      const Recipe recipe = draw_recipe(op, 1 << 18);
      // A sum in double does not show whether a sum in fp32 overflows.
      const bool adds = op.terms != nullptr || op.atomic_sums;
      const auto values = static_cast<Values>(draw(0, adds ? 4 : 5));
      const ScopedThreads threads(pick({1, 2, 3, 7}));
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", pick(kNram));
      const Case made = with_values(op.make(recipe), values, recipe.seed);
      const Oracle oracle(made);
      for (const auto algorithm : algorithms_of(op)) {
        SCOPED_TRACE(op.name + ' ' + name_of(recipe) + ' ' + text_of(values) + ' ' + text_of(algorithm));
        EXPECT_TRUE(expect_contract(oracle, algorithm, pick(kPlacements))) << mluOpOmpGetLastError();
      }
    }
  }
}

// The headers state the workspace bytes for each box or point.
TEST(OpsWorkspace, BytesOfABoxOrPoint) {
  MLUOP_LABELS(kOnce);
  constexpr int64_t kMany = 10000;
  const struct {
    const char* op;
    std::map<std::string, int64_t> sizes;
    double bytes;
  } kTable[] = {
      {"corners", {{"n", kMany}, {"m", 1}}, 45},
      {"dynamic_point_to_voxel_forward", {{"n", kMany}}, 24},
      {"floor_sites", {{"n", kMany}}, 56},
      {"furthest_point_sample", {{"b", 1}, {"n", kMany}}, 37},
      {"generate_proposals_v2", {{"n", 1}, {"h", kMany}, {"w", 1}, {"a", 1}, {"pre_nms_top_n", 0}}, 57},
      {"knn", {{"b", 1}, {"n", kMany}}, 12},
      {"nms", {{"n", kMany}}, 65},
      {"nms", {{"n", kMany}, {"planar", 0}}, 77},
      {"nms3d_normal", {{"n", kMany}}, 37},
      {"nms_match", {{"n", kMany}}, 45},
      {"nms_quadri", {{"n", kMany}}, 130},
      {"nms_rotated", {{"n", kMany}}, 100},
      {"poly_nms", {{"n", kMany}}, 130},
      {"reached_sites", {{"n", kMany}, {"k", 27}}, 27 * 24},
      {"roipoint_pool3d", {{"b", 1}, {"n", kMany}}, 12},
      {"soft_nms", {{"n", kMany}}, 28},
      {"three_nn_forward", {{"b", 1}, {"m", kMany}}, 25},
      {"unique_rows", {{"n", kMany}}, 36},
      {"voxelization", {{"n", kMany}}, 33},
  };
  for (const auto& [op, sizes, bytes] : kTable) {
    SCOPED_TRACE(op);
    const Handle handle;
    const OperatorCall call(handle, make_case(op, MLUOP_DTYPE_FLOAT, sizes));
    EXPECT_NEAR(static_cast<double>(call.arguments.workspace_size) / kMany, bytes, 0.1 * bytes);
  }
}

// The native algorithm has the same bits with any number of threads and in any memory. The workspace size does not
// depend on the number of threads, which may change after the query.
TEST_F(OpsContract, ThreadCounts) {
  MLUOP_LABELS(kManyThreads);
  const bool is_short = is_left_out({Label::kSlow});
  const int most_threads = is_short ? 7 : 64;
  for (const Operator& op : cases::operators()) {
    for (const mluOpDataType_t dtype : op.dtypes) {
      Recipe recipe = cases::draw_recipe(
          op, dtype, [](int64_t, int64_t high) { return high; }, 1 << 19);
      SCOPED_TRACE(op.name + ' ' + name_of(recipe));
      const Case made = op.make(recipe);
      const Oracle oracle(made);
      for (const auto algorithm : algorithms_of(op)) {
        std::vector<std::byte> first;
        size_t workspace_size = 0;  // for one thread
        for (const int count : {1, 3, most_threads}) {
          SCOPED_TRACE(std::string(text_of(algorithm)) + ' ' + std::to_string(count));
          const ScopedThreads threads(count);
          const Handle handle(algorithm);
          const OperatorCall call(handle, made, count == 3 ? Placement::kAgainstEnd : Placement::kAligned);
          if (count == 1) workspace_size = call.arguments.workspace_size;
          EXPECT_EQ(call.arguments.workspace_size, workspace_size);
          ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
          EXPECT_TRUE(call.intact());
          EXPECT_TRUE(oracle.agrees(call, algorithm));
          if (first.empty()) first = call.outputs();
          EXPECT_TRUE(algorithm == MLUOP_OMP_ALGORITHM_DEVICE || call.outputs() == first);
        }
      }
    }
  }
}

// Hashes of the results of operators with the same bits on every instruction set: all operators except sparse and
// deformable convolution.
std::string hashes_of_results() {
  std::string hashes;
  const Handle handle;
  for (const Operator& op : cases::operators()) {
    if (op.has_dot_products) continue;
    for (const mluOpDataType_t dtype : op.dtypes) {
      const Case made = op.make(default_recipe(op, dtype));
      const OperatorCall call(handle, made);
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      const std::vector<std::byte> outputs = call.outputs();
      const std::string_view bytes(reinterpret_cast<const char*>(outputs.data()), outputs.size());
      hashes += op.name + ' ' + std::to_string(std::hash<std::string_view>()(bytes)) + '\n';
    }
  }
  return hashes;
}

// Runs in the child process of the test below.
TEST(OpsInstructionSets, DISABLED_WritesHashes) {
  std::ofstream(std::getenv("MLUOP_TEST_FILE")) << hashes_of_results();
}

TEST(OpsInstructionSets, HaveTheSameBits) {
  MLUOP_LABELS(kOnce, kNotEmulated);
  const std::string best = hashes_of_results();
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "hashes";
  const ScopedEnvironment environment("MLUOP_TEST_FILE", file.c_str()), simd("MLUOP_OMP_SIMD", "generic");
  EXPECT_EQ(exit_status_of_child([] {
              unsetenv("GTEST_TOTAL_SHARDS");
              unsetenv("GTEST_SHARD_INDEX");
              execl("/proc/self/exe", "mluop_tests", "--gtest_filter=OpsInstructionSets.DISABLED_*",
                    "--gtest_also_run_disabled_tests", nullptr);
              return false;
            }),
            0);
  std::stringstream generic;
  generic << std::ifstream(file).rdbuf();
  EXPECT_EQ(best, generic.str());
}

// Every extent up to two of the longest vectors, and extents around further multiples, with rows that end at a
// guard page. Sanitizers run the extents around a half and a whole vector.
TEST_F(OpsContract, Tails) {
  MLUOP_LABELS(kNotEmulated);
  const int64_t most = kSanitizer ? 17 : 70;
  const ScopedThreads threads(2);
  for (const Operator& op : cases::operators()) {
    for (const SizeRule& size : op.sizes) {
      if (!size.is_extent) continue;
      for (int64_t extent = size.lowest; extent <= std::min(size.highest, most); ++extent) {
        if (kSanitizer ? (extent + 1) % 8 > 2 : extent > 34 && (extent + 1) % 16 > 2) continue;
        Recipe recipe = draw_recipe(op, 1 << 14);
        recipe.sizes[size.name] = extent;
        const Case made = op.make(recipe);
        const Oracle oracle(made);
        for (const auto algorithm : algorithms_of(op)) {
          SCOPED_TRACE(op.name + ' ' + name_of(recipe) + ' ' + text_of(algorithm));
          EXPECT_TRUE(expect_contract(oracle, algorithm, Placement::kAgainstEnd)) << mluOpOmpGetLastError();
        }
      }
    }
  }
}

// Consecutive calls of different sizes with one handle.
TEST_F(OpsContract, ReusedHandle) {
  MLUOP_LABELS(kOnce, kNotEmulated);
  const ScopedThreads threads(3);
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    for (int round = 0; round < (kSanitizer ? 2 : 6); ++round) {
      for (const Operator& op : cases::operators()) {
        const Recipe recipe = draw_recipe(op, int64_t{1} << draw(10, 20));
        SCOPED_TRACE(op.name + ' ' + name_of(recipe) + ' ' + text_of(algorithm));
        const Case made = op.make(recipe);
        const OperatorCall call(handle, made);
        EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        EXPECT_TRUE(Oracle(made).agrees(call, algorithm));
      }
    }
  }
}

// Tensors whose layout the operator does not use.
TEST_F(OpsContract, Layouts) {
  for (const Operator& op : cases::operators()) {
    const Case made = op.make(default_recipe(op, op.dtypes.front()));
    const Oracle oracle(made);
    for (size_t i = 0; i < op.tensors.size(); ++i) {
      if (op.tensors[i].is_filters) continue;
      for (const mluOpTensorLayout_t layout : op.tensors[i].other_layouts) {
        SCOPED_TRACE(op.name + ' ' + op.tensors[i].id + " layout " + std::to_string(layout));
        const Handle handle;
        OperatorCall call(handle, made);
        const cases::Operand& operand = call.arguments[i];
        call.use(op.tensors[i].id, std::make_shared<Descriptor>(operand.dtype, operand.dims, layout));
        EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        EXPECT_TRUE(oracle.agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
      }
    }
  }
}

// If the outputs of a call have no elements, all data and the workspace may be null, unless the operator checks
// inputs all the same. If inputs and workspace may be null, outputs may overlap inputs.
void expect_nothing_read(const Case& made, mluOpOmpAlgorithm_t algorithm) {
  const Handle handle(algorithm);
  const OperatorCall full(handle, made);
  ASSERT_EQ(full.run(), MLUOP_STATUS_SUCCESS);
  OperatorCall call(handle, made);
  bool has_results = false;
  for (size_t i = 0; i < call.op().tensors.size(); ++i) {
    const bool has_elements = call.arguments[i].bytes() > 0;
    has_results |= has_elements && call.op().tensors[i].is_written();
    if (!call.op().tensors[i].is_written()) call.arguments[i].data = nullptr;
  }
  call.arguments.workspace = nullptr;
  call.arguments.workspace_size = 0;
  const mluOpStatus_t status = call.run();
  if (status != MLUOP_STATUS_SUCCESS) {
    const bool checks_inputs =
        call.op().name == "roi_align_backward_v2" || call.op().name == "ms_deform_attn_backward";
    EXPECT_TRUE(has_results || checks_inputs) << mluOpOmpGetLastError();
    EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM);
    return;
  }
  EXPECT_TRUE(call.outputs() == full.outputs());
  for (size_t i = 0; i < call.op().tensors.size(); ++i) {
    if (!call.op().tensors[i].is_written() || call.arguments[i].bytes() == 0) continue;
    for (size_t j = 0; j < call.op().tensors.size(); ++j) {
      if (!call.op().tensors[j].is_written()) call.arguments[j].data = call.arguments[i].data;
    }
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call.outputs() == full.outputs());
  }
}

// One or two of the extents, or all of them, are 0, or the lowest valid size. Sanitizers run no pairs of extents.
TEST_F(OpsContract, EmptyExtents) {
  MLUOP_LABELS(kNotEmulated);
  int succeeded = 0;
  for (const Operator& op : cases::operators()) {
    std::vector<const SizeRule*> extents;
    for (const SizeRule& size : op.sizes) {
      if (size.is_extent) extents.push_back(&size);
    }
    const size_t all = (size_t{1} << extents.size()) - 1;
    for (size_t subset = 1; subset <= all; ++subset) {
      if (std::popcount(subset) > (kSanitizer ? 1 : 2) && subset != all) continue;
      for (const bool is_empty : {true, false}) {
        Recipe recipe = default_recipe(op, op.dtypes[subset % op.dtypes.size()]);
        for (const SizeRule& size : op.sizes) {
          if (!size.is_extent) recipe.sizes[size.name] = draw(size.lowest, size.highest);
        }
        for (size_t i = 0; i < extents.size(); ++i) {
          if ((subset >> i & 1) != 0) recipe.sizes[extents[i]->name] = is_empty ? 0 : extents[i]->lowest;
        }
        for (const auto algorithm : algorithms_of(op)) {
          SCOPED_TRACE(op.name + ' ' + name_of(recipe) + ' ' + text_of(algorithm));
          const Case made = op.make(recipe);
          const bool succeeds = expect_contract(made, algorithm);
          if (succeeds && is_empty) expect_nothing_read(made, algorithm);
          EXPECT_TRUE(succeeds || is_empty) << mluOpOmpGetLastError();
          succeeded += succeeds && is_empty ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(succeeded, 0);
}

// NRAM sizes up to the smallest that suffices: the output is complete, or unchanged.
TEST(OpsSmallNram, CompleteOrUnchanged) {
  MLUOP_LABELS(kOnce, kSlow);
  const ScopedThreads threads(3);
  int failures = 0;
  for (const Operator& op : cases::operators()) {
    const auto test = first_case_of(op);
    if (!test) continue;
    const Oracle oracle(test->made);
    for (const auto algorithm : algorithms_of(op)) {
      bool succeeds = false;
      for (int kib = 1; !succeeds; kib *= 2) {
        ASSERT_LE(kib, 128);
        SCOPED_TRACE(test->name + ", " + text_of(algorithm) + ", NRAM " + std::to_string(kib));
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", std::to_string(kib).c_str());
        const Handle handle(algorithm);
        const OperatorCall call(handle, test->made);
        const auto before = call.contents();
        const mluOpStatus_t status = call.run();
        EXPECT_TRUE(call.intact());
        succeeds = status == MLUOP_STATUS_SUCCESS;
        if (succeeds) {
          EXPECT_TRUE(oracle.agrees(call, algorithm));
          continue;
        }
        EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED) << mluOpOmpGetLastError();
        EXPECT_TRUE(call.contents() == before) << "the failing call changed inputs or outputs";
        ++failures;
      }
    }
  }
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace mluop::test
