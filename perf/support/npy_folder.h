// The inputs of a case as files that NumPy reads, for programs that measure others on the very same inputs.
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

// A folder with a file NAME.npy for each array. Every function throws if it cannot write.
class NpyFolder {
 public:
  // Creates the folder, with those above it, where it is missing.
  explicit NpyFolder(std::filesystem::path path);

  // Replaces a file of that name. values has as many elements as the shape says; row-major.
  template <class T>
  void write(const std::string& name, const std::vector<int64_t>& shape, std::span<const T> values) const {
    write(name, dtype<T>(), shape, std::as_bytes(values));
  }

  // Numbers that are no tensor.
  void write(const std::string& name, const std::vector<int64_t>& numbers) const {
    write(name, {static_cast<int64_t>(numbers.size())}, std::span(numbers));
  }

 private:
  // As NumPy writes it, little-endian.
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
