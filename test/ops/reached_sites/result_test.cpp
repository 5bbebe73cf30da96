// Reached sites and floor sites: examples of the definitions, negative and extreme coordinates, repeated rows,
// empty lists, and errors. test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/labels.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;
using ::testing::ElementsAre;
using Numbers = std::vector<int32_t>;

// Sites of `axes` axes, offsets and multiples in row-major order.
Case reached_case(int64_t axes, const Numbers& sites, const Numbers& offsets, const Numbers& multiples) {
  const auto rows = [](const Numbers& numbers, int64_t columns) {
    return static_cast<int64_t>(numbers.size()) / columns;
  };
  Case made = make_case("reached_sites", MLUOP_DTYPE_INT32,
                        {{"n", rows(sites, axes + 1)}, {"k", rows(offsets, axes)}, {"d", axes}});
  set_values(made, "sites", sites);
  set_values(made, "offsets", offsets);
  set_values(made, "multiples", multiples);
  return made;
}

Case floor_case(int64_t axes, const Numbers& sites, const Numbers& multiples) {
  Case made = make_case("floor_sites", MLUOP_DTYPE_INT32,
                        {{"n", static_cast<int64_t>(sites.size()) / (axes + 1)}, {"d", axes}});
  set_values(made, "sites", sites);
  set_values(made, "multiples", multiples);
  return made;
}

// The rows of a result, then zeros.
Numbers padded(Numbers rows, size_t count) {
  rows.resize(count);
  return rows;
}

// An output of a call.
Numbers computed(const Case& made, const char* output) {
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.int32s(output);
}

// The sites that a generative convolution with kernel 2 and stride 2 reaches, and one with kernel 3.
TEST(OpsReachedSites, Examples) {
  const Numbers sites = {0, -4, 0, -2, 0, 0, 0, 4};
  const Case two = reached_case(1, sites, {0, 1}, {1});
  EXPECT_THAT(computed(two, "reached"), ElementsAre(0, -4, 0, -3, 0, -2, 0, -1, 0, 0, 0, 1, 0, 4, 0, 5));
  EXPECT_THAT(computed(two, "num"), ElementsAre(8));
  const Case three = reached_case(1, sites, {-1, 0, 1}, {1});
  EXPECT_THAT(computed(three, "num"), ElementsAre(10));
  EXPECT_EQ(computed(three, "reached"),
            padded({0, -5, 0, -4, 0, -3, 0, -2, 0, -1, 0, 0, 0, 1, 0, 3, 0, 4, 0, 5}, 24));
  // torchsparse 1.4, kernel 3, stride 2.
  const Case strided = reached_case(1, {0, -3, 0, -2, 0, 0, 0, 1, 0, 5}, {-1, 0, 1}, {2});
  EXPECT_THAT(computed(strided, "num"), ElementsAre(6));
  EXPECT_EQ(computed(strided, "reached"), padded({0, -4, 0, -2, 0, 0, 0, 2, 0, 4, 0, 6}, 30));
}

// Offsets do not change batches; repeated sites and offsets give a site once.
TEST(OpsReachedSites, BatchesAndRepetitions) {
  const Case made = reached_case(2, {1, 0, 3, -1, 0, 3, 1, 0, 3}, {0, -1, 0, -1, 1, 0}, {1, 2});
  EXPECT_THAT(computed(made, "num"), ElementsAre(2));
  EXPECT_EQ(computed(made, "reached"), padded({-1, 0, 2, 1, 0, 2}, 27));
}

// No sum is at a multiple.
TEST(OpsReachedSites, NoneReached) {
  const Case made = reached_case(1, {0, 1, 0, -1}, {0, 2}, {4});
  EXPECT_THAT(computed(made, "num"), ElementsAre(0));
  EXPECT_THAT(computed(made, "reached"), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

// Sums at the limits of int32, whose rows have several keys, and multiples above 2^30.
TEST(OpsReachedSites, ExtremeCoordinates) {
  Numbers sites;
  for (const int32_t batch : {INT32_MIN, 0, INT32_MAX}) {
    for (const int32_t x : {INT32_MIN, -1, 0, INT32_MAX - 1}) {
      for (const int32_t y : {INT32_MIN + 1, INT32_MAX}) sites.insert(sites.end(), {batch, x, y, x, y});
    }
  }
  const Numbers offsets = {0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1};
  for (const Numbers& multiples :
       {Numbers{1, 1, 1, 1}, {INT32_MAX, 1, 1, 1}, {1, 1 << 30, 2, 3}, {2, INT32_MAX - 1, 2, 1}}) {
    expect_oracle_everywhere(reached_case(4, sites, offsets, multiples));
  }
  // One axis, and one site at each end, moved to the other.
  const Case ends = reached_case(1, {0, INT32_MIN, 0, -1}, {INT32_MAX, 0}, {1});
  EXPECT_THAT(computed(ends, "reached"), ElementsAre(0, INT32_MIN, 0, -1, 0, INT32_MAX - 1, 0, 0));
}

// Enough sites for several tasks, from 1 to 7 axes, in each layout; all in one cell.
TEST(OpsReachedSites, ManySites) {
  MLUOP_LABELS(kManyThreads);
  for (int64_t axes = 1; axes <= 7; ++axes) {
    expect_oracle_everywhere(
        make_case("reached_sites", MLUOP_DTYPE_INT32,
                  {{"n", 600}, {"k", 9}, {"d", axes}, {"multiple", 1}, {"layout", axes % 3}}));
  }
  expect_oracle_everywhere(reached_case(3, Numbers(4 * 1000, -5), {1, 1, 1, 1, 1, 1}, {4, 2, 1}));
}

TEST(OpsReachedSites, EmptyLists) {
  for (const char* size : {"n", "k"}) {
    const Handle handle;
    OperatorCall call(handle, make_case("reached_sites", MLUOP_DTYPE_INT32, {{size, 0}}));
    EXPECT_EQ(call.arguments.workspace_size, 0U);
    for (const char* id : {"sites", "offsets", "multiples", "reached"}) call[id].data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_THAT(call.int32s("num"), ElementsAre(0));
  }
}

TEST(OpsReachedSitesErrors, SumsAndSizes) {
  // sites is [60, 4], offsets is [8, 3].
  const Case made = make_case("reached_sites", MLUOP_DTYPE_INT32, {{"layout", 1}, {"multiple", 1}});
  expect_errors(made,
                {{set_element("multiples", 1, 0), "multiples[1] is 0, expected at least 1"},
                 {set_element("multiples", 2, INT32_MIN), "multiples[2] is -2147483648, expected at least 1"}});
  const Case sums = reached_case(2, {9, 0, 0, 9, 5, -7}, {0, 0, 1, -1}, {1, 1});
  expect_errors(
      sums,
      {{set_element("sites", 4, INT32_MAX), "sites[1, 1] plus offsets[1, 0] is 2147483648, expected an int32"},
       {set_element("sites", 2, INT32_MIN), "sites[0, 2] plus offsets[1, 1] is -2147483649, expected an int32"},
       {set_element("offsets", 3, INT32_MIN),
        "sites[1, 2] plus offsets[1, 1] is -2147483655, expected an int32"}});
  expect_errors(
      made,
      {{set_shape("sites", {int64_t{1} << 28, 4}),
        "sites dim 0 times offsets dim 0 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
       {all_of({set_shape("sites", {60, 1}), set_shape("offsets", {8, 0}), set_shape("multiples", {0}),
                set_shape("reached", {480, 1})}),
        "sites dim 1 is 1, expected 2 to 8"},
       {all_of({set_shape("sites", {20, 9}), set_shape("offsets", {3, 8}), set_shape("multiples", {8}),
                set_shape("reached", {60, 9})}),
        "sites dim 1 is 9, expected 2 to 8"}},
      {.query = Query::kFails});
}

// The floor of a negative coordinate is below it.
TEST(OpsFloorSites, Examples) {
  const Case two = floor_case(1, {0, -3, 0, -2, 0, 0, 0, 1, 0, 5}, {2});
  EXPECT_THAT(computed(two, "num"), ElementsAre(4));
  EXPECT_THAT(computed(two, "floors"), ElementsAre(0, -4, 0, -2, 0, 0, 0, 4, 0, 0));
  EXPECT_THAT(computed(two, "inverse"), ElementsAre(0, 1, 2, 2, 3));
  const Case three = floor_case(2, {1, 5, -1, 0, -1, -4, 1, 3, -2, -1, 0, 0}, {3, 2});
  EXPECT_THAT(computed(three, "num"), ElementsAre(3));
  EXPECT_THAT(computed(three, "floors"), ElementsAre(-1, 0, 0, 0, -3, -4, 1, 3, -2, 0, 0, 0));
  EXPECT_THAT(computed(three, "inverse"), ElementsAre(2, 1, 2, 0));
  // In fp32 the floor of this coordinate would be 16777220.
  EXPECT_THAT(computed(floor_case(1, {0, 16777219}, {2}), "floors"), ElementsAre(0, 16777218));
}

TEST(OpsFloorSites, ExtremeCoordinates) {
  Numbers sites;
  for (const int32_t batch : {INT32_MIN, 0, INT32_MAX}) {
    for (const int32_t x : {INT32_MIN, INT32_MIN + 1, -1, 0, INT32_MAX})
      sites.insert(sites.end(), {batch, x, x, -(x / 2), 7});
  }
  for (const Numbers& multiples : {Numbers{1, 1, 1, 1}, {1 << 30, 2, 1, INT32_MAX}, {2, 4, INT32_MAX, 3}}) {
    expect_oracle_everywhere(floor_case(4, sites, multiples));
  }
}

TEST(OpsFloorSites, ManySites) {
  MLUOP_LABELS(kManyThreads);
  for (int64_t axes = 1; axes <= 7; ++axes) {
    expect_oracle_everywhere(make_case("floor_sites", MLUOP_DTYPE_INT32,
                                       {{"n", 3000}, {"d", axes}, {"multiple", 3}, {"layout", axes % 3}}));
  }
  expect_oracle_everywhere(floor_case(3, Numbers(4 * 3000, -5), {4, 2, 1}));
}

TEST(OpsFloorSites, NoSites) {
  const Handle handle;
  OperatorCall call(handle, make_case("floor_sites", MLUOP_DTYPE_INT32, {{"n", 0}}));
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  for (const char* id : {"sites", "multiples", "floors", "inverse"}) call[id].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.int32s("num"), ElementsAre(0));
}

TEST(OpsFloorSitesErrors, FloorsAndSizes) {
  const Case made = floor_case(2, {9, 0, 0, 9, 5, -7}, {3, 1});
  expect_errors(made, {{set_element("multiples", 0, -1), "multiples[0] is -1, expected at least 1"},
                       {set_element("sites", 4, INT32_MIN),
                        "sites[1, 1] is -2147483648, its floor to a multiple of 3 is -2147483649, expected an "
                        "int32"}});
  expect_errors(made,
                {{set_shape("sites", {int64_t{1} << 31, 3}), "sites dim 0 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED},
                 {all_of({set_shape("sites", {2, 1}), set_shape("multiples", {0}), set_shape("floors", {2, 1})}),
                  "sites dim 1 is 1, expected 2 to 8"},
                 {all_of({set_shape("sites", {2, 9}), set_shape("multiples", {8}), set_shape("floors", {2, 9})}),
                  "sites dim 1 is 9, expected 2 to 8"}},
                {.query = Query::kFails});
}

}  // namespace
}  // namespace mluop::test
