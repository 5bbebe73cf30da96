// The source tree follows the rules of CONTRIBUTING.md: which folder may include which, without cycles, and which
// files may use OpenMP and the logger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
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
      // Descriptions and oracles are below perf suite and tests, and use the public headers of the library; so do
      // the perf suite, its bounds and the name of the instruction set aside, and the tests of networks.
      std::regex(R"(case/reference/.*:#include"(?!reference/).*/.*)"),
      std::regex(R"(case/(machine|scenes)/.*:#include"(?!(case/\1|reference)/).*/.*)"),
      std::regex(R"(case/operators/.*:#include"(?!(case/operators|reference)/|case/\w+\.h).*/.*)"),
      std::regex(R"(case/networks/.*:#include"(?!case/(networks|scenes)/|case/\w+\.h).*/.*)"),
      std::regex(R"(case/\w+\.(h|cpp):#include"(?!case/machine/|case/\w+\.h|reference/).*/.*)"),
      std::regex(R"(perf/bounds/.*:#include"(?!(perf/bounds|perf/support|reference|primitives|core)/).*/.*)"),
      std::regex(R"(perf/support/machine\.cpp:#include"(?!(perf/support|case|core)/).*/.*)"),
      std::regex(R"(perf/(?!bounds/|support/machine\.cpp).*:#include"(?!(perf|case|reference)/).*/.*)"),
      std::regex(R"(perf/support/.*:#include"perf/(?!support/).*)"),
      std::regex(R"(perf/(ops|networks)/.*:#include"perf/(?!(\1|bounds|support)/).*)"),
      std::regex(R"(test/(case|networks|compare|fuzz)/.*:#include"(?!(case|\1|support)/).*/.*)"),
      std::regex(R"(test/(?!perf/).*:#include"perf/.*)"),
      std::regex(R"re((?!src/team/|case/machine/parallel\.h|test/).*:(#pragmaomp|.*_Pragma\("omp).*)re"),
      std::regex(R"(src/(?!team/).*:#include<omp\.h>.*)"),
      std::regex(R"((?!src/core/log\.cpp|test/).*:#include<spdlog/.*)"),
  };
  // Regular expressions are slow.
  if (line.find('#') == line.npos && line.find("_Pragma") == line.npos) return false;
  std::erase(line, ' ');
  return std::ranges::any_of(kForbidden,
                             [&](const auto& rule) { return std::regex_match(file + ':' + line, rule); });
}

// A line of a file, whose path is relative to the project.
struct Line {
  std::string file;
  int number;
  std::string text;
};

// The C and C++ files of src, case, perf and test without preprocessing, so that excluded lines are checked, too.
std::vector<Line> all_lines() {
  const fs::path root = MLUOP_OMP_SOURCE_DIR;
  std::vector<Line> lines;
  for (const char* folder : {"src", "case", "perf", "test"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".h" && path.extension() != ".cpp" && path.extension() != ".c") continue;
      const std::string file = path.lexically_relative(root).generic_string();
      // This file quotes violations.
      if (file == "test/architecture/architecture_test.cpp") continue;
      std::ifstream stream(path);
      std::string text;
      for (int number = 1; std::getline(stream, text); ++number) lines.push_back({file, number, text});
    }
  }
  return lines;
}

TEST(Architecture, TheProjectFollowsItsRules) {
  std::set<std::string> files;
  for (const auto& [file, number, text] : all_lines()) {
    files.insert(file);
    EXPECT_FALSE(violates(file, text)) << file << ':' << number << ": " << text;
  }
  EXPECT_THAT(files, ::testing::IsSupersetOf(
                         {"src/team/launch.cpp", "src/core/log.h", "case/machine/parallel.h", "perf/main.cpp"}));
}

// The names that a file or folder includes.
using Includes = std::map<std::string, std::set<std::string>>;

// The names on a cycle of includes; empty without a cycle.
std::vector<std::string> circle_of(const Includes& includes) {
  std::vector<std::string> path;
  std::set<std::string> done;
  const std::function<bool(const std::string&)> closes = [&](const std::string& name) {
    const auto first = std::ranges::find(path, name);
    const bool is_on_path = first != path.end();
    path.push_back(name);
    if (is_on_path) {
      path.erase(path.begin(), std::ranges::find(path, name));
      return true;
    }
    if (!done.contains(name) && includes.contains(name) && std::ranges::any_of(includes.at(name), closes))
      return true;
    done.insert(name);
    path.pop_back();
    return false;
  };
  for (const auto& [name, included] : includes) {
    if (closes(name)) break;
  }
  return path;
}

// "src/team", "src/ops/knn", "case/operators", "case": the folder of an operator, elsewhere the first two names.
std::string room_of(const std::string& file) {
  static const std::regex kRoom(R"((src/ops/\w+|\w+/\w+|\w+)/.*)");
  std::smatch match;
  return std::regex_match(file, match, kRoom) ? match[1].str() : file;
}

TEST(Architecture, NoFileOrFolderIncludesItself) {
  const fs::path root = MLUOP_OMP_SOURCE_DIR;
  const std::regex include("#include\"([^\"]+/[^\"]+)\".*");
  Includes files, rooms;
  for (const auto& [file, number, text] : all_lines()) {
    std::string line = text;
    std::erase(line, ' ');
    std::smatch match;
    if (!line.starts_with("#include\"") || !std::regex_match(line, match, include)) continue;
    for (const char* folder : {"", file.starts_with("test/") ? "test" : "src", "src", "case"}) {
      const std::string included = (fs::path(folder) / match[1].str()).generic_string();
      if (!fs::exists(root / included)) continue;
      files[file].insert(included);
      if (room_of(file) != room_of(included)) rooms[room_of(file)].insert(room_of(included));
      break;
    }
  }
  EXPECT_GT(files.size(), 400U);
  EXPECT_THAT(circle_of(files), ::testing::IsEmpty());
  EXPECT_THAT(circle_of(rooms), ::testing::IsEmpty());
}

TEST(Architecture, FindsCircles) {
  EXPECT_THAT(circle_of({{"a", {"b", "c"}}, {"b", {"c"}}}), ::testing::IsEmpty());
  EXPECT_THAT(circle_of({{"a", {"b"}}, {"b", {"c", "d"}}, {"d", {"b"}}}), ::testing::ElementsAre("b", "d", "b"));
  EXPECT_EQ(room_of("src/ops/knn/knn.h"), "src/ops/knn");
  EXPECT_EQ(room_of("src/primitives/sort/radix_sort.h"), "src/primitives");
  EXPECT_EQ(room_of("case/operators/shared/box_scene.h"), "case/operators");
  EXPECT_EQ(room_of("case/model.h"), "case");
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
          {"case/machine/parallel.h", "#include <omp.h>"},
          {"case/machine/parallel.h", "#pragma omp parallel"},
          {"case/operators/knn.cpp", "#include \"case/description.h\""},
          {"case/operators/knn.cpp", "#include \"reference/knn.h\""},
          {"case/operators/knn.cpp", "#include \"case/operators/shared/box_scene.h\""},
          {"case/timing.cpp", "#include \"case/machine/timing.h\""},
          {"case/networks/point_net.h", "#include \"case/scenes/lidar_scan.h\""},
          {"perf/ops/knn.cpp", "#include \"perf/support/operator_case.h\""},
          {"perf/main.cpp", "#include \"perf/catalogue.h\""},
          {"perf/bounds/one.cpp", "#include \"primitives/simd/elements-inl.h\""},
          {"test/ops/knn/result_test.cpp", "#include \"ops/knn/knn.h\""},
          {"test/perf/bounds_test.cpp", "#include \"perf/bounds/one.h\""},
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
        {"case/timing.cpp", "#include \"perf/support/timing.h\""},
        {"case/main.cpp", "#include \"test/support/labels.h\""},
        {"case/call.cpp", "#include \"support/trace.h\""},
        {"case/call.cpp", "#include \"core/tensor.h\""},
        {"case/call.cpp", "#include \"case/operators/shared/box_scene.h\""},
        {"case/reference/knn.cpp", "#include \"case/model.h\""},
        {"case/machine/timing.h", "#include \"case/model.h\""},
        {"case/operators/knn.cpp", "#include \"case/scenes/lidar_scan.h\""},
        {"perf/ops/knn.cpp", "#include \"support/labels.h\""},
        {"perf/ops/knn.cpp", "#include \"networks/tensor.h\""},
        {"perf/ops/knn.cpp", "#include \"core/tensor.h\""},
        {"perf/ops/knn.cpp", "#include \"perf/catalogue.h\""},
        {"perf/support/measure.cpp", "#include \"perf/bounds/one.h\""},
        {"test/networks/point_net_test.cpp", "#include \"team/launch.h\""},
        {"test/ops/knn/result_test.cpp", "#include \"perf/support/case.h\""},
        {"src/ops/one/a.cpp", "#include <omp.h>"},
        {"src/core/log.h", "#include <spdlog/fmt/fmt.h>"},
        {"src/team/a.cpp", "#include <spdlog/spdlog.h>"},
    };
  for (const auto& row : kAllowed) EXPECT_FALSE(violates(row.file, row.line)) << row.file << ' ' << row.line;
  for (const auto& row : kViolations) EXPECT_TRUE(violates(row.file, row.line)) << row.file << ' ' << row.line;
}

}  // namespace
}  // namespace mluop::test
