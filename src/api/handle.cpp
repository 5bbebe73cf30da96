#include <memory>

#include "api/run_locked.h"

using mluop::require;
using mluop::require_not_null;
using mluop::run_guarded;
using mluop::run_locked;

mluOpStatus_t MLUOP_WIN_API mluOpCreate(mluOpHandle_t* handle) {
  return run_guarded("mluOpCreate", [&] {
    require_not_null("handle", handle);
    auto context = std::make_unique<mluOpContext>();
    context->configure();
    *handle = context.release();
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroy(mluOpHandle_t handle) {
  return run_guarded("mluOpDestroy", [&] {
    require_not_null("handle", handle);
    delete handle;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpUpdateContextInformation(mluOpHandle_t handle) {
  return run_locked("mluOpUpdateContextInformation", handle, [](mluOpContext& context) { context.configure(); });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetQueue(mluOpHandle_t handle, cnrtQueue_t queue) {
  return run_locked("mluOpSetQueue", handle, [&](mluOpContext& context) { context.queue = queue; });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetQueue(mluOpHandle_t handle, cnrtQueue_t* queue) {
  return run_locked("mluOpGetQueue", handle, [&](const mluOpContext& context) {
    require_not_null("queue", queue);
    *queue = context.queue;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t atomics_mode) {
  return run_locked("mluOpSetAtomicsMode", handle, [&](mluOpContext& context) {
    require(atomics_mode == MLUOP_ATOMICS_NOT_ALLOWED || atomics_mode == MLUOP_ATOMICS_ALLOWED,
            MLUOP_STATUS_BAD_PARAM, "atomics_mode is ", static_cast<int>(atomics_mode),
            ", expected MLUOP_ATOMICS_NOT_ALLOWED (1) or MLUOP_ATOMICS_ALLOWED (2)");
    context.atomics_mode = atomics_mode;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t* atomics_mode) {
  return run_locked("mluOpGetAtomicsMode", handle, [&](const mluOpContext& context) {
    require_not_null("atomics_mode", atomics_mode);
    *atomics_mode = context.atomics_mode;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetQuantizeRoundMode(mluOpHandle_t handle, mluOpQuantizeRoundMode_t round_mode) {
  return run_locked("mluOpSetQuantizeRoundMode", handle, [&](mluOpContext& context) {
    const int number = static_cast<int>(round_mode);
    const int least = context.device.is_200_series ? MLUOP_ROUND_HALF_UP : MLUOP_ROUND_HALF_TO_EVEN;
    require(number >= least && number <= MLUOP_ROUND_HALF_OFF_ZERO, MLUOP_STATUS_BAD_PARAM, "round_mode is ",
            number, ", expected ", least, " to ", static_cast<int>(MLUOP_ROUND_HALF_OFF_ZERO), " on ",
            context.device.name);
    context.round_mode = round_mode;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetQuantizeRoundMode(mluOpHandle_t handle, mluOpQuantizeRoundMode_t* round_mode) {
  return run_locked("mluOpGetQuantizeRoundMode", handle, [&](const mluOpContext& context) {
    require_not_null("round_mode", round_mode);
    *round_mode = context.round_mode.value_or(context.device.is_200_series ? MLUOP_ROUND_HALF_OFF_ZERO
                                                                           : MLUOP_ROUND_HALF_TO_EVEN);
  });
}
