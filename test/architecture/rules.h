// Checks the rules between the folders of a source tree: which folder may include which, and which files may use
// OpenMP and the logger. Reads the text without preprocessing it, so lines that are compiled out are checked too.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mluop::test {

// Returns one message per violation, such as "src/core/a.h:3: includes "team/b.h"". Reads the C and C++ files
// below root/src and root/perf. Throws if root/src does not exist.
std::vector<std::string> violations_of(const std::filesystem::path& root);

}  // namespace mluop::test
