// Reports of a run of cases: lines, JUnit XML and JSON.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "case/files.h"
#include "case/runner.h"

namespace mluop::cases {

struct Summary {
  size_t passed = 0, failed = 0, invalid = 0;

  void add(const Outcome& outcome);
  // 0 if all cases passed, 2 if a case was invalid, otherwise 1.
  int exit_status() const;
};

// Prints one line; for a failure, also the wrong elements of each output.
void print(std::ostream& out, const Outcome& outcome);
void print(std::ostream& out, const Summary& summary, double seconds);

// Throws Problem if the file cannot be written.
void write_junit(const std::string& file, const std::vector<Outcome>& outcomes,
                 const std::string& suite = "mluop_case");

// "passed", "failed", "invalid"
std::string_view name_of(Status status);
// An outcome as JSON, in one line.
std::string json_line(const Outcome& outcome);
// The options that affect outcomes, as JSON.
std::string settings_json(const RunOptions& options);

// {"settings": {...}, "cases": [...]} with one line for each outcome, which is in the file when add() returns.
class JsonReport {
 public:
  // The list begins with `kept`. A regular file then holds either its former contents or these, whenever the run
  // is killed. Throws Problem if the file cannot be written, or if another process writes a report to it.
  explicit JsonReport(const std::string& file, const RunOptions& options = {},
                      const std::vector<Outcome>& kept = {});
  JsonReport(const JsonReport&) = delete;
  JsonReport& operator=(const JsonReport&) = delete;
  ~JsonReport();

  void add(const Outcome& outcome);
  // Completes the list. Throws Problem if any of it could not be written.
  void finish();
  // After finish(): rewrites a regular file with these outcomes. Throws Problem if it cannot be written.
  void rewrite(const std::vector<Outcome>& outcomes) const;

 private:
  // finish() reports a failure; the run continues.
  void append(const std::string& text);

  std::string file_, head_;
  OutputFile out_;
  bool empty_, finished_ = false, failed_ = false;
};

// "diff1 1.2e-08 (<= 3e-03), diff2 ..."
std::string text_of(const std::vector<Judgment>& judgments, bool thresholds);

}  // namespace mluop::cases
