// The results of a call by the definition of its operator.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "case/operators.h"
#include "mlu_op_omp.h"

namespace mluop::test {

class Expected {
 public:
  // Copies the tensors, which must be in the state before a call that accepts the arguments.
  Expected(const cases::Operator& op, const cases::Arguments& arguments);

  // Returns "" if the outputs of a call agree with the definition: equal bits; sums that the oracle has in double,
  // within the error of fp32; other results, and sums of atomics, within the criteria of the operator. Otherwise
  // returns the first difference. Results are computed on the first comparison.
  std::string difference(const cases::Arguments& found, mluOpOmpAlgorithm_t algorithm);

 private:
  // Arguments with separate tensors.
  struct Copy {
    explicit Copy(const cases::Arguments& from);
    Copy(const Copy& other) : Copy(other.arguments) {}
    Copy& operator=(const Copy&) = delete;

    cases::Parameters parameters;
    std::vector<std::vector<std::byte>> tensors;
    cases::Arguments arguments;
  };

  // The tensors before the call, with changed contents of the outputs that the call writes as a whole: an element
  // that neither the call nor the oracle writes is a difference.
  cases::Arguments& unwritten(std::optional<Copy>& copy) const;
  const cases::Arguments& results();
  const cases::Arguments& bits();
  // The sums of the absolute values of the addends.
  const cases::Arguments& magnitudes();
  std::string difference(size_t i, const cases::Arguments& found, mluOpOmpAlgorithm_t algorithm);

  const cases::Operator& op_;
  Copy before_;
  std::optional<Copy> results_, bits_, magnitudes_;
};

}  // namespace mluop::test
