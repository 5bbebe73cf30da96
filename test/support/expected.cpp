#include "support/expected.h"

#include <cmath>
#include <cstring>

#include "case/call.h"
#include "case/metrics.h"
#include "case/values.h"

namespace mluop::test {
namespace {

using cases::Arguments;
using cases::Operand;

std::string element_text(size_t i, double found, double expected) {
  return "number " + std::to_string(i) + " is " + std::to_string(found) + ", expected " + std::to_string(expected);
}

// Whether `evaluated` is the sum of `terms` addends or products in fp32, in any order, rounded once to dtype. NaN
// and infinity must equal the exact sum. With u = 2^-24, the error of a sum in fp32 is at most (terms - 1) u times
// the magnitude; the error of a product is at most u times the product, or less than `smallest`.
bool is_sum(double evaluated, double exact, double magnitude, int64_t terms, mluOpDataType_t dtype,
            double smallest) {
  if (std::isnan(exact)) return std::isnan(evaluated);
  if (std::isinf(exact)) return evaluated == exact;
  const double bound = static_cast<double>(terms + 2);
  double tolerance = bound * 0x1.1p-24 * magnitude + bound * smallest;
  if (cases::part_type(dtype) != MLUOP_DTYPE_FLOAT) {
    const bool is_half = cases::part_type(dtype) == MLUOP_DTYPE_HALF;
    const double near_overflow = is_half ? 65000 : 3.38e38;
    const double relative = is_half ? 0x1.1p-11 : 0x1.1p-8, absolute = is_half ? 0x1p-25 : 0x1p-134;
    if (std::abs(exact) + tolerance > near_overflow) return !std::isnan(evaluated);
    tolerance += (std::abs(exact) + tolerance) * relative + absolute;
  }
  return std::abs(evaluated - exact) <= tolerance;
}

// `magnitudes` are the sums of the absolute values of the addends.
std::string difference_of_sums(const Operand& found, const std::vector<double>& sums,
                               const std::vector<double>& magnitudes, int64_t terms, double smallest) {
  for (size_t i = 0; i < sums.size(); ++i) {
    const double value = cases::number_at(found.data, found.dtype, i);
    if (!is_sum(value, sums[i], magnitudes[i], terms, found.dtype, smallest))
      return element_text(i, value, sums[i]);
  }
  return "";
}

std::string difference_of_bits(const cases::Results& results, size_t bytes) {
  if (bytes == 0 || std::memcmp(results.found, results.expected, bytes) == 0) return "";
  for (size_t i = 0; i < results.numbers(); ++i) {
    if (!results.same_bits(i)) return element_text(i, results.e(i), results.b(i));
  }
  return "";
}

std::string failed_criterion(const cases::Results& results, const std::vector<cases::Criterion>& criteria) {
  for (const cases::Judgment& judgment : judge(results, criteria, cases::Verdict::kStrict)) {
    if (!judgment.passed) return std::string(name_of(judgment.criterion.metric)) + " is " + judgment.value;
  }
  return "";
}

}  // namespace

Expected::Copy::Copy(const Arguments& from) : parameters(*from.parameters), arguments(from) {
  arguments.parameters = &parameters;
  for (Operand& operand : arguments.tensors) {
    const auto bytes = static_cast<size_t>(operand.bytes());
    std::vector<std::byte>& tensor = tensors.emplace_back(bytes);
    if (bytes > 0) std::memcpy(tensor.data(), operand.data, bytes);
    operand.data = tensor.data();
  }
}

Expected::Expected(const cases::Operator& op, const Arguments& arguments) : op_(op), before_(arguments) {}

Arguments& Expected::unwritten(std::optional<Copy>& copy) const {
  Arguments& arguments = copy.emplace(before_).arguments;
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    const Operand& output = arguments[i];
    if (op_.tensors[i].role != cases::Role::kOutput || output.bytes() == 0) continue;
    std::memset(output.data, 0x5A, static_cast<size_t>(output.bytes()));
  }
  return arguments;
}

const Arguments& Expected::results() {
  if (!results_) {
    Arguments& arguments = unwritten(results_);
    op_.expect(arguments);
    for (Operand& output : arguments.tensors) round_sums(output);
  }
  return results_->arguments;
}

const Arguments& Expected::bits() {
  if (!bits_) op_.expect_bits(unwritten(bits_));
  return bits_->arguments;
}

const Arguments& Expected::magnitudes() {
  if (!magnitudes_) {
    Arguments& arguments = magnitudes_.emplace(before_).arguments;
    for (size_t tensor = 0; tensor < op_.tensors.size(); ++tensor) {
      const Operand& operand = arguments[tensor];
      if (!cases::is_floating(operand.dtype) || op_.tensors[tensor].keeps_signs) continue;
      for (size_t i = 0; i < static_cast<size_t>(operand.numbers()); ++i) {
        const double magnitude = std::abs(cases::number_at(operand.data, operand.dtype, i));
        cases::put_bits(operand.data, operand.dtype, i, cases::bits_of_number(operand.dtype, magnitude));
      }
    }
    arguments.are_magnitudes = true;
    op_.expect(arguments);
  }
  return magnitudes_->arguments;
}

std::string Expected::difference(size_t i, const Arguments& found, mluOpOmpAlgorithm_t algorithm) {
  const bool is_device = algorithm == MLUOP_OMP_ALGORITHM_DEVICE && op_.has_device_algorithm;
  const bool has_bits = !is_device && op_.expect_bits != nullptr;
  const Operand &output = found[i], &expected = (has_bits ? bits() : results())[i];
  if (!expected.sums.empty()) {
    const bool flushes = op_.has_dot_products && output.dtype == MLUOP_DTYPE_BFLOAT16;
    return difference_of_sums(output, expected.sums, magnitudes()[i].sums, op_.terms(found),
                              flushes ? 0x1p-126 : 0x1p-149);
  }
  const cases::Results compared{output.dtype, static_cast<size_t>(output.count()), output.data, expected.data,
                                op_.copies};
  if (!has_bits && op_.criteria != nullptr && cases::is_floating(output.dtype)) {
    const std::vector<cases::Criterion> criteria = op_.criteria(output, algorithm);
    if (criteria.front().metric != cases::Metric::kBits) return failed_criterion(compared, criteria);
  }
  return difference_of_bits(compared, static_cast<size_t>(output.bytes()));
}

std::string Expected::difference(const Arguments& found, mluOpOmpAlgorithm_t algorithm) {
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (!op_.tensors[i].is_written()) continue;
    const std::string text = difference(i, found, algorithm);
    if (!text.empty()) return op_.tensors[i].id + ": " + text;
  }
  return "";
}

}  // namespace mluop::test
