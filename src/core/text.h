// Builds message text: text("dim ", 2, " is ", 4) == "dim 2 is 4". Cost: one ostringstream; use it only for
// messages that are shown.
#pragma once

#include <sstream>
#include <string>

namespace mluop {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace mluop
