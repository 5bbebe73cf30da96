// Writes cases, in text or binary.
#pragma once

#include <string>

#include "case/model.h"

namespace mluop::cases {

// Text contains numbers if they represent all bits, otherwise bits as value_i.
std::string text_of(const Case& the_case);
// Binary if the name of the file ends in .pb, otherwise text. Throws Problem if the file cannot be written.
void write_case(const Case& the_case, const std::string& file);

}  // namespace mluop::cases
