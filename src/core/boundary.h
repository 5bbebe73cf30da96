// The C boundary: no exception leaves a function of the API; each exception becomes a status and a message. API
// functions are not cancellation points.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/cancellation.h"
#include "core/error.h"

namespace mluop {

// The status and message of a call that fails.
struct Failure : std::runtime_error {
  Failure(mluOpStatus_t failure_status, const std::string& message)
      : std::runtime_error(message), status(failure_status) {}
  mluOpStatus_t status;
};

// Runs the body of the API function `function`. Returns SUCCESS, or the status of the exception that the body
// throws.
template <class Body>
mluOpStatus_t run_guarded(std::string_view function, Body&& body) noexcept {
  const ScopedCancellationDisabled not_a_cancellation_point;
  try {
    body();
    return MLUOP_STATUS_SUCCESS;
  } catch (const Failure& failure) {
    return report_failure(function, failure.status, failure.what());
  } catch (const std::bad_alloc&) {
    return report_failure(function, MLUOP_STATUS_ALLOC_FAILED, "out of memory");
  } catch (const std::exception& error) {
    return report_failure(function, MLUOP_STATUS_INTERNAL_ERROR, error.what());
  } catch (...) {
    return report_failure(function, MLUOP_STATUS_INTERNAL_ERROR, "unknown exception");
  }
}

}  // namespace mluop
