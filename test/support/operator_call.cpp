#include "support/operator_call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "case/data.h"
#include "case/metrics.h"
#include "case/values.h"
#include "support/sums.h"

namespace mluop::test {
namespace {

using cases::Bytes;
using cases::Case;
using cases::Operand;
using cases::Operator;

Bytes bytes_of(const GuardedMemory& memory) { return {memory.bytes(), memory.bytes() + memory.byte_count()}; }

void append(Bytes& bytes, const GuardedMemory& memory) {
  bytes.insert(bytes.end(), memory.bytes(), memory.bytes() + memory.byte_count());
}

// The case with the absolute values of its floating-point inputs, whose sums are the magnitudes of its sums.
Case with_magnitudes(const Case& made) {
  Case magnitudes = made;
  for (cases::Tensor& tensor : magnitudes.inputs) {
    if (!cases::is_floating(tensor.dtype)) continue;
    tensor.elements.bytes = cases::load(tensor, tensor.elements, "");
    tensor.elements.source = cases::Elements::Source::kInline;
    std::byte* data = tensor.elements.bytes.data();
    for (size_t i = 0; i < static_cast<size_t>(cases::element_count(tensor)); ++i) {
      const double magnitude = std::abs(cases::number_at(data, tensor.dtype, i));
      cases::put_bits(data, tensor.dtype, i, cases::bits_of_number(tensor.dtype, magnitude));
    }
  }
  return magnitudes;
}

::testing::AssertionResult sums_agree(const Operand& found, const std::vector<double>& sums,
                                      const std::vector<double>& magnitudes, int64_t terms) {
  for (size_t i = 0; i < sums.size(); ++i) {
    const double value = cases::number_at(found.data, found.dtype, i);
    if (is_sum(static_cast<float>(value), {sums[i], magnitudes[i]}, terms, found.is_half())) continue;
    return ::testing::AssertionFailure() << "element " << i << " is " << value << ", the sum is " << sums[i]
                                         << " of magnitude " << magnitudes[i];
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult bits_agree(const cases::Results& results) {
  for (size_t i = 0; i < results.count; ++i) {
    if (results.same_bits(i)) continue;
    return ::testing::AssertionFailure()
           << "element " << i << " is " << results.e(i) << ", expected " << results.b(i);
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult criteria_hold(const cases::Results& results,
                                         const std::vector<cases::Criterion>& criteria) {
  for (const cases::Judgment& judgment : judge(results, criteria, cases::Verdict::kStrict)) {
    if (judgment.passed) continue;
    return ::testing::AssertionFailure() << cases::name_of(judgment.criterion.metric) << " is " << judgment.value;
  }
  return ::testing::AssertionSuccess();
}

// Whether a message is about a tensor or a parameter of the case.
bool names_argument(const std::string& message, const Case& made, const Operator& op) {
  const std::string text = message.substr(message.find("] ") + 1);
  const auto contains = [&](const std::string& name) { return text.find(' ' + name) != std::string::npos; };
  return std::any_of(op.tensors.begin(), op.tensors.end(), [&](const auto& rule) { return contains(rule.id); }) ||
         std::any_of(made.parameters.all.begin(), made.parameters.all.end(),
                     [&](const auto& parameter) { return contains(parameter.name); });
}

}  // namespace

OperatorCall::OperatorCall(mluOpHandle_t handle, const Case& made, Placement placement)
    : parameters(made.parameters), op_(cases::operator_of(made.op_name, {})) {
  arguments.handle = handle;
  arguments.parameters = &parameters;
  const std::vector<cases::BoundTensor> bound = bind(made, op_);
  for (size_t i = 0; i < bound.size(); ++i) {
    const auto& [tensor, before, after] = bound[i];
    const GuardedMemory& memory =
        tensors_.emplace_back(byte_count(*tensor), cases::element_size(tensor->dtype), placement);
    if (before != nullptr) {
      const Bytes contents = load(*tensor, *before, "");
      if (!contents.empty()) std::memcpy(memory.bytes(), contents.data(), contents.size());
    }
    inputs_.push_back(op_.tensors[i].is_written() ? Bytes() : bytes_of(memory));
    descriptors_.emplace_back(tensor->dtype, tensor->dims, tensor->layout);
    Operand& operand = arguments.tensors.emplace_back();
    operand.dtype = tensor->dtype;
    operand.layout = tensor->layout;
    operand.dims = tensor->dims;
    operand.desc = descriptors_.back();
    operand.data = memory.bytes();
  }
  if (op_.query == nullptr || op_.query(arguments, &arguments.workspace_size) != MLUOP_STATUS_SUCCESS) return;
  const GuardedMemory& memory = workspace_.emplace_back(arguments.workspace_size, 1, Placement::kAgainstEnd);
  arguments.workspace = arguments.workspace_size == 0 ? nullptr : memory.bytes();
}

mluOpStatus_t OperatorCall::query() const {
  size_t bytes = 0;
  return op_.query(arguments, &bytes);
}

void OperatorCall::expect() {
  op_.expect(arguments);
  for (Operand& output : arguments.tensors) round_sums(output);
}

Operand& OperatorCall::operator[](std::string_view id) {
  const auto found =
      std::find_if(op_.tensors.begin(), op_.tensors.end(), [&](const auto& rule) { return rule.id == id; });
  return arguments[static_cast<size_t>(found - op_.tensors.begin())];
}

Bytes OperatorCall::contents() const {
  Bytes bytes;
  for (const GuardedMemory& tensor : tensors_) append(bytes, tensor);
  return bytes;
}

Bytes OperatorCall::outputs() const {
  Bytes bytes;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (op_.tensors[i].is_written()) append(bytes, tensors_[i]);
  }
  return bytes;
}

bool OperatorCall::guards_intact() const {
  const auto intact = [](const GuardedMemory& memory) { return memory.intact(); };
  return std::all_of(tensors_.begin(), tensors_.end(), intact) &&
         std::all_of(workspace_.begin(), workspace_.end(), intact);
}

bool OperatorCall::intact() const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!op_.tensors[i].is_written() && bytes_of(tensors_[i]) != inputs_[i]) return false;
  }
  return guards_intact();
}

::testing::AssertionResult agrees(const OperatorCall& found, const Case& made, mluOpOmpAlgorithm_t algorithm) {
  const Operator& op = found.op();
  OperatorCall oracle(found.arguments.handle, made);
  // An element that neither the call nor the oracle writes differs.
  for (size_t i = 0; i < op.tensors.size(); ++i) {
    const Operand& output = oracle.arguments[i];
    if (op.tensors[i].role == cases::Role::kOutput)
      std::memset(output.data, 0x5A, static_cast<size_t>(output.bytes()));
  }
  oracle.expect();
  for (size_t i = 0; i < op.tensors.size(); ++i) {
    if (!op.tensors[i].is_written()) continue;
    const Operand &output = found.arguments[i], &expected = oracle.arguments[i];
    const cases::Results results{output.dtype, static_cast<size_t>(output.count()), output.data, expected.data,
                                 op.copies};
    const bool in_any_order = op.atomic_sums && algorithm == MLUOP_OMP_ALGORITHM_DEVICE;
    ::testing::AssertionResult result = ::testing::AssertionSuccess();
    if (!expected.sums.empty()) {
      OperatorCall magnitudes(found.arguments.handle, with_magnitudes(made));
      magnitudes.expect();
      result = sums_agree(output, expected.sums, magnitudes.arguments[i].sums, op.terms(found.arguments));
    } else if (in_any_order && cases::is_floating(output.dtype)) {
      result = criteria_hold(results, op.criteria(output, algorithm));
    } else {
      result = bits_agree(results);
    }
    if (!result) return result << ": " << op.tensors[i].id;
  }
  return ::testing::AssertionSuccess();
}

bool expect_contract(const Case& made, mluOpOmpAlgorithm_t algorithm, Placement placement) {
  const Handle handle(algorithm);
  const OperatorCall call(handle, made, placement);
  const Bytes before = call.contents();
  const mluOpStatus_t status = call.run();
  EXPECT_TRUE(call.intact());
  if (status == MLUOP_STATUS_SUCCESS) {
    EXPECT_TRUE(agrees(call, made, algorithm));
    return true;
  }
  const std::string message = mluOpOmpGetLastError();
  EXPECT_TRUE(status == MLUOP_STATUS_BAD_PARAM || status == MLUOP_STATUS_NOT_SUPPORTED) << message;
  EXPECT_TRUE(names_argument(message, made, call.op())) << message;
  EXPECT_TRUE(call.contents() == before) << "the failing call changed inputs or outputs";
  return false;
}

}  // namespace mluop::test
