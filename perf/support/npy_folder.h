// Writes the inputs of a case as NumPy files, for programs that measure other implementations on the same inputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "case/npy.h"

namespace mluop::perf {

// A folder with a file NAME.npy for each array. Every function throws if it cannot write.
class NpyFolder {
 public:
  // Creates the folder and its parents if they do not exist.
  explicit NpyFolder(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) throw std::runtime_error("cannot create " + path_.string() + ": " + error.message());
  }

  // Writes a row-major array with elements of a type that npy_type() names. Replaces an existing file.
  void write(const std::string& name, const std::string& type, const std::vector<int64_t>& shape,
             std::span<const std::byte> bytes) const {
    cases::write_npy((path_ / (name + ".npy")).string(), type, shape, bytes);
  }

  // `values` has as many elements as the shape.
  template <class T>
  void write(const std::string& name, const std::vector<int64_t>& shape, std::span<const T> values) const {
    const char kind = std::is_integral_v<T> ? std::is_signed_v<T> ? 'i' : 'u' : 'f';
    write(name, cases::npy_type(kind, sizeof(T)), shape, std::as_bytes(values));
  }

  // Writes parameters.
  template <class T = int64_t>
  void write(const std::string& name, const std::vector<T>& numbers) const {
    write(name, {static_cast<int64_t>(numbers.size())}, std::span(numbers));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace mluop::perf
