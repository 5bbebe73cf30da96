#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
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

std::string wanted_level() { return read_environment("MLUOP_LOG_LEVEL", "error"); }

std::optional<spdlog::level::level_enum> find_level(std::string_view wanted) {
  for (const auto& [name, level] : kLevels) {
    if (wanted == name) return level;
  }
  return std::nullopt;
}

// Of our own, outside spdlog's registry: an application that uses spdlog keeps its loggers to itself.
spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("mluop-omp", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l %v");
    // Calls that need no handle can fail before the first one exists.
    made->set_level(find_level(wanted_level()).value_or(spdlog::level::err));
    return made;
  }();
  return *instance;
}

}  // namespace

void configure_log() {
  const std::string wanted = wanted_level();
  const auto level = find_level(wanted);
  if (!level) {
    throw Failure(MLUOP_STATUS_BAD_PARAM,
                  text("MLUOP_LOG_LEVEL is \"", wanted, "\", expected one of: debug, info, warn, error, off"));
  }
  logger().set_level(*level);
}

bool debug_log_enabled() { return logger().should_log(spdlog::level::debug); }

void log_debug(const std::string& line) { logger().debug("{}", line); }

void log_error(const std::string& line) { logger().error("{}", line); }

}  // namespace mluop
