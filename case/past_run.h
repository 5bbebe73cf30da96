// The JSON reports of `mluop_case run`, read back: to resume a run, and between processes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "case/runner.h"

namespace mluop::cases {

// Reads the line that report.h writes for an outcome. Throws Problem if it is not one.
Outcome outcome_of_json(const std::string& line);

// The outcomes of a report by case, in its order. A report that a killed run left ends in a line that is not
// complete, which does not count. A file that does not exist or is empty has no outcomes. Throws Problem if the
// file is no report, or one of a run with other options.
class PastRun {
 public:
  PastRun(const std::string& report, const RunOptions& options);

  // The outcomes of a case that passed with each algorithm of the options; else none.
  std::vector<Outcome> passed(const std::string& file) const;

 private:
  std::vector<std::string> algorithms_;
  std::map<std::string, std::vector<Outcome>> outcomes_;
};

}  // namespace mluop::cases
