// Builds message text: text("dim ", 2, " is ", 4) == "dim 2 is 4", in every locale. Cost: one ostringstream; use
// it only for messages that are shown.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace mluop {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

}  // namespace mluop
