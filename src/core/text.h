// Builds message text: text("dim ", 2, " is ", 4) == "dim 2 is 4", in every locale. Cost: one ostringstream; use
// it only for messages that are shown. Throws std::bad_alloc if memory does not suffice.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace mluop {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  // Else an insertion that throws would end the text silently.
  out.exceptions(std::ios::badbit);
  (out << ... << parts);
  return out.str();
}

}  // namespace mluop
