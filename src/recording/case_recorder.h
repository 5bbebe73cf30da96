// Records a call as an operator case: a protobuf message in text format, which mluop_case replays. Elements of
// strided tensors are in row-major order.
//
// Inputs, and outputs whose contents before the call matter, are written before the call computes, other outputs
// after it. A case appears under its name once it is complete. Memory: at most a few MiB for tensors of any size.
// A failing recording is removed, and logged once for a handle; it does not affect the call.
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

// The views point into the call.
struct DeclaredCall {
  std::string_view function;
  std::span<const Argument> arguments;
  std::span<const Parameter> parameters;
  // How the handle runs the call.
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

  // Completes the case after the call has succeeded.
  void finish() noexcept;

 private:
  void create_file();
  void write_before_call();
  void write_after_call();
  // Writes the elements of a tensor, as settings and size require.
  void write_elements(CaseText& text, const Argument& tensor, CaseFormat format, bool initial);
  void write_raw_file(const Argument& tensor, std::string name);
  // Writes text_ to the file if it has more than `bytes` bytes.
  void flush_above(size_t bytes);
  void publish();

  CaseSettings& settings_;
  DeclaredCall call_;
  std::string op_name_;
  CaseMode mode_;
  std::string name_;                  // name of the case, without suffix
  std::unique_ptr<OutputFile> file_;  // null if the case is printed
  std::vector<std::string> created_;  // files that exist
  CaseText text_;                     // text not yet written to the file
  std::vector<CaseText> initial_;     // contents of each output before the call
};

}  // namespace mluop
