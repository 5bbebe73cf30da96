// Traces in the Chrome trace-event format: a slice for each call, launch and task. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "recording/statistics.h"

namespace mluop {

// Appends a call to the trace in `file`, in which "%p" stands for the process id; the first call of the process
// replaces the file. Child processes of fork() write separate files: ".%p" is appended to a name without "%p". The
// file is a complete JSON array after each call. If it cannot be written, an error is logged once.
void append_to_trace(const std::string& file, std::string_view function, const std::string& tensors,
                     const CallStatistics& statistics);

}  // namespace mluop
