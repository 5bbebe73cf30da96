// Environment variables as text. An empty variable counts as unset.
#pragma once

#include <cstdlib>
#include <string>

namespace mluop {

inline std::string read_environment(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? fallback : value;
}

}  // namespace mluop
