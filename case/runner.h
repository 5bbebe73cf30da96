// Runs a case: calls the library, compares with the oracle and with the results that the case states, and measures
// the latency.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "case/errors.h"
#include "case/metrics.h"
#include "case/model.h"

namespace mluop::cases {

enum class Status {
  kPassed,
  kFailed,   // a result is wrong, or the call returned an error
  kInvalid,  // the case cannot be run
};

struct RunOptions {
  std::vector<std::string> algorithms = {};  // empty: the algorithm of the case, or native
  int tasks = 0;                             // 0: the tasks of the case, or OMP_NUM_THREADS
  int repeat = 0;                            // 0: do not measure
  Verdict verdict = Verdict::kStrict;
  bool bits = false;       // stored outputs must have the same bits, except sums by atomics
  bool own_files = false;  // a case that names a file outside its folder is invalid
  // A folder; writes <folder of the case in save_root>/<file name>.<algorithm>.<tensor>.bin into it.
  std::string save_output = {};
  std::string save_root = {};  // canonical, contains all cases; empty: the folder of the case
  size_t worst = 5;
};

// One output against one baseline.
struct OutputOutcome {
  std::string name;
  std::string baseline;  // "oracle" or "stored"
  std::vector<Judgment> judgments;
  std::optional<ErrorReport> errors;  // if a judgment failed

  bool passed() const;
};

struct Timing {
  double latency;  // median seconds
  double io_efficiency, compute_efficiency;
};

struct Outcome {
  std::string file = {}, op = {}, algorithm = {};
  Status status = Status::kPassed;
  std::string message = {};  // message of a failed call or an invalid case
  std::vector<OutputOutcome> outputs = {};
  double seconds = 0;  // total time, including the oracle
  std::optional<Timing> timing = {};
};

// Receives each outcome before the next algorithm runs.
using Report = std::function<void(const Outcome&)>;

// An outcome for each algorithm, up to the first for which the case cannot be run. A case never makes them throw.
std::vector<Outcome> run_file(const std::string& file, const RunOptions& options, const Report& report = {});
std::vector<Outcome> run_case(const Case& the_case, const RunOptions& options, const Report& report = {});

}  // namespace mluop::cases
