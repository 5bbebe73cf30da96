// Reads the file that mluop_perf --json wrote.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mluop::perf {

// Throws an exception that names the file if it cannot be read, was not written by mluop_perf --json, or lacks a
// value that the comparison needs.
nlohmann::ordered_json read_report(const std::string& file);

}  // namespace mluop::perf
