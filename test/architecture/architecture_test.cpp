// The source tree follows the rules of CONTRIBUTING.md: which folder may include which, and which files may use
// OpenMP and the logger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace mluop::test {
namespace {

namespace fs = std::filesystem;

// Matches a forbidden line: <file>:<line>, the line without blanks.
bool violates(const std::string& file, std::string line) {
  static const std::regex kForbidden[] = {
      // Folders of src include themselves, those below them and public headers.
      std::regex(R"(src/core/.*:#include"(?!core/).*/.*)"),
      std::regex(R"(src/recording/.*:#include"(?!(recording|core)/).*/.*)"),
      std::regex(R"(src/team/.*:#include"(?!(team|recording|core)/).*/.*)"),
      std::regex(R"(src/primitives/.*:#include"(?!(primitives|team|recording|core)/).*/.*)"),
      std::regex(R"(src/ops/(\w+)/.*:#include"(?!(ops/\1|primitives|team|recording|core)/).*/.*)"),
      std::regex(R"(src/compare/.*:#include"(?!(compare|primitives|team|recording|core)/).*/.*)"),
      std::regex(R"(src/api/.*:#include"(?!(api|primitives|team|recording|core)/).*/.*)"),
      std::regex(R"(src/(?!(core|recording|team|primitives|compare|ops|api)/).*:#include".*/.*)"),
      std::regex(R"(src/.*:#include"(?!mlu_op(_omp)?\.h)[^/]*)"),
      std::regex(R"re((?!src/team/|perf/support/parallel\.h).*:(#pragmaomp|.*_Pragma\("omp).*)re"),
      std::regex(R"(src/(?!team/).*:#include<omp\.h>.*)"),
      std::regex(R"((?!src/core/log\.cpp).*:#include<spdlog/.*)"),
  };
  // Regular expressions are slow.
  if (line.find('#') == line.npos && line.find("_Pragma") == line.npos) return false;
  std::erase(line, ' ');
  return std::ranges::any_of(kForbidden,
                             [&](const auto& rule) { return std::regex_match(file + ':' + line, rule); });
}

// Reads the text of the C and C++ files without preprocessing it, so that lines that are compiled out are checked
// too.
TEST(Architecture, TheProjectFollowsItsRules) {
  const fs::path root = MLUOP_OMP_SOURCE_DIR;
  std::vector<std::string> files;
  for (const char* folder : {"src", "perf"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".h" && path.extension() != ".cpp" && path.extension() != ".c") continue;
      const std::string file = files.emplace_back(path.lexically_relative(root).generic_string());
      std::ifstream lines(path);
      std::string line;
      for (int number = 1; std::getline(lines, line); ++number) {
        EXPECT_FALSE(violates(file, line)) << file << ':' << number << ": " << line;
      }
    }
  }
  EXPECT_THAT(files,
              ::testing::IsSupersetOf({"src/team/launch.cpp", "src/core/log.h", "perf/support/parallel.h"}));
}

TEST(Architecture, ReportsEachViolationAndNothingElse) {
  constexpr struct {
    const char *file, *line;
  } kAllowed[] =
      {
          {"src/core/log.cpp", "#include \"core/log.h\""},
          {"src/core/log.cpp", "#include <spdlog/spdlog.h>"},
          {"src/core/log.cpp", "#include \"mlu_op.h\""},
          {"src/core/log.cpp", "#include <vector>"},
          {"src/team/launch.cpp", "#include <omp.h>"},
          {"src/team/launch.cpp", "#include \"core/log.h\""},
          {"src/team/launch.cpp", "  #pragma omp parallel"},
          {"src/primitives/sort.h", "#include \"team/launch.h\""},
          {"src/primitives/sort.h", "#include \"core/log.h\""},
          {"src/ops/one/plan.h", "#include \"ops/one/kernels.h\""},
          {"src/ops/one/plan.h", "#include \"primitives/sort.h\""},
          {"src/ops/one/plan.h", "#include \"team/launch.h\""},
          {"src/ops/one/plan.h", "// No `#pragma omp` here."},
          {"src/ops/one/plan.h", "#pragma once"},
          {"src/compare/compare.cpp", "#include \"primitives/sort.h\""},
          {"src/api/handle.cpp", "#include \"api/a.h\""},
          {"src/api/handle.cpp", "#include \"primitives/sort.h\""},
          {"perf/support/parallel.h", "#include <omp.h>"},
          {"perf/support/parallel.h", "#pragma omp parallel"},
      },
    kViolations[] = {
        {"src/core/a.cpp", "#include \"team/b.h\""},
        {"src/core/a.cpp", "#include \"api/b.h\""},
        {"src/core/a.cpp", "  #  include \"ops/one/b.h\" // why"},
        {"src/core/a.cpp", "#include \"../team/b.h\""},
        {"src/core/a.cpp", "#include \"b.h\""},
        {"src/recording/a.h", "#include \"team/b.h\""},
        {"src/team/a.h", "#include \"primitives/b.h\""},
        {"src/team/a.h", "#include \"ops/one/b.h\""},
        {"src/primitives/a.h", "#include \"ops/one/b.h\""},
        {"src/primitives/a.h", "#include \"api/b.h\""},
        {"src/ops/one/a.cpp", "#include \"ops/two/b.h\""},
        {"src/ops/one/a.cpp", "#include \"api/b.h\""},
        {"src/ops/one/a.cpp", "#include \"test/b.h\""},
        {"src/api/a.cpp", "#include \"ops/one/b.h\""},
        {"src/compare/a.cpp", "#include \"ops/one/b.h\""},
        {"src/ops/one/a.cpp", "#include \"compare/b.h\""},
        {"src/more/a.cpp", "#include \"core/b.h\""},
        {"src/ops/one/a.cpp", "#pragma omp parallel for"},
        {"src/core/a.h", "  #  pragma   omp atomic"},
        {"src/primitives/a-inl.h", "  for (;;) _Pragma(\"omp simd\")"},
        {"perf/support/measure.cpp", "#pragma omp parallel"},
        {"src/ops/one/a.cpp", "#include <omp.h>"},
        {"src/core/log.h", "#include <spdlog/fmt/fmt.h>"},
        {"src/team/a.cpp", "#include <spdlog/spdlog.h>"},
    };
  for (const auto& row : kAllowed) EXPECT_FALSE(violates(row.file, row.line)) << row.file << ' ' << row.line;
  for (const auto& row : kViolations) EXPECT_TRUE(violates(row.file, row.line)) << row.file << ' ' << row.line;
}

}  // namespace
}  // namespace mluop::test
