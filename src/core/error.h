// Failures: the one way in which a call says no. Thread-safe: the last error belongs to its thread.
#pragma once

#include <string_view>

#include "mlu_op.h"

namespace mluop {

// Logs "[function] message", keeps it as the thread's last error and returns status. Never throws: if memory
// does not suffice for the text, the text is lost and the status is returned all the same.
mluOpStatus_t fail(std::string_view function, mluOpStatus_t status, std::string_view message) noexcept;

// The text of the thread's last failure; "" if there was none.
const char* last_error() noexcept;

}  // namespace mluop
