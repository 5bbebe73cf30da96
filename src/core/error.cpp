#include "core/error.h"

#include <algorithm>
#include <cstring>

#include "core/log.h"

namespace mluop {
namespace {

// Trivially destructible, so that destructors that run at thread exit may still read and write it.
constexpr size_t kMaxBytes = 1024;
thread_local char last_error_text[kMaxBytes] = "";

char* append(char* to, std::string_view part) {
  const auto room = static_cast<size_t>(last_error_text + kMaxBytes - 1 - to);
  const size_t count = std::min(part.size(), room);
  std::memcpy(to, part.data(), count);
  return to + count;
}

}  // namespace

mluOpStatus_t report_failure(std::string_view function, mluOpStatus_t status, std::string_view message) noexcept {
  char* end = append(last_error_text, "[");
  end = append(end, function);
  end = append(end, "] ");
  end = append(end, message);
  *end = '\0';
  log_error(last_error_text);
  return status;
}

const char* last_error() noexcept { return last_error_text; }

}  // namespace mluop
