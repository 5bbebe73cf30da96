// Calls in unusual threads of the host: at the end of a thread, in a cancelled thread, on a small stack.
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>

#include <functional>
#include <string>

#include "ops/operator_cases.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr const char* kMessage = "[mluOpDestroy] handle is null";

bool fails_as_documented() {
  return mluOpDestroy(nullptr) == MLUOP_STATUS_BAD_PARAM && mluOpOmpGetLastError() == std::string(kMessage);
}

// Runs `body` on a thread and returns what pthread_join() does. stack_bytes 0: the default.
void* run_on_thread(const std::function<void()>& body, size_t stack_bytes = 0) {
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  if (stack_bytes > 0) {
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
  }
  pthread_t thread;
  const auto start = [](void* opaque) -> void* {
    (*static_cast<const std::function<void()>*>(opaque))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&body)), 0);
  void* result = nullptr;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(pthread_attr_destroy(&attributes), 0);
  return result;
}

class ApiThread : public ::testing::Test {
 protected:
  // Restores the log level, which is global.
  ~ApiThread() override { Handle(); }
};

// A destructor of a pthread key runs after those of thread-local objects.
TEST_F(ApiThread, CallsFailInTheDestructorOfAKey) {
  static bool failed;
  failed = false;
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, [](void*) { failed = fails_as_documented(); }), 0);
  run_on_thread([&] {
    EXPECT_TRUE(fails_as_documented());
    pthread_setspecific(key, &key);
  });
  EXPECT_TRUE(failed);
  pthread_key_delete(key);
}

// The write of the log line is a cancellation point, a call is not.
TEST_F(ApiThread, CallsAreNoCancellationPoints) {
  const ScopedEnvironment log("MLUOP_LOG_LEVEL", "debug");
  const auto cases = operator_cases();
  int completed = 0;
  bool beyond = false;
  ::testing::internal::CaptureStderr();
  const void* result = run_on_thread([&] {
    const Handle handle;
    pthread_cancel(pthread_self());
    if (fails_as_documented()) ++completed;
    if (OperatorCall(handle, cases.front().made).run() == MLUOP_STATUS_SUCCESS) ++completed;
    // The cancellation is still requested.
    mluOpDestroyTensorDescriptor(nullptr);
    pthread_testcancel();
    beyond = true;
  });
  const std::string lines = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(completed, 2);
  EXPECT_FALSE(beyond);
  EXPECT_NE(lines.find(kMessage), std::string::npos);
  EXPECT_NE(lines.find("mluOpBallQuery"), std::string::npos);
}

// The state of the thread is the same after a call.
TEST_F(ApiThread, CancellationStateIsKept) {
  for (const int wanted : {PTHREAD_CANCEL_DISABLE, PTHREAD_CANCEL_ENABLE}) {
    int before, found;
    pthread_setcancelstate(wanted, &before);
    EXPECT_TRUE(fails_as_documented());
    pthread_setcancelstate(before, &found);
    EXPECT_EQ(found, wanted);
  }
}

// The stack of a host thread that calls operators may be small. Those of the team are OpenMP's.
TEST_F(ApiThread, OperatorsNeedLittleStack) {
  if (kSanitizer) GTEST_SKIP() << "sanitizers enlarge stack frames";
  constexpr size_t kStackBytes = 64 << 10;
  for (const OperatorCase& test : operator_cases()) {
    SCOPED_TRACE(test.name);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      for (const char* level : {"off", "debug"}) {
        const ScopedEnvironment log("MLUOP_LOG_LEVEL", level);
        ::testing::internal::CaptureStderr();
        const Handle handle(algorithm);
        const OperatorCall call(handle, test.made);
        mluOpStatus_t status = MLUOP_STATUS_INTERNAL_ERROR;
        bool failed = false;
        run_on_thread(
            [&] {
              status = call.run();
              failed = fails_as_documented();
            },
            kStackBytes);
        ::testing::internal::GetCapturedStderr();
        EXPECT_EQ(status, MLUOP_STATUS_SUCCESS);
        EXPECT_TRUE(failed);
        EXPECT_TRUE(call.intact());
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
