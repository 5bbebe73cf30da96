// The rules for arguments, and the C boundary, where exceptions become a status and a message.
#include "core/checks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <new>
#include <ostream>
#include <stdexcept>

#include "core/boundary.h"

namespace mluop::test {
namespace {

TEST(CoreChecks, SuccessKeepsTheLastError) {
  report_failure("before", MLUOP_STATUS_BAD_PARAM, "kept");
  const int value = 0;
  bool ran = false;
  const auto rules_that_hold = [&] {
    require(true, MLUOP_STATUS_NOT_SUPPORTED, "not shown");
    require_not_null("value", &value);
    require_positive("n", 1);
    require_positive("n", INT64_MAX);
    ran = true;
  };
  EXPECT_EQ(run_guarded("example", rules_that_hold), MLUOP_STATUS_SUCCESS);
  EXPECT_TRUE(ran);
  EXPECT_STREQ(last_error(), "[before] kept");
}

TEST(CoreChecks, Failures) {
  const struct {
    std::function<void()> body;
    const char* message;
    mluOpStatus_t status;
  } kTable[] = {
      {[] { require(false, MLUOP_STATUS_NOT_SUPPORTED, "n is ", 3, ", expected ", "4"); },
       "[example] n is 3, expected 4", MLUOP_STATUS_NOT_SUPPORTED},
      {[] { require_not_null("handle", nullptr); }, "[example] handle is null", MLUOP_STATUS_BAD_PARAM},
      {[] { require_positive("n", 0); }, "[example] n is 0, expected at least 1", MLUOP_STATUS_BAD_PARAM},
      {[] { require_positive("n", INT64_MIN); }, "[example] n is -9223372036854775808, expected at least 1",
       MLUOP_STATUS_BAD_PARAM},
      {[] { throw Failure(MLUOP_STATUS_EXECUTION_FAILED, ""); }, "[example] ", MLUOP_STATUS_EXECUTION_FAILED},
      {[] { throw std::bad_alloc(); }, "[example] out of memory", MLUOP_STATUS_ALLOC_FAILED},
      // new[] with an invalid size throws a kind of bad_alloc.
      {[] { throw std::bad_array_new_length(); }, "[example] out of memory", MLUOP_STATUS_ALLOC_FAILED},
      {[] { throw std::logic_error("a bug"); }, "[example] a bug", MLUOP_STATUS_INTERNAL_ERROR},
      {[] { throw 42; }, "[example] unknown exception", MLUOP_STATUS_INTERNAL_ERROR},
  };
  for (const auto& row : kTable) {
    EXPECT_EQ(run_guarded("example", row.body), row.status) << row.message;
    EXPECT_STREQ(last_error(), row.message);
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
