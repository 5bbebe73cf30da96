// Assembles a case from .npy files named after the tensors. A generated case of the operator supplies everything
// that the arrays do not state.
#pragma once

#include <string>

#include "case/case_folder.h"

namespace mluop::cases {

// Throws Problem if an input is missing, if it has a type or a number of dimensions that no generated case has, or
// if the shape of an output does not follow from inputs and parameters.
Case assemble(const std::string& folder, const FolderSettings& settings);

}  // namespace mluop::cases
