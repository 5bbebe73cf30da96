// The handle: queue, atomics mode, null arguments.
#include <gtest/gtest.h>

#include "support/api.h"
#include "support/api_errors.h"

namespace mluop::test {
namespace {

cnrtQueue_t queue_at(int& place) { return reinterpret_cast<cnrtQueue_t>(&place); }

TEST(ApiHandle, StartsWithoutAtomicsAndQueue) {
  mluOpHandle_t handle = nullptr;
  ASSERT_EQ(mluOpCreate(&handle), MLUOP_STATUS_SUCCESS);
  ASSERT_NE(handle, nullptr);
  int place = 0;
  cnrtQueue_t queue = queue_at(place);
  auto mode = MLUOP_ATOMICS_ALLOWED;
  EXPECT_EQ(mluOpGetQueue(handle, &queue), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(queue, nullptr);
  EXPECT_EQ(mluOpGetAtomicsMode(handle, &mode), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mode, MLUOP_ATOMICS_NOT_ALLOWED);
  EXPECT_EQ(mluOpDestroy(handle), MLUOP_STATUS_SUCCESS);
}

TEST(ApiHandle, Queue) {
  const Handle handle;
  int places[2] = {};
  for (const cnrtQueue_t wanted : {queue_at(places[0]), queue_at(places[1]), cnrtQueue_t{nullptr}}) {
    EXPECT_EQ(mluOpSetQueue(handle, wanted), MLUOP_STATUS_SUCCESS);
    cnrtQueue_t found = queue_at(places[0]);
    EXPECT_EQ(mluOpGetQueue(handle, &found), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(found, wanted);
  }
}

TEST(ApiHandle, AtomicsMode) {
  const Handle handle;
  for (const auto wanted : {MLUOP_ATOMICS_ALLOWED, MLUOP_ATOMICS_NOT_ALLOWED}) {
    EXPECT_EQ(mluOpSetAtomicsMode(handle, wanted), MLUOP_STATUS_SUCCESS);
    auto found = MLUOP_ATOMICS_NOT_ALLOWED;
    EXPECT_EQ(mluOpGetAtomicsMode(handle, &found), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(found, wanted);
  }
}

TEST(ApiHandle, HandlesAreIndependent) {
  const Handle first, second;
  int place = 0;
  ASSERT_EQ(mluOpSetAtomicsMode(first, MLUOP_ATOMICS_ALLOWED), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSetQueue(first, queue_at(place)), MLUOP_STATUS_SUCCESS);
  cnrtQueue_t queue = queue_at(place);
  auto mode = MLUOP_ATOMICS_ALLOWED;
  EXPECT_EQ(mluOpGetQueue(second, &queue), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(queue, nullptr);
  EXPECT_EQ(mluOpGetAtomicsMode(second, &mode), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mode, MLUOP_ATOMICS_NOT_ALLOWED);
}

TEST(ApiHandle, Errors) {
  const Handle handle;
  ASSERT_EQ(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED), MLUOP_STATUS_SUCCESS);
  int place = 0;
  cnrtQueue_t queue = queue_at(place);
  auto mode = MLUOP_ATOMICS_ALLOWED;
  const auto set_mode = [&](int value) {
    return mluOpSetAtomicsMode(handle, static_cast<mluOpAtomicsMode_t>(value));
  };
  expect_errors({
      {[&] { return mluOpCreate(nullptr); }, "[mluOpCreate] handle is null"},
      {[&] { return mluOpDestroy(nullptr); }, "[mluOpDestroy] handle is null"},
      {[&] { return mluOpUpdateContextInformation(nullptr); }, "[mluOpUpdateContextInformation] handle is null"},
      {[&] { return mluOpSetQueue(nullptr, queue); }, "[mluOpSetQueue] handle is null"},
      {[&] { return mluOpGetQueue(nullptr, &queue); }, "[mluOpGetQueue] handle is null"},
      {[&] { return mluOpGetQueue(handle, nullptr); }, "[mluOpGetQueue] queue is null"},
      {[&] { return mluOpSetAtomicsMode(nullptr, mode); }, "[mluOpSetAtomicsMode] handle is null"},
      {[&] { return set_mode(0); },
       "[mluOpSetAtomicsMode] atomics_mode is 0, expected MLUOP_ATOMICS_NOT_ALLOWED (1) or "
       "MLUOP_ATOMICS_ALLOWED (2)"},
      {[&] { return set_mode(3); },
       "[mluOpSetAtomicsMode] atomics_mode is 3, expected MLUOP_ATOMICS_NOT_ALLOWED (1) or "
       "MLUOP_ATOMICS_ALLOWED (2)"},
      {[&] { return mluOpGetAtomicsMode(nullptr, &mode); }, "[mluOpGetAtomicsMode] handle is null"},
      {[&] { return mluOpGetAtomicsMode(handle, nullptr); }, "[mluOpGetAtomicsMode] atomics_mode is null"},
  });
  EXPECT_EQ(queue, queue_at(place));
  EXPECT_EQ(mluOpGetAtomicsMode(handle, &mode), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mode, MLUOP_ATOMICS_ALLOWED);
}

}  // namespace
}  // namespace mluop::test
