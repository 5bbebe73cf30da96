// Logging: one line an event, to stderr, through spdlog. The only interface to the logger; the library prints
// in no other way. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace mluop {

// Takes the level of MLUOP_LOG_LEVEL: debug, info, warn, error or off; unset or empty: error. Throws
// Failure, and nothing changes, if the variable has another value. Before the first call the level is that of the
// variable where it is valid, else error.
void configure_log();

// Whether debug lines are shown: ask before building an expensive one.
bool debug_log_enabled();

void log_debug(const std::string& line);
void log_error(const std::string& line);

}  // namespace mluop
