// Writes the inputs of a case as NumPy files, for programs that measure other implementations on the same inputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace mluop::perf {

// A folder with a file NAME.npy per array. Every function throws if it cannot write.
class NpyFolder {
 public:
  // Creates the folder and its parents if they do not exist.
  explicit NpyFolder(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) throw std::runtime_error("cannot create " + path_.string() + ": " + error.message());
  }

  // Writes a row-major array of elements of `size` bytes; kind: f floating-point, i integer, u unsigned. Replaces
  // an existing file.
  void write(const std::string& name, char kind, size_t size, const std::vector<int64_t>& shape,
             std::span<const std::byte> bytes) const {
    const std::filesystem::path path = path_ / (name + ".npy");
    std::ofstream file(path, std::ios::binary);
    file << header(kind + std::to_string(size), shape);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path.string());
  }

  // `values` has as many elements as the shape.
  template <class T>
  void write(const std::string& name, const std::vector<int64_t>& shape, std::span<const T> values) const {
    const char kind = std::is_integral_v<T> ? std::is_signed_v<T> ? 'i' : 'u' : 'f';
    write(name, kind, sizeof(T), shape, std::as_bytes(values));
  }

  // Writes parameters.
  template <class T = int64_t>
  void write(const std::string& name, const std::vector<T>& numbers) const {
    write(name, {static_cast<int64_t>(numbers.size())}, std::span(numbers));
  }

 private:
  // Version 1.0 of the format: magic, version, length in two bytes, a Python dictionary padded to 64 bytes.
  static std::string header(const std::string& type, const std::vector<int64_t>& shape) {
    constexpr size_t kPrefixBytes = 10, kAlignment = 64;
    std::string text = "{'descr': '<" + type + "', 'fortran_order': False, 'shape': (";
    for (const int64_t extent : shape) text += std::to_string(extent) + ',';
    text += ")}";
    while ((kPrefixBytes + text.size() + 1) % kAlignment != 0) text += ' ';
    text += '\n';
    const std::string length = {static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
    return std::string("\x93NUMPY\x01\x00", 8) + length + text;
  }

  std::filesystem::path path_;
};

}  // namespace mluop::perf
