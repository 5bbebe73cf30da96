#include "support/operator_call.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "case/data.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Bytes;
using cases::Case;
using cases::Operand;
using cases::Operator;

size_t hash_of(const GuardedMemory& memory) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(memory.bytes()), memory.byte_count()});
}

void append(Bytes& bytes, const GuardedMemory& memory) {
  bytes.insert(bytes.end(), memory.bytes(), memory.bytes() + memory.byte_count());
}

template <class T>
std::vector<T> elements_at(const std::byte* data, mluOpDataType_t dtype, int64_t count) {
  std::vector<T> elements(static_cast<size_t>(count));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(cases::number_at(data, dtype, i));
  return elements;
}

// The input `id` of a Case or a const Case.
auto& input_of(auto& made, std::string_view id) {
  for (auto& tensor : made.inputs) {
    if (tensor.id == id) return tensor;
  }
  throw std::logic_error(made.op_name + " has no input " + std::string(id));
}

template <class T>
std::vector<T> elements_of(const Case& made, std::string_view id) {
  const cases::Tensor& tensor = input_of(made, id);
  return elements_at<T>(load(tensor, tensor.elements, "").data(), tensor.dtype, number_count(tensor));
}

// Throws if the tensor has another number of elements.
template <class T>
void set_numbers(cases::Tensor& tensor, const std::vector<T>& values) {
  if (static_cast<size_t>(number_count(tensor)) != values.size()) {
    throw std::logic_error(tensor.id + " has another number of elements");
  }
  set_elements(tensor,
               [&](size_t i) { return cases::bits_of_number(tensor.dtype, static_cast<double>(values[i])); });
}

// Whether a message names a tensor or a parameter of the case.
bool names_argument(const std::string& message, const Case& made, const Operator& op) {
  const std::string text = message.substr(message.find("] ") + 1);
  const auto contains = [&](const std::string& name) { return text.find(' ' + name) != std::string::npos; };
  return std::any_of(op.tensors.begin(), op.tensors.end(), [&](const auto& rule) { return contains(rule.id); }) ||
         std::any_of(made.parameters.all.begin(), made.parameters.all.end(),
                     [&](const auto& parameter) { return contains(parameter.name); });
}

}  // namespace

Case make_case(std::string_view op_name, mluOpDataType_t dtype, const std::map<std::string, int64_t>& sizes,
               int32_t seed) {
  const Operator& op = cases::operator_of(std::string(op_name), {});
  cases::Recipe recipe = default_recipe(op, dtype);
  for (const auto& [name, value] : sizes) {
    if (recipe.sizes.count(name) == 0) throw std::logic_error(op.name + " has no size " + name);
    recipe.sizes[name] = value;
  }
  recipe.seed = seed;
  recipe.max_inline = INT64_MAX;
  return op.make(recipe);
}

void set_values(Case& made, std::string_view id, const std::vector<int32_t>& values) {
  set_numbers(input_of(made, id), values);
}
void set_values(Case& made, std::string_view id, const std::vector<float>& values) {
  set_numbers(input_of(made, id), values);
}

std::vector<int32_t> int32s_of(const Case& made, std::string_view id) { return elements_of<int32_t>(made, id); }
std::vector<float> floats_of(const Case& made, std::string_view id) { return elements_of<float>(made, id); }

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
    hashes_.push_back(hash_of(memory));
    descriptors_.push_back(std::make_shared<Descriptor>(descriptor_of(*tensor)));
    onchip_dtypes_.push_back(tensor->onchip_dtype);
    if (is_strided(*tensor)) {
      const auto& [at, strided] = *strided_.try_emplace(i, *tensor, op_.tensors[i].is_written(), placement).first;
      strided.memory.scatter(memory.bytes(), strided.buffer.bytes());
    }
    Operand& operand = arguments.tensors.emplace_back();
    operand.dtype = tensor->dtype;
    operand.layout = tensor->layout;
    operand.dims = tensor->dims;
    operand.desc = *descriptors_.back();
    operand.data = memory.bytes();
  }
  if (op_.query == nullptr || op_.query(arguments, &arguments.workspace_size) != MLUOP_STATUS_SUCCESS) return;
  const GuardedMemory& memory = workspace_.emplace_back(arguments.workspace_size, 1, Placement::kAgainstEnd);
  arguments.workspace = arguments.workspace_size == 0 ? nullptr : memory.bytes();
}

mluOpStatus_t OperatorCall::run() const {
  if (strided_.empty()) return op_.run(arguments);
  cases::Arguments passed = arguments;
  for (const auto& [i, strided] : strided_) {
    strided.memory.scatter(tensors_[i].bytes(), strided.buffer.bytes());
    for (Operand& operand : passed.tensors) {
      if (operand.data == tensors_[i].bytes()) operand.data = strided.buffer.bytes();
    }
  }
  const mluOpStatus_t status = op_.run(passed);
  for (const auto& [i, strided] : strided_) strided.memory.gather(strided.buffer.bytes(), tensors_[i].bytes());
  return status;
}

mluOpStatus_t OperatorCall::query() const {
  constexpr size_t kUnwritten = 0x5A5A5A5A;
  size_t bytes = kUnwritten;
  const mluOpStatus_t status = op_.query(arguments, &bytes);
  EXPECT_TRUE(status == MLUOP_STATUS_SUCCESS || bytes == kUnwritten) << "the failing query wrote " << bytes;
  return status;
}

void OperatorCall::expect() {
  op_.expect(arguments);
  for (Operand& output : arguments.tensors) round_sums(output);
}

const Operand& OperatorCall::operator[](std::string_view id) const {
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (op_.tensors[i].id == id) return arguments[i];
  }
  throw std::logic_error(op_.name + " has no tensor " + std::string(id));
}

Operand& OperatorCall::operator[](std::string_view id) { return const_cast<Operand&>(std::as_const(*this)[id]); }

void OperatorCall::use(std::string_view id, std::shared_ptr<Descriptor> desc) {
  Operand& operand = (*this)[id];
  operand.desc = *desc;
  const mluOpDataType_t onchip = onchip_dtypes_[static_cast<size_t>(&operand - arguments.tensors.data())];
  if (onchip != MLUOP_DTYPE_INVALID) require(mluOpSetTensorDescriptorOnchipDataType(operand.desc, onchip));
  descriptors_.push_back(std::move(desc));
}

std::vector<int32_t> OperatorCall::int32s(std::string_view id) const {
  const Operand& operand = (*this)[id];
  return elements_at<int32_t>(operand.data, operand.dtype, operand.count());
}

std::vector<float> OperatorCall::floats(std::string_view id) const {
  const Operand& operand = (*this)[id];
  return elements_at<float>(operand.data, operand.dtype, operand.numbers());
}

Bytes OperatorCall::contents() const {
  Bytes bytes;
  for (const GuardedMemory& tensor : tensors_) append(bytes, tensor);
  return bytes;
}

size_t OperatorCall::hash() const {
  size_t hash = 0;
  for (const GuardedMemory& tensor : tensors_) hash = hash * 31 + hash_of(tensor);
  return hash;
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
  for (const auto& [i, strided] : strided_) {
    if (!strided.buffer.intact() || !strided.memory.has_intact_gaps(strided.buffer.bytes())) return false;
  }
  return std::all_of(tensors_.begin(), tensors_.end(), intact) &&
         std::all_of(workspace_.begin(), workspace_.end(), intact);
}

bool OperatorCall::intact() const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!op_.tensors[i].is_written() && hash_of(tensors_[i]) != hashes_[i]) return false;
  }
  return guards_intact();
}

::testing::AssertionResult Oracle::agrees(const OperatorCall& found, mluOpOmpAlgorithm_t algorithm) const {
  if (!expected_) expected_.emplace(found.op(), OperatorCall(found.arguments.handle, made_).arguments);
  const std::string difference = expected_->difference(found.arguments, algorithm);
  return difference.empty() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << difference;
}

void expect_oracle(const Oracle& oracle, Placement placement) {
  const bool has_device_algorithm = cases::operator_of(oracle.made().op_name, {}).has_device_algorithm;
  for (const auto algorithm : kAlgorithms) {
    if (algorithm == MLUOP_OMP_ALGORITHM_DEVICE && !has_device_algorithm) continue;
    SCOPED_TRACE(text_of(algorithm));
    EXPECT_TRUE(expect_contract(oracle, algorithm, placement)) << mluOpOmpGetLastError();
  }
}

void expect_oracle_everywhere(const Oracle& oracle) {
  size_t i = 0;
  for (const int count : {1, 2, 3, 7, 64}) {
    if (kSanitizer && (count == 2 || count == 7)) continue;
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_oracle(oracle, kPlacements[i++ % std::size(kPlacements)]);
  }
}

bool expect_contract(const Oracle& oracle, mluOpOmpAlgorithm_t algorithm, Placement placement) {
  const Handle handle(algorithm);
  const OperatorCall call(handle, oracle.made(), placement);
  const size_t before = call.hash();
  const mluOpStatus_t status = call.run();
  EXPECT_TRUE(call.intact());
  if (status == MLUOP_STATUS_SUCCESS) {
    EXPECT_TRUE(oracle.agrees(call, algorithm));
    return true;
  }
  const std::string message = mluOpOmpGetLastError();
  EXPECT_TRUE(status == MLUOP_STATUS_BAD_PARAM || status == MLUOP_STATUS_NOT_SUPPORTED) << message;
  EXPECT_TRUE(names_argument(message, oracle.made(), call.op())) << message;
  EXPECT_TRUE(call.hash() == before) << "the failing call changed inputs or outputs";
  return false;
}

}  // namespace mluop::test
