// Writes cases, in text or binary.
#pragma once

#include <string>

#include "case/model.h"

namespace mluop::cases {

// Text has numbers where these have all bits, else bits as value_i.
std::string text_of(const Case& the_case);
// Binary for files whose name ends in .pb, else text. Throws Problem if the file cannot be written.
void write_case(const Case& the_case, const std::string& file);

}  // namespace mluop::cases
