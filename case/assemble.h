// A case from arrays of .npy files whose names are those of the tensors: the generated cases of the operator state
// what the arrays do not.
#pragma once

#include <string>

#include "case/case_folder.h"

namespace mluop::cases {

// Throws Problem if an input is missing, or has a type or a number of dimensions that no generated case has, and
// if the shape of an output does not follow from inputs and parameters.
Case assemble(const std::string& folder, const FolderSettings& settings);

}  // namespace mluop::cases
