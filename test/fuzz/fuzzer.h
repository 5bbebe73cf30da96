// A fuzzer defines fuzz_one(): it decodes one input and checks the properties.
#pragma once

#include "fuzz/decoder.h"

namespace mluop::fuzz {

void fuzz_one(Decoder& decoder);

}  // namespace mluop::fuzz
