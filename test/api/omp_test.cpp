// The functions of mlu_op_omp.h that take a handle: algorithm and queries of statistics.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "support/api_errors.h"
#include "support/environment.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

mluOpOmpAlgorithm_t algorithm_of(mluOpHandle_t handle) {
  mluOpOmpAlgorithm_t algorithm;
  require(mluOpOmpGetAlgorithm(handle, &algorithm));
  return algorithm;
}

// A handle as mluOpCreate returns it; Handle sets the algorithm.
struct NewHandle {
  NewHandle() { require(mluOpCreate(&handle)); }
  NewHandle(const NewHandle&) = delete;
  NewHandle& operator=(const NewHandle&) = delete;
  ~NewHandle() { mluOpDestroy(handle); }
  mluOpHandle_t handle = nullptr;
};

TEST(ApiOmp, AlgorithmOfTheEnvironment) {
  constexpr struct {
    const char* value;
    mluOpOmpAlgorithm_t algorithm;
  } kTable[] = {{nullptr, MLUOP_OMP_ALGORITHM_NATIVE},
                {"", MLUOP_OMP_ALGORITHM_NATIVE},
                {"native", MLUOP_OMP_ALGORITHM_NATIVE},
                {"device", MLUOP_OMP_ALGORITHM_DEVICE}};
  for (const auto& row : kTable) {
    const ScopedEnvironment variable("MLUOP_OMP_ALGORITHM", row.value);
    EXPECT_EQ(algorithm_of(NewHandle().handle), row.algorithm);
  }
}

TEST(ApiOmp, AlgorithmIsSetAndReadAgain) {
  const ScopedEnvironment unset("MLUOP_OMP_ALGORITHM", nullptr);
  const NewHandle first, second;
  for (const auto wanted : {MLUOP_OMP_ALGORITHM_DEVICE, MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    EXPECT_EQ(mluOpOmpSetAlgorithm(first.handle, wanted), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(algorithm_of(first.handle), wanted);
    EXPECT_EQ(algorithm_of(second.handle), MLUOP_OMP_ALGORITHM_NATIVE);
  }
  require(mluOpUpdateContextInformation(first.handle));
  EXPECT_EQ(algorithm_of(first.handle), MLUOP_OMP_ALGORITHM_NATIVE);
}

TEST(ApiOmp, AlgorithmErrors) {
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  auto algorithm = MLUOP_OMP_ALGORITHM_NATIVE;
  expect_errors({
      {[&] { return mluOpOmpSetAlgorithm(nullptr, algorithm); }, "[mluOpOmpSetAlgorithm] handle is null"},
      {[&] { return mluOpOmpGetAlgorithm(nullptr, &algorithm); }, "[mluOpOmpGetAlgorithm] handle is null"},
      {[&] { return mluOpOmpGetAlgorithm(handle, nullptr); }, "[mluOpOmpGetAlgorithm] algorithm is null"},
  });
  EXPECT_EQ(algorithm, MLUOP_OMP_ALGORITHM_NATIVE);
  EXPECT_EQ(algorithm_of(handle), MLUOP_OMP_ALGORITHM_DEVICE);
}

// C callers can pass any int.
TEST(ApiOmp, InvalidAlgorithm) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "UndefinedBehaviorSanitizer rejects values outside the range of the enumeration";
#endif
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  const auto set_algorithm = [&](int value) {
    return mluOpOmpSetAlgorithm(handle, static_cast<mluOpOmpAlgorithm_t>(value));
  };
  const std::string expected = ", expected MLUOP_OMP_ALGORITHM_NATIVE (0) or MLUOP_OMP_ALGORITHM_DEVICE (1)";
  expect_errors({
      {[&] { return set_algorithm(-1); }, "[mluOpOmpSetAlgorithm] algorithm is -1" + expected},
      {[&] { return set_algorithm(2); }, "[mluOpOmpSetAlgorithm] algorithm is 2" + expected},
  });
  EXPECT_EQ(algorithm_of(handle), MLUOP_OMP_ALGORITHM_DEVICE);
}

TEST(ApiOmp, StatisticsErrors) {
  const Handle handle;
  int count = -7;
  expect_errors({
      {[&] { return mluOpOmpSetStatistics(nullptr, 1); }, "[mluOpOmpSetStatistics] handle is null"},
      {[&] { return mluOpOmpSetStatistics(handle, 2); }, "[mluOpOmpSetStatistics] enabled is 2, expected 0 or 1"},
      {[&] { return mluOpOmpSetStatistics(handle, -1); },
       "[mluOpOmpSetStatistics] enabled is -1, expected 0 or 1"},
      {[&] { return mluOpOmpGetLaunchCount(nullptr, &count); }, "[mluOpOmpGetLaunchCount] handle is null"},
      {[&] { return mluOpOmpGetLaunchCount(handle, nullptr); }, "[mluOpOmpGetLaunchCount] count is null"},
  });
  EXPECT_EQ(count, -7);
}

// Queries of launches and tasks after a call with two launches of three tasks.
class ApiOmpQueries : public ::testing::Test {
 protected:
  ApiOmpQueries() {
    require(mluOpOmpSetStatistics(handle, 1));
    require(OperatorCall(handle, make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                                           {{"batch_size", 1}, {"num_points", 50}}))
                .run());
    int count = 0;
    require(mluOpOmpGetLaunchCount(handle, &count));
    if (count != 2) throw std::logic_error("expected two launches");
  }

  ScopedThreads threads{3};
  Handle handle{MLUOP_OMP_ALGORITHM_DEVICE};
};

TEST_F(ApiOmpQueries, LaunchErrors) {
  mluOpOmpLaunchStatistics_t launch{};
  const auto query = [&](int index) { return mluOpOmpGetLaunchStatistics(handle, index, &launch); };
  const std::string function = "[mluOpOmpGetLaunchStatistics] ";
  expect_errors({
      {[&] { return mluOpOmpGetLaunchStatistics(nullptr, 0, &launch); }, function + "handle is null"},
      {[&] { return mluOpOmpGetLaunchStatistics(handle, 0, nullptr); }, function + "statistics is null"},
      {[&] { return query(-1); }, function + "launch is -1, expected 0 or more and less than 2"},
      {[&] { return query(2); }, function + "launch is 2, expected 0 or more and less than 2"},
  });
  EXPECT_EQ(launch.kernel, nullptr);
  EXPECT_EQ(query(1), MLUOP_STATUS_SUCCESS);
  EXPECT_STREQ(launch.kernel, "voxel_pooling_forward");
}

TEST_F(ApiOmpQueries, TaskErrors) {
  mluOpOmpTaskStatistics_t task{};
  task.item_count = -7;
  const auto query = [&](int launch, int id) { return mluOpOmpGetTaskStatistics(handle, launch, id, &task); };
  const std::string function = "[mluOpOmpGetTaskStatistics] ";
  expect_errors({
      {[&] { return mluOpOmpGetTaskStatistics(nullptr, 0, 0, &task); }, function + "handle is null"},
      {[&] { return mluOpOmpGetTaskStatistics(handle, 0, 0, nullptr); }, function + "statistics is null"},
      {[&] { return query(-1, 0); }, function + "launch is -1, expected 0 or more and less than 2"},
      {[&] { return query(2, 0); }, function + "launch is 2, expected 0 or more and less than 2"},
      {[&] { return query(1, -1); }, function + "task is -1, expected 0 or more and less than 3"},
      {[&] { return query(1, 3); }, function + "task is 3, expected 0 or more and less than 3"},
  });
  EXPECT_EQ(task.item_count, -7);
  EXPECT_EQ(query(1, 2), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(task.item_count, 16);
}

// There is nothing to query before the first recorded call.
TEST(ApiOmp, NoLaunchesBeforeTheFirstCall) {
  const Handle handle;
  mluOpOmpLaunchStatistics_t launch{};
  expect_errors({{[&] { return mluOpOmpGetLaunchStatistics(handle, 0, &launch); },
                  "[mluOpOmpGetLaunchStatistics] launch is 0, expected 0 or more and less than 0"}});
}

}  // namespace
}  // namespace mluop::test
