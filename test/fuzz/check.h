// Checks of a fuzzer: a failed check prints its text and aborts, and libFuzzer reports the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "mlu_op.h"
#include "mlu_op_omp.h"

namespace mluop::fuzz {

template <class... Parts>
void check(bool holds, const Parts&... parts) {
  if (holds) return;
  std::string text;
  ((text += parts), ...);
  std::fprintf(stderr, "property violated: %s\nlast error: %s\n", text.c_str(), mluOpOmpGetLastError());
  std::abort();
}

inline void check_success(mluOpStatus_t status, const char* what) {
  check(status == MLUOP_STATUS_SUCCESS, what, " returns ", mluOpGetErrorString(status), ", expected success");
}

}  // namespace mluop::fuzz
