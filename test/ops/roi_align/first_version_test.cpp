// mluOpRoiAlignBackward, the first version, which MLU-OPS declares and refuses.
#include <gtest/gtest.h>

#include "support/api.h"

namespace mluop::test {
namespace {

TEST(OpsRoiAlignErrors, FirstVersionOfBackward) {
  const Handle handle;
  for (mluOpHandle_t each : {mluOpHandle_t{nullptr}, mluOpHandle_t{handle}}) {
    EXPECT_EQ(mluOpRoiAlignBackward(each, 1, 2, true, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
              MLUOP_STATUS_NOT_SUPPORTED);
    EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpRoiAlignBackward] not supported, use mluOpRoiAlignBackward_v2");
  }
}

}  // namespace
}  // namespace mluop::test
