// The scaffold of error tables reports each deviation from a row.
#include "support/error_table.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mluop::test {
namespace {

// A function that fails as mluOpSetQueue does, with side effects on request.
struct FakeCall : GuardedCall {
  using Inputs = std::vector<int>;

  FakeCall(mluOpHandle_t with, const Inputs& values)
      : GuardedCall(with), input(values), output(values.size()), workspace(values.size()) {
    set_buffers({&input}, {&output}, {&workspace});
  }

  mluOpStatus_t run() const {
    if (change_at != nullptr) *change_at = ~*change_at;
    return succeeds ? MLUOP_STATUS_SUCCESS : mluOpSetQueue(nullptr, nullptr);
  }
  static constexpr ApiFunction<FakeCall> kOperator = {"mluOpSetQueue", &FakeCall::run};

  GuardedBuffer<int> input, output, workspace;
  int* change_at = nullptr;
  bool succeeds = false;
};

using Table = ErrorTable<FakeCall>;

void check(const ErrorRow<FakeCall>& row) {
  expect_errors(Table{.inputs = {1, 2, 3}, .algorithms = {MLUOP_OMP_ALGORITHM_NATIVE}, .rows = {row}});
}

const std::string kMessage = "handle is null";

TEST(SupportErrorTable, AcceptsWhatTheRowStates) {
  check({"message", no_change, kMessage});
  check({"beginning", no_change, "handle ", MLUOP_STATUS_BAD_PARAM, Match::kBeginning});
  check({"changed by the row", [](auto& c) { c.input[0] = 7; }, kMessage});
  check({"workspace", [](auto& c) { c.change_at = c.workspace.data(); }, kMessage});
}

TEST(SupportErrorTable, ReportsStatus) {
  EXPECT_NONFATAL_FAILURE(check({"", no_change, kMessage, MLUOP_STATUS_NOT_SUPPORTED}), "status");
}

TEST(SupportErrorTable, ReportsMessage) {
  EXPECT_NONFATAL_FAILURE(check({"", no_change, "handle is nul"}), "handle is null");
  EXPECT_NONFATAL_FAILURE(check({"", no_change, "queue ", MLUOP_STATUS_BAD_PARAM, Match::kBeginning}), "queue");
}

TEST(SupportErrorTable, ReportsWrites) {
  const std::string changed = "changed inputs or outputs";
  EXPECT_NONFATAL_FAILURE(check({"", [](auto& c) { c.change_at = &c.input[2]; }, kMessage}), changed);
  EXPECT_NONFATAL_FAILURE(check({"", [](auto& c) { c.change_at = &c.output[0]; }, kMessage}), changed);
  const std::string guards = "guards_intact";
  EXPECT_NONFATAL_FAILURE(check({"", [](auto& c) { c.change_at = c.output.data() - 1; }, kMessage}), guards);
  EXPECT_NONFATAL_FAILURE(check({"", [](auto& c) { c.change_at = c.input.data() + 3; }, kMessage}), guards);
  EXPECT_NONFATAL_FAILURE(check({"", [](auto& c) { c.change_at = c.workspace.data() + 3; }, kMessage}), guards);
}

TEST(SupportErrorTable, ReportsFunctionsThatDoNotAccept) {
  const Table table{.inputs = {1},
                    .functions = {},
                    .accepted_by = {FakeCall::kOperator},
                    .algorithms = {MLUOP_OMP_ALGORITHM_DEVICE},
                    .rows = {{"succeeds", set(&FakeCall::succeeds, true), ""}}};
  expect_errors(table);
  Table failing = table;
  failing.rows = {{"fails", no_change, ""}};
  EXPECT_NONFATAL_FAILURE(expect_errors(failing), "MLUOP_STATUS_SUCCESS");
}

}  // namespace
}  // namespace mluop::test
