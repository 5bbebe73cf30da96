// The body of a C function that reads or sets a handle.
#pragma once

#include <mutex>

#include "core/boundary.h"
#include "core/checks.h"
#include "team/context.h"

namespace mluop {

// Runs body(context) with the handle locked.
template <class Body>
mluOpStatus_t run_locked(const char* function, mluOpHandle_t handle, const Body& body) {
  return run_guarded(function, [&] {
    require_not_null("handle", handle);
    const std::lock_guard lock(handle->execution);
    body(*handle);
  });
}

}  // namespace mluop
