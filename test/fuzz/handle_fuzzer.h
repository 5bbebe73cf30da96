// Fuzzing of the functions of handles and of the environment that they read.
#pragma once

#include "fuzz/decoder.h"

namespace mluop::fuzz {

// A sequence of calls on a handle, compared with a model.
void fuzz_handle(Decoder& decoder);

}  // namespace mluop::fuzz
