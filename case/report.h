// What a run of cases reports: lines, JUnit XML and JSON.
#pragma once

#include <fstream>
#include <iosfwd>
#include <string>
#include <vector>

#include "case/runner.h"

namespace mluop::cases {

struct Summary {
  size_t passed = 0, failed = 0, invalid = 0;

  void add(const Outcome& outcome);
  // 0 if all passed, 2 if a case was invalid, else 1.
  int exit_status() const;
};

// One line; for a failure, the wrong elements of each output too.
void print(std::ostream& out, const Outcome& outcome);
void print(std::ostream& out, const Summary& summary, double seconds);

// Throws Problem if the file cannot be written.
void write_junit(const std::string& file, const std::vector<Outcome>& outcomes);

// {"cases": [...]} with one line for each outcome, which is in the file when add() returns.
class JsonReport {
 public:
  // Throws Problem if the file cannot be written.
  explicit JsonReport(const std::string& file);
  JsonReport(const JsonReport&) = delete;
  JsonReport& operator=(const JsonReport&) = delete;
  ~JsonReport();

  void add(const Outcome& outcome);
  // Completes the list. Throws Problem if any of it could not be written.
  void finish();

 private:
  std::string file_;
  std::ofstream out_;
  bool empty_ = true;
};

// "diff1 1.2e-08 (<= 3e-03), diff2 ..."
std::string text_of(const std::vector<Judgment>& judgments, bool thresholds);

}  // namespace mluop::cases
