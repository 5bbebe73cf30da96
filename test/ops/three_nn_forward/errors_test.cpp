// Every rule that mluOpThreeNNForward and its workspace query check.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/three_nn_forward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = ThreeNNCall<float>;
using HalfCall = ThreeNNCall<Half>;
using Table = ErrorTable<Call>;

constexpr auto kFloat = MLUOP_DTYPE_FLOAT, kHalf = MLUOP_DTYPE_HALF, kInt = MLUOP_DTYPE_INT32;
const std::string kOwn = ", expected memory of its own";

template <class T = float>
ThreeNNInputs<T> valid_inputs(const ThreeNNSizes& sizes = {2, 50, 9}) {
  auto random = seeded_random();
  return random_three_nn<T>(sizes, random);
}

// The rules that operator and query share.
TEST(OpsThreeNNForwardErrors, Known) {
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null known desc", set(&Call::known_desc, nullptr), "known_desc is null"},
      {"known dims", set(&Call::known_desc, Descriptor(kFloat, {18, 3})), "known has 2 dimensions, expected 3"},
      {"four known coordinates", set(&Call::known_desc, Descriptor(kFloat, {2, 9, 4})),
       "known dim 2 is 4, expected 3"},
      {"known strides", set(&Call::known_desc, Descriptor::with_strides(kFloat, {2, 9, 3}, {27, 1, 9})),
       "known has strides [27, 1, 9], expected a contiguous tensor of shape [2, 9, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"2^31 known points", set(&Call::known_desc, Descriptor(kFloat, {2, int64_t{1} << 31, 3})),
       "known dim 1 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

TEST(OpsThreeNNForwardErrors, Query) {
  const Table::Rows rows = {
      {"null workspace_size", set(&Call::queried_size, nullptr), "workspace_size is null"},
      {"int known", set(&Call::known_desc, Descriptor(kInt, {2, 9, 3})),
       "known has data type INT32, expected FLOAT or HALF"},
      {"empty descriptor", set(&Call::known_desc, Descriptor()),
       "known has data type INVALID, expected FLOAT or HALF"},
      {"no batch", set(&Call::known_desc, Descriptor(kFloat, {0, 9, 3})), "known dim 0 is 0, expected at least 1"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kQuery}, .rows = rows});
}

TEST(OpsThreeNNForwardErrors, Shapes) {
  const Table::Rows rows = {
      {"null unknown desc", set(&Call::unknown_desc, nullptr), "unknown_desc is null"},
      {"null dist2 desc", set(&Call::dist2_desc, nullptr), "dist2_desc is null"},
      {"null idx desc", set(&Call::idx_desc, nullptr), "idx_desc is null"},
      {"int unknown", set(&Call::unknown_desc, Descriptor(kInt, {2, 50, 3})),
       "unknown has data type INT32, expected FLOAT or HALF"},
      {"empty descriptor", set(&Call::unknown_desc, Descriptor()),
       "unknown has data type INVALID, expected FLOAT or HALF"},
      {"half unknown", set(&Call::unknown_desc, Descriptor(kHalf, {2, 50, 3})),
       "known has data type FLOAT, expected HALF"},
      {"dist2 dtype", set(&Call::dist2_desc, Descriptor(kHalf, {2, 50, 3})),
       "dist2 has data type HALF, expected FLOAT"},
      {"idx dtype", set(&Call::idx_desc, Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3})),
       "idx has data type INT64, expected INT32"},
      {"unknown dims", set(&Call::unknown_desc, Descriptor(kFloat, {2, 50, 3, 1})),
       "unknown has 4 dimensions, expected 3"},
      {"dist2 dims", set(&Call::dist2_desc, Descriptor(kFloat, {2, 150})), "dist2 has 2 dimensions, expected 3"},
      {"idx dims", set(&Call::idx_desc, Descriptor(kInt, {300})), "idx has 1 dimensions, expected 3"},
      {"two coordinates", set(&Call::unknown_desc, Descriptor(kFloat, {2, 50, 2})),
       "unknown dim 2 is 2, expected 3"},
      {"known batch", set(&Call::known_desc, Descriptor(kFloat, {3, 9, 3})), "known dim 0 is 3, expected 2"},
      {"dist2 batch", set(&Call::dist2_desc, Descriptor(kFloat, {1, 50, 3})), "dist2 dim 0 is 1, expected 2"},
      {"dist2 points", set(&Call::dist2_desc, Descriptor(kFloat, {2, 49, 3})), "dist2 dim 1 is 49, expected 50"},
      {"two distances", set(&Call::dist2_desc, Descriptor(kFloat, {2, 50, 2})), "dist2 dim 2 is 2, expected 3"},
      {"idx batch", set(&Call::idx_desc, Descriptor(kInt, {3, 50, 3})), "idx dim 0 is 3, expected 2"},
      {"idx points", set(&Call::idx_desc, Descriptor(kInt, {2, 51, 3})), "idx dim 1 is 51, expected 50"},
      {"four indices", set(&Call::idx_desc, Descriptor(kInt, {2, 50, 4})), "idx dim 2 is 4, expected 3"},
      {"unknown strides", set(&Call::unknown_desc, Descriptor::with_strides(kFloat, {2, 50, 3}, {150, 4, 1})),
       "unknown has strides [150, 4, 1], expected a contiguous tensor of shape [2, 50, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"dist2 strides", set(&Call::dist2_desc, Descriptor::with_strides(kFloat, {2, 50, 3}, {150, 1, 50})),
       "dist2 has strides [150, 1, 50], expected a contiguous tensor of shape [2, 50, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"idx strides", set(&Call::idx_desc, Descriptor::with_strides(kInt, {2, 50, 3}, {151, 3, 1})),
       "idx has strides [151, 3, 1], expected a contiguous tensor of shape [2, 50, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"no batch",
       set_all(set(&Call::unknown_desc, Descriptor(kFloat, {0, 50, 3})),
               set(&Call::known_desc, Descriptor(kFloat, {0, 9, 3})),
               set(&Call::dist2_desc, Descriptor(kFloat, {0, 50, 3})),
               set(&Call::idx_desc, Descriptor(kInt, {0, 50, 3}))),
       "unknown dim 0 is 0, expected at least 1"},
      {"no unknown points",
       set_all(set(&Call::unknown_desc, Descriptor(kFloat, {2, 0, 3})),
               set(&Call::dist2_desc, Descriptor(kFloat, {2, 0, 3})),
               set(&Call::idx_desc, Descriptor(kInt, {2, 0, 3}))),
       "unknown dim 1 is 0, expected at least 1"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

TEST(OpsThreeNNForwardErrors, Data) {
  const Table::Rows rows = {
      {"null unknown", set(&Call::unknown, nullptr), "unknown is null, expected the data of a tensor [2, 50, 3]"},
      {"null known", set(&Call::known, nullptr), "known is null, expected the data of a tensor [2, 9, 3]"},
      {"null dist2", set(&Call::dist2, nullptr), "dist2 is null, expected the data of a tensor [2, 50, 3]"},
      {"null idx", set(&Call::idx, nullptr), "idx is null, expected the data of a tensor [2, 50, 3]"},
      {"in place", [](auto& c) { c.dist2 = c.unknown_buffer.data(); }, "dist2 overlaps unknown" + kOwn},
      {"dist2 ends in known", [](auto& c) { c.known = c.dist2_buffer.data() + 299; },
       "dist2 overlaps known" + kOwn},
      {"idx in known", [](auto& c) { c.known = c.idx_buffer.data(); }, "idx overlaps known" + kOwn},
      {"one output", [](auto& c) { c.idx = c.dist2_buffer.data(); }, "dist2 overlaps idx" + kOwn},
      {"null workspace of a size", set_all(set(&Call::workspace, nullptr), set(&Call::workspace_size, size_t{1})),
       "workspace is null"},
      {"unused workspace in an output",
       [](auto& c) {
         c.workspace = c.dist2_buffer.data() + 5;
         c.workspace_size = 1;
       },
       "dist2 overlaps workspace" + kOwn},
  };
  expect_errors(Table{.inputs = valid_inputs(), .accepted_by = {Call::kQuery}, .rows = rows});
}

// For HALF, and for many known points.
template <class T>
void expect_workspace_errors(const ThreeNNSizes& sizes) {
  using C = ThreeNNCall<T>;
  const size_t needed = three_nn_workspace(Handle(), sizeof(T) == 2 ? kHalf : kFloat, sizes);
  ASSERT_GT(needed, 0U);
  const typename ErrorTable<C>::Rows rows = {
      {"null workspace", set(&C::workspace, nullptr), "workspace is null"},
      {"small workspace", [](auto& c) { --c.workspace_size; },
       "workspace_size is " + std::to_string(needed - 1) + ", expected at least " + std::to_string(needed)},
      {"no workspace", set_all(set(&C::workspace, nullptr), set(&C::workspace_size, size_t{0})),
       "workspace_size is 0, expected at least " + std::to_string(needed)},
      {"workspace in idx", [](auto& c) { c.workspace = c.idx_buffer.data() + 10; },
       "idx overlaps workspace" + kOwn},
      {"known in workspace", [](auto& c) { c.known = c.workspace; }, "workspace overlaps known" + kOwn},
      {"unknown in workspace", [](auto& c) { c.unknown = c.workspace; }, "workspace overlaps unknown" + kOwn},
  };
  expect_errors(ErrorTable<C>{.inputs = valid_inputs<T>(sizes), .accepted_by = {C::kQuery}, .rows = rows});
}

TEST(OpsThreeNNForwardErrors, WorkspaceOfHalf) { expect_workspace_errors<Half>({2, 50, 9}); }
TEST(OpsThreeNNForwardErrors, WorkspaceOfATree) { expect_workspace_errors<float>({1, 5600, 3000}); }

// The known points fit int64_t, the workspace does not.
TEST(OpsThreeNNForwardErrors, WorkspaceExceedsInt64) {
  const auto change = set(&Call::known_desc, Descriptor(kFloat, {300000000, (int64_t{1} << 31) - 1, 3}));
  expect_errors(Table{.inputs = valid_inputs(),
                      .functions = {Call::kQuery},
                      .rows = {{"7 2^60 bytes", change, "the size in bytes of scratch buffer blocks ",
                                MLUOP_STATUS_BAD_PARAM, Match::kBeginning}}});
}

TEST(OpsThreeNNForwardErrors, AnyLayout) {
  const Handle handle;
  Call call(handle, valid_inputs());
  const Descriptor unknown(kFloat, {2, 50, 3}, MLUOP_LAYOUT_NLC), known(kFloat, {2, 9, 3}, MLUOP_LAYOUT_NTC),
      idx(kInt, {2, 50, 3}, MLUOP_LAYOUT_NCHW);
  call.unknown_desc = call.dist2_desc = unknown;
  call.known_desc = known;
  call.idx_desc = idx;
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// Without known points, their data and the workspace may be null; the outputs are written.
TEST(OpsThreeNNForwardErrors, NoKnownPoints) {
  const Handle handle;
  HalfCall call(handle, valid_inputs<Half>({2, 50, 0}));
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(*call.queried_size, 0U);
  call.known = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  for (const Half distance : call.dist2_buffer.values()) EXPECT_EQ(distance.bits, 0x7C00);
  for (const int32_t index : call.idx_buffer.values()) EXPECT_EQ(index, 0);
}

}  // namespace
}  // namespace mluop::test
