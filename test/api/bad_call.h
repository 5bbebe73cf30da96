// Error tables of the API: one bad argument, one status, one message.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>

#include "mlu_op_omp.h"

namespace mluop::test {

struct BadCall {
  std::function<mluOpStatus_t()> call;
  const char* message;  // the whole text of the last error
  mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
};

inline void expect_refused(std::initializer_list<BadCall> table) {
  for (const BadCall& bad : table) {
    SCOPED_TRACE(bad.message);
    // A failure of another kind first, so that a text left from the row before cannot pass.
    mluOpSetQueue(nullptr, nullptr);
    EXPECT_EQ(bad.call(), bad.status);
    EXPECT_STREQ(mluOpOmpGetLastError(), bad.message);
  }
}

}  // namespace mluop::test
