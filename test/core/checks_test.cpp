// The rules for arguments: status and message of each.
#include "core/checks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>

namespace mluop::test {
namespace {

TEST(CoreChecks, RulesThatHold) {
  const int value = 0;
  EXPECT_NO_THROW(require(true, MLUOP_STATUS_NOT_SUPPORTED, "not shown"));
  EXPECT_NO_THROW(require_not_null("value", &value));
  EXPECT_NO_THROW(require_positive("n", 1));
  EXPECT_NO_THROW(require_positive("n", INT64_MAX));
}

TEST(CoreChecks, Failures) {
  const struct {
    std::function<void()> rule;
    const char* message;
    mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
  } kTable[] = {
      {[] { require(false, MLUOP_STATUS_NOT_SUPPORTED, "n is ", 3, ", expected ", "4"); }, "n is 3, expected 4",
       MLUOP_STATUS_NOT_SUPPORTED},
      {[] { require_not_null("handle", nullptr); }, "handle is null"},
      {[] { require_positive("n", 0); }, "n is 0, expected at least 1"},
      {[] { require_positive("n", INT64_MIN); }, "n is -9223372036854775808, expected at least 1"},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.message);
    try {
      row.rule();
      ADD_FAILURE() << "does not throw";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, row.status);
      EXPECT_STREQ(failure.what(), row.message);
    }
  }
}

// A part of a message that counts how often it is written.
struct CountedPart {
  friend std::ostream& operator<<(std::ostream& out, const CountedPart& part) {
    ++part.written;
    return out << "part";
  }
  int& written;
};

TEST(CoreChecks, MessagesAreBuiltOnFailureOnly) {
  int written = 0;
  require(true, MLUOP_STATUS_BAD_PARAM, CountedPart{written});
  EXPECT_EQ(written, 0);
  EXPECT_THROW(require(false, MLUOP_STATUS_BAD_PARAM, CountedPart{written}), Failure);
  EXPECT_EQ(written, 1);
}

}  // namespace
}  // namespace mluop::test
