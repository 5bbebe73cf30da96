// The pipeline of an operator's entry: lock the handle, declare the tensors, check them, run, log.
//
//   mluOpStatus_t mluOpExample(mluOpHandle_t handle, ...) {
//     return run_operator("mluOpExample", handle, [&](Call& call) {
//       const int64_t N = dim_of(points_desc, 0);
//       call.input("points", points_desc, points, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_ARRAY, {kAny, 3});
//       call.output("sums", sums_desc, sums, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY, {N});
//       call.check_pointers();
//       require(N < kMaxPoints, MLUOP_STATUS_NOT_SUPPORTED, "points dim 0 is ", N, ", expected ...");
//       call.check_tensors();
//       example::run(call, args);
//     });
//   }
//
// The floating-point environment of the calling thread is the default one while a Call exists.
// A tensor is declared once; checks, overlap and debug line read that declaration. Rules throw Failure, in the
// order of the statements: null pointers, architecture, the others.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/checks.h"
#include "core/float_environment.h"
#include "core/log.h"
#include "core/tensor.h"
#include "team/context.h"

namespace mluop {

// An extent that is not checked.
inline constexpr int64_t kAny = -1;
// A layout that is not checked.
inline constexpr std::optional<mluOpTensorLayout_t> kAnyLayout;

// An argument of a call, as its entry declares it.
struct Argument {
  enum class Kind { kInput, kOutput, kHostArray };
  static constexpr size_t kMaxDims = 5;

  // A host array has no descriptor.
  bool is_tensor() const { return kind != Kind::kHostArray; }
  bool is_output() const { return kind == Kind::kOutput; }
  std::span<const int64_t> expected_shape() const { return {shape.data(), dim_count}; }
  // Of a checked argument.
  int64_t bytes() const;

  Kind kind;
  std::string_view name;
  const TensorDescriptor* desc;
  const void* data;
  mluOpDataType_t dtype;
  std::optional<mluOpTensorLayout_t> layout;
  std::array<int64_t, kMaxDims> shape;
  size_t dim_count;
};

class Call {
 public:
  Call(std::string_view function, Context& context, bool is_query);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Ends the use of pool and workspace, see core/poison.h: the workspace is the caller's again.
  ~Call();

  // Declare a tensor: the name of its parameter, and what its descriptor must state. Values that depend on other
  // descriptors are read with dtype_of() and dim_of(), which accept null.
  void input(std::string_view name, const TensorDescriptor* desc, const void* data, mluOpDataType_t dtype,
             std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape);
  void output(std::string_view name, const TensorDescriptor* desc, void* data, mluOpDataType_t dtype,
              std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape);
  // Declares an array of `count` numbers that has no descriptor.
  void host_array(std::string_view name, const int64_t* data, int64_t count);

  // Declares that the call reads no input, because there is nothing to compute: the data of inputs and the
  // workspace may then be null.
  void reads_nothing() { reads_nothing_ = true; }

  // Descriptors, host arrays and the data of tensors with elements are not null. BAD_PARAM.
  void check_pointers() const;
  // The device of the handle is not of the 200 series. ARCH_MISMATCH.
  void check_not_200_series() const;
  // Element type, layout, shape (BAD_PARAM) and strides (NOT_SUPPORTED) of each tensor; no output overlaps another
  // argument (BAD_PARAM).
  void check_tensors() const;
  // The caller's workspace: `needed` bytes or more, and no overlap with an argument. BAD_PARAM. Returns the
  // aligned part.
  Arena workspace(void* workspace, size_t workspace_size, size_t needed);

  // Appends to the debug line: what the plan has decided. Costs a branch unless debug lines are shown.
  template <class... Parts>
  void log_detail(const Parts&... parts) {
    if (logs_) details_ += text(", ", parts...);
  }
  // Writes the debug line (tensors, details, instruction set, latency) and the trace of the call. Both are lost if
  // memory does not suffice: the call has succeeded.
  void finish() const noexcept;

  Context& context() const { return context_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxArguments = 12;

  void declare(Argument::Kind kind, std::string_view name, const TensorDescriptor* desc, const void* data,
               mluOpDataType_t dtype, std::optional<mluOpTensorLayout_t> layout,
               std::initializer_list<int64_t> shape);
  std::span<const Argument> arguments() const { return {arguments_.data(), argument_count_}; }
  void check_overlap() const;
  std::string tensor_text() const;

  const ScopedFloatEnvironment default_environment_;
  std::string_view function_;
  Context& context_;
  bool is_query_;
  bool logs_;
  bool reads_nothing_ = false;
  size_t argument_count_ = 0;
  std::array<Argument, kMaxArguments> arguments_;
  std::span<const std::byte> workspace_;
  Clock::time_point start_;
  std::string details_;
};

// Runs body(call) with the handle locked, as the API function `function`.
template <class Body>
mluOpStatus_t run_operator(std::string_view function, mluOpHandle_t handle, const Body& body) noexcept {
  return run_guarded(function, [&] {
    require_not_null("handle", handle);
    const std::lock_guard lock(handle->execution);
    Call call(function, *handle, false);
    body(call);
    call.finish();
  });
}

// Runs body(call), which returns the bytes of a workspace. Data pointers are not checked.
template <class Body>
mluOpStatus_t run_workspace_query(std::string_view function, mluOpHandle_t handle, size_t* workspace_size,
                                  const Body& body) noexcept {
  return run_guarded(function, [&] {
    require_not_null("handle", handle);
    require_not_null("workspace_size", workspace_size);
    const std::lock_guard lock(handle->execution);
    Call call(function, *handle, true);
    *workspace_size = body(call);
  });
}

}  // namespace mluop
