// Site pairs: examples of MinkowskiEngine's convolutions, and sites, offsets and numbers of tasks that the kernels
// distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;
using ::testing::ElementsAre;

Case pairs_case(int64_t dims, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs,
                const std::vector<int32_t>& offsets) {
  Case made = make_case("site_pairs", MLUOP_DTYPE_INT32,
                        {{"n", static_cast<int64_t>(inputs.size()) / (dims + 1)},
                         {"m", static_cast<int64_t>(outputs.size()) / (dims + 1)},
                         {"k", static_cast<int64_t>(offsets.size()) / dims},
                         {"d", dims}});
  set_values(made, "inputs", inputs);
  set_values(made, "outputs", outputs);
  set_values(made, "offsets", offsets);
  return made;
}

// Sites of one axis in batch 0.
std::vector<int32_t> line(const std::vector<int32_t>& coordinates) {
  std::vector<int32_t> sites;
  for (const int32_t coordinate : coordinates) sites.insert(sites.end(), {0, coordinate});
  return sites;
}

TEST(OpsSitePairs, WorkedExample) {
  // A convolution of 3 offsets at the sites of its input, in no order.
  const std::vector<int32_t> sites = line({5, -2, 0, 1, -3});
  const Handle handle;
  const OperatorCall same(handle, pairs_case(1, sites, sites, {-1, 0, 1}));
  ASSERT_EQ(same.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(same.int32s("indice_num"), ElementsAre(2, 5, 2));
  EXPECT_THAT(same.int32s("indice_pairs"), ElementsAre(4, 2, -1, -1, -1, 1, 3, -1, -1, -1,  //
                                                       0, 1, 2, 3, 4, 0, 1, 2, 3, 4,        //
                                                       3, 1, -1, -1, -1, 2, 4, -1, -1, -1));
  // A strided convolution of 2 offsets.
  const OperatorCall strided(handle, pairs_case(1, sites, line({-4, -2, 0, 4}), {0, 1}));
  ASSERT_EQ(strided.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(strided.int32s("indice_num"), ElementsAre(2, 3));
  EXPECT_THAT(strided.int32s("indice_pairs"),
              ElementsAre(1, 2, -1, -1, -1, 1, 2, -1, -1, -1, 4, 3, 0, -1, -1, 0, 2, 3, -1, -1));
}

// The first of equal inputs is paired; each of equal outputs has a pair.
TEST(OpsSitePairs, RepeatedSites) {
  const Handle handle;
  const OperatorCall call(handle, pairs_case(1, line({4, 3, 4, 3}), line({3, -3, 3}), {0, 1, 1}));
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.int32s("indice_num"), ElementsAre(2, 2, 2));
  EXPECT_THAT(call.int32s("indice_pairs"), ElementsAre(1, 1, -1, -1, 0, 2, -1, -1,  //
                                                       0, 0, -1, -1, 0, 2, -1, -1,  //
                                                       0, 0, -1, -1, 0, 2, -1, -1));
}

// Sums of 64 bits: an int32 that overflows is another site.
TEST(OpsSitePairs, EndsOfInt32) {
  const std::vector<int32_t> sites = line({INT32_MAX, INT32_MIN, 0, -1});
  const Handle handle;
  const OperatorCall call(handle, pairs_case(1, sites, sites, {1, -1, INT32_MAX, INT32_MIN}));
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.int32s("indice_num"), ElementsAre(1, 1, 2, 2));
  expect_oracle(pairs_case(1, sites, sites, {1, -1, INT32_MAX, INT32_MIN}));
}

// Kinds of numbers: few, so that many sites are pairs; the ends of int32, where a site does not fit one key;
// multiples of 5.
int32_t draw(int kind, std::mt19937& random) {
  constexpr int32_t kEnds[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX};
  const auto drawn = static_cast<int32_t>(random() % 6);
  return kind == 1 ? kEnds[drawn] : (drawn % 4 - 2) * (kind == 2 ? 5 : 1);
}

std::vector<int32_t> draw_sites(int64_t count, int64_t dims, int kind, std::mt19937& random) {
  std::vector<int32_t> sites;
  for (int64_t i = 0; i < count; ++i) {
    sites.push_back(draw(0, random));
    for (int64_t d = 0; d < dims; ++d) sites.push_back(draw(kind, random));
  }
  return sites;
}

TEST(OpsSitePairs, AnyDimensionsAndNumbers) {
  std::mt19937 random = seeded_random();
  for (int64_t dims = 1; dims <= 7; ++dims) {
    for (const int kind : {0, 1, 2}) {
      for (const int64_t offset_count : {1, 2, 40}) {
        SCOPED_TRACE(::testing::Message() << dims << " dimensions, kind " << kind << ", " << offset_count);
        const ScopedThreads threads(static_cast<int>(dims % 3 + 1));
        const std::vector<int32_t> inputs = draw_sites(400, dims, kind, random);
        std::vector<int32_t> offsets;
        for (int64_t i = 0; i < offset_count * dims; ++i) offsets.push_back(draw(kind, random));
        expect_oracle(pairs_case(dims, inputs, draw_sites(300, dims, kind, random), offsets));
        expect_oracle(pairs_case(dims, inputs, inputs, offsets));
      }
    }
  }
}

// Offsets that share a merge: runs of 1 to 9 offsets with steps of 1 to 6 along the last axis.
TEST(OpsSitePairs, RunsOfOffsets) {
  std::mt19937 random = seeded_random();
  std::vector<int32_t> inputs = draw_sites(500, 2, 0, random), outputs = draw_sites(500, 2, 0, random);
  for (auto* const sites : {&inputs, &outputs}) {
    for (size_t i = 2; i < sites->size(); i += 3) (*sites)[i] = static_cast<int32_t>(random() % 60) - 30;
  }
  for (int32_t size = 1; size <= 9; ++size) {
    for (const int32_t step : {1, 2, 4, 5, 6}) {
      SCOPED_TRACE(::testing::Message() << size << " offsets, step " << step);
      std::vector<int32_t> offsets;
      for (int32_t k = 0; k < 3 * size; ++k) offsets.insert(offsets.end(), {k % 3 - 1, (k / 3 - size / 2) * step});
      expect_oracle(pairs_case(2, inputs, outputs, offsets));
      // Runs of unequal steps, and equal offsets.
      offsets.insert(offsets.end(), {0, 0, 0, 2, 0, 3, 0, 3, 0, -7});
      expect_oracle(pairs_case(2, inputs, outputs, offsets));
    }
  }
}

// Few offsets are divided among the tasks by their outputs.
TEST(OpsSitePairs, FewOffsetsForTheTasks) {
  MLUOP_LABELS(kManyThreads);
  for (const int64_t offsets : {1, 2, 8}) {
    for (const int64_t outputs : {0, 1, 2}) {
      expect_oracle_everywhere(
          make_case("site_pairs", MLUOP_DTYPE_INT32,
                    {{"n", 20000}, {"m", 15000}, {"k", offsets}, {"outputs", outputs}, {"layout", 1}}));
    }
  }
}

// More offsets than are found together.
TEST(OpsSitePairs, SeveralBatches) {
  MLUOP_LABELS(kOnce, kSlow);
  const Case made =
      make_case("site_pairs", MLUOP_DTYPE_INT32, {{"n", 45000}, {"k", 27}, {"outputs", 1}, {"layout", 1}});
  const Oracle oracle(made);
  for (const int count : {1, 3}) {
    const ScopedThreads threads(count);
    expect_oracle(oracle);
  }
}

}  // namespace
}  // namespace mluop::test
