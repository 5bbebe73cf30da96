#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "core/boundary.h"
#include "core/environment.h"
#include "core/text.h"

namespace mluop {
namespace {

constexpr std::array<std::pair<std::string_view, spdlog::level::level_enum>, 5> kLevels = {{
    {"debug", spdlog::level::debug},
    {"info", spdlog::level::info},
    {"warn", spdlog::level::warn},
    {"error", spdlog::level::err},
    {"off", spdlog::level::off},
}};

constexpr const char* kVariable = "MLUOP_LOG_LEVEL";

std::atomic<spdlog::level::level_enum> default_level{spdlog::level::err};

std::optional<spdlog::level::level_enum> find_level(std::string_view requested) {
  for (const auto& [name, level] : kLevels) {
    if (requested == name) return level;
  }
  return std::nullopt;
}

spdlog::level::level_enum level_of(std::string_view parameter, std::string_view requested) {
  const auto level = find_level(requested);
  if (level) return *level;
  throw Failure(MLUOP_STATUS_BAD_PARAM,
                text(parameter, " is \"", requested, "\", expected one of: debug, info, warn, error, off"));
}

// The level of the variable if it is valid, else the default.
spdlog::level::level_enum current_level() {
  return find_level(read_environment(kVariable, "")).value_or(default_level);
}

// Not in spdlog's registry, so that applications keep their own loggers. Never destroyed: calls may fail while the
// process exits.
spdlog::logger& logger() {
  static auto* const instance = [] {
    auto made = std::make_unique<spdlog::logger>("mluop-omp", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l %v");
    // Calls that need no handle can fail before the first handle exists.
    made->set_level(current_level());
    return made.release();
  }();
  return *instance;
}

// Logs without a format: fmt 11 would allocate memory to format a long line.
void log_line(spdlog::logger& to, spdlog::level::level_enum level, std::string_view line) {
  to.log(level, spdlog::string_view_t(line.data(), line.size()));
}

void write(spdlog::level::level_enum level, std::string_view line) noexcept {
  try {
    log_line(logger(), level, line);
  } catch (...) {
    // No memory for the first logger: the status of the call still reports the failure.
  }
}

}  // namespace

void configure_log() {
  const std::string requested = read_environment(kVariable, "");
  logger().set_level(requested.empty() ? default_level.load() : level_of(kVariable, requested));
}

void set_default_log_level(std::string_view level) {
  default_level = level_of("level", level);
  logger().set_level(current_level());
}

bool debug_log_enabled() { return logger().should_log(spdlog::level::debug); }

void log_debug(std::string_view line) noexcept { write(spdlog::level::debug, line); }

void log_info(std::string_view line) noexcept { write(spdlog::level::info, line); }

void log_error(std::string_view line) noexcept { write(spdlog::level::err, line); }

void print(std::string_view text) noexcept {
  try {
    spdlog::logger printer("mluop-omp", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    printer.set_pattern("%v");
    log_line(printer, spdlog::level::info, text);
  } catch (...) {
    // No memory: the line is lost.
  }
}

}  // namespace mluop
