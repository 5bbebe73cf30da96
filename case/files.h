// Files, read whole and written whole.
#pragma once

#include <string>
#include <string_view>

#include "case/model.h"

namespace mluop::cases {

// The contents of a regular file: other kinds, such as a pipe, a device or a folder, are refused without reading
// them. Throw Problem that says why the file cannot be read.
std::string read_file(const std::string& file, const Place& place);  // at most 2 GiB - 1
Bytes read_bytes(const std::string& file, const Place& place);

// A file that is written beside the file that it replaces, until commit(). Permissions of a file that exists are
// kept; a link is followed. What is not a regular file, such as a pipe or /dev/stdout, and a file in a folder that
// cannot be written, is written in place. Every function throws Problem if it fails.
class OutputFile {
 public:
  explicit OutputFile(std::string file);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Removes what is not committed.
  ~OutputFile();

  // Also appends to a committed file.
  void write(std::string_view bytes);
  void commit();
  // The same, and refuses all others that would commit exclusively until the file is closed or the process ends.
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
