// Cases as folders, for programs without protobuf: a file for each tensor, and case.json, which describes them.
// docs/cases.md describes the format.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "case/model.h"

namespace mluop::cases {

inline constexpr const char* kFolderDescription = "case.json";
inline constexpr int64_t kFolderVersion = 1;

enum class FolderFormat { kNpy, kRaw };

// The results of outputs that a folder contains.
enum class FolderResults {
  kAll,  // stated results, and results of the oracle for all other outputs
  kStated,
  kOracle,
  kNone,
};

// Writes a case, with random elements drawn, into a folder, which it creates. Replaces files with the same names.
// Throws Problem if the case is invalid, if the library rejects a call whose results the oracle should compute, or
// if the folder cannot be written.
void write_folder(const Case& the_case, const std::string& folder, FolderFormat format, FolderResults results);

// Settings for folders without case.json, which states them otherwise.
struct FolderSettings {
  std::string op = {};  // empty: the operator of case.json
  // Values as text, which take precedence over case.json.
  std::map<std::string, std::vector<std::string>> parameters = {};
  std::map<std::string, Dims> shapes = {};  // shapes of outputs
  std::map<std::string, std::string> layouts = {};
};

// Reads a folder that write_folder() wrote, or a folder with <tensor>.npy for each input and, optionally,
// <tensor>.npy for results of outputs, <tensor>.initial.npy and <tensor>.result.npy; the description of the
// operator states the rest. The case contains all elements. Throws Problem that names the file and the expected
// contents.
Case read_folder(const std::string& folder, const FolderSettings& settings);

}  // namespace mluop::cases
