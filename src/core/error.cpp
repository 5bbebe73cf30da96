#include "core/error.h"

#include <string>

#include "core/log.h"
#include "core/text.h"

namespace mluop {
namespace {

std::string& last_error_text() {
  thread_local std::string kept;
  return kept;
}

}  // namespace

mluOpStatus_t fail(std::string_view function, mluOpStatus_t status, std::string_view message) noexcept {
  try {
    last_error_text() = text("[", function, "] ", message);
    log_error(last_error_text());
  } catch (...) {
    // Out of memory for the text: the status still tells.
  }
  return status;
}

const char* last_error() noexcept { return last_error_text().c_str(); }

}  // namespace mluop
