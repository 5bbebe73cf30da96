// Accuracy of a result: the metrics of accelerator teams, and the verdict on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case/model.h"
#include "case/operators.h"

namespace mluop::cases {

enum class Verdict {
  // The formulas without allowances: a NaN or an infinity must match the same at the same place; a zero
  // denominator with a nonzero numerator fails; the larger share of diff4 is compared with its threshold; integers
  // are exact.
  kStrict,
  // The rules of the runner of MLU-OPS: 1e-9 is added to denominators; diff4 of fewer than 100 differing elements
  // passes, and otherwise fails only if all errors have one sign; if no threshold is 0 and either result has a NaN
  // or infinity, only such elements are compared.
  kUpstream,
};

// An evaluated result e and its baseline b.
struct Results {
  mluOpDataType_t dtype;
  size_t count;
  const std::byte* found;
  const std::byte* expected;
  // Whether the payload of a NaN counts for Metric::kBits.
  bool nan_payloads;

  double e(size_t i) const;
  double b(size_t i) const;
  // Whether element i has the bits of the baseline, or both are NaN whose payloads do not count.
  bool same_bits(size_t i) const;
};

struct Judgment {
  Criterion criterion;
  std::string value;  // "1.2e-07"; for diff4 "0.5/0.5 of 12"
  bool passed;
};

std::vector<Judgment> judge(const Results& results, const std::vector<Criterion>& criteria, Verdict verdict);

}  // namespace mluop::cases
