// Messages, debug lines and traces do not depend on the locale of the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <locale>
#include <string>

#include "core/text.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/temporary_folder.h"
#include "support/trace_file.h"

namespace mluop::test {
namespace {

// 1.234,5
class GroupedNumbers : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

class ApiLocale : public ::testing::Test {
 protected:
  ApiLocale() : before_(std::locale::global(std::locale(std::locale(), new GroupedNumbers))) {
    // The C library has a locale of its own. Where none with a decimal comma is installed, the C locale remains.
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
      if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
    }
  }
  ~ApiLocale() override {
    std::setlocale(LC_NUMERIC, "C");
    std::locale::global(before_);
    // Restores the log level, which is global.
    Handle();
  }

  cases::Case made =
      make_case("three_interpolate_backward", MLUOP_DTYPE_FLOAT, {{"c", 20}, {"m", 1500}, {"n", 2000}});

 private:
  std::locale before_;
};

TEST_F(ApiLocale, TextOfNumbers) { EXPECT_EQ(text(1234567, ' ', 0.5, ' ', size_t{1000}), "1234567 0.5 1000"); }

TEST_F(ApiLocale, MessagesOfErrors) {
  const Handle handle;
  const OperatorCall call(handle, made);
  call["indices"].as<int32_t>()[1234 * 3 + 1] = -5678;
  EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(mluOpOmpGetLastError(),
               "[mluOpThreeInterpolateBackward] indices[0, 1234, 1] is -5678, expected 0 to 1499");
}

TEST_F(ApiLocale, DebugLines) {
  const ScopedEnvironment log("MLUOP_LOG_LEVEL", "debug");
  ::testing::internal::CaptureStderr();
  const Handle handle;
  EXPECT_EQ(OperatorCall(handle, made).run(), MLUOP_STATUS_SUCCESS);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::ContainsRegex("grad_output FLOAT \\[2, 20, 2000\\] ARRAY.*, [0-9]+\\.?[0-9]* ms"));
}

TEST_F(ApiLocale, Traces) {
  const TemporaryFolder folder;
  const std::string name = (folder.path() / "trace").string();
  const ScopedEnvironment trace("MLUOP_OMP_TRACE", name.c_str());
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  EXPECT_EQ(OperatorCall(handle, made).run(), MLUOP_STATUS_SUCCESS);
  int64_t items = 0;
  for (const auto& event : read_trace(name)) {
    // Since the clock's epoch: more than a millisecond, so that the locale would group its digits.
    EXPECT_GT(event.at("ts").get<double>(), 1000.0);
    if (event.at("args").contains("items")) items += event.at("args").at("items").get<int64_t>();
  }
  EXPECT_GE(items, 2000 * 3 * 2);
}

}  // namespace
}  // namespace mluop::test
