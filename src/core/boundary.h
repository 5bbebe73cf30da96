// The C boundary: whatever a call throws becomes a status and a message here, and nothing gets past.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "core/error.h"

namespace mluop {

// Thrown where a message and a status are known but no status can be returned; caught by guarded().
struct Failure : std::runtime_error {
  Failure(mluOpStatus_t with, const std::string& message) : std::runtime_error(message), status(with) {}
  mluOpStatus_t status;
};

// Runs the body of the C function that is called `function` and returns its status.
template <class Body>
mluOpStatus_t guarded(std::string_view function, Body&& body) noexcept {
  try {
    return body();
  } catch (const Failure& failure) {
    return fail(function, failure.status, failure.what());
  } catch (const std::bad_alloc&) {
    return fail(function, MLUOP_STATUS_ALLOC_FAILED, "out of memory");
  } catch (const std::exception& error) {
    return fail(function, MLUOP_STATUS_INTERNAL_ERROR, error.what());
  } catch (...) {
    return fail(function, MLUOP_STATUS_INTERNAL_ERROR, "unknown exception");
  }
}

}  // namespace mluop
