// The C boundary: exceptions become a status and a message.
#include "core/boundary.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>

namespace mluop::test {
namespace {

TEST(CoreBoundary, SuccessKeepsTheLastError) {
  report_failure("before", MLUOP_STATUS_BAD_PARAM, "kept");
  bool ran = false;
  EXPECT_EQ(run_guarded("example", [&] { ran = true; }), MLUOP_STATUS_SUCCESS);
  EXPECT_TRUE(ran);
  EXPECT_STREQ(last_error(), "[before] kept");
}

TEST(CoreBoundary, Exceptions) {
  const struct {
    std::function<void()> body;
    mluOpStatus_t status;
    const char* message;
  } kTable[] = {
      {[] { throw Failure(MLUOP_STATUS_NOT_SUPPORTED, "not that"); }, MLUOP_STATUS_NOT_SUPPORTED,
       "[example] not that"},
      {[] { throw Failure(MLUOP_STATUS_EXECUTION_FAILED, ""); }, MLUOP_STATUS_EXECUTION_FAILED, "[example] "},
      {[] { throw std::bad_alloc(); }, MLUOP_STATUS_ALLOC_FAILED, "[example] out of memory"},
      // new[] with an invalid size throws a kind of bad_alloc.
      {[] { throw std::bad_array_new_length(); }, MLUOP_STATUS_ALLOC_FAILED, "[example] out of memory"},
      {[] { throw std::logic_error("a bug"); }, MLUOP_STATUS_INTERNAL_ERROR, "[example] a bug"},
      {[] { throw 42; }, MLUOP_STATUS_INTERNAL_ERROR, "[example] unknown exception"},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.message);
    EXPECT_EQ(run_guarded("example", row.body), row.status);
    EXPECT_STREQ(last_error(), row.message);
  }
}

}  // namespace
}  // namespace mluop::test
