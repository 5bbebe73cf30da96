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
  size_t count;  // of elements
  const std::byte* found;
  const std::byte* expected;
  // Whether the payload of a NaN counts for Metric::kBits.
  bool nan_payloads;

  // The numbers of the elements: for complex elements the real and the imaginary parts in turn.
  size_t numbers() const;
  double e(size_t i) const;
  double b(size_t i) const;
  // Whether number i has the bits of the baseline, or both are NaN whose payloads do not count.
  bool same_bits(size_t i) const;
  // Complex results as real results of twice the number of elements; other results themselves.
  Results as_real() const;
};

struct Judgment {
  Criterion criterion;
  std::string value;  // "1.2e-07"; for diff4 "0.5/0.5 of 12"; for complex results "1.2e-07, 3e-08"
  bool passed;
};

// Real and imaginary parts of complex results are judged apart, as MLU-OPS does: a criterion passes if both pass.
std::vector<Judgment> judge(const Results& results, const std::vector<Criterion>& criteria, Verdict verdict);

}  // namespace mluop::cases
