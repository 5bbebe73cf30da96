// Requirements of mluOpGetIndicePairs and its workspace query on the convolution, the sites and the capacity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "ops/get_indice_pairs/convolution_case.h"
#include "support/api_errors.h"
#include "support/call_errors.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
const ErrorOptions kQueryFails{.query = Query::kFails}, kQuerySucceeds{.query = Query::kSucceeds};

// 20 sites in 2 x 6 x 9 x 8 cells; with stride 2 the output has 2 x 3 x 5 x 4 cells.
Case make(int64_t stride, int64_t sub_m = 0, int64_t kernel = 3) {
  return make_case("get_indice_pairs", MLUOP_DTYPE_INT32,
                   {{"batch", 2},
                    {"depth", 6},
                    {"height", 9},
                    {"width", 8},
                    {"sites", 20},
                    {"kernel", kernel},
                    {"stride", stride},
                    {"sub_m", sub_m}});
}

TEST(OpsGetIndicePairsErrors, Convolutions) {
  constexpr int64_t kMax = INT_MAX;
  const std::string too_many_cells = "batch_size x output_space exceeds 2^62 cells";
  expect_errors(
      make(2),
      {{set_list("filter_space", {17, 241, 1}), "indice_pairs dim 0 is 27, expected 4097"},
       {set_list("filter_space", {kMax, kMax, kMax}), "indice_pairs dim 0 is 27, expected 9223372036854775807"},
       {set_list("dilation", {3, 1, 1}), "depth has stride 2 and dilation 3, expected one of them to be 1"},
       {set_list("dilation", {1, 2, 1}), "height has stride 2 and dilation 2, expected one of them to be 1"},
       {set_list("dilation", {1, 1, 2}), "width has stride 2 and dilation 2, expected one of them to be 1"},
       {set_list("output_space", {kMax, kMax, 2}), too_many_cells, kNotSupported},
       {set_list("output_space", {kMax, kMax, kMax}), too_many_cells, kNotSupported},
       {all_of({set("batch", 4), set_list("output_space", {kMax, kMax, 2})}), too_many_cells, kNotSupported}},
      kQueryFails);
}

TEST(OpsGetIndicePairsErrors, Submanifold) {
  expect_errors(make(1, 1),
                {{set_list("output_space", {6, 10, 8}),
                  "height of output_space is 10, expected input_space with sub_m, which is 9"},
                 {set_list("stride", {1, 1, 2}), "width has stride 2, expected 1 with sub_m"},
                 {set_list("dilation", {2, 1, 1}), "depth has dilation 2, expected 1 with sub_m"},
                 {set_shape("out_indices", {19, 4}),
                  "out_indices dim 0 is 19, expected at least indices dim 0 with sub_m, which is 20"}},
                kQueryFails);
}

// Changes the sizes to `sites` and the offsets of the given filter. The data are at addresses that are far apart.
Change with_large_sizes(int64_t sites, const std::vector<int64_t>& kernel, int64_t capacity) {
  const int64_t K = kernel[0] * kernel[1] * kernel[2];
  const auto move_data = [](OperatorCall& call) {
    for (size_t i = 0; i < 4; ++i) call.arguments[i].data = reinterpret_cast<std::byte*>((i + 1) << 44);
  };
  return all_of({set_list("filter_space", kernel), set_list("input_space", {1 << 20, 1 << 20, 1 << 20}),
                 set_list("output_space", {1 << 20, 1 << 20, 1 << 20}), set_shape("indices", {sites, 4}),
                 set_shape("indice_pairs", {K, 2, sites}), set_shape("out_indices", {capacity, 4}),
                 set_shape("indice_num", {K}), move_data});
}

// More sites and offsets than MLU-OPS allows, and the largest tensors: the query succeeds.
TEST(OpsGetIndicePairsErrors, Limits) {
  expect_errors(make(2),
                {{with_large_sizes(int64_t{1} << 31, {1, 1, 1}, 120),
                  "indices dim 0 is 2147483648, expected fewer than 2^31", kNotSupported}},
                kQueryFails);
  const Handle handle;
  OperatorCall call(handle, make(2));
  with_large_sizes(INT_MAX, {17, 17, 17}, int64_t{1} << 58)(call);
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// The message names the first bad row, at every number of threads.
TEST(OpsGetIndicePairsErrors, Coordinates) {
  const auto coordinate = [](size_t row, size_t column, int32_t value) {
    return set_element("indices", row * 4 + column, value);
  };
  const std::string expected = ", expected a batch and coordinates of at least 0 and less than [2, 6, 9, 8]";
  for (Case made : {make(2), make(1, 1)}) {
    std::vector<int32_t> indices = int32s_of(made, "indices");
    std::ranges::copy(std::initializer_list<int32_t>{1, 2, 3, 4}, indices.begin() + 7 * 4);
    set_values(made, "indices", indices);
    for (const int count : {1, 2, 7}) {
      const ScopedThreads threads(count);
      expect_errors(
          made,
          {{coordinate(7, 0, 2), "indices[7] is [2, 2, 3, 4]" + expected},
           {coordinate(7, 0, -1), "indices[7] is [-1, 2, 3, 4]" + expected},
           {coordinate(7, 1, 6), "indices[7] is [1, 6, 3, 4]" + expected},
           {coordinate(7, 2, 9), "indices[7] is [1, 2, 9, 4]" + expected},
           {coordinate(7, 3, 8), "indices[7] is [1, 2, 3, 8]" + expected},
           {coordinate(7, 1, INT_MAX), "indices[7] is [1, 2147483647, 3, 4]" + expected},
           {all_of({coordinate(9, 2, -5), coordinate(7, 2, -4)}), "indices[7] is [1, 2, -4, 4]" + expected}},
          kQuerySucceeds);
    }
  }
}

TEST(OpsGetIndicePairsErrors, CoordinatesOfTwoDimensions) {
  expect_errors(
      make_case("get_indice_pairs", MLUOP_DTYPE_INT32,
                {{"two_dimensions", 1}, {"batch", 2}, {"height", 9}, {"width", 8}, {"sites", 1}}),
      {{all_of({set_element("indices", 0, 1), set_element("indices", 1, 9), set_element("indices", 2, 4)}),
        "indices[0] is [1, 9, 4], expected a batch and coordinates of at least 0 and less than [2, 9, 8]"}});
}

// Direct cells; hashed cells with slots for all outputs; hashed cells without.
TEST(OpsGetIndicePairsErrors, Capacity) {
  auto random = seeded_random();
  for (const int32_t extent : {9, 1 << 20}) {
    IndicePairsProblem problem = regular_problem({extent, extent, extent}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1});
    problem.output_space = problem.input_space;
    Case made = convolution_case(with_random_sites(problem, 300, random));
    for (const int64_t capacity : {made.outputs[0].dims[0] - 1, int64_t{1}, int64_t{0}}) {
      made.outputs[0].dims[0] = capacity;
      const std::string message = "[mluOpGetIndicePairs] out_indices dim 0 is " + std::to_string(capacity) +
                                  ", expected at least the number of output sites";
      for (const int count : {1, 3, 64}) {
        const ScopedThreads threads(count);
        const Handle handle;
        const OperatorCall call(handle, made);
        const size_t before = call.hash();
        EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
        EXPECT_THAT(mluOpOmpGetLastError(), ::testing::StartsWith(message));
        EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS);
        EXPECT_TRUE(call.intact());
        EXPECT_EQ(call.hash(), before);
      }
    }
  }
}

// The pairs of one site at 125 offsets, and at 4913.
TEST(OpsGetIndicePairsErrors, SmallNram) {
  const auto expect = [](int64_t kernel, const char* kib, const std::string& bytes) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    const std::string found = std::string("MLUOP_OMP_NRAM_KB is ") + kib;
    expect_errors(make(1, 1, kernel),
                  {{no_change, found + ", expected room for the smallest tile: " + bytes + " bytes",
                    MLUOP_STATUS_ALLOC_FAILED}},
                  kQuerySucceeds);
  };
  expect(5, "1", "1536");
  expect(17, "57", "59072");
}

TEST(OpsGetIndicePairsErrors, ConvolutionDescriptor) {
  const Handle handle;
  const OperatorCall call(handle, make(2));
  const cases::Arguments& a = call.arguments;
  const SparseConvolutionDescriptor not_set;
  const auto query = [&](mluOpSparseConvolutionDescriptor_t desc) {
    size_t bytes = 0;
    return mluOpGetIndicePairsWorkspaceSize(handle, desc, a[0].desc, a[2].desc, a[1].desc, a[3].desc, &bytes);
  };
  const std::string is_null = "sparse_conv_desc is null";
  const std::string is_not_set =
      "sparse_conv_desc is not set, expected mluOpSetSparseConvolutionDescriptor before";
  expect_errors({{[&] { return run_with(call, nullptr); }, "[mluOpGetIndicePairs] " + is_null},
                 {[&] { return query(nullptr); }, "[mluOpGetIndicePairsWorkspaceSize] " + is_null},
                 {[&] { return run_with(call, not_set); }, "[mluOpGetIndicePairs] " + is_not_set},
                 {[&] { return query(not_set); }, "[mluOpGetIndicePairsWorkspaceSize] " + is_not_set}});
}

}  // namespace
}  // namespace mluop::test
