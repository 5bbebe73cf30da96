// Base of tests of recorded calls.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "case/data.h"
#include "case/files.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/temporary_folder.h"

namespace mluop::test {

inline std::vector<std::byte> bytes_of(const cases::Operand& operand) {
  return {operand.data, operand.data + operand.bytes()};
}

inline std::vector<std::byte> bytes_of(const std::filesystem::path& file) {
  const std::string contents = cases::read_file(file, {});
  const auto* first = reinterpret_cast<const std::byte*>(contents.data());
  return {first, first + contents.size()};
}

// All files below a folder, sorted.
inline std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

inline std::vector<std::filesystem::path> case_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files = files_below(folder);
  std::erase_if(files, [](const auto& file) { return file.extension() != ".prototxt"; });
  return files;
}

// A recorded text without its comment, on one line.
inline std::string one_line(const std::string& text) {
  std::istringstream words(text.substr(text.find('\n') + 1));
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

// The recorded text in a file, with "*" for the name of the case in the names of raw files.
inline std::string text_of_recording(const std::filesystem::path& file) {
  const std::string name = file.stem().stem();
  std::string text = one_line(cases::read_file(file, {}));
  for (size_t at = 0; (at = text.find(name, at)) != text.npos;) text.replace(at, name.size(), "*");
  return text;
}

// Records into a new folder, with elements unless the test sets another mode.
class RecordingTest : public ::testing::Test {
 protected:
  std::filesystem::path folder() const { return folder_.path() / "cases"; }

  auto set_mode(const char* mode) { return ScopedEnvironment("MLUOP_GEN_CASE", mode); }

  // The text of the only case in the folder after the call, which must succeed. Removes earlier cases.
  std::string record(const OperatorCall& call) const {
    std::filesystem::remove_all(folder());
    require(call.run());
    const std::vector<std::filesystem::path> files = case_files(folder());
    EXPECT_EQ(files.size(), 1U);
    return text_of_recording(files.at(0));
  }
  // The text recorded by a new handle.
  std::string record(const cases::Case& made, mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE) const {
    const Handle handle(algorithm);
    return record(OperatorCall(handle, made));
  }

  // The raw file of a tensor of the only case.
  std::filesystem::path raw_file(const std::string& id) const {
    return case_files(folder()).at(0).replace_extension().string() + '_' + id + ".bin";
  }

 private:
  TemporaryFolder folder_;
  ScopedEnvironment mode_{"MLUOP_GEN_CASE", "2"};
  ScopedEnvironment directory_{"MLUOP_GEN_CASE_DIR", folder().c_str()};
};

}  // namespace mluop::test
