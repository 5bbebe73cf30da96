// Versions, status names, element sizes, the last error, and the level of the log.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "mlu_op_omp.h"
#include "support/api_errors.h"

namespace mluop::test {
namespace {

std::string version_text(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

// MLUOP_OMP_VERSION is the version of the CMake project.
TEST(ApiLibrary, VersionIsThatOfTheProject) {
  int major = -1, minor = -1, patch = -1;
  mluOpOmpGetVersion(&major, &minor, &patch);
  EXPECT_EQ(version_text(major, minor, patch), MLUOP_OMP_VERSION);
  EXPECT_EQ(version_text(MLUOP_OMP_VERSION_MAJOR, MLUOP_OMP_VERSION_MINOR, MLUOP_OMP_VERSION_PATCH),
            MLUOP_OMP_VERSION);
}

TEST(ApiLibrary, VersionOfMluOps) {
  int major = -1, minor = -1, patch = -1;
  mluOpGetLibVersion(&major, &minor, &patch);
  EXPECT_EQ(version_text(major, minor, patch), "1.11.1");
  EXPECT_EQ(MLUOP_VERSION, major * 1000 + minor * 100 + patch);
}

TEST(ApiLibrary, VersionsSkipNull) {
  for (const auto get_version : {mluOpGetLibVersion, mluOpOmpGetVersion}) {
    int major = -1, minor = -1, patch = -1;
    get_version(&major, nullptr, nullptr);
    get_version(nullptr, &minor, nullptr);
    get_version(nullptr, nullptr, &patch);
    EXPECT_GE(major, 0);
    EXPECT_GE(minor, 0);
    EXPECT_GE(patch, 0);
    get_version(nullptr, nullptr, nullptr);
  }
}

TEST(ApiLibrary, ErrorStrings) {
  const char* const kNames[] = {
      "MLUOP_STATUS_SUCCESS",          "MLUOP_STATUS_NOT_INITIALIZED", "MLUOP_STATUS_ALLOC_FAILED",
      "MLUOP_STATUS_BAD_PARAM",        "MLUOP_STATUS_INTERNAL_ERROR",  "MLUOP_STATUS_ARCH_MISMATCH",
      "MLUOP_STATUS_EXECUTION_FAILED", "MLUOP_STATUS_NOT_SUPPORTED",   "MLUOP_STATUS_NUMERICAL_OVERFLOW"};
  int status = 0;
  for (const char* name : kNames) EXPECT_STREQ(mluOpGetErrorString(static_cast<mluOpStatus_t>(status++)), name);
  // Up to the largest value that the enumeration can represent: larger ones are undefined behavior in the test.
  for (; status < 16; ++status) {
    EXPECT_STREQ(mluOpGetErrorString(static_cast<mluOpStatus_t>(status)), "MLUOP_STATUS_UNKNOWN");
  }
}

TEST(ApiLibrary, SizeOfDataType) {
  constexpr struct {
    mluOpDataType_t dtype;
    size_t size;
  } kSizes[] = {{MLUOP_DTYPE_HALF, 2},    {MLUOP_DTYPE_FLOAT, 4},        {MLUOP_DTYPE_INT8, 1},
                {MLUOP_DTYPE_INT16, 2},   {MLUOP_DTYPE_INT31, 4},        {MLUOP_DTYPE_INT32, 4},
                {MLUOP_DTYPE_UINT8, 1},   {MLUOP_DTYPE_BOOL, 1},         {MLUOP_DTYPE_INT64, 8},
                {MLUOP_DTYPE_UINT32, 4},  {MLUOP_DTYPE_UINT64, 8},       {MLUOP_DTYPE_UINT16, 2},
                {MLUOP_DTYPE_DOUBLE, 8},  {MLUOP_DTYPE_COMPLEX_HALF, 4}, {MLUOP_DTYPE_COMPLEX_FLOAT, 8},
                {MLUOP_DTYPE_BFLOAT16, 2}};
  for (const auto& [dtype, expected] : kSizes) {
    size_t size = 0;
    EXPECT_EQ(mluOpGetSizeOfDataType(dtype, &size), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(size, expected) << "dtype " << dtype;
  }
}

TEST(ApiLibrary, SizeOfDataTypeErrors) {
  size_t size = 77;
  const auto of = [&](int dtype) { return mluOpGetSizeOfDataType(static_cast<mluOpDataType_t>(dtype), &size); };
  expect_errors({
      {[&] { return mluOpGetSizeOfDataType(MLUOP_DTYPE_FLOAT, nullptr); },
       "[mluOpGetSizeOfDataType] size is null"},
      {[&] { return of(MLUOP_DTYPE_INVALID); },
       "[mluOpGetSizeOfDataType] dtype is 0, expected a data type other than MLUOP_DTYPE_INVALID"},
      // The gap between INT64 and UINT32.
      {[&] { return of(10); },
       "[mluOpGetSizeOfDataType] dtype is 10, expected a data type other than MLUOP_DTYPE_INVALID"},
      {[&] { return of(18); },
       "[mluOpGetSizeOfDataType] dtype is 18, expected a data type other than MLUOP_DTYPE_INVALID"},
      {[&] { return of(31); },
       "[mluOpGetSizeOfDataType] dtype is 31, expected a data type other than MLUOP_DTYPE_INVALID"},
  });
  EXPECT_EQ(size, 77U);
}

TEST(ApiLibrary, DefaultLogLevelErrors) {
  expect_errors({
      {[] { return mluOpOmpSetDefaultLogLevel(nullptr); }, "[mluOpOmpSetDefaultLogLevel] level is null"},
      {[] { return mluOpOmpSetDefaultLogLevel("loud"); },
       "[mluOpOmpSetDefaultLogLevel] level is \"loud\", expected one of: debug, info, warn, error, off"},
  });
}

TEST(ApiLastError, IsKeptUntilTheNextFailure) {
  EXPECT_EQ(mluOpDestroy(nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpDestroy] handle is null");
  size_t size = 0;
  EXPECT_EQ(mluOpGetSizeOfDataType(MLUOP_DTYPE_FLOAT, &size), MLUOP_STATUS_SUCCESS);
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpDestroy] handle is null");
  EXPECT_EQ(mluOpCreate(nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpCreate] handle is null");
}

TEST(ApiLastError, BelongsToItsThread) {
  mluOpDestroy(nullptr);
  std::string before = "unset", after = "unset";
  std::thread([&] {
    before = mluOpOmpGetLastError();
    mluOpCreate(nullptr);
    after = mluOpOmpGetLastError();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(after, "[mluOpCreate] handle is null");
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpDestroy] handle is null");
}

}  // namespace
}  // namespace mluop::test
