// Calls of the API that must fail: status and last error.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "mlu_op_omp.h"

namespace mluop::test {

// Requires the status and the last error, which must equal `message`.
inline void expect_failure(const std::function<mluOpStatus_t()>& call, mluOpStatus_t status,
                           const std::string& message) {
  // Replaces the last error, so that the text of an earlier call cannot pass.
  mluOpSetQueue(nullptr, nullptr);
  EXPECT_EQ(call(), status);
  EXPECT_EQ(mluOpOmpGetLastError(), message);
}

struct ApiError {
  std::function<mluOpStatus_t()> call;
  std::string message;
  mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
};

inline void expect_errors(std::initializer_list<ApiError> rows) {
  for (const ApiError& row : rows) {
    SCOPED_TRACE(row.message);
    expect_failure(row.call, row.status, row.message);
  }
}

}  // namespace mluop::test
