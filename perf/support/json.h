// JSON text from values, bottom up.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mluop::perf::json {

// Shortest text that reads back to the same value; null for NaN and infinity, which JSON lacks.
std::string number(double value);
std::string number(int64_t value);
std::string text(const std::string& value);
std::string boolean(bool value);
std::string numbers(const std::vector<double>& values);

// Of values that are JSON already: a line for each element of an array.
std::string array(const std::vector<std::string>& values);
std::string object(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace mluop::perf::json
