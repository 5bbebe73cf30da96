// A new file that is written from the beginning to the end.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace mluop {

// Every function throws std::system_error, whose text names the file, if it fails.
class OutputFile {
 public:
  // Creates the file; fails if one of that name exists.
  explicit OutputFile(std::string name);

  void write(std::span<const std::byte> bytes);
  // Passes what is buffered to the system.
  void flush();
  // Writes what is buffered and closes the file.
  void close();

  const std::string& name() const { return name_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace mluop
