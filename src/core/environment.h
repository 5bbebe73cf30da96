// Environment variables as text. A variable that is set but empty counts as not set.
#pragma once

#include <cstdlib>
#include <string>

namespace mluop {

inline std::string read_environment(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? fallback : value;
}

}  // namespace mluop
