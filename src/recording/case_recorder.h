// The recording of a call as an operator case: a message in the text format of protobuf, which mluop_case replays.
//
// Inputs, and outputs whose contents before the call matter, are written before the call computes; the other
// outputs after it. A case appears under its name when it is complete. Memory: a few MiB at most, whatever the
// tensors are. A recording that fails is removed, and logged once for a handle; it does not affect the call.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/output_file.h"
#include "recording/argument.h"
#include "recording/case_settings.h"
#include "recording/case_text.h"

namespace mluop {

// The views are those of the call.
struct DeclaredCall {
  std::string_view function;
  std::span<const Argument> arguments;
  std::span<const Parameter> parameters;
  // How the handle runs it.
  bool uses_device_algorithm;
  int tasks;
  std::string_view device;
  size_t nram_bytes;
};

class CaseRecorder {
 public:
  // Starts the recording of a call whose arguments are checked; null if the settings exclude it, or on failure.
  static std::unique_ptr<CaseRecorder> begin(CaseSettings& settings, const DeclaredCall& call) noexcept;

  CaseRecorder(CaseSettings& settings, const DeclaredCall& call, std::string op_name, CaseMode mode);
  CaseRecorder(const CaseRecorder&) = delete;
  CaseRecorder& operator=(const CaseRecorder&) = delete;
  // Removes the files of a call that has failed.
  ~CaseRecorder();

  // The call has succeeded: completes the case.
  void finish() noexcept;

 private:
  void create_file();
  void write_before_call();
  void write_after_call();
  // The elements of a tensor, as settings and size require.
  void write_elements(CaseText& text, const Argument& tensor, CaseFormat format, bool initial);
  void write_raw_file(const Argument& tensor, std::string name);
  // Writes text_ to the file if it has more than `bytes` bytes.
  void flush_above(size_t bytes);
  void publish();

  CaseSettings& settings_;
  DeclaredCall call_;
  std::string op_name_;
  CaseMode mode_;
  std::string name_;                  // of the case, without suffix
  std::unique_ptr<OutputFile> file_;  // null if the case is printed
  std::vector<std::string> created_;  // files that exist
  CaseText text_;                     // what the file does not have yet
  std::vector<CaseText> initial_;     // of each output, its contents before the call
};

}  // namespace mluop
