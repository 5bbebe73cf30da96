// A new file, written sequentially.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace mluop {

// Every function that fails throws std::system_error, whose text names the file.
class OutputFile {
 public:
  // Creates the file; fails if it exists.
  explicit OutputFile(std::string name);

  void write(std::span<const std::byte> bytes);
  // Passes buffered data to the system.
  void flush();
  // Writes buffered data and closes the file.
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
