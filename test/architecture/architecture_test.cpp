// The source tree follows the rules of CONTRIBUTING.md. The checker of the rules detects each violation.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "architecture/rules.h"
#include "support/temporary_folder.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;

// A source tree for the duration of a test.
class TemporaryTree {
 public:
  void add(const std::string& name, const std::string& text) const {
    fs::create_directories((root() / name).parent_path());
    std::ofstream(root() / name) << text;
  }
  const fs::path& root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TEST(Architecture, TheProjectFollowsItsRules) {
  ASSERT_TRUE(fs::exists(fs::path(MLUOP_OMP_SOURCE_DIR) / "src/team/launch.cpp"));
  for (const std::string& violation : violations_of(MLUOP_OMP_SOURCE_DIR)) ADD_FAILURE() << violation;
}

TEST(Architecture, AcceptsAllowedIncludes) {
  const TemporaryTree tree;
  tree.add("include/mlu_op.h", "");
  tree.add("src/core/log.cpp", "#include \"core/log.h\"\n#include <spdlog/spdlog.h>\n#include \"mlu_op.h\"\n");
  tree.add("src/team/launch.cpp", "#include <omp.h>\n#include \"core/log.h\"\n  #pragma omp parallel\n");
  tree.add("src/primitives/sort.h", "#include \"team/launch.h\"\n#include \"core/log.h\"\n");
  tree.add("src/ops/one/plan.h",
           "#include \"ops/one/kernels.h\"\n#include \"primitives/sort.h\"\n#include \"team/launch.h\"\n"
           "// No `#pragma omp` here.\n#pragma once\n");
  tree.add("src/api/handle.cpp", "#include \"api/a.h\"\n#include \"primitives/sort.h\"\n#include <vector>\n");
  tree.add("perf/support/parallel.h", "#include <omp.h>\n#pragma omp parallel\n");
  EXPECT_EQ(violations_of(tree.root()), std::vector<std::string>());
}

struct Violation {
  const char* file;
  const char* line;
  const char* what;
};

constexpr Violation kViolations[] = {
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

TEST(Architecture, ReportsEveryViolation) {
  for (const Violation& violation : kViolations) {
    const TemporaryTree tree;
    tree.add("include/mlu_op.h", "");
    tree.add("src/core/fine.h", "#pragma once\n");
    tree.add(violation.file, std::string("#include \"mlu_op.h\"\n\n") + violation.line + "\n#include <vector>\n");
    EXPECT_EQ(violations_of(tree.root()),
              std::vector<std::string>{std::string(violation.file) + ":3: " + violation.what});
  }
}

TEST(Architecture, ReportsAllViolationsOfATree) {
  const TemporaryTree tree;
  tree.add("src/core/a.h", "#include \"team/b.h\"\n#pragma omp parallel\n");
  tree.add("src/team/b.h", "#include \"core/a.h\"\n#include \"api/c.h\"\n");
  EXPECT_EQ(violations_of(tree.root()), (std::vector<std::string>{"src/core/a.h:1: includes \"team/b.h\"",
                                                                  "src/core/a.h:2: has an OpenMP pragma",
                                                                  "src/team/b.h:2: includes \"api/c.h\""}));
}

TEST(Architecture, ThrowsWithoutSources) {
  const TemporaryTree tree;
  EXPECT_THROW(violations_of(tree.root()), fs::filesystem_error);
}

}  // namespace
}  // namespace mluop::test
