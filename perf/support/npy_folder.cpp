#include "perf/support/npy_folder.h"

#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace mluop::perf {
namespace {

// Version 1.0 of the format: magic, version, length in two bytes, a Python dictionary padded to 64 bytes.
std::string header(const std::string& dtype, const std::vector<int64_t>& shape) {
  constexpr size_t kPrefixBytes = 10, kAlignment = 64;
  std::string text = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (";
  for (const int64_t extent : shape) text += std::to_string(extent) + ',';
  text += ")}";
  while ((kPrefixBytes + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  const std::string length = {static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + text;
}

}  // namespace

NpyFolder::NpyFolder(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) throw std::runtime_error("cannot create " + path_.string() + ": " + error.message());
}

void NpyFolder::write(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
                      std::span<const std::byte> bytes) const {
  const std::filesystem::path path = path_ / (name + ".npy");
  std::ofstream file(path, std::ios::binary);
  file << header(dtype, shape);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace mluop::perf
