// Names of data types and layouts. api/library_test.cpp tests the sizes.
#include "core/dtype.h"

#include <gtest/gtest.h>

namespace mluop::test {
namespace {

TEST(CoreDtype, NamesOfTypes) {
  // In the order of their values. No data type has the value 10.
  const char* const kNames[] = {"INVALID", "HALF",   "FLOAT",  "INT8",         "INT16",         "INT31",
                                "INT32",   "UINT8",  "BOOL",   "INT64",        "INVALID",       "UINT32",
                                "UINT64",  "UINT16", "DOUBLE", "COMPLEX_HALF", "COMPLEX_FLOAT", "BFLOAT16"};
  int value = 0;
  for (const char* name : kNames) EXPECT_EQ(name_of(static_cast<mluOpDataType_t>(value++)), name);
  EXPECT_EQ(name_of(static_cast<mluOpDataType_t>(value)), "INVALID");
}

TEST(CoreDtype, NamesOfLayouts) {
  const char* const kNames[] = {"NCHW", "NHWC", "HWCN", "NDHWC", "ARRAY", "NCDHW",
                                "TNC",  "NTC",  "NC",   "NLC",   "NCL"};
  int value = 0;
  for (const char* name : kNames) EXPECT_EQ(name_of(static_cast<mluOpTensorLayout_t>(value++)), name);
  EXPECT_EQ(name_of(static_cast<mluOpTensorLayout_t>(value)), "");
}

}  // namespace
}  // namespace mluop::test
