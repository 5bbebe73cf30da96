// Accuracy of a result: the metrics of accelerator teams, and the verdict on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case/model.h"
#include "case/operators.h"

namespace mluop::cases {

enum class Verdict {
  // The formulas without allowances: a NaN or an infinity must have its like at the same place; a zero denominator
  // with a non-zero numerator fails; the larger share of diff4 is compared with its threshold; integers are exact.
  kStrict,
  // The field's runner: 1e-9 is added to denominators; diff4 of fewer than 100 differing elements passes, and else
  // fails only if all errors have one sign; if no threshold is 0, a NaN or infinity in either result means that
  // only such elements are compared.
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
  // Whether element i has the bits of the baseline, or both are NaN that need not have.
  bool same_bits(size_t i) const;
};

struct Judgment {
  Criterion criterion;
  std::string value;  // "1.2e-07", of diff4 "0.5/0.5 of 12"
  bool passed;
};

std::vector<Judgment> judge(const Results& results, const std::vector<Criterion>& criteria, Verdict verdict);

}  // namespace mluop::cases
