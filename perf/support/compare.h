// Comparison of two runs of the suite.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

namespace mluop::perf {

// Writes, for each case that both runs have, the ratio of the median latencies and its noise: the confidence
// intervals of both medians and the change of the stream bound, which no change of an operator affects. Flags
// ratios beyond the noise. Requires runs that read_report() accepts. At most 100 columns.
void write_comparison(std::ostream& out, const nlohmann::ordered_json& old_run,
                      const nlohmann::ordered_json& new_run);

}  // namespace mluop::perf
