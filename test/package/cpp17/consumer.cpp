// A C++17 program that uses the installed package only. Returns 0 if all results are correct.
#include <mlu_op.h>
#include <mlu_op_omp.h>

#include <cstdio>
#include <cstring>

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "wrong: %s\n", what);
}

void check_version() {
  int major = -1, minor = -1, patch = -1;
  mluOpGetLibVersion(&major, &minor, &patch);
  expect(major == MLUOP_MAJOR && minor == MLUOP_MINOR && patch == MLUOP_PATCHLEVEL, "mluOpGetLibVersion");
  mluOpOmpGetVersion(&major, &minor, &patch);
  expect(
      major == MLUOP_OMP_EXPECTED_MAJOR && minor == MLUOP_OMP_EXPECTED_MINOR && patch == MLUOP_OMP_EXPECTED_PATCH,
      "mluOpOmpGetVersion");
}

}  // namespace

// consumers.cmake runs an operator in the example of the README.
int main() {
  check_version();
  expect(std::strcmp(mluOpOmpGetLastError(), "") == 0, "mluOpOmpGetLastError without an error");
  mluOpHandle_t handle = nullptr;
  expect(mluOpCreate(&handle) == MLUOP_STATUS_SUCCESS, "mluOpCreate");
  expect(mluOpOmpSetAlgorithm(handle, MLUOP_OMP_ALGORITHM_DEVICE) == MLUOP_STATUS_SUCCESS, "mluOpOmpSetAlgorithm");
  expect(mluOpDestroy(handle) == MLUOP_STATUS_SUCCESS, "mluOpDestroy");
  expect(mluOpDestroy(nullptr) == MLUOP_STATUS_BAD_PARAM, "status of an invalid call");
  expect(std::strcmp(mluOpOmpGetLastError(), "[mluOpDestroy] handle is null") == 0, "mluOpOmpGetLastError");
  return failures == 0 ? 0 : 1;
}
