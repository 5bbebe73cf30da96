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

// The results of outputs that a folder holds.
enum class FolderResults {
  kAll,  // those that the case states, and those of the oracle for other outputs
  kStated,
  kOracle,
  kNone,
};

// Writes a case, random elements drawn, into a folder, which it creates. Replaces files of the same names. Throws
// Problem if the case is invalid, the library refuses the call of which the oracle shall compute the results, or
// the folder cannot be written.
void write_folder(const Case& the_case, const std::string& folder, FolderFormat format, FolderResults results);

// What a folder without case.json does not state.
struct FolderSettings {
  std::string op = {};  // empty: that of case.json
  // Texts of values, which take precedence over those of case.json.
  std::map<std::string, std::vector<std::string>> parameters = {};
  std::map<std::string, Dims> shapes = {};  // of outputs
  std::map<std::string, std::string> layouts = {};
};

// Reads what write_folder() wrote, or a folder with a file <tensor>.npy for each input, and <tensor>.npy for the
// results of outputs, <tensor>.initial.npy, <tensor>.result.npy as far as there are any: the description of the
// operator states the rest. The case holds all elements. Throws Problem that names the file and what was expected.
Case read_folder(const std::string& folder, const FolderSettings& settings);

}  // namespace mluop::cases
