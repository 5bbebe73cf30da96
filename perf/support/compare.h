// Two runs of the suite, case by case: has a change made the operators slower?
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

namespace mluop::perf {

// Of runs that read_report() takes. For each case of both: new median / old median, and the noise of that ratio:
// how far the median of either run may be off by its samples, and by how much the streaming twin differs, which no
// change of an operator touches. What differs by more is marked. At most 100 columns.
void write_comparison(std::ostream& out, const nlohmann::ordered_json& old_run,
                      const nlohmann::ordered_json& new_run);

}  // namespace mluop::perf
