// The library across fork(), at the exit of the process, and in unusual threads of the host: at the end of a
// thread, in a cancelled thread, on a small stack.
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "ops/operator_cases.h"
#include "support/child_process.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/solved_case.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

constexpr const char* kMessage = "[mluOpDestroy] handle is null";

bool fails_as_documented() {
  return mluOpDestroy(nullptr) == MLUOP_STATUS_BAD_PARAM && mluOpOmpGetLastError() == std::string(kMessage);
}

// OpenMP runtimes keep threads between teams, and a child process has none of them.
TEST(ApiProcess, ForkAfterUse) {
  const ScopedThreads threads(3);
  // Integers: their sums are exact in any order.
  const SolvedCase sums = solve(with_values(
      make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT, {{"num_points", 5000}, {"num_channels", 6}}),
      Values::kIntegers, 1));
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle inherited(algorithm);
    const auto solves = [&] { return sums.solved_by(inherited); };
    ASSERT_TRUE(solves());
    EXPECT_EQ(exit_status_of_child(solves), 0);
    EXPECT_EQ(exit_status_of_child([&] { return sums.solved_by(Handle(algorithm)); }), 0);
    // A child of the child, and the parent afterwards.
    EXPECT_EQ(exit_status_of_child([&] { return exit_status_of_child(solves) == 0; }), 0);
    EXPECT_TRUE(solves());
  }
}

class ApiProcessDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  ScopedEnvironment log_{"MLUOP_LOG_LEVEL", "error"};
};

void fail_at_exit() {
  if (!fails_as_documented()) _exit(1);
}

// An exit handler registered before the first call, and the destructor of an object constructed before the first
// call, run after the destructors of the objects that this call has constructed.
TEST_F(ApiProcessDeathTest, CallsAtExit) {
  struct FailsInDestructor {
    ~FailsInDestructor() { fail_at_exit(); }
  };
  const auto call_and_exit = [] {
    std::atexit(fail_at_exit);
    static const FailsInDestructor object;
    mluOpSetQueue(nullptr, nullptr);
    std::exit(0);
  };
  EXPECT_EXIT(call_and_exit(), ::testing::ExitedWithCode(0),
              "mluOpSetQueue.*\n.*mluOpDestroy. handle is null\n.*mluOpDestroy. handle is null");
}

// A handle that is created at the exit of the process reads settings as the first one does.
TEST_F(ApiProcessDeathTest, HandlesAreCreatedAtExit) {
  // Longer than a string stores without an allocation.
  const ScopedEnvironment simd("MLUOP_OMP_SIMD", "no instruction set of any machine has this name");
  const auto create_at_exit = [] {
    std::atexit([] {
      mluOpHandle_t handle = nullptr;
      mluOpSetQueue(nullptr, nullptr);
      if (mluOpCreate(&handle) != MLUOP_STATUS_BAD_PARAM) _exit(1);
    });
    mluOpHandle_t handle = nullptr;
    mluOpCreate(&handle);
    std::exit(0);
  };
  const std::string message = "MLUOP_OMP_SIMD is .no instruction set of any machine has this name., expected";
  EXPECT_EXIT(create_at_exit(), ::testing::ExitedWithCode(0), message + ".*\n.*mluOpSetQueue.*\n.*" + message);
}

// Threads whose calls fail until the process has ended.
TEST_F(ApiProcessDeathTest, CallsOfThreadsDuringExit) {
  const auto exit_during_calls = [] {
    std::atomic<int> calling{0};
    for (int i = 0; i < 4; ++i) {
      std::thread([&] {
        mluOpDestroy(nullptr);
        for (++calling;;) mluOpDestroy(nullptr);
      }).detach();
    }
    while (calling < 4) std::this_thread::yield();
    std::exit(0);
  };
  for (int i = 0; i < 10; ++i) EXPECT_EXIT(exit_during_calls(), ::testing::ExitedWithCode(0), "handle is null");
}

// Runs `body` on a thread and returns the result of pthread_join().
void* run_on_thread(const std::function<void()>& body, size_t stack_bytes = 8 << 20) {
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
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

// A destructor of a pthread key runs after the destructors of thread-local objects.
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
  const cases::Case the_case = first_operator_case().made;
  int completed = 0;
  bool beyond = false;
  ::testing::internal::CaptureStderr();
  const void* result = run_on_thread([&] {
    const Handle handle;
    pthread_cancel(pthread_self());
    if (fails_as_documented()) ++completed;
    if (OperatorCall(handle, the_case).run() == MLUOP_STATUS_SUCCESS) ++completed;
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
  EXPECT_NE(lines.find(cases::operator_of(the_case.op_name, {}).function), std::string::npos);
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

// A host thread that calls operators may have a small stack, also while the library logs. OpenMP sets the stacks
// of the team's threads.
TEST_F(ApiThread, OperatorsNeedLittleStack) {
  if (kSanitizer) GTEST_SKIP() << "sanitizers enlarge stack frames";
  constexpr size_t kStackBytes = 64 << 10;
  const ScopedEnvironment log("MLUOP_LOG_LEVEL", "debug");
  for (const OperatorCase& test : operator_cases()) {
    for (const auto algorithm : algorithms_of(test)) {
      SCOPED_TRACE(test.name + ' ' + text_of(algorithm));
      ::testing::internal::CaptureStderr();
      const Handle handle(algorithm);
      const OperatorCall call(handle, test.made);
      mluOpStatus_t status = MLUOP_STATUS_INTERNAL_ERROR;
      bool failed = false;
      const auto body = [&] {
        status = call.run();
        failed = fails_as_documented();
      };
      run_on_thread(body, kStackBytes);
      ::testing::internal::GetCapturedStderr();
      EXPECT_EQ(status, MLUOP_STATUS_SUCCESS);
      EXPECT_TRUE(failed);
      EXPECT_TRUE(call.intact());
    }
  }
}

}  // namespace
}  // namespace mluop::test
