#include "case/runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <new>

#include "case/call.h"
#include "case/data.h"
#include "case/files.h"
#include "case/read.h"
#include "case/timing.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;

mluOpOmpAlgorithm_t algorithm_of(const std::string& name) {
  return name == "device" ? MLUOP_OMP_ALGORITHM_DEVICE : MLUOP_OMP_ALGORITHM_NATIVE;
}

// The threshold of the first failed criterion; 0 for a criterion on bits.
double tolerance_of(const std::vector<Judgment>& judgments) {
  for (const Judgment& judgment : judgments) {
    if (judgment.passed) continue;
    const Metric metric = judgment.criterion.metric;
    const bool relative = metric == Metric::kDiff1 || metric == Metric::kDiff2 || metric == Metric::kDiff3;
    return relative ? judgment.criterion.threshold : 0;
  }
  return 0;
}

const std::vector<Criterion> kSameBits = {{Metric::kBits, 0}};

std::vector<Criterion> criteria_of(const Case& the_case, const Operator& op, const Operand& output,
                                   mluOpOmpAlgorithm_t algorithm) {
  if (!the_case.criteria.empty()) return the_case.criteria;
  if (op.criteria != nullptr) return op.criteria(output, algorithm);
  return kSameBits;
}

void save(const LoadedCase& loaded, const Run& run, const Case& the_case, const std::string& algorithm,
          const RunOptions& options) {
  const std::string stem = fs::path(the_case.file).filename().string() + '.' + algorithm + '.';
  fs::path target = options.save_output;
  if (!options.save_root.empty() && folder_of(the_case.file) != options.save_root) {
    target /= folder_of(the_case.file).lexically_relative(options.save_root);
  }
  std::error_code error;
  fs::create_directories(target, error);
  if (error) fail({the_case.file}, "cannot create " + target.string() + ": " + error.message());
  for (size_t i = 0; i < loaded.op().tensors.size(); ++i) {
    const TensorRule& rule = loaded.op().tensors[i];
    if (!rule.is_written()) continue;
    write_file((target / (stem + rule.id + ".bin")).string(),
               {run[i].as<char>(), static_cast<size_t>(run[i].bytes())});
  }
}

void check_inputs(const LoadedCase& loaded, const Run& run) {
  for (size_t i = 0; i < loaded.op().tensors.size(); ++i) {
    const Bytes& before = loaded.before(i);
    if (loaded.op().tensors[i].is_written() || before.empty()) continue;
    if (std::memcmp(before.data(), run[i].data, before.size()) != 0) {
      throw CallFailed("the call changed its input " + loaded.op().tensors[i].id);
    }
  }
}

// Shared by the algorithms of a case: its tensors and, once a call has accepted the arguments, the oracle's
// results.
struct Session {
  explicit Session(const Case& the_case) : loaded(the_case) {}

  const Run& expected() {
    if (!oracle) oracle.emplace(loaded, MLUOP_OMP_ALGORITHM_NATIVE).expect();
    return *oracle;
  }

  LoadedCase loaded;
  std::optional<Run> oracle;
};

void run_loaded(Session& session, const Case& the_case, const RunOptions& options, Outcome& outcome) {
  const mluOpOmpAlgorithm_t algorithm = algorithm_of(outcome.algorithm);
  const LoadedCase& loaded = session.loaded;
  const Operator& op = loaded.op();
  Run run(loaded, algorithm);
  run.call();
  check_inputs(loaded, run);
  const Run& oracle = session.expected();
  for (size_t i = 0; i < op.tensors.size(); ++i) {
    const TensorRule& rule = op.tensors[i];
    if (!rule.is_written()) continue;
    const Operand& found = run[i];
    const Dims dims = op.report_shape != nullptr ? op.report_shape(run.arguments()) : found.dims;
    const auto compare = [&](const char* baseline, const std::byte* expected,
                             const std::vector<Criterion>& criteria) {
      const Results results{found.dtype, static_cast<size_t>(found.count()), found.data, expected, op.copies};
      OutputOutcome output{rule.id, baseline, judge(results, criteria, options.verdict), std::nullopt};
      if (!output.passed()) {
        output.errors = errors_of(results, dims, rule.axes, tolerance_of(output.judgments), options.worst);
      }
      outcome.outputs.push_back(std::move(output));
    };
    const std::vector<Criterion> criteria = criteria_of(the_case, op, found, algorithm);
    compare("oracle", oracle[i].data, criteria);
    const Bytes& stored = loaded.after(i);
    if (stored.size() != static_cast<size_t>(found.bytes()) || stored.empty()) continue;
    const bool any_order = op.atomic_sums && algorithm == MLUOP_OMP_ALGORITHM_DEVICE && is_floating(found.dtype);
    compare("stored", stored.data(), options.bits && !any_order ? kSameBits : criteria);
  }
  if (!options.save_output.empty()) save(loaded, run, the_case, outcome.algorithm, options);
  if (options.repeat > 0) {
    const Work work = op.work != nullptr ? op.work(run.arguments()) : work_of_tensors(op, run.arguments());
    outcome.timing = measure([&] { run.repeat(); }, work, options.repeat);
  }
}

Outcome run_one(const Case& the_case, const std::string& algorithm, const RunOptions& options,
                std::optional<Session>& session) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Outcome outcome{.file = the_case.file, .op = the_case.op_name, .algorithm = algorithm};
  set_tasks(options.tasks > 0 ? options.tasks : the_case.tasks.value_or(0));
  try {
    if (!session) session.emplace(the_case);
    run_loaded(*session, the_case, options, outcome);
    const bool passed = std::all_of(outcome.outputs.begin(), outcome.outputs.end(),
                                    [](const OutputOutcome& output) { return output.passed(); });
    outcome.status = passed ? Status::kPassed : Status::kFailed;
  } catch (const Problem& problem) {
    outcome.status = Status::kInvalid;
    outcome.message = problem.what();
  } catch (const std::bad_alloc&) {
    outcome.status = Status::kInvalid;
    outcome.message = the_case.file + ": out of memory";
  } catch (const std::exception& error) {
    outcome.status = Status::kFailed;
    outcome.message = error.what();
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return outcome;
}

}  // namespace

bool OutputOutcome::passed() const {
  return std::all_of(judgments.begin(), judgments.end(), [](const Judgment& judgment) { return judgment.passed; });
}

std::vector<Outcome> run_case(const Case& the_case, const RunOptions& options, const Report& report) {
  std::vector<std::string> algorithms = options.algorithms;
  if (algorithms.empty()) algorithms = {the_case.algorithm.value_or("native")};
  std::vector<Outcome> outcomes;
  std::optional<Session> session;
  for (const std::string& algorithm : algorithms) {
    outcomes.push_back(run_one(the_case, algorithm, options, session));
    if (report) report(outcomes.back());
    if (outcomes.back().status == Status::kInvalid) break;
  }
  return outcomes;
}

std::vector<Outcome> run_file(const std::string& file, const RunOptions& options, const Report& report) {
  std::optional<Case> the_case;
  try {
    the_case = read_case(file);
    if (options.own_files) require_own_files(*the_case);
  } catch (const std::exception& error) {
    const bool names_file = dynamic_cast<const Problem*>(&error) != nullptr;
    const std::string message = names_file ? error.what() : file + ": " + error.what();
    const Outcome outcome{.file = file, .status = Status::kInvalid, .message = message};
    if (report) report(outcome);
    return {outcome};
  }
  return run_case(*the_case, options, report);
}

}  // namespace mluop::cases
