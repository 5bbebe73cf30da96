#include "team/operator_call.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <new>

#include "core/dtype.h"
#include "core/simd.h"
#include "recording/case_recorder.h"
#include "recording/trace.h"

namespace mluop {
namespace {

// A range of memory that a call reads or writes.
struct Memory {
  explicit Memory(const Argument& argument) : name(argument.name), data(argument.data), bytes(argument.bytes()) {}
  Memory(std::string_view memory_name, const void* memory, size_t memory_bytes)
      : name(memory_name), data(memory), bytes(static_cast<int64_t>(std::min<size_t>(memory_bytes, INT64_MAX))) {}

  std::string_view name;
  const void* data;
  int64_t bytes;
};

void require_apart(const Memory& output, const Memory& other) {
  const auto first = reinterpret_cast<uintptr_t>(output.data);
  const auto second = reinterpret_cast<uintptr_t>(other.data);
  const bool apart = output.bytes == 0 || other.bytes == 0 ||
                     (first < second ? second - first >= static_cast<uintptr_t>(output.bytes)
                                     : first - second >= static_cast<uintptr_t>(other.bytes));
  require(apart, MLUOP_STATUS_BAD_PARAM, output.name, " overlaps ", other.name, ", expected disjoint memory");
}

// Checks element type, layout and number of dimensions.
void check_kind(const Argument& tensor) {
  const TensorDescriptor& desc = *tensor.desc;
  require(desc.dtype == tensor.dtype, MLUOP_STATUS_BAD_PARAM, tensor.name, " has data type ", name_of(desc.dtype),
          ", expected ", name_of(tensor.dtype));
  if (tensor.layout != kAnyLayout) {
    require(desc.layout == *tensor.layout, MLUOP_STATUS_BAD_PARAM, tensor.name, " has layout ",
            name_of(desc.layout), ", expected ", name_of(*tensor.layout));
  }
  const size_t expected = tensor.expected_shape().size();
  require(desc.shape().size() == expected, MLUOP_STATUS_BAD_PARAM, tensor.name, " has ", desc.dim_count,
          " dimensions, expected ", expected);
}

void check_shape(const Argument& tensor) {
  const TensorDescriptor& desc = *tensor.desc;
  const auto expected = tensor.expected_shape();
  for (size_t i = 0; i < expected.size(); ++i) {
    require(expected[i] == kAny || desc.dims[i] == expected[i], MLUOP_STATUS_BAD_PARAM, tensor.name, " dim ", i,
            " is ", desc.dims[i], ", expected ", expected[i]);
  }
}

std::string strides_text(const TensorDescriptor& desc) {
  return shape_text({desc.strides.data(), desc.shape().size()});
}

std::span<const int64_t> shape_of(const TensorDescriptor* desc) {
  return desc == nullptr ? std::span<const int64_t>() : desc->shape();
}

void check_reduce_mode(std::string_view name, mluOpReduceMode_t mode) {
  require(mode == MLUOP_REDUCE_DSUM || mode == MLUOP_REDUCE_DMEAN || mode == MLUOP_REDUCE_DMAX,
          MLUOP_STATUS_BAD_PARAM, name, " is ", static_cast<int>(mode),
          ", expected MLUOP_REDUCE_DSUM (0), MLUOP_REDUCE_DMEAN (1) or MLUOP_REDUCE_DMAX (2)");
}

void check_parameter(const Parameter& parameter) {
  const auto check_least = [&](auto number) {
    if (!parameter.least) return;
    const int64_t least = *parameter.least;
    // Rejects NaN too.
    require(number >= static_cast<decltype(number)>(least), MLUOP_STATUS_BAD_PARAM, parameter.name, " is ", number,
            ", expected at least ", least);
  };
  const Parameter::Value& value = parameter.value;
  if (const auto* number = std::get_if<int64_t>(&value)) check_least(*number);
  if (const auto* number = std::get_if<float>(&value)) check_least(*number);
  if (const auto* mode = std::get_if<mluOpReduceMode_t>(&value)) check_reduce_mode(parameter.name, *mode);
}

}  // namespace

Call::Call(std::string_view function, Context& context, bool is_query)
    : function_(function),
      context_(context),
      is_query_(is_query),
      logs_(debug_log_enabled()),
      records_(!is_query && case_mode_of(context.cases) != CaseMode::kOff) {
  if (logs_) start_ = Clock::now();
  if (is_query) return;
  context.caller_environment = default_environment_.before();
  context.statistics.begin_call();
}

Call::~Call() {
  unpoison(workspace_.data(), workspace_.size());
  if (!is_query_) context_.end_call();
}

void Call::declare(Argument::Kind kind, std::string_view name, const TensorDescriptor* desc, const void* data,
                   mluOpDataType_t dtype, std::optional<mluOpTensorLayout_t> layout,
                   std::span<const int64_t> shape) {
  Argument argument{kind, name, desc, data, dtype, layout, {}, shape.size()};
  std::copy(shape.begin(), shape.end(), argument.shape.begin());
  arguments_.push_back(argument);
}

void Call::input(std::string_view name, const TensorDescriptor* desc, const void* data, mluOpDataType_t dtype,
                 std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape) {
  declare(Argument::Kind::kInput, name, desc, data, dtype, layout, shape);
}

void Call::input(std::string_view name, const TensorDescriptor* desc, const void* data) {
  Argument argument{Argument::Kind::kInput, name, desc, data, dtype_of(desc), kAnyLayout, {}, 0};
  argument.dim_count = desc == nullptr ? 0 : desc->shape().size();
  argument.shape.fill(kAny);
  arguments_.push_back(argument);
}

void Call::input_like(std::string_view name, const Input& tensor, const TensorDescriptor* like,
                      mluOpDataType_t dtype, std::optional<mluOpTensorLayout_t> layout) {
  declare(Argument::Kind::kInput, name, tensor.desc, tensor.data, dtype, layout, shape_of(like));
}

void Call::output_like(std::string_view name, const Output& tensor, const TensorDescriptor* like,
                       mluOpDataType_t dtype, std::optional<mluOpTensorLayout_t> layout) {
  declare(Argument::Kind::kOutput, name, tensor.desc, tensor.data, dtype, layout, shape_of(like));
}

void Call::inout_like(std::string_view name, const Output& tensor, const TensorDescriptor* like,
                      mluOpDataType_t dtype, std::optional<mluOpTensorLayout_t> layout) {
  declare(Argument::Kind::kInOut, name, tensor.desc, tensor.data, dtype, layout, shape_of(like));
}

const void* Call::optional_input(std::string_view name, const Input& tensor, mluOpDataType_t dtype,
                                 std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape) {
  if (tensor.is_missing()) return nullptr;
  input(name, tensor.desc, tensor.data, dtype, layout, shape);
  return tensor.data;
}

void Call::output(std::string_view name, const TensorDescriptor* desc, void* data, mluOpDataType_t dtype,
                  std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape) {
  declare(Argument::Kind::kOutput, name, desc, data, dtype, layout, shape);
}

void* Call::optional_output(std::string_view name, const Output& tensor, mluOpDataType_t dtype,
                            std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape) {
  if (tensor.is_missing()) return nullptr;
  output(name, tensor.desc, tensor.data, dtype, layout, shape);
  return tensor.data;
}

void Call::output(std::string_view name, int32_t* number) {
  static constexpr TensorDescriptor kNumber{MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 1, {1}, {1}};
  declare(Argument::Kind::kOutput, name, &kNumber, number, MLUOP_DTYPE_INT32, kAnyLayout, kNumber.shape());
}

void Call::inout(std::string_view name, const TensorDescriptor* desc, void* data, mluOpDataType_t dtype,
                 std::optional<mluOpTensorLayout_t> layout, std::initializer_list<int64_t> shape) {
  declare(Argument::Kind::kInOut, name, desc, data, dtype, layout, shape);
}

void Call::host_array(std::string_view name, const int64_t* data, int64_t count) {
  declare(Argument::Kind::kHostArray, name, nullptr, data, MLUOP_DTYPE_INT64, MLUOP_LAYOUT_ARRAY, {&count, 1});
}

void Call::check_pointers() const {
  for (const Argument& argument : arguments_.elements()) {
    if (argument.is_tensor()) {
      require(argument.desc != nullptr, MLUOP_STATUS_BAD_PARAM, argument.name, "_desc is null");
    } else {
      require_not_null(argument.name, argument.data);
    }
  }
  if (is_query_) return;
  for (const Argument& argument : arguments_.elements()) {
    if (argument.data != nullptr || may_be_null(argument)) continue;
    throw Failure(MLUOP_STATUS_BAD_PARAM, text(argument.name, " is null, expected the data of a tensor ",
                                               shape_text(argument.desc->shape())));
  }
}

bool Call::may_be_null(const Argument& argument) const {
  return (reads_nothing_ && !argument.is_output()) || element_count(*argument.desc) == 0;
}

void Call::check_not_200_series() const {
  require(!context_.device.is_200_series, MLUOP_STATUS_ARCH_MISMATCH, "device is ", context_.device.name,
          ", expected mlu370 or mlu590");
}

void Call::check_parameters() const {
  for (const Parameter& parameter : parameters_.elements()) check_parameter(parameter);
}

void Call::check_tensors() {
  // The expected dimensions may come from a descriptor that the first loop reports.
  for (const Argument& argument : arguments_.elements()) {
    if (argument.is_tensor()) check_kind(argument);
  }
  for (const Argument& argument : arguments_.elements()) {
    if (!argument.is_tensor()) continue;
    check_shape(argument);
    check_strides(argument);
  }
  if (strides_ == Strides::kDense) check_equal_strides();
  if (!is_query_) check_overlap();
  if (records_) {
    recorder_ =
        CaseRecorder::begin(context_.cases, {function_, arguments_.elements(), parameters_.elements(),
                                             context_.algorithm == MLUOP_OMP_ALGORITHM_DEVICE,
                                             omp_get_max_threads(), context_.device.name, context_.nram_capacity});
  }
}

void Call::check_strides(const Argument& tensor) const {
  const TensorDescriptor& desc = *tensor.desc;
  if (is_contiguous(desc)) return;
  const auto refuse = [&](std::string_view expected) {
    throw Failure(MLUOP_STATUS_NOT_SUPPORTED, text(tensor.name, " has strides ", strides_text(desc), ", expected ",
                                                   expected, " of shape ", shape_text(desc.shape())));
  };
  if (strides_ == Strides::kContiguous) refuse("a contiguous tensor");
  if (strides_ == Strides::kDense && !is_dense(desc)) refuse("a tensor without gaps");
  if (tensor.is_output() && !has_distinct_places(desc)) refuse("distinct places for the elements");
}

void Call::check_equal_strides() const {
  const auto all = arguments_.elements();
  const auto permuted = std::ranges::find_if(
      all, [](const Argument& each) { return each.is_tensor() && !is_contiguous(*each.desc); });
  if (permuted == all.end()) return;
  for (const Argument& other : all) {
    if (!other.is_tensor() || other.count() <= 1 || has_same_places(*permuted->desc, *other.desc)) continue;
    throw Failure(MLUOP_STATUS_NOT_SUPPORTED,
                  text(other.name, " has shape ", shape_text(other.desc->shape()), " and strides ",
                       strides_text(*other.desc), ", expected shape ", shape_text(permuted->desc->shape()),
                       " and strides ", strides_text(*permuted->desc), " as ", permuted->name, " has"));
  }
}

// output, input: a tensor; an argument.
bool Call::is_in_place(const Argument& output, const Argument& input) const {
  if (in_place_ == InPlace::kNever || !input.is_tensor() || output.data != input.data) return false;
  return in_place_ == InPlace::kSameData ||
         (has_same_places(*output.desc, *input.desc) && size_of(output.desc->dtype) == size_of(input.desc->dtype));
}

void Call::check_overlap() const {
  const auto all = arguments_.elements();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_output()) continue;
    for (size_t j = 0; j < all.size(); ++j) {
      if (!all[j].is_output() && is_in_place(all[i], all[j])) continue;
      // Pairs of outputs are compared once.
      if (all[j].is_output() ? i < j : !reads_nothing_) require_apart(Memory(all[i]), Memory(all[j]));
    }
  }
}

Arena Call::workspace(void* workspace, size_t workspace_size, size_t needed) {
  if (reads_nothing_) return {nullptr, 0};
  require(workspace_size >= needed, MLUOP_STATUS_BAD_PARAM, "workspace_size is ", workspace_size,
          ", expected at least ", needed);
  if (workspace_size > 0) require_not_null("workspace", workspace);
  // A workspace that the operator does not need is still the caller's memory.
  const Memory memory("workspace", workspace, workspace == nullptr ? 0 : needed > 0 ? needed : workspace_size);
  for (const Argument& argument : arguments_.elements()) {
    if (argument.is_output()) {
      require_apart(Memory(argument), memory);
    } else if (needed > 0) {
      require_apart(memory, Memory(argument));
    }
  }
  workspace_ = {static_cast<const std::byte*>(workspace), needed};
  return workspace_arena(workspace, needed);
}

void Call::finish() noexcept {
  write_log();
  if (recorder_ != nullptr) recorder_->finish();
}

void Call::write_log() const noexcept {
  if (context_.trace_file.empty() && !logs_) return;
  const std::chrono::duration<double, std::milli> latency = Clock::now() - start_;
  try {
    std::string tensors = tensor_text();
    if (!context_.trace_file.empty()) {
      append_to_trace(context_.trace_file, function_, tensors, context_.statistics);
    }
    if (logs_) {
      for (const Parameter& parameter : parameters_.elements()) tensors += ", " + text_of(parameter);
      if (reads_nothing_) tensors += ", nothing to do";
      log_debug(text("[", function_, "] ", tensors, details_, ", ", simd_name(), ", ", latency.count(), " ms"));
    }
  } catch (const std::bad_alloc&) {
    // The outputs are already complete.
  }
}

std::string Call::tensor_text() const {
  std::string tensors;
  for (const Argument& argument : arguments_.elements()) {
    if (!argument.is_tensor()) continue;
    tensors += text(tensors.empty() ? "" : ", ", argument.name, " ", describe(*argument.desc));
  }
  return tensors;
}

}  // namespace mluop
