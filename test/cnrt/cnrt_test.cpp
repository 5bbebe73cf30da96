// The functions of cnrt.h: results, and the error of each invalid argument.
#include "cnrt.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include "cn_api.h"
#include "mlu_op.h"

namespace {

// Addresses that no function has returned.
int place = 0;
const auto kNoQueue = reinterpret_cast<cnrtQueue_t>(&place);
const auto kNoNotifier = reinterpret_cast<cnrtNotifier_t>(&place);

TEST(Cnrt, HasOneDevice) {
  unsigned int count = 0;
  EXPECT_EQ(cnrtGetDeviceCount(&count), cnrtSuccess);
  EXPECT_EQ(count, 1U);
  int ordinal = -1;
  EXPECT_EQ(cnrtGetDevice(&ordinal), cnrtSuccess);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(cnrtSetDevice(ordinal), cnrtSuccess);
  EXPECT_EQ(cnrtSetDevice(1), cnrtErrorDeviceInvalid);
  EXPECT_EQ(cnrtSetDevice(-1), cnrtErrorDeviceInvalid);
  EXPECT_EQ(cnrtGetDeviceCount(nullptr), cnrtErrorArgsInvalid);
  EXPECT_EQ(cnrtGetDevice(nullptr), cnrtErrorArgsInvalid);
}

TEST(Cnrt, QueuesAreHandles) {
  cnrtQueue_t queue = nullptr;
  ASSERT_EQ(cnrtQueueCreate(&queue), cnrtSuccess);
  cnrtQueue_t other = nullptr;
  ASSERT_EQ(cnrtQueueCreate(&other), cnrtSuccess);
  EXPECT_NE(queue, other);
  EXPECT_EQ(cnrtQueueSync(queue), cnrtSuccess);
  EXPECT_EQ(cnrtQueueSync(nullptr), cnrtSuccess);
  EXPECT_EQ(cnrtQueueSync(kNoQueue), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtQueueDestroy(queue), cnrtSuccess);
  EXPECT_EQ(cnrtQueueSync(queue), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtQueueDestroy(queue), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtQueueDestroy(nullptr), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtQueueDestroy(other), cnrtSuccess);
  EXPECT_EQ(cnrtQueueCreate(nullptr), cnrtErrorArgsInvalid);
}

TEST(Cnrt, MallocReturnsAlignedDistinctAddresses) {
  std::set<void*> addresses;
  for (const std::size_t bytes : {0, 0, 1, 63, 64, 65, 4096}) {
    void* ptr = nullptr;
    ASSERT_EQ(cnrtMalloc(&ptr, bytes), cnrtSuccess) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ptr) % 64, 0U) << bytes;
    EXPECT_EQ(cnrtMemset(ptr, 0x5A, bytes), cnrtSuccess);
    addresses.insert(ptr);
  }
  EXPECT_EQ(addresses.size(), 7U);
  EXPECT_FALSE(addresses.contains(nullptr));
  for (void* ptr : addresses) EXPECT_EQ(cnrtFree(ptr), cnrtSuccess);
  EXPECT_EQ(cnrtFree(nullptr), cnrtSuccess);
  EXPECT_EQ(cnrtFree(&place), cnrtErrorArgsInvalid);
}

TEST(Cnrt, MemoryIsFreedOnce) {
  void* ptr = nullptr;
  ASSERT_EQ(cnrtMalloc(&ptr, 8), cnrtSuccess);
  EXPECT_EQ(cnrtFree(static_cast<char*>(ptr) + 1), cnrtErrorArgsInvalid);
  EXPECT_EQ(cnrtFree(ptr), cnrtSuccess);
  EXPECT_EQ(cnrtFree(ptr), cnrtErrorArgsInvalid);
}

TEST(Cnrt, FailedMallocLeavesThePointer) {
  void* ptr = &place;
  EXPECT_EQ(cnrtMalloc(&ptr, std::numeric_limits<std::size_t>::max()), cnrtErrorNoMem);
  EXPECT_EQ(ptr, &place);
  EXPECT_EQ(cnrtMalloc(nullptr, 8), cnrtErrorArgsInvalid);
}

TEST(Cnrt, MemcpyCopiesInEveryDirection) {
  std::vector<int> values(8);
  std::iota(values.begin(), values.end(), 1);
  const std::size_t bytes = values.size() * sizeof(int);
  void* ptr = nullptr;
  ASSERT_EQ(cnrtMalloc(&ptr, bytes), cnrtSuccess);
  for (const cnrtMemTransDir_t dir : {cnrtMemcpyHostToDev, cnrtMemcpyDevToDev, cnrtMemcpyDevToHost,
                                      cnrtMemcpyHostToHost, cnrtMemcpyPeerToPeer, cnrtMemcpyNoDirection}) {
    ASSERT_EQ(cnrtMemset(ptr, 0, bytes), cnrtSuccess);
    ASSERT_EQ(cnrtMemcpy(ptr, values.data(), bytes, dir), cnrtSuccess);
    std::vector<int> found(values.size());
    ASSERT_EQ(cnrtMemcpy(found.data(), ptr, bytes, cnrtMemcpyDevToHost), cnrtSuccess);
    EXPECT_EQ(found, values) << dir;
  }
  EXPECT_EQ(cnrtFree(ptr), cnrtSuccess);
  // Ranges that overlap.
  EXPECT_EQ(cnrtMemcpy(values.data() + 1, values.data(), bytes - sizeof(int), cnrtMemcpyDevToDev), cnrtSuccess);
  EXPECT_EQ(values, (std::vector{1, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Cnrt, MemcpyAndMemsetCheckTheirArguments) {
  int value = 7;
  EXPECT_EQ(cnrtMemcpy(nullptr, &value, 4, cnrtMemcpyHostToDev), cnrtErrorArgsInvalid);
  EXPECT_EQ(cnrtMemcpy(&value, nullptr, 4, cnrtMemcpyHostToDev), cnrtErrorArgsInvalid);
  EXPECT_EQ(cnrtMemcpy(nullptr, nullptr, 0, cnrtMemcpyHostToDev), cnrtSuccess);
  EXPECT_EQ(cnrtMemcpy(&value, &place, 4, static_cast<cnrtMemTransDir_t>(6)), cnrtErrorMemcpyDirectionInvalid);
  EXPECT_EQ(cnrtMemset(nullptr, 0, 4), cnrtErrorArgsInvalid);
  EXPECT_EQ(cnrtMemset(nullptr, 0, 0), cnrtSuccess);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(cnrtMemset(&value, 0x101, 4), cnrtSuccess);
  EXPECT_EQ(value, 0x01010101);
}

TEST(Cnrt, NotifiersMeasureMicroseconds) {
  cnrtNotifier_t start = nullptr;
  cnrtNotifier_t end = nullptr;
  ASSERT_EQ(cnrtNotifierCreate(&start), cnrtSuccess);
  ASSERT_EQ(cnrtNotifierCreate(&end), cnrtSuccess);
  float us = -1;
  EXPECT_EQ(cnrtNotifierDuration(start, end, &us), cnrtErrorIllegalState);
  EXPECT_EQ(cnrtPlaceNotifier(start, nullptr), cnrtSuccess);
  EXPECT_EQ(cnrtNotifierDuration(start, end, &us), cnrtErrorIllegalState);
  EXPECT_EQ(us, -1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(cnrtPlaceNotifier(end, nullptr), cnrtSuccess);
  EXPECT_EQ(cnrtNotifierDuration(start, end, &us), cnrtSuccess);
  EXPECT_GE(us, 2000);
  float reversed = 0;
  EXPECT_EQ(cnrtNotifierDuration(end, start, &reversed), cnrtSuccess);
  EXPECT_EQ(reversed, -us);
  EXPECT_EQ(cnrtNotifierDuration(start, end, nullptr), cnrtErrorArgsInvalid);
  EXPECT_EQ(cnrtNotifierDuration(kNoNotifier, end, &us), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtNotifierDuration(start, nullptr, &us), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtPlaceNotifier(start, kNoQueue), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtPlaceNotifier(kNoNotifier, nullptr), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtPlaceNotifier(nullptr, nullptr), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtNotifierDestroy(start), cnrtSuccess);
  EXPECT_EQ(cnrtNotifierDestroy(start), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtPlaceNotifier(start, nullptr), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtNotifierDestroy(end), cnrtSuccess);
  EXPECT_EQ(cnrtNotifierDestroy(nullptr), cnrtErrorInvalidResourceHandle);
  EXPECT_EQ(cnrtNotifierCreate(nullptr), cnrtErrorArgsInvalid);
}

TEST(Cnrt, ThreadsMayCallTheFunctions) {
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&failures] {
      for (int repetition = 0; repetition < 200; ++repetition) {
        cnrtQueue_t queue = nullptr;
        void* ptr = nullptr;
        failures += cnrtQueueCreate(&queue) != cnrtSuccess || cnrtMalloc(&ptr, 16) != cnrtSuccess ||
                    cnrtQueueSync(queue) != cnrtSuccess || cnrtFree(ptr) != cnrtSuccess ||
                    cnrtQueueDestroy(queue) != cnrtSuccess;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

// The values of the SDK, which programs may have compiled in.
TEST(Cnrt, EnumeratorsHaveTheValuesOfTheSdk) {
  EXPECT_EQ(cnrtSuccess, 0);
  EXPECT_EQ(cnrtErrorDeviceInvalid, 100005);
  EXPECT_EQ(cnrtErrorArgsInvalid, 100006);
  EXPECT_EQ(cnrtErrorSysNoMem, 100010);
  EXPECT_EQ(cnrtErrorInvalidResourceHandle, 100014);
  EXPECT_EQ(cnrtErrorIllegalState, 100015);
  EXPECT_EQ(cnrtErrorNoMem, 100100);
  EXPECT_EQ(cnrtErrorMemcpyDirectionInvalid, 632013);
  EXPECT_EQ(cnrtMemcpyHostToDev, 0);
  EXPECT_EQ(cnrtMemcpyDevToHost, 2);
}

int calls = 0;
cnrtRet_t counted(cnrtRet_t result) {
  ++calls;
  return result;
}

TEST(Cnrt, CheckEvaluatesTheCallOnce) {
  calls = 0;
  CNRT_CHECK(counted(cnrtSuccess));
  EXPECT_EQ(calls, 1);
}

TEST(CnrtDeathTest, CheckEndsTheProcess) {
  EXPECT_EXIT(CNRT_CHECK(cnrtSetDevice(3)), ::testing::ExitedWithCode(1),
              "cnrt_test.cpp:[0-9]+: cnrt of mluop-omp: cnrtSetDevice\\(3\\) returned 100005");
}

// mlu_op.h has found cnrt.h on the include path.
static_assert(std::is_same_v<cnrtQueue_t, CNqueue_st*>);
#if !defined(MLUOP_OMP_HAS_CNRT) || !defined(MLUOP_OMP_CN_API_H_)
#error "mlu_op.h does not include cnrt.h"
#endif

}  // namespace
