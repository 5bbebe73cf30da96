// JSON of reports and of folders of cases.
#pragma once

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace mluop::cases {

// To read: its objects do not copy their members, by recursion, as they grow.
using Json = nlohmann::json;
// To write: in the order of the text.
using OrderedJson = nlohmann::ordered_json;

// JSON has no infinities and no NaN: they are text.
inline OrderedJson to_json(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(std::to_string(value));
}
inline double number(const Json& json) {
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr) : json.get<double>();
}

}  // namespace mluop::cases
