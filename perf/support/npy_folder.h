// Writes the inputs of a case as NumPy files, for programs that measure other implementations on the same inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "support/half.h"

namespace mluop::perf {

// A folder with a file NAME.npy per array. Every function throws if it cannot write.
class NpyFolder {
 public:
  // Creates the folder and its parents if they do not exist.
  explicit NpyFolder(std::filesystem::path path);

  // Writes a row-major array. Replaces an existing file. `values` has as many elements as the shape.
  template <class T>
  void write(const std::string& name, const std::vector<int64_t>& shape, std::span<const T> values) const {
    write(name, dtype<T>(), shape, std::as_bytes(values));
  }

  // Writes parameters as an array of int64.
  void write(const std::string& name, const std::vector<int64_t>& numbers) const {
    write(name, {static_cast<int64_t>(numbers.size())}, std::span(numbers));
  }

 private:
  // The type string of NumPy, little-endian.
  template <class T>
  static std::string dtype() {
    constexpr bool kIsFloating = std::is_floating_point_v<T> || std::is_same_v<T, test::Half>;
    const char kind = kIsFloating ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
    return std::string("<") + kind + std::to_string(sizeof(T));
  }

  void write(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
             std::span<const std::byte> bytes) const;

  std::filesystem::path path_;
};

}  // namespace mluop::perf
