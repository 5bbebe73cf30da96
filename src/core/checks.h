// Rules for arguments, one statement each: a violated rule throws a Failure whose message names the parameter, the
// value found and the value expected. run_guarded() (boundary.h) turns it into the status of the call.
//
//   require_not_null("size", size);
//   require(n > 0, MLUOP_STATUS_BAD_PARAM, "n is ", n, ", expected at least 1");
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/boundary.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "core/text.h"

namespace mluop {

// The message is built only if the rule is violated.
template <class... Parts>
void require(bool holds, mluOpStatus_t status, const Parts&... message) {
  if (!holds) throw Failure(status, text(message...));
}

inline void require_not_null(std::string_view name, const void* pointer) {
  require(pointer != nullptr, MLUOP_STATUS_BAD_PARAM, name, " is null");
}

inline void require_positive(std::string_view name, int64_t value) {
  require(value > 0, MLUOP_STATUS_BAD_PARAM, name, " is ", value, ", expected at least 1");
}

template <class Number>
void require_flag(std::string_view name, Number value) {
  require(value == 0 || value == 1, MLUOP_STATUS_BAD_PARAM, name, " is ", value, ", expected 0 or 1");
}

// For elements that are indexed by int32.
inline void require_int32_count(std::string_view name, int64_t count) {
  require(count < (int64_t{1} << 31), MLUOP_STATUS_NOT_SUPPORTED, name, " is ", count,
          ", expected fewer than 2^31");
}

// Requires a data type that dispatch_dtype() supports, or one of `further`.
void require_element_type(std::string_view name, mluOpDataType_t dtype,
                          std::initializer_list<mluOpDataType_t> further = {});

// The sum of the bytes of all tensors of a call. Throws Failure with BAD_PARAM if it exceeds int64_t.
inline int64_t total_bytes(std::initializer_list<int64_t> tensors) {
  int64_t total = 0;
  for (const int64_t bytes : tensors) {
    const auto sum = checked_sum(total, bytes);
    require(sum.has_value(), MLUOP_STATUS_BAD_PARAM, "the size in bytes of all tensors exceeds 2^63 - 1");
    total = *sum;
  }
  return total;
}

}  // namespace mluop
