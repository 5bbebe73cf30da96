// The JSON reports of `mluop_case run`, read back: to resume a run, and between processes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "case/runner.h"

namespace mluop::cases {

// Reads a line that report.h writes for an outcome. Throws Problem if the line is not an outcome.
Outcome outcome_of_json(const std::string& line);

// The outcomes of a report by case, in its order. An incomplete last line, left by a killed run, is ignored. A
// file that does not exist or is empty has no outcomes. Throws Problem if the file is not a report, or belongs to
// a run with other options.
class PastRun {
 public:
  PastRun(const std::string& report, const RunOptions& options);

  // The outcomes of a case that passed with each algorithm of the options; otherwise none.
  std::vector<Outcome> passed(const std::string& file) const;

 private:
  std::vector<std::string> algorithms_;
  std::map<std::string, std::vector<Outcome>> outcomes_;
};

}  // namespace mluop::cases
