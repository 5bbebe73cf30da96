// The functions that take a handle alone: settings, queries of statistics, memory.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "core/boundary.h"
#include "ops/operator_cases.h"
#include "support/api_errors.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/failing_allocator.h"
#include "support/labels.h"
#include "support/sanitizers.h"
#include "support/trace.h"
#include "team/context.h"

namespace mluop::test {
namespace {

// The values that setters store and getters return.
struct Settings {
  bool operator==(const Settings&) const = default;

  cnrtQueue_t queue = nullptr;
  mluOpAtomicsMode_t atomics_mode = MLUOP_ATOMICS_NOT_ALLOWED;
  mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE;
};

Settings settings_of(mluOpHandle_t handle) {
  int place = 0;
  Settings settings{reinterpret_cast<cnrtQueue_t>(&place), {}, {}};
  require(mluOpGetQueue(handle, &settings.queue));
  require(mluOpGetAtomicsMode(handle, &settings.atomics_mode));
  require(mluOpOmpGetAlgorithm(handle, &settings.algorithm));
  return settings;
}

TEST(ApiHandle, EachHasItsSettings) {
  const Handle first, second;
  EXPECT_EQ(settings_of(first), Settings());
  int places[2] = {};
  const auto queue_at = [](int& place) { return reinterpret_cast<cnrtQueue_t>(&place); };
  const Settings kTable[] = {
      {queue_at(places[0]), MLUOP_ATOMICS_ALLOWED, MLUOP_OMP_ALGORITHM_DEVICE},
      {queue_at(places[1]), MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_OMP_ALGORITHM_NATIVE},
      {nullptr, MLUOP_ATOMICS_ALLOWED, MLUOP_OMP_ALGORITHM_DEVICE},
  };
  for (const Settings& wanted : kTable) {
    EXPECT_EQ(mluOpSetQueue(first, wanted.queue), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(mluOpSetAtomicsMode(first, wanted.atomics_mode), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(mluOpOmpSetAlgorithm(first, wanted.algorithm), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(settings_of(first), wanted);
    EXPECT_EQ(settings_of(second), Settings());
  }
}

// mluOpUpdateContextInformation() reads the environment, as mluOpCreate() does, and replaces the values of
// setters.
TEST(ApiHandle, AlgorithmOfTheEnvironment) {
  constexpr struct {
    const char* value;
    mluOpOmpAlgorithm_t algorithm;
  } kTable[] = {{nullptr, MLUOP_OMP_ALGORITHM_NATIVE},
                {"", MLUOP_OMP_ALGORITHM_NATIVE},
                {"native", MLUOP_OMP_ALGORITHM_NATIVE},
                {"device", MLUOP_OMP_ALGORITHM_DEVICE}};
  for (const auto& row : kTable) {
    const ScopedEnvironment variable("MLUOP_OMP_ALGORITHM", row.value);
    for (const auto algorithm : kAlgorithms) {
      const Handle handle(algorithm);
      require(mluOpUpdateContextInformation(handle));
      EXPECT_EQ(settings_of(handle).algorithm, row.algorithm);
    }
  }
}

// The rounding of quantizations: the device decides the default and what can be set.
TEST(ApiHandle, QuantizeRoundMode) {
  constexpr auto kToEven = MLUOP_ROUND_HALF_TO_EVEN, kUp = MLUOP_ROUND_HALF_UP,
                 kOffZero = MLUOP_ROUND_HALF_OFF_ZERO;
  const auto mode_of = [](mluOpHandle_t handle) {
    auto mode = kUp;
    require(mluOpGetQuantizeRoundMode(handle, &mode));
    return mode;
  };
  for (const std::string device : {"mlu370", "mlu590", "mlu290", "mlu270"}) {
    SCOPED_TRACE(device);
    const ScopedEnvironment variable("MLUOP_OMP_DEVICE", device.c_str());
    const bool has_even = device == "mlu370" || device == "mlu590";
    const Handle handle;
    const auto set = [&](int mode) {
      return mluOpSetQuantizeRoundMode(handle, static_cast<mluOpQuantizeRoundMode_t>(mode));
    };
    EXPECT_EQ(mode_of(handle), has_even ? kToEven : kOffZero);
    for (const auto mode : {kUp, kOffZero}) {
      EXPECT_EQ(set(mode), MLUOP_STATUS_SUCCESS);
      EXPECT_EQ(mode_of(handle), mode);
    }
    const std::string set_error = "[mluOpSetQuantizeRoundMode] ", get_error = "[mluOpGetQuantizeRoundMode] ";
    const std::string modes = std::string(", expected ") + (has_even ? "0" : "1") + " to 2 on " + device;
    expect_errors({
        {[&] { return set(3); }, set_error + "round_mode is 3" + modes},
        {[&] { return mluOpSetQuantizeRoundMode(nullptr, kUp); }, set_error + "handle is null"},
        {[&] { return mluOpGetQuantizeRoundMode(handle, nullptr); }, get_error + "round_mode is null"},
        {[&] {
           auto mode = kUp;
           return mluOpGetQuantizeRoundMode(nullptr, &mode);
         },
         get_error + "handle is null"},
    });
    EXPECT_EQ(mode_of(handle), kOffZero);
    if (has_even) {
      EXPECT_EQ(set(kToEven), MLUOP_STATUS_SUCCESS);
      EXPECT_EQ(mode_of(handle), kToEven);
    } else {
      expect_failure([&] { return set(kToEven); }, MLUOP_STATUS_BAD_PARAM, set_error + "round_mode is 0" + modes);
      EXPECT_EQ(mode_of(handle), kOffZero);
    }
  }
}

TEST(ApiHandle, Errors) {
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED));
  const Settings before = settings_of(handle);
  Settings read = before;
  int count = -7;
  const auto set_mode = [&](int value) {
    return mluOpSetAtomicsMode(handle, static_cast<mluOpAtomicsMode_t>(value));
  };
  // C callers can pass any int.
  const auto set_algorithm = [&](int value) {
    return mluOpOmpSetAlgorithm(handle, static_cast<mluOpOmpAlgorithm_t>(value));
  };
  const std::string algorithms = ", expected MLUOP_OMP_ALGORITHM_NATIVE (0) or MLUOP_OMP_ALGORITHM_DEVICE (1)";
  const std::string modes = ", expected MLUOP_ATOMICS_NOT_ALLOWED (1) or MLUOP_ATOMICS_ALLOWED (2)";
  expect_errors({
      {[&] { return mluOpCreate(nullptr); }, "[mluOpCreate] handle is null"},
      {[&] { return mluOpDestroy(nullptr); }, "[mluOpDestroy] handle is null"},
      {[&] { return mluOpUpdateContextInformation(nullptr); }, "[mluOpUpdateContextInformation] handle is null"},
      {[&] { return mluOpSetQueue(nullptr, read.queue); }, "[mluOpSetQueue] handle is null"},
      {[&] { return mluOpGetQueue(nullptr, &read.queue); }, "[mluOpGetQueue] handle is null"},
      {[&] { return mluOpGetQueue(handle, nullptr); }, "[mluOpGetQueue] queue is null"},
      {[&] { return mluOpSetAtomicsMode(nullptr, read.atomics_mode); }, "[mluOpSetAtomicsMode] handle is null"},
      {[&] { return set_mode(0); }, "[mluOpSetAtomicsMode] atomics_mode is 0" + modes},
      {[&] { return set_mode(3); }, "[mluOpSetAtomicsMode] atomics_mode is 3" + modes},
      {[&] { return mluOpGetAtomicsMode(nullptr, &read.atomics_mode); }, "[mluOpGetAtomicsMode] handle is null"},
      {[&] { return mluOpGetAtomicsMode(handle, nullptr); }, "[mluOpGetAtomicsMode] atomics_mode is null"},
      {[&] { return mluOpOmpSetAlgorithm(nullptr, read.algorithm); }, "[mluOpOmpSetAlgorithm] handle is null"},
      {[&] { return set_algorithm(-1); }, "[mluOpOmpSetAlgorithm] algorithm is -1" + algorithms},
      {[&] { return set_algorithm(2); }, "[mluOpOmpSetAlgorithm] algorithm is 2" + algorithms},
      {[&] { return mluOpOmpGetAlgorithm(nullptr, &read.algorithm); }, "[mluOpOmpGetAlgorithm] handle is null"},
      {[&] { return mluOpOmpGetAlgorithm(handle, nullptr); }, "[mluOpOmpGetAlgorithm] algorithm is null"},
      {[&] { return mluOpOmpReleaseMemory(nullptr); }, "[mluOpOmpReleaseMemory] handle is null"},
      {[&] { return mluOpOmpSetStatistics(nullptr, 1); }, "[mluOpOmpSetStatistics] handle is null"},
      {[&] { return mluOpOmpSetStatistics(handle, 2); }, "[mluOpOmpSetStatistics] enabled is 2, expected 0 or 1"},
      {[&] { return mluOpOmpSetStatistics(handle, -1); },
       "[mluOpOmpSetStatistics] enabled is -1, expected 0 or 1"},
      {[&] { return mluOpOmpGetLaunchCount(nullptr, &count); }, "[mluOpOmpGetLaunchCount] handle is null"},
      {[&] { return mluOpOmpGetLaunchCount(handle, nullptr); }, "[mluOpOmpGetLaunchCount] count is null"},
  });
  EXPECT_EQ(read, before);
  EXPECT_EQ(count, -7);
  EXPECT_EQ(settings_of(handle), before);
}

// Queries of launches and tasks: before any call, and after one with two launches of three tasks.
TEST(ApiHandle, StatisticsErrors) {
  const ScopedThreads threads(3);
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  mluOpOmpLaunchStatistics_t launch{};
  mluOpOmpTaskStatistics_t task{};
  task.item_count = -7;
  const auto query = [&](int i) { return mluOpOmpGetLaunchStatistics(handle, i, &launch); };
  const auto query_task = [&](int i, int id) { return mluOpOmpGetTaskStatistics(handle, i, id, &task); };
  const std::string launches = "[mluOpOmpGetLaunchStatistics] ", tasks = "[mluOpOmpGetTaskStatistics] ";
  expect_errors({{[&] { return query(0); }, launches + "launch is 0, expected 0 or more and less than 0"}});
  require(mluOpOmpSetStatistics(handle, 1));
  require(OperatorCall(handle, make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                                         {{"batch_size", 1}, {"num_points", 50}}))
              .run());
  ASSERT_EQ(launches_of(handle).size(), 2U);
  expect_errors({
      {[&] { return mluOpOmpGetLaunchStatistics(nullptr, 0, &launch); }, launches + "handle is null"},
      {[&] { return mluOpOmpGetLaunchStatistics(handle, 0, nullptr); }, launches + "statistics is null"},
      {[&] { return query(-1); }, launches + "launch is -1, expected 0 or more and less than 2"},
      {[&] { return query(2); }, launches + "launch is 2, expected 0 or more and less than 2"},
      {[&] { return mluOpOmpGetTaskStatistics(nullptr, 0, 0, &task); }, tasks + "handle is null"},
      {[&] { return mluOpOmpGetTaskStatistics(handle, 0, 0, nullptr); }, tasks + "statistics is null"},
      {[&] { return query_task(-1, 0); }, tasks + "launch is -1, expected 0 or more and less than 2"},
      {[&] { return query_task(2, 0); }, tasks + "launch is 2, expected 0 or more and less than 2"},
      {[&] { return query_task(1, -1); }, tasks + "task is -1, expected 0 or more and less than 3"},
      {[&] { return query_task(1, 3); }, tasks + "task is 3, expected 0 or more and less than 3"},
  });
  EXPECT_EQ(launch.kernel, nullptr);
  EXPECT_EQ(task.item_count, -7);
  EXPECT_EQ(query(1), MLUOP_STATUS_SUCCESS);
  EXPECT_STREQ(launch.kernel, "voxel_pooling_forward");
  EXPECT_EQ(query_task(1, 2), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(task.item_count, 16);
}

// mluOpOmpReleaseMemory: the memory and the statistics of earlier calls are freed, settings are kept, and later
// calls have the same results.
TEST(ApiReleaseMemory, FreesNramAndKeepsResults) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const cases::Operator& op : cases::operators()) {
    const auto test = first_case_of(op);
    if (!test) continue;
    for (const auto algorithm : algorithms_of(op)) {
      SCOPED_TRACE(test->name + ' ' + text_of(algorithm));
      const Handle handle(algorithm);
      require(mluOpOmpSetStatistics(handle, 1));
      require(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED));
      const Settings before = settings_of(handle);
      const mluOpContext& context = *static_cast<mluOpHandle_t>(handle);
      const OperatorCall first(handle, test->made), second(handle, test->made);
      require(first.run());
      EXPECT_NO_THROW(context.nram(0));
      const size_t launches = launches_of(handle).size();
      // The second release has no memory to free.
      for (int times = 0; times < 2; ++times) {
        EXPECT_EQ(mluOpOmpReleaseMemory(handle), MLUOP_STATUS_SUCCESS);
        EXPECT_THROW(context.nram(0), Failure);
        EXPECT_TRUE(launches_of(handle).empty());
        EXPECT_EQ(settings_of(handle), before);
      }
      EXPECT_EQ(second.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(second.intact());
      EXPECT_EQ(launches_of(handle).size(), launches);
      if (algorithm == MLUOP_OMP_ALGORITHM_NATIVE || !first.op().atomic_sums) {
        EXPECT_TRUE(second.contents() == first.contents());
      }
    }
  }
}

// After the release, a call allocates as much as the first call of a new handle.
TEST(ApiReleaseMemory, TheNextCallAllocatesAgain) {
  if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
  const OperatorCase test = first_operator_case();
  const Handle handle;
  const OperatorCall call(handle, test.made);
  const auto allocations = [&] {
    const FailingAllocation none(0);
    call.run();
    return none.count();
  };
  const int64_t of_first = allocations();
  const int64_t of_later = allocations();
  require(mluOpOmpReleaseMemory(handle));
  EXPECT_EQ(allocations(), of_first);
  EXPECT_LT(of_later, of_first);
}

// Bytes that malloc has handed out, its caches of freed blocks among them, and bytes of resident memory.
struct ProcessMemory {
  ProcessMemory() {
    const struct mallinfo2 info = mallinfo2();
    allocated = info.uordblks + info.hblkhd;
    size_t total = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    resident *= static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  size_t allocated, resident = 0;
};

// The memory of the process does not grow while handles are created, used and destroyed.
TEST(ApiHandleMemory, DoesNotGrow) {
  if (kSanitizer) GTEST_SKIP() << "sanitizers replace malloc; AddressSanitizer reports leaks of the other tests";
  const ScopedThreads tasks(2);
  const ScopedEnvironment max_threads("MLUOP_OMP_MAX_THREADS", "1"), nram("MLUOP_OMP_NRAM_KB", "64");
  OperatorCall call(
      nullptr,
      make_case(
          "voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
          {{"batch_size", 1}, {"num_points", 20}, {"num_channels", 3}, {"num_voxel_x", 4}, {"num_voxel_y", 4}}));
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const auto use_handles = [&](int count) {
      for (int i = 0; i < count; ++i) {
        const Handle handle(algorithm);
        call.arguments.handle = handle;
        require(call.run());
      }
    };
    constexpr int kHandles = 10000;
    use_handles(100);
    const ProcessMemory before;
    use_handles(kHandles);
    const ProcessMemory after;
    // Less than a byte for each handle may be new: cached blocks. A page of resident memory for each handle would
    // be 40 MiB.
    EXPECT_LT(after.allocated, before.allocated + kHandles);
    EXPECT_LE(after.resident, before.resident + (size_t{4} << 20));
  }
}

}  // namespace
}  // namespace mluop::test
