#include "core/boundary.h"
#include "core/checks.h"
#include "team/context.h"

using mluop::Checks;
using mluop::guarded;

mluOpStatus_t MLUOP_WIN_API mluOpCreate(mluOpHandle_t* handle) {
  constexpr auto kName = "mluOpCreate";
  return guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("handle", handle)) return check.status();
    auto context = std::make_unique<mluOpContext>();
    context->configure();
    *handle = context.release();
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroy(mluOpHandle_t handle) {
  constexpr auto kName = "mluOpDestroy";
  return guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("handle", handle)) return check.status();
    delete handle;
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpUpdateContextInformation(mluOpHandle_t handle) {
  constexpr auto kName = "mluOpUpdateContextInformation";
  return guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("handle", handle)) return check.status();
    const std::lock_guard lock(handle->execution);
    handle->configure();
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetQueue(mluOpHandle_t handle, cnrtQueue_t queue) {
  constexpr auto kName = "mluOpSetQueue";
  return guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("handle", handle)) return check.status();
    const std::lock_guard lock(handle->execution);
    handle->queue = queue;
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetQueue(mluOpHandle_t handle, cnrtQueue_t* queue) {
  constexpr auto kName = "mluOpGetQueue";
  return guarded(kName, [&] {
    Checks check(kName);
    if (!(check.not_null("handle", handle) && check.not_null("queue", queue))) return check.status();
    const std::lock_guard lock(handle->execution);
    *queue = handle->queue;
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t atomics_mode) {
  constexpr auto kName = "mluOpSetAtomicsMode";
  return guarded(kName, [&] {
    Checks check(kName);
    const bool known = atomics_mode == MLUOP_ATOMICS_NOT_ALLOWED || atomics_mode == MLUOP_ATOMICS_ALLOWED;
    if (!(check.not_null("handle", handle) &&
          check.rule(known, MLUOP_STATUS_BAD_PARAM, "atomics_mode is ", static_cast<int>(atomics_mode),
                     ", expected MLUOP_ATOMICS_NOT_ALLOWED (1) or MLUOP_ATOMICS_ALLOWED (2)"))) {
      return check.status();
    }
    const std::lock_guard lock(handle->execution);
    handle->atomics_mode = atomics_mode;
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t* atomics_mode) {
  constexpr auto kName = "mluOpGetAtomicsMode";
  return guarded(kName, [&] {
    Checks check(kName);
    if (!(check.not_null("handle", handle) && check.not_null("atomics_mode", atomics_mode))) {
      return check.status();
    }
    const std::lock_guard lock(handle->execution);
    *atomics_mode = handle->atomics_mode;
    return MLUOP_STATUS_SUCCESS;
  });
}
