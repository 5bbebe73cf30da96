// Two runs of the suite, case by case: has a change made the operators slower?
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mluop::perf {

// The figures that a run has written. Throws if the file cannot be read, or is something else.
nlohmann::ordered_json read_json(const std::string& file);

// For each case of both: new median / old median, and the noise of that ratio: how far the median of either run
// may be off by its samples, and by how much the streaming twin differs, which no change of an operator touches.
// What differs by more is marked. At most 100 columns.
void write_comparison(std::ostream& out, const nlohmann::ordered_json& old_run,
                      const nlohmann::ordered_json& new_run);

}  // namespace mluop::perf
