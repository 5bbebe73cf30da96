#include "architecture/rules.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>

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

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The text after `word` and the blanks around it; nullopt if the text does not begin with `word`.
std::optional<std::string_view> after(std::optional<std::string_view> text, std::string_view word) {
  constexpr std::string_view kBlanks = " \t";
  const auto skip_blanks = [&](std::string_view from) {
    return from.substr(std::min(from.find_first_not_of(kBlanks), from.size()));
  };
  if (!text) return text;
  const std::string_view found = skip_blanks(*text);
  if (!starts_with(found, word)) return std::nullopt;
  return skip_blanks(found.substr(word.size()));
}

bool is_openmp_pragma(std::string_view line) {
  if (after(after(after(line, "#"), "pragma"), "omp")) return true;
  const size_t operand = line.find("_Pragma");
  return operand != line.npos && after(after(after(line.substr(operand), "_Pragma"), "("), "\"omp");
}

// The folder of a path, such as "team" or "ops/voxel_pooling_forward".
std::string folder_of(const fs::path& path) {
  const std::string first = path.begin()->string();
  return first == "ops" ? first + "/" + std::next(path.begin())->string() : first;
}

// Checks one file of the tree and appends its violations.
class File {
 public:
  File(const fs::path& root, const fs::path& path, std::vector<std::string>& violations)
      : root_(root), name_(path.lexically_relative(root).generic_string()), violations_(violations) {}

  void check() {
    std::ifstream lines(root_ / name_);
    std::string line;
    while (std::getline(lines, line)) {
      ++line_number_;
      if (const auto included = after(after(line, "#"), "include")) check_include_of(*included);
      if (is_openmp_pragma(line) && !may_use_openmp()) report("has an OpenMP pragma");
    }
  }

 private:
  bool may_use_openmp() const { return starts_with(name_, "src/team/") || name_ == "perf/support/parallel.h"; }

  // `included` is the rest of the line, beginning with < or ".
  void check_include_of(std::string_view included) {
    const bool system = starts_with(included, "<");
    if (!system && !starts_with(included, "\"")) return;
    included.remove_prefix(1);
    const std::string header(included.substr(0, included.find(system ? '>' : '"')));
    if (system) {
      check_system_include(header);
    } else if (starts_with(name_, "src/")) {
      check_include(header);
    }
  }

  void check_system_include(const std::string& header) {
    if (starts_with(header, "spdlog/") && name_ != "src/core/log.cpp") report("includes <" + header + ">");
    if (header == "omp.h" && starts_with(name_, "src/") && !may_use_openmp()) report("includes <omp.h>");
  }

  void check_include(const std::string& header) {
    const fs::path path(header);
    if (!path.has_parent_path()) {
      if (!fs::exists(root_ / "include" / path)) report("includes \"" + header + "\", which is no public header");
      return;
    }
    const std::string own = folder_of(fs::path(name_).lexically_relative("src"));
    const std::string other = folder_of(path);
    if (own == other && !starts_with(header, ".")) return;
    const auto allowed = kMayInclude.find(own.substr(0, own.find('/')));
    if (allowed == kMayInclude.end() || allowed->second.count(other) == 0) report("includes \"" + header + "\"");
  }

  void report(const std::string& what) {
    violations_.push_back(name_ + ":" + std::to_string(line_number_) + ": " + what);
  }

  const fs::path& root_;
  std::string name_;
  std::vector<std::string>& violations_;
  int line_number_ = 0;
};

}  // namespace

std::vector<std::string> violations_of(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* folder : {"src", "perf"}) {
    if (folder == std::string("perf") && !fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp" || extension == ".c") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> violations;
  for (const fs::path& path : files) File(root, path, violations).check();
  return violations;
}

}  // namespace mluop::test
