// mluOpGetIndicePairs against its definition, element for element, for convolutions, orders of sites and spaces
// that its kernels distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ops/get_indice_pairs/convolution_case.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

const IndicePairsProblem kConvolutions[] = {
    regular_problem({6, 9, 8}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}),
    regular_problem({6, 9, 8}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}),
    regular_problem({11, 7, 70}, {3, 3, 3}, {2, 2, 2}, {0, 1, 1}),
    regular_problem({11, 7, 70}, {3, 1, 1}, {2, 1, 1}, {0, 0, 0}),
    regular_problem({8, 8, 8}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}),
    regular_problem({5, 8, 9}, {3, 3, 3}, {3, 5, 3}, {2, 0, 1}),       // strides that are not powers of two
    regular_problem({2, 3, 300}, {1, 2, 90}, {1, 1, 70}, {0, 0, 1}),   // a stride longer than a word
    regular_problem({2, 3, 300}, {1, 2, 9}, {1, 1, 40}, {0, 0, 100}),  // two cells of a word, long padding
    regular_problem({2, 3, 300}, {1, 1, 5}, {1, 1, 1}, {0, 0, 40}, {1, 1, 31}),  // offsets of a word
    regular_problem({2, 3, 300}, {1, 1, 5}, {1, 1, 1}, {0, 0, 40}, {1, 1, 32}),  // beyond a word
    regular_problem({2, 3, 300}, {1, 1, 3}, {1, 1, 1}, {0, 0, 9}, {1, 1, 70}),
    regular_problem({9, 9, 90}, {2, 3, 3}, {1, 1, 1}, {2, 1, 4}, {2, 3, 4}),  // dilated
    regular_problem({9, 9, 90}, {3, 2, 3}, {1, 2, 1}, {2, 1, 3},
                    {2, 1, 3}),  // strided along one axis, dilated along others
    regular_problem({3, 5, 300}, {1, 1, 130}, {1, 1, 1}, {0, 0, 65}),  // a filter longer than two words
    regular_problem({2, 5, 300}, {1, 1, 130}, {1, 1, 2}, {0, 0, 7}),   // the same, strided
    regular_problem({4, 4, 4}, {5, 5, 5}, {1, 1, 1}, {4, 4, 4}),       // a filter larger than the space
    regular_problem({6, 6, 6}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}),       // one offset
    regular_problem({6, 6, 6}, {1, 1, 1}, {2, 2, 2}, {0, 0, 0}),       // cells without output
    regular_problem({40, 50, 1}, {3, 3, 1}, {2, 1, 1}, {1, 1, 0}),     // lines of one cell
    {2, {6, 9, 8}, {2, 20, 5}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, false, {}},   // another output space
    {2, {6, 9, 8}, {6, 9, 8}, {3, 3, 3}, {1, 1, 1}, {100, 0, 0}, {1, 1, 1}, false, {}},  // no outputs
    submanifold_problem({6, 9, 8}, {3, 3, 3}, {1, 1, 1}),
    submanifold_problem({6, 9, 70}, {3, 3, 3}, {1, 1, 1}),
    submanifold_problem({6, 9, 8}, {3, 3, 3}, {0, 0, 0}),       // mmcv's default padding
    submanifold_problem({6, 9, 8}, {2, 4, 2}, {1, 2, 0}),       // even extents
    submanifold_problem({3, 4, 300}, {1, 1, 130}, {0, 0, 65}),  // a filter longer than two windows
    submanifold_problem({3, 4, 300}, {1, 1, 131}, {0, 0, 65}),  // its mirrored half ends inside a step
    submanifold_problem({4, 4, 4}, {9, 9, 9}, {4, 4, 4}),
    submanifold_problem({20, 40, 1}, {3, 3, 1}, {1, 1, 0}),
    submanifold_problem({5, 5, 5}, {3, 3, 3}, {7, 7, 7}),  // no pairs
};

int64_t cells_of(const IndicePairsProblem& p) {
  return int64_t{p.batch_size} * p.input_space[0] * p.input_space[1] * p.input_space[2];
}

IndicePairsProblem ascending(IndicePairsProblem problem) {
  std::sort(problem.sites.begin(), problem.sites.end());
  return problem;
}

// Sites in any order, and in the order of a network.
TEST(OpsGetIndicePairs, Convolutions) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  for (const IndicePairsProblem& convolution : kConvolutions) {
    SCOPED_TRACE(&convolution - kConvolutions);
    const int64_t cells = cells_of(convolution);
    for (const int64_t count : {2, 40, 5000}) {
      const auto problem = with_random_sites(convolution, std::min(count, cells), random);
      expect_pairs(convolution_case(problem), {3});
      expect_pairs(convolution_case(ascending(problem)), {3}, {Placement::kAgainstEnd});
    }
  }
}

// Repeated sites in any order, ascending, and all equal. There may be more rows of sites and of out_indices than
// cells.
TEST(OpsGetIndicePairs, RepeatedSites) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  for (const IndicePairsProblem& convolution : kConvolutions) {
    SCOPED_TRACE(&convolution - kConvolutions);
    const int64_t cells = cells_of(convolution);
    for (const int64_t rows : {std::min<int64_t>(cells, 300), std::min<int64_t>(3 * cells, 2000)}) {
      auto problem = with_random_sites(convolution, rows, random, false);
      expect_pairs(convolution_case(problem, rows > cells ? 2 * cells + 7 : 0), {1, 7});
      expect_pairs(convolution_case(ascending(problem)), {3});
      std::fill(problem.sites.begin(), problem.sites.end(), problem.sites[0]);
      expect_pairs(convolution_case(problem), {3});
    }
  }
}

// Several chunks of sites, with a tail, and tiles of a few sites up to a whole chunk; more offsets than MLU-OPS
// allows: 4913.
TEST(OpsGetIndicePairs, Chunks) {
  MLUOP_LABELS(kNotEmulated);
  using Extent = IndicePairsProblem::Extent;
  auto random = seeded_random();
  const auto expect_sites = [&](const Extent& space, const Extent& kernel, const Extent& stride, const Extent& pad,
                                std::initializer_list<int64_t> site_counts, const char* kib) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    for (const auto& convolution :
         {regular_problem(space, kernel, stride, pad), regular_problem(space, kernel, {1, 1, 1}, pad),
          submanifold_problem(space, kernel, pad)}) {
      for (const int64_t sites : site_counts) {
        expect_pairs(convolution_case(with_random_sites(convolution, sites, random)), {1, 2, 3, 7, 64});
      }
    }
  };
  expect_sites({11, 60, 50}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {2047, 2048, 2049, 9001}, nullptr);
  for (const char* kib : {"1", "2", "1024"}) {
    expect_sites({11, 60, 50}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {3000}, kib);
  }
  expect_sites({20, 25, 30}, {17, 17, 17}, {2, 3, 1}, {8, 8, 8}, {1, 100}, nullptr);
}

// Outputs large enough for non-temporal stores.
TEST(OpsGetIndicePairs, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  const auto convolution = submanifold_problem({20, 150, 150}, {3, 3, 3}, {1, 1, 1});
  expect_pairs(convolution_case(with_random_sites(convolution, 50001, random)), {2},
               {Placement::kMisaligned, Placement::kAgainstEnd});
}

// Spaces up to the largest whose bitmap exceeds all memory: the cells are hashed. Rows of out_indices past the
// last output site are unchanged.
TEST(OpsGetIndicePairs, SparseSpaces) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  for (const auto& space : {IndicePairsProblem::Extent{40, 2000, 3000},
                            {1 << 12, 1 << 20, 1 << 20},
                            {1, 1, 2147483647},
                            {2147483647, 1, 1},
                            {1 << 15, 1 << 15, 2147483647}}) {
    const IndicePairsProblem strided = {1, space, space, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, false, {}};
    const IndicePairsProblem dilated = {1, space, space, {3, 1, 3}, {1, 1, 1}, {1, 0, 1}, {1, 1, 2}, false, {}};
    IndicePairsProblem submanifold = submanifold_problem(space, {3, 3, 3}, {1, 1, 1});
    submanifold.batch_size = 1;
    for (const IndicePairsProblem& convolution : {strided, dilated, submanifold}) {
      for (const int64_t sites : {1, 2, 500, 5000}) {
        SCOPED_TRACE(product_text({space[0], space[1], space[2]}));
        auto problem = with_random_sites(convolution, sites, random);
        // Neighbours of other sites, the corners of the space, and repetitions.
        auto& all = problem.sites;
        for (size_t i = 0; i + 1 < all.size(); i += 3) {
          all[i + 1] = all[i];
          all[i + 1][3] = std::max(all[i][3] - static_cast<int32_t>(i % 3), 0);
        }
        all[0] = {0, space[0] - 1, space[1] - 1, space[2] - 1};
        expect_pairs(convolution_case(problem, sites == 2 ? 13 : 0), {1, 3, 64});
      }
    }
  }
}

// The input space has more cells than int64 can number: its sites cannot be sorted.
TEST(OpsGetIndicePairs, InputSpaceBeyondInt64) {
  constexpr int32_t kExtent = 2147483647, kStride = 1 << 26;
  auto random = seeded_random();
  IndicePairsProblem problem =
      regular_problem({kExtent, kExtent, kExtent}, {3, 3, 3}, {kStride, kStride, kStride}, {1, 1, 1});
  // Sites beside the centres of the filter.
  const auto coordinate = [&] {
    const auto draw = static_cast<int32_t>(random() % 96);
    return std::max(draw / 3 * kStride + draw % 3 - 1, 0);
  };
  for (int i = 0; i < 3000; ++i) problem.sites.push_back({i % 2, coordinate(), coordinate(), coordinate()});
  expect_pairs(convolution_case(problem), {1, 3});
  expect_pairs(convolution_case(ascending(problem)), {3});
}

TEST(OpsGetIndicePairs, HashedOnlyIfSparse) {
  auto random = seeded_random();
  const Handle handle;
  require(mluOpOmpSetStatistics(handle, 1));
  for (const auto& [width, hashed] : {std::pair{2000, false}, {200000000, true}}) {
    for (const auto& convolution : {regular_problem({5, 200, width}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}),
                                    submanifold_problem({5, 200, width}, {3, 3, 3}, {1, 1, 1})}) {
      const OperatorCall call(handle, convolution_case(with_random_sites(convolution, 2000, random)));
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(
          std::ranges::any_of(launches_of(handle),
                              [](const Launch& launch) { return launch.kernel == std::string("count_slots"); }),
          hashed);
      // The bound of the header.
      const int64_t tensor_bytes =
          call["indices"].bytes() + call["indice_pairs"].bytes() + call["out_indices"].bytes();
      const int64_t row_bytes = (convolution.sub_m ? 28 : 24) * call["indices"].dim(0);
      const int64_t output_bytes = (hashed ? 24 + 34 : 24) * call["out_indices"].dim(0);
      EXPECT_LE(call.arguments.workspace_size,
                row_bytes + output_bytes + (hashed ? 0 : tensor_bytes) + tensor_bytes / 4096 + (256 << 10));
    }
  }
}

// The number of output sites is set by the last call that succeeded, and is 0 after the descriptor is set.
TEST(OpsGetIndicePairs, NumberOfOutputs) {
  const Handle handle;
  OperatorCall call(handle, make_case("get_indice_pairs", MLUOP_DTYPE_INT32, {{"sub_m", 1}, {"sites", 50}}));
  const SparseConvolutionDescriptor desc;
  const auto set = [&] {
    const int ones[] = {1, 1, 1}, kernel[] = {3, 3, 3}, space[] = {4, 10, 12};
    require(mluOpSetSparseConvolutionDescriptor(desc, 5, 2, ones, ones, ones, space, kernel, space, 1, 0, 0));
  };
  const auto num_act_out = [&] {
    int count = -1;
    require(mluOpGetSparseConvolutionNumActOut(desc, &count));
    return count;
  };
  set();
  ASSERT_EQ(run_with(call, desc), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(num_act_out(), 50);
  call["indices"].data = nullptr;
  ASSERT_EQ(run_with(call, desc), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(num_act_out(), 50);
  set();
  EXPECT_EQ(num_act_out(), 0);
}

// Without sites, the call needs neither the data of sites nor a workspace.
TEST(OpsGetIndicePairs, NoSites) {
  const Case made = convolution_case(kConvolutions[1], 5);
  const Oracle oracle(made);
  const Handle handle;
  OperatorCall call(handle, made);
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  call["indices"].data = call["indice_pairs"].data = nullptr;
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(oracle.agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
}

}  // namespace
}  // namespace mluop::test
