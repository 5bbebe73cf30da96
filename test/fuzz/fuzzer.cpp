// The entries of libFuzzer.
#include "fuzz/fuzzer.h"

#include <cstdlib>

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("MLUOP_LOG_LEVEL", "off", 1);
  // Teams are short and the processors few.
  setenv("OMP_WAIT_POLICY", "passive", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mluop::fuzz::Decoder decoder(data, size);
  mluop::fuzz::fuzz_one(decoder);
  return 0;
}
