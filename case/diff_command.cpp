#include <iomanip>
#include <iostream>

#include "case/commands.h"
#include "case/comparison.h"
#include "case/files.h"
#include "case/report.h"
#include "case/values.h"

namespace mluop::cases {
namespace {

std::string number(double value) { return text_of(value, kElementDigits); }
std::string number(int64_t value) { return std::to_string(value); }

// "0: 5, 1: 7, 3 to 4: 1"
std::string histogram_of(const mluOpOmpDifference_t& figures) {
  constexpr int kMore = MLUOP_OMP_ULP_BUCKETS - 2;
  std::vector<std::string> texts;
  for (int k = 0; k < MLUOP_OMP_ULP_BUCKETS; ++k) {
    if (figures.ulp_histogram[k] == 0) continue;
    // The last distance of entry k.
    const int64_t last = k < 2 ? k : int64_t{1} << (k - 1), first = k < 3 ? last : last / 2 + 1;
    std::string range = first == last ? number(first) : number(first) + " to " + number(last);
    if (k == kMore) range = "more";
    if (k > kMore) range = "NaN or infinity";
    texts.push_back(range + ": " + number(figures.ulp_histogram[k]));
  }
  return joined(texts);
}

void print(const char* name, const std::string& value) {
  constexpr int kWidth = 16;
  std::cout << "  " << std::left << std::setw(kWidth) << name << ' ' << value << '\n';
}

void print(const mluOpOmpDifference_t& figures) {
  print("elements", number(figures.elements));
  print("differing bits", number(figures.differing));
  print("above, below", number(figures.above) + ", " + number(figures.below));
  print("NaN", number(figures.found_nan) + " found, " + number(figures.expected_nan) + " expected");
  print("infinite", number(figures.found_inf) + " found, " + number(figures.expected_inf) + " expected, " +
                        number(figures.overflowed) + " where a number is expected");
  print("flushed to 0", number(figures.flushed));
  print("max absolute", number(figures.max_absolute));
  print("max relative", number(figures.max_relative));
  print("mean magnitude", number(figures.mean_magnitude));
  print("cosine", number(figures.cosine));
  print("PCC", number(figures.pcc));
  print("max ULP", number(figures.max_ulp));
  print("ULP", histogram_of(figures));
  print("factor", number(figures.factor) + ", residual " + number(figures.factor_residual));
}

}  // namespace

int diff_command(const DiffCommand& command) {
  const mluOpDataType_t dtype = dtype_of_name(command.dtype);
  if (dtype == MLUOP_DTYPE_INVALID)
    fail({}, "unknown data type '" + command.dtype + "', expected float, half, int32, ...");
  const Bytes found = read_bytes(command.found, {}), expected = read_bytes(command.expected, {});
  if (found.size() != expected.size() || found.size() % element_size(dtype) != 0) {
    fail({}, command.found + " has " + std::to_string(found.size()) + " bytes and " + command.expected + " has " +
                 std::to_string(expected.size()) + ", expected equal sizes, a multiple of " +
                 std::to_string(element_size(dtype)));
  }
  if (found.empty() && command.shape.empty()) {
    fail({}, "nothing to compare: " + command.found + " and " + command.expected +
                 " are empty; --shape states a tensor without elements");
  }
  Tensor tensor;
  tensor.dims = command.shape;
  const size_t count = found.size() / element_size(dtype);
  if (tensor.dims.empty()) tensor.dims = {static_cast<int64_t>(count)};
  if (static_cast<size_t>(element_count(tensor)) != count) {
    fail({}, "--shape has " + std::to_string(element_count(tensor)) + " elements, the files have " +
                 std::to_string(count));
  }
  const Results results{dtype, count, found.data(), expected.data(), true};
  std::vector<Criterion> criteria;
  for (const Metric metric : kMetrics) criteria.push_back({metric, 0});
  std::cout << text_of(judge(results, criteria, Verdict::kStrict), false) << '\n';
  mluOpOmpCompareOptions_t options = Comparison::bits_of(results);
  if (command.rtol || command.atol) {
    options.bits = 0;
    options.rtol = command.rtol.value_or(0);
    options.atol = command.atol.value_or(0);
  }
  const ErrorReport report = errors_of(results, tensor.dims, {}, options, command.worst);
  if (report.figures.differing > 0) print(report.figures);
  if (report.wrong == 0) return kPassed;
  std::cout << text_of(report, "");
  return kFailed;
}

}  // namespace mluop::cases
