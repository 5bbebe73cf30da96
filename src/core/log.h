// Logging: one line per event, to stderr, through spdlog. The only output of the library. Thread-safe; usable
// until the process ends, also from destructors of static objects.
#pragma once

#include <string_view>

namespace mluop {

// Sets the level to MLUOP_LOG_LEVEL (debug, info, warn, error or off) or, if it is unset or empty, to the default,
// initially error. Throws Failure and changes nothing if the variable has another value. Before the first call,
// the level is the value of the variable if it is valid, else the default.
void configure_log();

// Sets the default level. Throws Failure if `level` is not a level.
void set_default_log_level(std::string_view level);

// Whether debug lines are shown: query it before an expensive line is built.
bool debug_log_enabled();

// A line that cannot be written is lost; no function throws.
void log_debug(std::string_view line) noexcept;
void log_info(std::string_view line) noexcept;
void log_error(std::string_view line) noexcept;

// Writes `text` and a newline to stderr at every level: output that the user has asked for.
void print(std::string_view text) noexcept;

}  // namespace mluop
