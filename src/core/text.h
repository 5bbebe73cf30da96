// Builds message text: text("dim ", 2, " is ", 4) == "dim 2 is 4", in every locale. Cost: one ostringstream; use
// it only for messages that are shown. Throws std::bad_alloc.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace mluop {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  // Without this, a throwing insertion would silently end the text.
  out.exceptions(std::ios::badbit);
  (out << ... << parts);
  return out.str();
}

}  // namespace mluop
