// Environment variables as text. An empty variable counts as unset. In a set-user-ID program every variable counts
// as unset: its user must not choose the files that it writes.
#pragma once

#include <stdlib.h>

#include <string>

namespace mluop {

inline std::string read_environment(const char* name, const char* fallback) {
  const char* value = secure_getenv(name);
  return value == nullptr || *value == '\0' ? fallback : value;
}

}  // namespace mluop
