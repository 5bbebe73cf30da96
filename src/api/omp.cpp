// The functions of mlu_op_omp.h that take a handle: algorithm, memory and statistics.
#include "api/run_locked.h"
#include "mlu_op_omp.h"

namespace mluop {
namespace {

const LaunchStatistics& find_launch(const Context& context, int launch) {
  const auto& launches = context.statistics.launches();
  require(0 <= launch && launch < static_cast<int>(launches.size()), MLUOP_STATUS_BAD_PARAM, "launch is ", launch,
          ", expected 0 or more and less than ", launches.size());
  return launches[static_cast<size_t>(launch)];
}

}  // namespace
}  // namespace mluop

using mluop::Context;
using mluop::require;
using mluop::require_flag;
using mluop::require_not_null;

mluOpStatus_t MLUOP_WIN_API mluOpOmpSetAlgorithm(mluOpHandle_t handle, mluOpOmpAlgorithm_t algorithm) {
  return mluop::run_locked("mluOpOmpSetAlgorithm", handle, [&](Context& context) {
    require(algorithm == MLUOP_OMP_ALGORITHM_NATIVE || algorithm == MLUOP_OMP_ALGORITHM_DEVICE,
            MLUOP_STATUS_BAD_PARAM, "algorithm is ", static_cast<int>(algorithm),
            ", expected MLUOP_OMP_ALGORITHM_NATIVE (0) or MLUOP_OMP_ALGORITHM_DEVICE (1)");
    context.algorithm = algorithm;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetAlgorithm(mluOpHandle_t handle, mluOpOmpAlgorithm_t* algorithm) {
  return mluop::run_locked("mluOpOmpGetAlgorithm", handle, [&](const Context& context) {
    require_not_null("algorithm", algorithm);
    *algorithm = context.algorithm;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpReleaseMemory(mluOpHandle_t handle) {
  return mluop::run_locked("mluOpOmpReleaseMemory", handle, [](Context& context) { context.release_memory(); });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpSetStatistics(mluOpHandle_t handle, int enabled) {
  return mluop::run_locked("mluOpOmpSetStatistics", handle, [&](Context& context) {
    require_flag("enabled", enabled);
    context.statistics.enable(enabled == 1);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetLaunchCount(mluOpHandle_t handle, int* count) {
  return mluop::run_locked("mluOpOmpGetLaunchCount", handle, [&](const Context& context) {
    require_not_null("count", count);
    *count = static_cast<int>(context.statistics.launches().size());
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetLaunchStatistics(mluOpHandle_t handle, int launch,
                                                        mluOpOmpLaunchStatistics_t* statistics) {
  return mluop::run_locked("mluOpOmpGetLaunchStatistics", handle, [&](const Context& context) {
    require_not_null("statistics", statistics);
    *statistics = mluop::find_launch(context, launch).launch;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetTaskStatistics(mluOpHandle_t handle, int launch, int task,
                                                      mluOpOmpTaskStatistics_t* statistics) {
  return mluop::run_locked("mluOpOmpGetTaskStatistics", handle, [&](const Context& context) {
    require_not_null("statistics", statistics);
    const auto& tasks = mluop::find_launch(context, launch).tasks;
    require(0 <= task && task < static_cast<int>(tasks.size()), MLUOP_STATUS_BAD_PARAM, "task is ", task,
            ", expected 0 or more and less than ", tasks.size());
    *statistics = tasks[static_cast<size_t>(task)];
  });
}
