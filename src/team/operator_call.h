// The pipeline of an operator's entry: lock the handle, declare the tensors, check them, run, log.
//
//   mluOpStatus_t mluOpExample(mluOpHandle_t handle, ...) {
//     return run_operator("mluOpExample", handle, [&](Call& call) {
//       const int64_t N = dim_of(points_desc, 0);
//       call.parameter("max_sums", max_sums, AtLeast{1});
//       call.input("points", points_desc, points, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_ARRAY, {kAny, 3});
//       call.output("sums", sums_desc, sums, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY, {N});
//       call.check_pointers();
//       call.check_parameters();
//       require(N < kMaxPoints, MLUOP_STATUS_NOT_SUPPORTED, "points dim 0 is ", N, ", expected ...");
//       call.check_tensors();
//       example::run(call, args);
//     });
//   }
//
// The calling thread has the default floating-point environment while a Call exists. An argument is declared once;
// checks, overlap tests, debug line and recording read that declaration. Rules throw Failure in the order of the
// statements: null pointers, architecture, the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/checks.h"
#include "core/fixed_list.h"
#include "core/float_environment.h"
#include "core/log.h"
#include "core/tensor.h"
#include "recording/argument.h"
#include "team/context.h"

namespace mluop {

// An extent that is not checked.
inline constexpr int64_t kAny = -1;
// A layout that is not checked.
inline constexpr std::optional<mluOpTensorLayout_t> kAnyLayout;

class CaseRecorder;

// Inputs that an output may overlap.
enum class InPlace {
  kNever,
  kSameTensor,  // equal data, size of elements, shape and strides
  kSameData,    // equal data: the call copies the input
};

// The minimum of a parameter.
struct AtLeast {
  int64_t value;
};

class Call {
 public:
  Call(std::string_view function, Context& context, bool is_query);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Ends the use of pool and workspace (see core/poison.h): the workspace belongs to the caller again.
  ~Call();

  // Declare a tensor: the name of its parameter and the required contents of its descriptor. Values that depend on
  // other descriptors are read with dtype_of() and dim_of(), which accept null.
  void input(std::string_view name, const TensorDescriptor* desc, const void* data, mluOpDataType_t dtype,
             std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape);
  void output(std::string_view name, const TensorDescriptor* desc, void* data, mluOpDataType_t dtype,
              std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape);
  // Declare an optional tensor, if present. Return its data; null if it is absent.
  const void* optional_input(std::string_view name, const Input& tensor, mluOpDataType_t dtype,
                             std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape);
  void* optional_output(std::string_view name, const Output& tensor, mluOpDataType_t dtype,
                        std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape);
  // Declare a tensor with the shape of another descriptor, which may be null.
  void input_like(std::string_view name, const Input& tensor, const TensorDescriptor* like, mluOpDataType_t dtype,
                  std::optional<mluOpTensorLayout_t> layout);
  void output_like(std::string_view name, const Output& tensor, const TensorDescriptor* like,
                   mluOpDataType_t dtype, std::optional<mluOpTensorLayout_t> layout);
  void inout_like(std::string_view name, const Output& tensor, const TensorDescriptor* like, mluOpDataType_t dtype,
                  std::optional<mluOpTensorLayout_t> layout);
  // An input of any element type, layout and shape.
  void input(std::string_view name, const TensorDescriptor* desc, const void* data);
  // Declares an output of one number without descriptor.
  void output(std::string_view name, int32_t* number);
  // Declares an output whose previous contents matter: it is read, or some elements are left unchanged.
  void inout(std::string_view name, const TensorDescriptor* desc, void* data, mluOpDataType_t dtype,
             std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape);
  // Declares an array of `count` numbers that has no descriptor.
  void host_array(std::string_view name, const int64_t* data, int64_t count);
  // Declare another parameter. Its name is the field name in recorded cases.
  void parameter(std::string_view name, Parameter::Value value) { declare({name, value, std::nullopt}); }
  void parameter(std::string_view name, Parameter::Value value, AtLeast least) {
    declare({name, value, least.value});
  }

  // Declares the strides that the call accepts; kContiguous without this declaration.
  void allow_strides(Strides strides) { strides_ = strides; }
  // Declares which inputs an output may overlap; kNever without this declaration.
  void allow_in_place(InPlace allowed) { in_place_ = allowed; }

  // Declares that the call is not an operator, so that no case is recorded.
  void not_recorded() { records_ = false; }

  // Declares that the call reads no input because there is nothing to compute: the data of inputs and the
  // workspace may then be null, and the debug line says "nothing to do".
  void reads_nothing() { reads_nothing_ = true; }

  // Requires that descriptors, host arrays and the data of non-empty tensors are not null. BAD_PARAM.
  void check_pointers() const;
  // Requires that the device of the handle is not in the 200 series. ARCH_MISMATCH.
  void check_not_200_series() const;
  // Requires that values are at least their minimum and reductions are valid enumerators. BAD_PARAM.
  void check_parameters() const;
  // Checks element type, layout, shape (BAD_PARAM) and strides (NOT_SUPPORTED) of each tensor, and that no output
  // overlaps another argument, gaps of strided tensors included (BAD_PARAM). Starts the recording: all arguments
  // must be declared.
  void check_tensors();
  // Checks the caller's workspace: at least `needed` bytes, and no overlap with an argument (BAD_PARAM). Returns
  // its aligned part.
  Arena workspace(void* workspace, size_t workspace_size, size_t needed);

  // Appends decisions of the plan to the debug line. Costs one branch unless debug lines are shown.
  template <class... Parts>
  void log_detail(const Parts&... parts) {
    if (logs_) details_ += text(", ", parts...);
  }
  // Writes the debug line (tensors, parameters, details, instruction set, latency), the trace and the recording of
  // the call. They are lost if memory runs out; the call has succeeded.
  void finish() noexcept;

  Context& context() const { return context_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxArguments = 12;
  static constexpr size_t kMaxParameters = 12;

  void declare(Argument::Kind kind, std::string_view name, const TensorDescriptor* desc, const void* data,
               mluOpDataType_t dtype, std::optional<mluOpTensorLayout_t> layout, std::span<const int64_t> shape);
  void declare(const Parameter& parameter) { parameters_.push_back(parameter); }
  void check_strides(const Argument& tensor) const;
  void check_equal_strides() const;
  bool is_in_place(const Argument& output, const Argument& input) const;
  void check_overlap() const;
  bool may_be_null(const Argument& argument) const;
  void write_log() const noexcept;
  std::string tensor_text() const;

  const ScopedFloatEnvironment default_environment_;
  std::string_view function_;
  Context& context_;
  bool is_query_;
  bool logs_;
  bool records_;
  bool reads_nothing_ = false;
  InPlace in_place_ = InPlace::kNever;
  Strides strides_ = Strides::kContiguous;
  FixedList<Argument, kMaxArguments> arguments_;
  FixedList<Parameter, kMaxParameters> parameters_;
  std::span<const std::byte> workspace_;
  Clock::time_point start_;
  std::string details_;
  std::unique_ptr<CaseRecorder> recorder_;
};

// Requires that a tensor which the call does not use is absent; `when` says why: "without mask".
template <class T>
void require_missing(std::string_view name, const Passed<T>& tensor, std::string_view when) {
  require(tensor.is_missing(), MLUOP_STATUS_BAD_PARAM, name, " is not null, expected null ", when);
}

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
