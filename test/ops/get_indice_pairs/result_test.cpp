// mluOpGetIndicePairs against its definition, element for element.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ops/get_indice_pairs/call.h"
#include "support/call_statistics.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using Site = IndicePairsProblem::Site;

// The pattern that GuardedBuffer fills its elements with.
int32_t untouched() { return GuardedBuffer<int32_t>(1)[0]; }

void expect_result(const GetIndicePairsCall& call, const IndicePairsResult& expected) {
  ASSERT_EQ(call.pairs_buffer.values(), expected.indice_pairs);
  ASSERT_EQ(call.num_buffer.values(), expected.indice_num);
  EXPECT_EQ(call.num_act_out(), static_cast<int>(expected.outputs.size()));
  std::vector<int32_t> out;
  for (const Site& site : expected.outputs) {
    out.push_back(site[0]);
    out.insert(out.end(), site.begin() + (call.inputs.two_dimensions ? 2 : 1), site.end());
  }
  // Rows past the last output site.
  out.resize(call.out_buffer.size(), untouched());
  EXPECT_EQ(call.out_buffer.values(), out);
  EXPECT_TRUE(call.intact());
}

void expect_reference(const GetIndicePairsInputs& inputs, Placement placement = Placement::kAligned) {
  const IndicePairsResult expected = reference::get_indice_pairs(inputs.problem);
  const Handle handle;
  const GetIndicePairsCall call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  expect_result(call, expected);
}

IndicePairsProblem with_output_space(IndicePairsProblem problem) {
  problem.output_space = output_space_of(problem);
  return problem;
}

// Input space, kernel, stride, padding, dilation; the output space follows.
IndicePairsProblem regular(const IndicePairsProblem::Extent& space, const IndicePairsProblem::Extent& kernel,
                           const IndicePairsProblem::Extent& stride, const IndicePairsProblem::Extent& pad,
                           const IndicePairsProblem::Extent& dilation = {1, 1, 1}) {
  return with_output_space({2, space, {}, kernel, stride, pad, dilation, false, {}});
}

IndicePairsProblem submanifold(const IndicePairsProblem::Extent& space, const IndicePairsProblem::Extent& kernel,
                               const IndicePairsProblem::Extent& pad) {
  return {2, space, space, kernel, {1, 1, 1}, pad, {1, 1, 1}, true, {}};
}

const IndicePairsProblem kConvolutions[] = {
    regular({6, 9, 8}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}),
    regular({6, 9, 8}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}),
    regular({11, 7, 70}, {3, 3, 3}, {2, 2, 2}, {0, 1, 1}),
    regular({11, 7, 70}, {3, 1, 1}, {2, 1, 1}, {0, 0, 0}),
    regular({8, 8, 8}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}),
    regular({5, 8, 9}, {3, 3, 3}, {3, 5, 3}, {2, 0, 1}),              // strides that are not powers of two
    regular({9, 9, 90}, {2, 3, 3}, {1, 1, 1}, {2, 1, 4}, {2, 3, 4}),  // dilated
    regular({9, 9, 90}, {3, 2, 3}, {1, 2, 1}, {2, 1, 3},
            {2, 1, 3}),                                        // strided along one axis, dilated along others
    regular({3, 5, 300}, {1, 1, 130}, {1, 1, 1}, {0, 0, 65}),  // a filter longer than two words
    regular({2, 5, 300}, {1, 1, 130}, {1, 1, 2}, {0, 0, 7}),   // the same, strided
    regular({4, 4, 4}, {5, 5, 5}, {1, 1, 1}, {4, 4, 4}),       // a filter larger than the space
    regular({6, 6, 6}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}),       // one offset
    regular({6, 6, 6}, {1, 1, 1}, {2, 2, 2}, {0, 0, 0}),       // cells without output
    regular({40, 50, 1}, {3, 3, 1}, {2, 1, 1}, {1, 1, 0}),     // lines of one cell
    {2, {6, 9, 8}, {2, 20, 5}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, false, {}},   // another output space
    {2, {6, 9, 8}, {6, 9, 8}, {3, 3, 3}, {1, 1, 1}, {100, 0, 0}, {1, 1, 1}, false, {}},  // no outputs
    submanifold({6, 9, 8}, {3, 3, 3}, {1, 1, 1}),
    submanifold({6, 9, 70}, {3, 3, 3}, {1, 1, 1}),
    submanifold({6, 9, 8}, {3, 3, 3}, {0, 0, 0}),       // mmcv's default padding
    submanifold({6, 9, 8}, {2, 4, 2}, {1, 2, 0}),       // even extents
    submanifold({3, 4, 300}, {1, 1, 130}, {0, 0, 65}),  // a filter longer than two windows
    submanifold({4, 4, 4}, {9, 9, 9}, {4, 4, 4}),
    submanifold({20, 40, 1}, {3, 3, 1}, {1, 1, 0}),
    submanifold({5, 5, 5}, {3, 3, 3}, {7, 7, 7}),  // no pairs
};

int64_t cells(const IndicePairsProblem& p) {
  return int64_t{p.batch_size} * p.input_space[0] * p.input_space[1] * p.input_space[2];
}

std::string name_of(const IndicePairsProblem& p, int64_t count) {
  return "convolution " + std::to_string(&p - kConvolutions) + ", sites " + std::to_string(count);
}

TEST(OpsGetIndicePairs, Convolutions) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const IndicePairsProblem& convolution : kConvolutions) {
    for (const int64_t count :
         {int64_t{1}, int64_t{2}, int64_t{9}, int64_t{40}, cells(convolution) / 2, cells(convolution)}) {
      SCOPED_TRACE(name_of(convolution, count));
      expect_reference(random_get_indice_pairs(convolution, std::min(count, cells(convolution)), random));
    }
  }
}

// The order of sites that a network has.
TEST(OpsGetIndicePairs, AscendingSites) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const IndicePairsProblem& convolution : kConvolutions) {
    for (const int64_t count : {int64_t{2}, cells(convolution) / 3, cells(convolution)}) {
      SCOPED_TRACE(name_of(convolution, count));
      auto inputs = random_get_indice_pairs(convolution, std::min(count, cells(convolution)), random);
      std::sort(inputs.problem.sites.begin(), inputs.problem.sites.end());
      expect_reference(inputs);
    }
  }
}

// More rows of sites and of out_indices than cells.
TEST(OpsGetIndicePairs, MoreRowsThanCells) {
  auto random = seeded_random();
  for (const int count : {1, 3}) {
    const ScopedThreads threads(count);
    for (const IndicePairsProblem& convolution : kConvolutions) {
      const int64_t rows = std::min<int64_t>(3 * cells(convolution), 2000);
      SCOPED_TRACE(name_of(convolution, rows));
      auto inputs = random_get_indice_pairs(convolution, rows, random, false);
      inputs.capacity += 2 * cells(convolution) + 7;
      expect_reference(inputs);
    }
  }
}

// Repeated sites; ascending with repetitions, too.
TEST(OpsGetIndicePairs, RepeatedSites) {
  auto random = seeded_random();
  for (const int count : {1, 3, 7}) {
    const ScopedThreads threads(count);
    for (const IndicePairsProblem& convolution : kConvolutions) {
      SCOPED_TRACE(name_of(convolution, cells(convolution)));
      auto inputs =
          random_get_indice_pairs(convolution, std::min<int64_t>(cells(convolution), 900), random, false);
      expect_reference(inputs);
      std::sort(inputs.problem.sites.begin(), inputs.problem.sites.end());
      expect_reference(inputs);
      std::fill(inputs.problem.sites.begin(), inputs.problem.sites.end(), inputs.problem.sites[0]);
      expect_reference(inputs);
    }
  }
}

TEST(OpsGetIndicePairs, TwoDimensions) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto& convolution :
       {regular({1, 30, 41}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}),
        regular({1, 30, 41}, {1, 3, 2}, {1, 1, 1}, {0, 1, 1}), submanifold({1, 30, 41}, {1, 3, 3}, {0, 1, 1})}) {
    auto inputs = random_get_indice_pairs(convolution, 700, random);
    inputs.two_dimensions = true;
    expect_reference(inputs);
    expect_reference(inputs, Placement::kAgainstEnd);
  }
}

TEST(OpsGetIndicePairs, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const IndicePairsProblem& convolution : kConvolutions) {
    const auto inputs = random_get_indice_pairs(convolution, std::min<int64_t>(cells(convolution), 77), random);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
      SCOPED_TRACE(name_of(convolution, 77));
      expect_reference(inputs, placement);
    }
  }
}

// Several chunks of sites, with a tail.
TEST(OpsGetIndicePairs, ThreadCounts) {
  auto random = seeded_random();
  for (const auto& convolution :
       {regular({11, 60, 50}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}),
        regular({11, 60, 50}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}), submanifold({11, 60, 50}, {3, 3, 3}, {1, 1, 1})}) {
    for (const int64_t sites : {2047, 2048, 2049, 9001}) {
      const auto inputs = random_get_indice_pairs(convolution, sites, random);
      for (const int count : {1, 2, 3, 7, 64}) {
        SCOPED_TRACE(std::to_string(sites) + " sites, threads " + std::to_string(count));
        const ScopedThreads threads(count);
        expect_reference(inputs);
      }
    }
  }
}

// Tiles of a few sites up to a whole chunk.
TEST(OpsGetIndicePairs, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const auto inputs =
      random_get_indice_pairs(regular({11, 60, 50}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}), 3000, random);
  for (const char* kib : {"1", "2", "384", "1024"}) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference(inputs);
  }
}

// Outputs large enough for non-temporal stores.
TEST(OpsGetIndicePairs, StreamedOutputs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const auto inputs = random_get_indice_pairs(submanifold({20, 150, 150}, {3, 3, 3}, {1, 1, 1}), 50001, random);
  for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
    expect_reference(inputs, placement);
  }
}

// Whether the last call of a handle sorted the words of hashed cells.
bool sorted_words(mluOpHandle_t handle) {
  const auto launches = launches_of(handle);
  return std::any_of(launches.begin(), launches.end(),
                     [](const Launch& launch) { return std::string(launch.kernel) == "count_digits"; });
}

// Spaces up to the largest whose bitmap exceeds all memory: the cells are hashed.
TEST(OpsGetIndicePairs, SparseSpaces) {
  auto random = seeded_random();
  for (const auto& space : {IndicePairsProblem::Extent{40, 2000, 3000},
                            {1 << 12, 1 << 20, 1 << 20},
                            {1, 1, 2147483647},
                            {2147483647, 1, 1},
                            {1 << 15, 1 << 15, 2147483647}}) {
    const IndicePairsProblem strided = {1, space, space, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, false, {}};
    const IndicePairsProblem dilated = {1, space, space, {3, 1, 3}, {1, 1, 1}, {1, 0, 1}, {1, 1, 2}, false, {}};
    for (const IndicePairsProblem& convolution : {strided, dilated, submanifold(space, {3, 3, 3}, {1, 1, 1})}) {
      for (const int64_t sites : {1, 2, 500, 5000}) {
        SCOPED_TRACE("space " + std::to_string(space[0]) + ", sites " + std::to_string(sites));
        auto inputs = random_get_indice_pairs(convolution, sites, random);
        // Neighbours of other sites, the corners of the space, and repetitions.
        auto& all = inputs.problem.sites;
        for (size_t i = 0; i + 1 < all.size(); i += 3) {
          all[i + 1] = all[i];
          all[i + 1][3] = std::max(all[i][3] - static_cast<int32_t>(i % 3), 0);
        }
        all[0] = {0, space[0] - 1, space[1] - 1, space[2] - 1};
        inputs.capacity = static_cast<int64_t>(reference::get_indice_pairs(inputs.problem).outputs.size());
        for (const int count : {1, 3, 64}) {
          const ScopedThreads threads(count);
          expect_reference(inputs);
        }
      }
    }
  }
}

TEST(OpsGetIndicePairs, HashedOnlyIfSparse) {
  auto random = seeded_random();
  const Handle handle;
  require(mluOpOmpSetStatistics(handle, 1));
  for (const auto& [width, hashed] : {std::pair{2000, false}, {200000000, true}}) {
    for (const auto& convolution : {regular({5, 200, width}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}),
                                    submanifold({5, 200, width}, {3, 3, 3}, {1, 1, 1})}) {
      const GetIndicePairsCall call(handle, random_get_indice_pairs(convolution, 2000, random));
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(sorted_words(handle), hashed);
      // The bound of the header.
      const size_t tensor_bytes =
          4 * (call.indices_buffer.size() + call.pairs_buffer.size() + call.out_buffer.size());
      const size_t site_bytes = convolution.sub_m ? 28 : 24;
      const auto sites = static_cast<size_t>(call.inputs.capacity);
      EXPECT_LE(call.workspace_size, (site_bytes + (hashed ? 34 : 0)) * sites + (hashed ? 0 : tensor_bytes) +
                                         tensor_bytes / 4096 + (256U << 10));
    }
  }
}

// Rows of out_indices past the last output site are unchanged.
TEST(OpsGetIndicePairs, LargerCapacity) {
  auto random = seeded_random();
  for (const auto& convolution :
       {regular({6, 9, 8}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}), submanifold({6, 9, 8}, {3, 3, 3}, {1, 1, 1}),
        regular({600, 900, 800}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1})}) {
    auto inputs = random_get_indice_pairs(convolution, 20, random);
    inputs.capacity += 13;
    expect_reference(inputs);
  }
}

// The number of output sites is that of the last call that succeeded, and 0 after the descriptor is set.
TEST(OpsGetIndicePairs, NumberOfOutputs) {
  auto random = seeded_random();
  const Handle handle;
  GetIndicePairsCall call(handle, random_get_indice_pairs(kConvolutions[1], 50, random));
  EXPECT_EQ(call.num_act_out(), 0);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(call.num_act_out(), call.inputs.capacity);
  call.indices = nullptr;
  ASSERT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(call.num_act_out(), call.inputs.capacity);
  call.set_convolution(kConvolutions[1]);
  EXPECT_EQ(call.num_act_out(), 0);
}

// One handle and one descriptor, other sizes.
TEST(OpsGetIndicePairs, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const Handle handle;
  for (const int64_t sites : {300, 5, 400, 1}) {
    for (const IndicePairsProblem& convolution : {kConvolutions[0], kConvolutions[16], kConvolutions[1]}) {
      const auto inputs = random_get_indice_pairs(convolution, sites, random);
      const GetIndicePairsCall call(handle, inputs);
      for (int repetition = 0; repetition < 2; ++repetition) {
        ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        expect_result(call, reference::get_indice_pairs(inputs.problem));
      }
    }
  }
}

TEST(OpsGetIndicePairs, NoSites) {
  auto random = seeded_random();
  const Handle handle;
  auto inputs = random_get_indice_pairs(kConvolutions[1], 0, random);
  inputs.capacity = 5;
  GetIndicePairsCall call(handle, inputs);
  EXPECT_EQ(call.workspace_size, 0U);
  call.indices = nullptr;
  call.indice_pairs = nullptr;
  call.workspace = nullptr;
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.num_buffer.values(), std::vector<int32_t>(27));
  EXPECT_EQ(call.out_buffer.values(), std::vector<int32_t>(20, untouched()));
  EXPECT_EQ(call.num_act_out(), 0);
}

// Sites without output site: no capacity is needed.
TEST(OpsGetIndicePairs, NoCapacity) {
  auto random = seeded_random();
  const auto inputs = random_get_indice_pairs(kConvolutions[15], 8, random);
  ASSERT_EQ(inputs.capacity, 0);
  expect_reference(inputs);
}

// More offsets than MLU-OPS allows: 4913.
TEST(OpsGetIndicePairs, ManyOffsets) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const auto& convolution : {regular({20, 25, 30}, {17, 17, 17}, {1, 1, 1}, {8, 8, 8}),
                                  regular({20, 25, 30}, {17, 17, 17}, {2, 3, 1}, {8, 8, 8}),
                                  submanifold({20, 25, 30}, {17, 17, 17}, {8, 8, 8})}) {
    for (const int64_t sites : {1, 50, 400}) expect_reference(random_get_indice_pairs(convolution, sites, random));
  }
}

}  // namespace
}  // namespace mluop::test
