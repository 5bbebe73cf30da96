// mluOpLogspace in one file: kernel, entry.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/checks.h"
#include "core/dtype.h"
#include "core/element.h"
#include "core/sizes.h"
#include "ops/elementwise/elementwise.h"
#include "team/launch.h"

namespace mluop::elementwise {
namespace {

struct LogspaceArgs {
  float start, end, step;  // exponents
  double base;
  int64_t steps;
  void* res;
};

// Drops the fraction. Numbers beyond int32 become the nearest int32; NaN becomes 0.
int32_t truncated(double number) {
  if (std::isnan(number)) return 0;
  constexpr double kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::clamp(number, kLeast, kMost));
}

template <class T>
T converted(double number) {
  T result;
  if constexpr (std::is_same_v<T, int32_t>) {
    result = truncated(number);
  } else {
    round_to(static_cast<float>(number), &result);
  }
  return result;
}

// Work items: elements. The second half counts from the end, so that the last exponent is `end`.
template <class T>
void write_powers(const LogspaceArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    const float exponent = i < args.steps / 2 ? args.start + args.step * static_cast<float>(i)
                                              : args.end - args.step * static_cast<float>(args.steps - 1 - i);
    static_cast<T*>(args.res)[i] = converted<T>(std::pow(args.base, double{exponent}));
  }
}

// The number as an element of T.
template <class T>
float as_element(float number) {
  const T element = converted<T>(double{number});
  if constexpr (std::is_same_v<T, int32_t>) {
    return static_cast<float>(element);
  } else {
    return to_f32(element);
  }
}

template <class T>
void run_logspace(Call& call, float start, float end, int64_t steps, float base, void* res) {
  LogspaceArgs args{as_element<T>(start), as_element<T>(end), 0, double{base}, steps, res};
  // base^start
  if (steps == 1) args.end = args.start;
  if (steps > 1) args.step = (args.end - args.start) / static_cast<float>(steps - 1);
  constexpr int64_t kCost = 512;  // of a power, in bytes of memory traffic
  const int task_dim = choose_task_dim(steps, saturated_product({steps, kCost}));
  call.log_detail("native, taskDim ", task_dim);
  call.context().reserve(0);
  launch<LogspaceArgs>(call.context(), "powers", task_dim, Evenly{steps}, write_powers<T>, args);
}

}  // namespace
}  // namespace mluop::elementwise

mluOpStatus_t MLUOP_WIN_API mluOpLogspace(mluOpHandle_t handle, const float start, const float end,
                                          const int64_t steps, const float base,
                                          const mluOpTensorDescriptor_t res_desc, void* res) {
  using namespace mluop;
  using namespace mluop::elementwise;
  return run_operator("mluOpLogspace", handle, [&](Call& call) {
    const mluOpDataType_t dtype = dtype_of(res_desc);
    call.parameter("start", start);
    call.parameter("end", end);
    call.parameter("steps", steps, AtLeast{0});
    call.parameter("base", base);
    call.inout_like("res", {res_desc, res}, res_desc, dtype, kAnyLayout);
    if (steps == 0) call.reads_nothing();
    call.check_pointers();
    require_element_type("res", dtype, {MLUOP_DTYPE_INT32});
    require_dimensions("res", res_desc);
    call.check_parameters();
    require(steps <= element_count(*res_desc), MLUOP_STATUS_BAD_PARAM, "steps is ", steps,
            ", expected at most the elements of res, ", element_count(*res_desc));
    call.check_tensors();
    if (steps == 0) return;
    if (dtype == MLUOP_DTYPE_INT32) return run_logspace<int32_t>(call, start, end, steps, base, res);
    dispatch_dtype(dtype,
                   [&](auto element) { run_logspace<decltype(element)>(call, start, end, steps, base, res); });
  });
}
