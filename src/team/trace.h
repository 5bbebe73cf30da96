// Traces in the Chrome trace-event format: a slice for each call, launch and task. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "team/statistics.h"

namespace mluop {

// Appends a call to the trace in `file`, in which "%p" stands for the process id; the first call of the process
// replaces the file. The file is a complete JSON array after each call. Logs an error if the file cannot be
// written.
void append_to_trace(const std::string& file, std::string_view function, const std::string& tensors,
                     const CallStatistics& statistics);

}  // namespace mluop
