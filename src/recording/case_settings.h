// Settings for recording calls as operator cases: MLUOP_GEN_CASE and the variables whose names begin with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mluop {

// The contents of a recording.
enum class CaseMode {
  kOff = 0,
  kShapes = 1,  // no elements
  kData = 2,
  kPrint = 3  // as kShapes, to stderr
};

// How the elements of a tensor are recorded.
enum class CaseFormat {
  kNone = 0,
  kDecimal = 1,
  kBits = 2,
  kBitsOrFile  // bits; large tensors in a file
};

struct CaseSettings {
  // Whether the filter selects an operator, such as "three_nn_forward".
  bool selects(std::string_view op_name) const;

  CaseMode mode = CaseMode::kOff;
  std::string directory;              // MLUOP_GEN_CASE_DIR; empty: the working directory
  std::vector<std::string> selected;  // if empty: all
  std::vector<std::string> excluded;
  CaseFormat input_format = CaseFormat::kBitsOrFile;
  CaseFormat output_format = CaseFormat::kBitsOrFile;
  bool files = false;  // write each tensor to a file

  bool failure_logged = false;  // a failed recording was logged; later failures are not
};

// Reads the environment. Throws Failure if a variable has an invalid value.
CaseSettings read_case_settings();

// Overrides the mode of all settings of all handles; an invalid value switches recording off.
void override_case_mode(int mode);

// The mode in effect. Cost: one load.
CaseMode case_mode_of(const CaseSettings& settings);

// Overrides the directory of all settings of all handles.
void override_case_directory(const char* path);

// The directory of gen_case: the overriding path, else `directory`, with {pid} and {deviceid} replaced; empty: the
// working directory.
std::string case_directory_of(const std::string& directory);

// "three_nn_forward" for "mluOpThreeNNForward": snake case without mluOp or mluOpOmp. As in the case schema,
// roiaware and roipoint are one word.
std::string op_name_of(std::string_view function);

}  // namespace mluop
