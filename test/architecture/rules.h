// The rules that keep the folders of the project apart, as a checker over a source tree: which folder includes
// which, and where OpenMP and the logger may occur. It reads text line by line and knows no preprocessor: a line
// that is compiled out counts too.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mluop::test {

// One line for each that breaks a rule: "src/core/a.h:3: core includes "team/b.h"". Empty if all is well. Reads
// the C and C++ files below root/src and root/perf; throws if there is no root/src.
std::vector<std::string> broken_rules(const std::filesystem::path& root);

}  // namespace mluop::test
