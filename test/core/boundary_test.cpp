// The C boundary converts exceptions to a status and a last error.
#include "core/boundary.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <vector>

namespace mluop::test {
namespace {

TEST(CoreBoundary, ReturnsTheStatusOfTheBody) {
  fail("before", MLUOP_STATUS_BAD_PARAM, "kept");
  for (const auto status : {MLUOP_STATUS_SUCCESS, MLUOP_STATUS_NOT_SUPPORTED}) {
    EXPECT_EQ(guarded("example", [&] { return status; }), status);
  }
  EXPECT_STREQ(last_error(), "[before] kept");
}

TEST(CoreBoundary, Exceptions) {
  const struct {
    std::function<void()> thrower;
    mluOpStatus_t status;
    const char* message;
  } kTable[] = {
      {[] { throw Failure(MLUOP_STATUS_NOT_SUPPORTED, "not that"); }, MLUOP_STATUS_NOT_SUPPORTED,
       "[example] not that"},
      {[] { throw Failure(MLUOP_STATUS_EXECUTION_FAILED, ""); }, MLUOP_STATUS_EXECUTION_FAILED, "[example] "},
      {[] { throw std::bad_alloc(); }, MLUOP_STATUS_ALLOC_FAILED, "[example] out of memory"},
      // new[] of an invalid size throws a class derived from bad_alloc.
      {[] { throw std::bad_array_new_length(); }, MLUOP_STATUS_ALLOC_FAILED, "[example] out of memory"},
      {[] { throw std::logic_error("a bug"); }, MLUOP_STATUS_INTERNAL_ERROR, "[example] a bug"},
      {[] { throw 42; }, MLUOP_STATUS_INTERNAL_ERROR, "[example] unknown exception"},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.message);
    EXPECT_EQ(guarded("example",
                      [&] {
                        row.thrower();
                        return MLUOP_STATUS_SUCCESS;
                      }),
              row.status);
    EXPECT_STREQ(last_error(), row.message);
  }
}

}  // namespace
}  // namespace mluop::test
