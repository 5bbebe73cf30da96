// Tables of errors. A row names a rule, changes one argument of a valid call so that the call breaks the rule, and
// states the status and the message that the call must return:
//
//   expect_errors(ErrorTable<VoxelPoolingCall<float>>{
//       .inputs = random_voxel_pooling<float>({2, 50, 6, 5, 4, 1}, random),
//       .rows = {
//           {"null handle", set(&Call::handle, nullptr), "handle is null"},
//           {"geom dtype", set(&Call::geom_xyz_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 50, 3})),
//            "geom_xyz has data type FLOAT, expected INT32"},
//       }});
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/api.h"
#include "support/api_errors.h"
#include "support/guarded_call.h"
#include "support/trace.h"

namespace mluop::test {

// How much of the last error a message states.
enum class Match { kAll, kBeginning };

// A valid call that `change` makes invalid. `message` follows "[<function>] ".
template <class Call>
struct ErrorRow {
  std::string rule;
  std::function<void(Call&)> change;
  std::string message;
  mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
  Match match = Match::kAll;
};

// Call: a GuardedCall that is constructible from (handle, inputs).
template <class Call>
struct ErrorTable {
  using Rows = std::vector<ErrorRow<Call>>;

  typename Call::Inputs inputs;
  // Each of these fails with status and message of the row.
  std::vector<ApiFunction<Call>> functions = {Call::kOperator};
  // Each of these accepts the arguments of all rows.
  std::vector<ApiFunction<Call>> accepted_by = {};
  std::vector<mluOpOmpAlgorithm_t> algorithms = {std::begin(kAlgorithms), std::end(kAlgorithms)};
  Rows rows;
};

// A change of one argument.
template <class Class, class Member, class Value>
auto set(Member Class::*member, Value value) {
  return [=](auto& call) { call.*member = value; };
}
template <class Class>
auto set(mluOpTensorDescriptor_t Class::*member, Descriptor descriptor) {
  return [member, shared = std::make_shared<Descriptor>(std::move(descriptor))](auto& call) {
    call.*member = *shared;
  };
}
// Several changes, in this order.
template <class... Changes>
auto set_all(Changes... changes) {
  return [=](auto& call) { (changes(call), ...); };
}
// For errors that inputs or environment cause.
inline constexpr auto no_change = [](auto&) {};

// As expect_failure() of api_errors.h, of which `message` may be the beginning.
template <class Function>
void expect_failure(const Function& call, mluOpStatus_t status, const std::string& message, Match match) {
  // Replaces the last error, so that the text of an earlier row cannot pass.
  mluOpSetQueue(nullptr, nullptr);
  EXPECT_EQ(call(), status);
  const std::string text = mluOpOmpGetLastError();
  EXPECT_EQ(match == Match::kAll ? text : text.substr(0, message.size()), message);
}

// Checks each row with each function, in each algorithm, with a new call: status, message, no change of inputs and
// outputs, intact guard zones.
template <class Call>
void expect_errors(const ErrorTable<Call>& table) {
  for (const mluOpOmpAlgorithm_t algorithm : table.algorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    for (const ErrorRow<Call>& row : table.rows) {
      SCOPED_TRACE(row.rule);
      for (const ApiFunction<Call>& function : table.functions) {
        SCOPED_TRACE(function.name);
        Call call(handle, table.inputs);
        row.change(call);
        const std::vector<std::byte> before = call.contents();
        expect_failure([&] { return (call.*function.run)(); }, row.status,
                       std::string("[") + function.name + "] " + row.message, row.match);
        EXPECT_TRUE(call.contents() == before) << "the failing call changed inputs or outputs";
        EXPECT_TRUE(call.guards_intact());
      }
      for (const ApiFunction<Call>& function : table.accepted_by) {
        SCOPED_TRACE(function.name);
        Call call(handle, table.inputs);
        row.change(call);
        EXPECT_EQ((call.*function.run)(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      }
    }
  }
}

}  // namespace mluop::test
