// Functions of the recording of calls: its mode and its directory.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/checks.h"
#include "core/environment.h"
#include "recording/case_settings.h"

void MLUOP_WIN_API mluOpSetGenCaseMode(int mode) { mluop::override_case_mode(mode); }

mluOpStatus_t MLUOP_WIN_API mluOpSetGenCaseDirectory(const char* path) {
  return mluop::run_guarded("mluOpSetGenCaseDirectory", [&] {
    mluop::require_not_null("path", path);
    mluop::override_case_directory(path);
  });
}

const char* MLUOP_WIN_API mluOpGetGenCaseDirectory(char* buffer, size_t bufferSize, size_t* pathLen,
                                                   mluOpStatus_t* status) {
  char* result = nullptr;
  size_t length = 0;
  const mluOpStatus_t found = mluop::run_guarded("mluOpGetGenCaseDirectory", [&] {
    std::string path = mluop::case_directory_of(mluop::read_environment("MLUOP_GEN_CASE_DIR", ""));
    if (path.empty()) path = std::filesystem::current_path().native();
    result = buffer;
    mluop::require(buffer == nullptr || bufferSize > path.size(), MLUOP_STATUS_BAD_PARAM, "bufferSize is ",
                   bufferSize, ", expected at least ", path.size() + 1);
    if (result == nullptr) result = static_cast<char*>(std::malloc(path.size() + 1));
    mluop::require(result != nullptr, MLUOP_STATUS_ALLOC_FAILED, "out of memory");
    std::copy_n(path.c_str(), path.size() + 1, result);
    length = path.size();
  });
  if (pathLen != nullptr) *pathLen = length;
  if (status != nullptr) *status = found;
  return found == MLUOP_STATUS_SUCCESS || found == MLUOP_STATUS_BAD_PARAM ? result : nullptr;
}
