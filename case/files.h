// Files, read whole and written whole.
#pragma once

#include <string>
#include <string_view>

#include "case/model.h"

namespace mluop::cases {

// The contents of a regular file; other kinds, such as a pipe, a device or a folder, are rejected without reading
// them. Throw Problem that says why the file cannot be read.
std::string read_file(const std::string& file, const Place& place);  // at most 2 GiB - 1
Bytes read_bytes(const std::string& file, const Place& place);

// A file that is written beside the file that it replaces, until commit(). Keeps the permissions of an existing
// file; follows links. A path that is not a regular file, such as a pipe or /dev/stdout, and a file in a folder
// that cannot be written, are written in place. Every function that fails throws Problem.
class OutputFile {
 public:
  explicit OutputFile(std::string file);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Removes an uncommitted file.
  ~OutputFile();

  // May also append to a committed file.
  void write(std::string_view bytes);
  void commit();
  // Commits and excludes all other exclusive commits until the file is closed or the process ends.
  void commit_exclusively();
  void close();

 private:
  std::string file_, target_, part_;  // part_: empty if the file is written in place or committed
  int descriptor_ = -1;
};

void write_file(const std::string& file, std::string_view contents);

// Throws Problem if write_file() would fail now. Changes nothing.
void require_writable(const std::string& file);

// Whether write_file() replaces the file.
bool is_replaceable(const std::string& file);

}  // namespace mluop::cases
