// JSON of reports and of folders of cases.
#pragma once

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "case/model.h"

namespace mluop::cases {

// For reading: unlike the ordered type, objects do not copy their members recursively as they grow.
using Json = nlohmann::json;
// For writing: keeps the order of the members.
using OrderedJson = nlohmann::ordered_json;

// Parses a text. Throws Problem if a name occurs twice in an object. If the text is not JSON, throws
// J::parse_error or returns a discarded value.
template <class J = Json>
J parse_json(const std::string& text, const Place& place, bool allow_exceptions = true) {
  using Event = typename J::parse_event_t;
  std::vector<std::set<std::string>> names;  // names of the objects that contain the value
  const auto check = [&](int, Event event, J& value) {
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event == Event::key && !names.back().insert(value.template get<std::string>()).second) {
      fail(place, "the name " + value.dump(-1, ' ', false, J::error_handler_t::replace) + " occurs twice");
    }
    return true;
  };
  return J::parse(text, check, allow_exceptions);
}

// JSON has no infinities and NaN: they become text.
inline OrderedJson to_json(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(std::to_string(value));
}
inline double number(const Json& json) {
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr) : json.get<double>();
}

}  // namespace mluop::cases
