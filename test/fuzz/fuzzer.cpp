// The entries of libFuzzer.
#include "fuzz/fuzzer.h"

#include <cstdlib>

// Each execution frees the NRAM of its handles: a small quarantine keeps few pages.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=16"; }

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("MLUOP_LOG_LEVEL", "off", 1);
  // Waiting threads sleep: parallel regions are short and the processors few.
  setenv("OMP_WAIT_POLICY", "passive", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mluop::fuzz::Decoder decoder(data, size);
  mluop::fuzz::fuzz_one(decoder);
  return 0;
}
