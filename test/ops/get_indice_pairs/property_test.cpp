// Properties of mluOpGetIndicePairs that need no oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ops/get_indice_pairs/convolution_case.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

using Extent = IndicePairsProblem::Extent;
using Site = IndicePairsProblem::Site;
using Pair = std::pair<int32_t, int32_t>;  // input row, output row

constexpr int kRounds = 8;

class OpsGetIndicePairsProperties : public ::testing::Test {
 protected:
  Extent random_extent(int max) {
    return {random_size(random, max), random_size(random, max), random_size(random, max)};
  }

  // Distinct sites, in any order.
  IndicePairsProblem random_sites(const IndicePairsProblem& convolution) {
    const auto& [depth, height, width] = convolution.input_space;
    return with_random_sites(
        convolution, random_size(random, std::min(900, convolution.batch_size * depth * height * width)), random);
  }

  // Odd extents, and the padding of a filter that is centered.
  IndicePairsProblem random_submanifold() {
    const Extent space = random_extent(30);
    IndicePairsProblem convolution = {2, space, space, {}, {1, 1, 1}, {}, {1, 1, 1}, true, {}};
    for (size_t axis = 0; axis < 3; ++axis) {
      convolution.pad[axis] = static_cast<int32_t>(random() % 3);
      convolution.kernel[axis] = 2 * convolution.pad[axis] + 1;
    }
    return random_sites(convolution);
  }

  IndicePairsProblem random_regular() {
    IndicePairsProblem convolution{
        .batch_size = 2, .input_space = random_extent(30), .output_space = {}, .kernel = {}, .sites = {}};
    const auto up_to = [&](uint32_t max) { return 1 + static_cast<int32_t>(random() % max); };
    for (size_t axis = 0; axis < 3; ++axis) {
      convolution.kernel[axis] = up_to(4);
      convolution.pad[axis] = up_to(3) - 1;
      (random() % 2 == 0 ? convolution.stride : convolution.dilation)[axis] = up_to(3);
    }
    return random_sites(with_output_space(convolution));
  }

  std::mt19937 random = seeded_random();
};

struct Result {
  std::vector<std::set<Pair>> pairs;  // of each offset
  std::vector<int32_t> out_indices;
};

Result result_of(const IndicePairsProblem& problem) {
  const Handle handle;
  const OperatorCall call(handle, convolution_case(problem));
  require(call.run());
  EXPECT_TRUE(call.intact());
  Result result{{}, call.int32s("out_indices")};
  const size_t count = problem.sites.size();
  const auto all = call.int32s("indice_pairs");
  for (const int32_t number : call.int32s("indice_num")) {
    const int32_t* rows = all.data() + 2 * count * result.pairs.size();
    std::set<Pair> pairs;
    for (int32_t i = 0; i < number; ++i) pairs.emplace(rows[i], rows[count + static_cast<size_t>(i)]);
    EXPECT_EQ(pairs.size(), static_cast<size_t>(number)) << "repeated pairs";
    result.pairs.push_back(pairs);
  }
  return result;
}

// With a centered filter, (i, j) at an offset is (j, i) at the mirrored one, and the center pairs each site with
// itself.
TEST_F(OpsGetIndicePairsProperties, SubmanifoldPairsAreSymmetric) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const RandomTeam team(random);
    const IndicePairsProblem problem = random_submanifold();
    const Result result = result_of(problem);
    const size_t offsets = result.pairs.size();
    for (size_t k = 0; k < offsets; ++k) {
      std::set<Pair> mirrored;
      for (const auto& [input, output] : result.pairs[k]) mirrored.emplace(output, input);
      EXPECT_EQ(mirrored, result.pairs[offsets - 1 - k]) << "offset " << k;
    }
    for (const auto& [input, output] : result.pairs[offsets / 2]) EXPECT_EQ(input, output);
    EXPECT_EQ(result.pairs[offsets / 2].size(), problem.sites.size());
  }
}

// Each pair satisfies the equation of the header, each output site has a pair, and the output sites ascend.
TEST_F(OpsGetIndicePairsProperties, PairsSatisfyTheEquation) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const RandomTeam team(random);
    const IndicePairsProblem problem = random_regular();
    const Result result = result_of(problem);
    std::vector<Site> outputs;
    for (size_t i = 0; i < result.out_indices.size(); i += 4) {
      outputs.push_back({result.out_indices[i], result.out_indices[i + 1], result.out_indices[i + 2],
                         result.out_indices[i + 3]});
      EXPECT_TRUE(i == 0 || outputs[i / 4 - 1] < outputs[i / 4]);
    }
    std::set<int32_t> used;
    for (size_t k = 0; k < result.pairs.size(); ++k) {
      const auto offset = static_cast<int32_t>(k);
      const auto& [depth, height, width] = problem.kernel;
      const Extent at = {offset / width / height, offset / width % height, offset % width};
      for (const auto& [input, output] : result.pairs[k]) {
        used.insert(output);
        const Site& from = problem.sites[static_cast<size_t>(input)];
        const Site& to = outputs.at(static_cast<size_t>(output));
        ASSERT_EQ(to[0], from[0]);
        for (size_t axis = 0; axis < 3; ++axis) {
          ASSERT_EQ(to[axis + 1] * problem.stride[axis],
                    from[axis + 1] + problem.pad[axis] - at[axis] * problem.dilation[axis]);
        }
      }
    }
    EXPECT_EQ(used.size(), outputs.size());
  }
}

// Other orders of the sites number the input rows only.
TEST_F(OpsGetIndicePairsProperties, OrderOfSitesNumbersInputRows) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const RandomTeam team(random);
    IndicePairsProblem problem = random_regular();
    const Result first = result_of(problem);
    const auto sites = problem.sites;
    const auto order = random_permutation(static_cast<int>(sites.size()), random);
    for (size_t l = 0; l < sites.size(); ++l) problem.sites[l] = sites[static_cast<size_t>(order[l])];
    const Result second = result_of(problem);
    EXPECT_EQ(second.out_indices, first.out_indices);
    for (size_t k = 0; k < first.pairs.size(); ++k) {
      std::set<Pair> renumbered;
      for (const auto& [input, output] : second.pairs[k]) {
        renumbered.emplace(order[static_cast<size_t>(input)], output);
      }
      EXPECT_EQ(renumbered, first.pairs[k]) << "offset " << k;
    }
  }
}

}  // namespace
}  // namespace mluop::test
