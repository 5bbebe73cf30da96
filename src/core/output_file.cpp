#include "core/output_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace mluop {
namespace {

void require_success(bool success, const std::string& name) {
  if (!success) throw std::system_error(errno, std::generic_category(), "cannot write " + name);
}

}  // namespace

// x: fail if the file exists; e: close on exec().
OutputFile::OutputFile(std::string name) : name_(std::move(name)), file_(std::fopen(name_.c_str(), "wxe")) {
  require_success(file_ != nullptr, name_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  require_success(std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size(), name_);
}

void OutputFile::flush() { require_success(std::fflush(file_.get()) == 0, name_); }

void OutputFile::close() { require_success(std::fclose(file_.release()) == 0, name_); }

}  // namespace mluop
