// Reads the files that MLUOP_OMP_TRACE names.
#pragma once

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

namespace mluop::test {

// The events of a trace. Throws if the file is not JSON.
inline nlohmann::json read_trace(const std::string& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace mluop::test
