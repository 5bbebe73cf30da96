// Requirements of mluOpOmpSitePairs on sizes and repeated outputs, and calls without pairs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "site_pairs";
constexpr int64_t kTooMany = int64_t{1} << 31;

TEST(OpsSitePairsErrors, Sizes) {
  // inputs is [60, 4], outputs is [50, 4], offsets is [9, 3].
  expect_errors(
      make_case(kOp, MLUOP_DTYPE_INT32, {}),
      {{all_of({set_shape("inputs", {60, 1}), set_shape("outputs", {50, 1}), set_shape("offsets", {9, 0})}),
        "inputs dim 1 is 1, expected 2 to 8"},
       {all_of({set_shape("inputs", {20, 9}), set_shape("outputs", {20, 9}), set_shape("offsets", {3, 8}),
                set_shape("indice_pairs", {3, 2, 20}), set_shape("indice_num", {3})}),
        "inputs dim 1 is 9, expected 2 to 8"},
       {set_shape("outputs", {50, 5}), "outputs dim 1 is 5, expected 4"},
       {set_shape("offsets", {9, 4}), "offsets dim 1 is 4, expected 3"},
       {set_shape("inputs", {kTooMany, 4}), "inputs dim 0 is 2147483648, expected fewer than 2^31",
        MLUOP_STATUS_NOT_SUPPORTED},
       {set_shape("outputs", {kTooMany, 4}), "outputs dim 0 is 2147483648, expected fewer than 2^31",
        MLUOP_STATUS_NOT_SUPPORTED}},
      {.query = Query::kFails});
}

// Ten equal outputs meet two inputs. Repeated outputs without too many pairs are accepted.
TEST(OpsSitePairsErrors, MorePairsThanInputs) {
  cases::Case made = make_case(kOp, MLUOP_DTYPE_INT32, {{"n", 2}, {"m", 1}, {"k", 2}, {"d", 1}});
  made.inputs[1].dims = {10, 2};
  set_values(made, "inputs", std::vector<int32_t>{0, -5, 0, 6});
  set_values(made, "offsets", std::vector<int32_t>{1, -1});
  std::vector<int32_t> outputs;
  for (int i = 0; i < 10; ++i) outputs.insert(outputs.end(), {0, -4});
  set_values(made, "outputs", outputs);
  expect_errors(made,
                {{no_change,
                  "outputs has 10 pairs of offset 1, expected at most 2, the number of inputs: outputs are "
                  "repeated"}},
                {.query = Query::kSucceeds});
  for (size_t i = 4; i < outputs.size(); i += 2) outputs[i] = 1;
  set_values(made, "outputs", outputs);
  expect_oracle(made);
  // More outputs than inputs, none of them repeated.
  for (size_t i = 0; i < outputs.size(); i += 2) outputs[i] = static_cast<int32_t>(i);
  set_values(made, "outputs", outputs);
  expect_oracle(made);
}

TEST(OpsSitePairsErrors, NoPairs) {
  for (const char* size : {"n", "m", "k"}) {
    SCOPED_TRACE(size);
    const Handle handle;
    OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_INT32, {{size, 0}}));
    EXPECT_EQ(call.arguments.workspace_size, 0U);
    for (const char* id : {"inputs", "outputs", "offsets"}) call[id].data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const std::vector<int32_t> pairs = call.int32s("indice_pairs"), num = call.int32s("indice_num");
    EXPECT_EQ(std::ranges::count(pairs, -1), static_cast<std::ptrdiff_t>(pairs.size()));
    EXPECT_EQ(std::ranges::count(num, 0), static_cast<std::ptrdiff_t>(num.size()));
  }
}

}  // namespace
}  // namespace mluop::test
