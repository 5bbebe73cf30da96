#include "recording/case_settings.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "core/checks.h"
#include "core/environment.h"
#include "core/text.h"

namespace mluop {
namespace {

// The mode set by mluOpSetGenCaseMode; negative until it is called.
std::atomic<int> overriding_mode = -1;

// The path set by mluOpSetGenCaseDirectory, if it was called.
struct OverridingDirectory {
  std::mutex mutex;
  std::optional<std::string> path;
};

// Never destroyed: operators may be called while the process exits.
OverridingDirectory& overriding_directory() {
  static auto* const instance = new OverridingDirectory();
  return *instance;
}

void replace_first(std::string& path, std::string_view placeholder, const std::string& value) {
  const size_t at = path.find(placeholder);
  if (at != std::string::npos) path.replace(at, placeholder.size(), value);
}

// A digit from 0 to `max`; `fallback` if the variable is not set.
int read_digit(const char* name, int max, int fallback) {
  const std::string value = read_environment(name, "");
  if (value.empty()) return fallback;
  const int digit = value[0] - '0';
  require(value.size() == 1 && 0 <= digit && digit <= max, MLUOP_STATUS_BAD_PARAM, name, " is \"", value,
          "\", expected a number from 0 to ", max);
  return digit;
}

CaseFormat read_format(const char* name) {
  return static_cast<CaseFormat>(
      read_digit(name, static_cast<int>(CaseFormat::kBits), static_cast<int>(CaseFormat::kBitsOrFile)));
}

// The names between the semicolons of `list`, without blanks.
std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ';') {
      names.emplace_back();
    } else if (c != ' ') {
      names.back() += c;
    }
  }
  std::erase(names, "");
  return names;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Not <cctype>, which depends on the locale.
bool is_upper(char c) { return 'A' <= c && c <= 'Z'; }
bool is_lower(char c) { return 'a' <= c && c <= 'z'; }

}  // namespace

bool CaseSettings::selects(std::string_view op_name) const {
  return (selected.empty() || contains(selected, op_name)) && !contains(excluded, op_name);
}

CaseSettings read_case_settings() {
  CaseSettings settings;
  settings.mode = static_cast<CaseMode>(read_digit("MLUOP_GEN_CASE", static_cast<int>(CaseMode::kPrint), 0));
  settings.directory = read_environment("MLUOP_GEN_CASE_DIR", "");
  for (const std::string& name : split_names(read_environment("MLUOP_GEN_CASE_OP_NAME", ""))) {
    if (name.starts_with('-')) {
      settings.excluded.push_back(name.substr(1));
    } else {
      settings.selected.push_back(name);
    }
  }
  settings.input_format = read_format("MLUOP_GEN_CASE_DUMP_DATA");
  settings.output_format = read_format("MLUOP_GEN_CASE_DUMP_DATA_OUTPUT");
  settings.files = read_digit("MLUOP_GEN_CASE_DUMP_DATA_FILE", 1, 0) == 1;
  return settings;
}

void override_case_mode(int mode) {
  const bool valid = 0 < mode && mode <= static_cast<int>(CaseMode::kPrint);
  overriding_mode.store(valid ? mode : 0, std::memory_order_relaxed);
}

CaseMode case_mode_of(const CaseSettings& settings) {
  const int mode = overriding_mode.load(std::memory_order_relaxed);
  return mode < 0 ? settings.mode : static_cast<CaseMode>(mode);
}

void override_case_directory(const char* path) {
  std::string copy = path;
  OverridingDirectory& overriding = overriding_directory();
  const std::lock_guard lock(overriding.mutex);
  overriding.path = std::move(copy);
}

std::string case_directory_of(const std::string& directory) {
  std::string path = directory;
  {
    OverridingDirectory& overriding = overriding_directory();
    const std::lock_guard lock(overriding.mutex);
    if (overriding.path) path = *overriding.path;
  }
  replace_first(path, "{pid}", text("pid", getpid()));
  replace_first(path, "{deviceid}", "deviceid0");
  return path;
}

std::string op_name_of(std::string_view function) {
  for (const std::string_view prefix : {"mluOpOmp", "mluOp"}) {
    if (function.starts_with(prefix)) {
      function.remove_prefix(prefix.size());
      break;
    }
  }
  // The plan describes the call, which only executes it.
  if (function == "ExecFFT") return "fft";
  const bool joins_roi = function.starts_with("RoiAware") || function.starts_with("RoiPoint");
  std::string name;
  for (size_t i = 0; i < function.size(); ++i) {
    // A word begins at an upper-case letter that follows a lower-case one or precedes a lower-case one:
    // ThreeNNForward.
    const bool begins_word =
        i > 0 && is_upper(function[i]) &&
        (!is_upper(function[i - 1]) || (i + 1 < function.size() && is_lower(function[i + 1])));
    if (begins_word && !(i == 3 && joins_roi)) name += '_';
    name += is_upper(function[i]) ? static_cast<char>(function[i] - 'A' + 'a') : function[i];
  }
  return name;
}

}  // namespace mluop
