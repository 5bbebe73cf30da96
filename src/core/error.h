// Error reporting: the log line and the last error of the calling thread. Thread-safe.
#pragma once

#include <string_view>

#include "mlu_op.h"

namespace mluop {

// Logs "[function] message", stores it as the last error of the thread and returns `status`. Never throws and
// allocates no memory; text beyond 1023 bytes is truncated.
mluOpStatus_t report_failure(std::string_view function, mluOpStatus_t status, std::string_view message) noexcept;

// The text of the thread's last failure; "" if there was none.
const char* last_error() noexcept;

}  // namespace mluop
