// Versions, the compiler, status names, element sizes, the last error and the log.
#include "core/boundary.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/log.h"
#include "core/simd.h"
#include "mlu_op_omp.h"

#define MLUOP_TEXT_OF(number) #number
// The text of a macro's value.
#define MLUOP_TEXT(macro) MLUOP_TEXT_OF(macro)

void MLUOP_WIN_API mluOpGetLibVersion(int* major, int* minor, int* patch) {
  if (major != nullptr) *major = MLUOP_MAJOR;
  if (minor != nullptr) *minor = MLUOP_MINOR;
  if (patch != nullptr) *patch = MLUOP_PATCHLEVEL;
}

void MLUOP_WIN_API mluOpOmpGetVersion(int* major, int* minor, int* patch) {
  if (major != nullptr) *major = MLUOP_OMP_VERSION_MAJOR;
  if (minor != nullptr) *minor = MLUOP_OMP_VERSION_MINOR;
  if (patch != nullptr) *patch = MLUOP_OMP_VERSION_PATCH;
}

const char* MLUOP_WIN_API mluOpOmpGetInstructionSet(void) {
  const char* name = "";  // stays empty if memory runs out
  mluop::run_guarded("mluOpOmpGetInstructionSet", [&] { name = mluop::simd_name(); });
  return name;
}

const char* MLUOP_WIN_API mluOpOmpGetCompiler(void) {
#if defined(__clang__)
  return "clang " MLUOP_TEXT(__clang_major__) "." MLUOP_TEXT(__clang_minor__) "." MLUOP_TEXT(__clang_patchlevel__);
#else
  return "GCC " MLUOP_TEXT(__GNUC__) "." MLUOP_TEXT(__GNUC_MINOR__);
#endif
}

const char* MLUOP_WIN_API mluOpGetErrorString(mluOpStatus_t status) {
  switch (status) {
    case MLUOP_STATUS_SUCCESS: return "MLUOP_STATUS_SUCCESS";
    case MLUOP_STATUS_NOT_INITIALIZED: return "MLUOP_STATUS_NOT_INITIALIZED";
    case MLUOP_STATUS_ALLOC_FAILED: return "MLUOP_STATUS_ALLOC_FAILED";
    case MLUOP_STATUS_BAD_PARAM: return "MLUOP_STATUS_BAD_PARAM";
    case MLUOP_STATUS_INTERNAL_ERROR: return "MLUOP_STATUS_INTERNAL_ERROR";
    case MLUOP_STATUS_ARCH_MISMATCH: return "MLUOP_STATUS_ARCH_MISMATCH";
    case MLUOP_STATUS_EXECUTION_FAILED: return "MLUOP_STATUS_EXECUTION_FAILED";
    case MLUOP_STATUS_NOT_SUPPORTED: return "MLUOP_STATUS_NOT_SUPPORTED";
    case MLUOP_STATUS_NUMERICAL_OVERFLOW: return "MLUOP_STATUS_NUMERICAL_OVERFLOW";
  }
  return "MLUOP_STATUS_UNKNOWN";
}

mluOpStatus_t MLUOP_WIN_API mluOpGetSizeOfDataType(mluOpDataType_t dtype, size_t* size) {
  return mluop::run_guarded("mluOpGetSizeOfDataType", [&] {
    mluop::require_not_null("size", size);
    mluop::require(mluop::size_of(dtype) > 0, MLUOP_STATUS_BAD_PARAM, "dtype is ", static_cast<int>(dtype),
                   ", expected a data type other than MLUOP_DTYPE_INVALID");
    *size = mluop::size_of(dtype);
  });
}

const char* MLUOP_WIN_API mluOpOmpGetLastError(void) { return mluop::last_error(); }

mluOpStatus_t MLUOP_WIN_API mluOpOmpSetDefaultLogLevel(const char* level) {
  return mluop::run_guarded("mluOpOmpSetDefaultLogLevel", [&] {
    mluop::require_not_null("level", level);
    mluop::set_default_log_level(level);
  });
}
