// The source tree follows the rules of CONTRIBUTING.md: which folder may include which, and which files may use
// OpenMP and the logger. The checker of the rules detects each violation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;

// The folders that each folder of src may include besides itself and the public headers.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"core", {}},
    {"recording", {"core"}},
    {"team", {"recording", "core"}},
    {"primitives", {"team", "recording", "core"}},
    {"ops", {"primitives", "team", "recording", "core"}},
    {"api", {"primitives", "team", "recording", "core"}},
};

// The folder of a path, such as "team" or "ops/voxel_pooling_forward".
std::string folder_of(const fs::path& path) {
  const std::string first = path.begin()->string();
  return first == "ops" ? first + "/" + std::next(path.begin())->string() : first;
}

bool may_use_openmp(const std::string& file) {
  return file.starts_with("src/team/") || file == "perf/support/parallel.h";
}

// What is wrong with #include <header> in a file; "" if nothing.
std::string check_system_include(const std::string& file, const std::string& header) {
  const bool is_logger = header.starts_with("spdlog/") && file != "src/core/log.cpp";
  const bool is_openmp = header == "omp.h" && file.starts_with("src/") && !may_use_openmp(file);
  return is_logger || is_openmp ? "includes <" + header + ">" : "";
}

// The same for #include "header".
std::string check_include(const fs::path& root, const std::string& file, const std::string& header) {
  if (!file.starts_with("src/")) return "";
  const std::string what = "includes \"" + header + "\"";
  if (header.find('/') == header.npos) {
    return fs::exists(root / "include" / header) ? "" : what + ", which is no public header";
  }
  const std::string own = folder_of(fs::path(file).lexically_relative("src")), other = folder_of(header);
  if (own == other) return "";
  const auto allowed = kMayInclude.find(own.substr(0, own.find('/')));
  return allowed != kMayInclude.end() && allowed->second.contains(other) ? "" : what;
}

std::string check_line(const fs::path& root, const std::string& file, const std::string& line) {
  static const std::regex kInclude(R"(\s*#\s*include\s*([<"])([^>"]*).*)");
  static const std::regex kPragma(R"re(\s*#\s*pragma\s+omp.*|.*_Pragma\s*\(\s*"omp.*)re");
  // Regular expressions are slow.
  if (line.find('#') == line.npos && line.find("_Pragma") == line.npos) return "";
  if (std::regex_match(line, kPragma)) return may_use_openmp(file) ? "" : "has an OpenMP pragma";
  std::smatch include;
  if (!std::regex_match(line, include, kInclude)) return "";
  return include[1] == "<" ? check_system_include(file, include[2]) : check_include(root, file, include[2]);
}

// One message per violation, such as "src/core/a.h:3: includes "team/b.h"". Reads the text of the C and C++ files
// below root/src and root/perf without preprocessing it, so that lines that are compiled out are checked too.
std::vector<std::string> violations_of(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* folder : {"src", "perf"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp" || extension == ".c") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> violations;
  for (const fs::path& path : files) {
    const std::string file = path.lexically_relative(root).generic_string();
    std::ifstream lines(path);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      const std::string what = check_line(root, file, line);
      if (!what.empty()) violations.push_back(file + ":" + std::to_string(number) + ": " + what);
    }
  }
  return violations;
}

TEST(Architecture, TheProjectFollowsItsRules) {
  ASSERT_TRUE(fs::exists(fs::path(MLUOP_OMP_SOURCE_DIR) / "src/team/launch.cpp"));
  EXPECT_THAT(violations_of(MLUOP_OMP_SOURCE_DIR), ::testing::IsEmpty());
}

struct Line {
  const char* file;
  const char* line;
  const char* violation = nullptr;  // null: none
};

constexpr Line kLines[] = {
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
    {"src/api/handle.cpp", "#include \"api/a.h\""},
    {"src/api/handle.cpp", "#include \"primitives/sort.h\""},
    {"perf/support/parallel.h", "#include <omp.h>"},
    {"perf/support/parallel.h", "#pragma omp parallel"},
    {"src/core/a.cpp", "#include \"team/b.h\"", "includes \"team/b.h\""},
    {"src/core/a.cpp", "#include \"api/b.h\"", "includes \"api/b.h\""},
    {"src/core/a.cpp", "  #  include \"ops/one/b.h\" // why", "includes \"ops/one/b.h\""},
    {"src/core/a.cpp", "#include \"../team/b.h\"", "includes \"../team/b.h\""},
    {"src/core/a.cpp", "#include \"b.h\"", "includes \"b.h\", which is no public header"},
    {"src/team/a.h", "#include \"primitives/b.h\"", "includes \"primitives/b.h\""},
    {"src/team/a.h", "#include \"ops/one/b.h\"", "includes \"ops/one/b.h\""},
    {"src/primitives/a.h", "#include \"ops/one/b.h\"", "includes \"ops/one/b.h\""},
    {"src/primitives/a.h", "#include \"api/b.h\"", "includes \"api/b.h\""},
    {"src/ops/one/a.cpp", "#include \"ops/two/b.h\"", "includes \"ops/two/b.h\""},
    {"src/ops/one/a.cpp", "#include \"api/b.h\"", "includes \"api/b.h\""},
    {"src/ops/one/a.cpp", "#include \"test/b.h\"", "includes \"test/b.h\""},
    {"src/api/a.cpp", "#include \"ops/one/b.h\"", "includes \"ops/one/b.h\""},
    {"src/more/a.cpp", "#include \"core/b.h\"", "includes \"core/b.h\""},
    {"src/ops/one/a.cpp", "#pragma omp parallel for", "has an OpenMP pragma"},
    {"src/core/a.h", "  #  pragma   omp atomic", "has an OpenMP pragma"},
    {"src/primitives/a-inl.h", "  for (;;) _Pragma(\"omp simd\")", "has an OpenMP pragma"},
    {"perf/support/measure.cpp", "#pragma omp parallel", "has an OpenMP pragma"},
    {"src/ops/one/a.cpp", "#include <omp.h>", "includes <omp.h>"},
    {"src/core/log.h", "#include <spdlog/fmt/fmt.h>", "includes <spdlog/fmt/fmt.h>"},
    {"src/team/a.cpp", "#include <spdlog/spdlog.h>", "includes <spdlog/spdlog.h>"},
};

TEST(Architecture, ReportsEachViolationAndNothingElse) {
  const TemporaryFolder folder;
  const fs::path& root = folder.path();
  std::map<std::string, int> line_counts;  // of each file
  std::vector<std::string> expected;
  const auto append = [&](const char* file, const char* line) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file, std::ios::app) << line << '\n';
    return ++line_counts[file];
  };
  append("include/mlu_op.h", "");
  for (const Line& row : kLines) {
    const int number = append(row.file, row.line);
    if (row.violation == nullptr) continue;
    expected.push_back(std::string(row.file) + ":" + std::to_string(number) + ": " + row.violation);
  }
  EXPECT_THAT(violations_of(root), ::testing::UnorderedElementsAreArray(expected));
  fs::remove_all(root / "src");
  EXPECT_THROW(violations_of(root), fs::filesystem_error);
}

}  // namespace
}  // namespace mluop::test
