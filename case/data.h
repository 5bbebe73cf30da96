// The elements of a tensor: inline, from a file, or random.
#pragma once

#include <string>

#include "case/model.h"

namespace mluop::cases {

// Draws the numbers as the generator of MLU-OPS does: std::default_random_engine with the seed, one engine for
// each tensor. Bounds may be inverted. Integers are rounded down. The parts of complex elements are drawn in turn.
Bytes random_elements(const Random& random, mluOpDataType_t dtype, int64_t count);

// Loads `elements` of a tensor; paths are relative to `folder`. Elements without a source are uniform random
// numbers from -1 to 1. Elements that strides put at one place get the value of the last of them. Throws Problem
// if a file is missing, is not a regular file, or has another size, or if the strides are invalid.
Bytes load(const Tensor& tensor, const Elements& elements, const std::string& folder);

// Throws Problem if the case names a file outside its folder, even through symbolic links.
void require_own_files(const Case& the_case);

}  // namespace mluop::cases
