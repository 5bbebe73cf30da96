// mluOpOmpCompare: entry and checks, and the functions that read a comparison. Start with the entry below. Then:
// root_mean_square.h (the absolute tolerance); measure.h, measure_kernels.h, measure_vectors.cpp and
// measure_numbers.cpp (the figures); pattern.h and the hypotheses (the pattern).
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "compare/comparison.h"
#include "compare/measure.h"
#include "compare/pattern.h"
#include "compare/root_mean_square.h"
#include "core/dtype.h"
#include "core/tensor.h"
#include "team/operator_call.h"

namespace mluop::compare {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;
constexpr int kMaxWorst = 1000;

void check_dtype(std::string_view name, mluOpDataType_t dtype) {
  require(is_comparable(dtype), kBadParam, name, " has data type ", name_of(dtype),
          ", expected HALF, BFLOAT16, FLOAT, DOUBLE, an integer or BOOL");
}

void check_shapes(const TensorDescriptor& found, const TensorDescriptor& expected) {
  require(found.dim_count == expected.dim_count, kBadParam, "found has shape ", shape_text(found.shape()),
          ", expected ", shape_text(expected.shape()));
  for (int dim = 0; dim < found.dim_count; ++dim) {
    require(found.dims[dim] == expected.dims[dim], kBadParam, "found dim ", dim, " is ", found.dims[dim],
            ", expected ", expected.dims[dim]);
  }
}

void check_not_negative(std::string_view name, double value) {
  require(value >= 0 && std::isfinite(value), kBadParam, name, " is ", value,
          ", expected a finite non-negative number");
}

void check_options(const mluOpOmpCompareOptions_t& options) {
  check_not_negative("rtol", options.rtol);
  check_not_negative("atol", options.atol);
  check_not_negative("rms_atol", options.rms_atol);
  check_not_negative("epsilon", options.epsilon);
  require_flag("bits", options.bits);
  require_flag("nan_payloads", options.nan_payloads);
  require(0 <= options.worst && options.worst <= kMaxWorst, kBadParam, "worst is ", options.worst,
          ", expected 0 to ", kMaxWorst);
}

// Whether the tensor has rows of a few numbers, which may be different quantities, such as a box and its score.
bool has_short_rows(const TensorDescriptor& tensor) {
  constexpr int64_t kMaxColumns = 16;
  const int64_t columns = tensor.dim_count == 0 ? 1 : tensor.dims[tensor.dim_count - 1];
  return (tensor.dim_count == 2 || tensor.dim_count == 3) && 2 <= columns && columns <= kMaxColumns;
}

// The part of atol that rms_atol contributes.
double relative_tolerance(const Operands& operands, double rms, bool has_short_rows) {
  if (rms == 0) return 0;
  const double least =
      std::max(smallest_positive(operands.found.dtype), smallest_positive(operands.expected.dtype));
  return std::max(least, operands.options.rms_atol * (has_short_rows ? std::min(rms, 1.0) : rms));
}

Comparison no_elements(const mluOpOmpCompareOptions_t& options) {
  Comparison comparison{};
  comparison.difference.cosine = comparison.difference.pcc = 1;
  comparison.difference.atol = options.atol;
  return comparison;
}

}  // namespace
}  // namespace mluop::compare

mluOpOmpCompareOptions_t MLUOP_WIN_API mluOpOmpDefaultCompareOptions() {
  mluOpOmpCompareOptions_t options{};
  options.rtol = 1e-5;
  options.rms_atol = 1e-8;
  options.worst = 5;
  return options;
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpCompare(mluOpHandle_t handle, const mluOpTensorDescriptor_t found_desc,
                                            const void* found, const mluOpTensorDescriptor_t expected_desc,
                                            const void* expected, const mluOpOmpCompareOptions_t* options,
                                            mluOpOmpComparison_t* comparison) {
  using namespace mluop;
  using namespace mluop::compare;
  return run_operator("mluOpOmpCompare", handle, [&](Call& call) {
    const mluOpOmpCompareOptions_t used = options == nullptr ? mluOpOmpDefaultCompareOptions() : *options;
    call.not_recorded();
    call.input("found", found_desc, found);
    call.input("expected", expected_desc, expected);

    call.check_pointers();
    require_not_null("comparison", comparison);
    check_dtype("found", found_desc->dtype);
    check_dtype("expected", expected_desc->dtype);
    check_shapes(*found_desc, *expected_desc);
    check_options(used);
    call.check_tensors();

    Operands operands{{found_desc->dtype, static_cast<const std::byte*>(found)},
                      {expected_desc->dtype, static_cast<const std::byte*>(expected)},
                      element_count(*found_desc),
                      used};
    auto made = std::make_unique<Comparison>(no_elements(used));
    if (operands.count > 0) {
      double rms = 0;
      if (used.rms_atol > 0) {
        rms = root_mean_square(call.context(), operands);
        const double relative = relative_tolerance(operands, rms, has_short_rows(*expected_desc));
        operands.options.atol = std::min(used.atol + relative, std::numeric_limits<double>::max());
      }
      Measured measured = measure(call.context(), operands);
      made->difference = measured.difference;
      made->difference.rms = rms;
      made->difference.atol = operands.options.atol;
      if (measured.difference.wrong > 0 && used.worst > 0) {
        made->pattern = pattern_of(call.context(), operands, found_desc->shape(), measured);
      }
      made->worst = std::move(measured.worst);
      made->worst.resize(std::min(made->worst.size(), static_cast<size_t>(used.worst)));
    }
    *comparison = made.release();
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpDestroyComparison(mluOpOmpComparison_t comparison) {
  return mluop::run_guarded("mluOpOmpDestroyComparison", [&] {
    mluop::require_not_null("comparison", comparison);
    delete comparison;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetDifference(mluOpOmpComparison_t comparison,
                                                  mluOpOmpDifference_t* difference) {
  return mluop::run_guarded("mluOpOmpGetDifference", [&] {
    mluop::require_not_null("comparison", comparison);
    mluop::require_not_null("difference", difference);
    *difference = comparison->difference;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetWrongElements(mluOpOmpComparison_t comparison, int capacity,
                                                     mluOpOmpWrongElement_t* elements, int* count) {
  return mluop::run_guarded("mluOpOmpGetWrongElements", [&] {
    mluop::require_not_null("comparison", comparison);
    mluop::require_not_null("count", count);
    mluop::require(capacity >= 0, MLUOP_STATUS_BAD_PARAM, "capacity is ", capacity, ", expected 0 or more");
    if (capacity > 0) mluop::require_not_null("elements", elements);
    *count = static_cast<int>(std::min(static_cast<size_t>(capacity), comparison->worst.size()));
    std::copy_n(comparison->worst.begin(), *count, elements);
  });
}

const char* MLUOP_WIN_API mluOpOmpGetComparisonPattern(mluOpOmpComparison_t comparison) {
  return comparison == nullptr ? "" : comparison->pattern.c_str();
}
