// Versions, the compiler, status names, element sizes, the last error, and the default level of the log.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "mlu_op_omp.h"
#include "support/api_errors.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

std::string version_text(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

// MLUOP_OMP_VERSION is the version of the CMake project.
TEST(ApiLibrary, Versions) {
  const struct {
    void (*get)(int*, int*, int*);
    std::string expected;
  } kTable[] = {{mluOpGetLibVersion, "1.11.1"}, {mluOpOmpGetVersion, MLUOP_OMP_VERSION}};
  for (const auto& row : kTable) {
    int major = -1, minor = -1, patch = -1;
    row.get(&major, &minor, &patch);
    EXPECT_EQ(version_text(major, minor, patch), row.expected);
    // A null pointer is skipped.
    major = minor = patch = -1;
    row.get(&major, nullptr, nullptr);
    row.get(nullptr, &minor, nullptr);
    row.get(nullptr, nullptr, &patch);
    row.get(nullptr, nullptr, nullptr);
    EXPECT_EQ(version_text(major, minor, patch), row.expected);
  }
  EXPECT_EQ(version_text(MLUOP_OMP_VERSION_MAJOR, MLUOP_OMP_VERSION_MINOR, MLUOP_OMP_VERSION_PATCH),
            MLUOP_OMP_VERSION);
}

// Library and tests have the same compiler.
TEST(ApiLibrary, Compiler) {
#if defined(__clang__)
  const std::string expected = "clang " + version_text(__clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  const std::string expected = "GCC " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
  EXPECT_EQ(mluOpOmpGetCompiler(), expected);
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
  // In the order of the values of mluOpDataType_t; 0: no data type has that value.
  constexpr size_t kSizes[] = {0, 2, 4, 1, 2, 4, 4, 1, 1, 8, 0, 4, 8, 2, 8, 4, 8, 2, 0, 0};
  for (size_t value = 0; value < std::size(kSizes); ++value) {
    SCOPED_TRACE(value);
    size_t size = 77;
    const auto call = [&] { return mluOpGetSizeOfDataType(static_cast<mluOpDataType_t>(value), &size); };
    if (kSizes[value] > 0) {
      EXPECT_EQ(call(), MLUOP_STATUS_SUCCESS);
      EXPECT_EQ(size, kSizes[value]);
    } else {
      expect_failure(call, MLUOP_STATUS_BAD_PARAM,
                     "[mluOpGetSizeOfDataType] dtype is " + std::to_string(value) +
                         ", expected a data type other than MLUOP_DTYPE_INVALID");
      EXPECT_EQ(size, 77U);
    }
  }
}

TEST(ApiLibrary, Errors) {
  expect_errors({
      {[] { return mluOpGetSizeOfDataType(MLUOP_DTYPE_FLOAT, nullptr); }, "[mluOpGetSizeOfDataType] size is null"},
      {[] { return mluOpOmpSetDefaultLogLevel(nullptr); }, "[mluOpOmpSetDefaultLogLevel] level is null"},
      {[] { return mluOpOmpSetDefaultLogLevel("loud"); },
       "[mluOpOmpSetDefaultLogLevel] level is \"loud\", expected one of: debug, info, warn, error, off"},
  });
}

// The last error is kept until the next failure of its thread.
TEST(ApiLibrary, LastError) {
  mluOpDestroy(nullptr);
  size_t size = 0;
  EXPECT_EQ(mluOpGetSizeOfDataType(MLUOP_DTYPE_FLOAT, &size), MLUOP_STATUS_SUCCESS);
  std::string before = "unset", after = "unset";
  std::thread([&] {
    before = mluOpOmpGetLastError();
    mluOpCreate(nullptr);
    after = mluOpOmpGetLastError();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(after, "[mluOpCreate] handle is null");
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpDestroy] handle is null");
  mluOpCreate(nullptr);
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpCreate] handle is null");
  // At most 1023 characters.
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", std::string(2000, 'x').c_str());
  mluOpHandle_t handle = nullptr;
  EXPECT_EQ(mluOpCreate(&handle), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(std::strlen(mluOpOmpGetLastError()), 1023U);
}

}  // namespace
}  // namespace mluop::test
