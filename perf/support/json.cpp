#include "perf/support/json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace mluop::perf::json {
namespace {

std::string join(char open, const std::vector<std::string>& values, const char* separator, char close) {
  std::string joined(1, open);
  for (size_t i = 0; i < values.size(); ++i) joined += (i == 0 ? "" : separator) + values[i];
  return joined + close;
}

}  // namespace

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  return {digits, end};
}

std::string number(int64_t value) { return std::to_string(value); }

std::string text(const std::string& value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[7];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string boolean(bool value) { return value ? "true" : "false"; }

std::string numbers(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(number(value));
  return join('[', texts, ", ", ']');
}

std::string array(const std::vector<std::string>& values) { return join('[', values, ",\n", ']'); }

std::string object(const std::vector<std::pair<std::string, std::string>>& members) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : members) texts.push_back(text(name) + ": " + value);
  return join('{', texts, ", ", '}');
}

}  // namespace mluop::perf::json
