// A run as mluop_perf --json wrote it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mluop::perf {

// Throws, naming the file, if it cannot be read, is no such run, or lacks a figure that is compared.
nlohmann::ordered_json read_report(const std::string& file);

}  // namespace mluop::perf
