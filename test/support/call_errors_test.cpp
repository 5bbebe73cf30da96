// expect_errors() reports each deviation from a row.
#include "support/call_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

namespace mluop::test {
namespace {

using ::testing::_, ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty;

// The query reads only the descriptor of known.
const CallError kKnown = {set_shape("known", {2, 1500, 4}), "known dim 2 is 4, expected 3"};
const CallError kUnknown = {set_shape("unknown", {2, 64, 4}), "unknown dim 2 is 4, expected 3"};

std::vector<std::string> failures(const CallError& row, Query query = Query::kNotCalled) {
  ::testing::TestPartResultArray results;
  auto reporter = std::make_unique<::testing::ScopedFakeTestPartResultReporter>(&results);
  expect_errors(make_case("three_nn_forward", MLUOP_DTYPE_FLOAT, {{"m", 1500}}), {row},
                {.algorithms = {MLUOP_OMP_ALGORITHM_NATIVE}, .query = query});
  reporter.reset();
  std::vector<std::string> messages;
  for (int i = 0; i < results.size(); ++i) messages.emplace_back(results.GetTestPartResult(i).message());
  return messages;
}

TEST(SupportCallErrors, StatusMessageAndQuery) {
  EXPECT_THAT(failures(kKnown, Query::kFails), IsEmpty());
  EXPECT_THAT(failures(kUnknown, Query::kSucceeds), IsEmpty());
  EXPECT_THAT(failures({kKnown.change, kKnown.message, MLUOP_STATUS_SUCCESS}), ElementsAre(HasSubstr("status")));
  EXPECT_THAT(failures({kKnown.change, "known dim 2"}), ElementsAre(HasSubstr(kKnown.message)));
  EXPECT_THAT(failures(kKnown, Query::kSucceeds), ElementsAre(HasSubstr("query")));
  EXPECT_THAT(failures(kUnknown, Query::kFails), ElementsAre(HasSubstr("status"), HasSubstr("handle is null")));
}

TEST(SupportCallErrors, Writes) {
  EXPECT_THAT(failures({no_change, ""}), ElementsAre(_, _, HasSubstr("changed inputs or outputs")));
  for (const size_t i : {0, 1, 2, 3}) {
    for (const bool at_end : {false, true}) {
      const Change write = [=](OperatorCall& call) {
        kKnown.change(call);
        call.arguments[i].data[at_end ? call.arguments[i].bytes() : -1] ^= std::byte{1};
      };
      EXPECT_THAT(failures({write, kKnown.message}), ElementsAre(HasSubstr("guards_intact")));
    }
  }
}

}  // namespace
}  // namespace mluop::test
