#include "large/large_call.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "case/data.h"
#include "case/values.h"

namespace mluop::test {
namespace {

using cases::Bytes;
using cases::Case;
using cases::Operand;

constexpr int64_t kMostRandom = 1 << 20;

bool contains(const LargeCall::Names& names, std::string_view id) {
  return std::find(names.begin(), names.end(), id) != names.end();
}

// Whether an input has elements that the case states.
bool is_stated(const cases::Elements& elements, int64_t count) {
  if (elements.source == cases::Elements::Source::kNone) return false;
  return elements.source != cases::Elements::Source::kRandom || count <= kMostRandom;
}

void slice(Operand& operand, const Slice& part) {
  int64_t first = 0;
  for (size_t i = 0; i < part.index.size(); ++i) {
    first = first * operand.dims[i] + part.index[i];
    operand.dims[i] = i + 1 == part.index.size() ? part.count : 1;
  }
  if (part.index.empty()) return;
  operand.data += first * (operand.bytes() / part.count);
}

// Whether two tensors have the same bits or, of floating-point results, the same values.
bool same_elements(const Operand& found, const std::byte* expected, bool bits) {
  if (std::memcmp(found.data, expected, static_cast<size_t>(found.bytes())) == 0) return true;
  if (bits || !cases::is_floating(found.dtype)) return false;
  for (size_t i = 0; i < static_cast<size_t>(found.count()); ++i) {
    if (cases::number_at(found.data, found.dtype, i) != cases::number_at(expected, found.dtype, i)) return false;
  }
  return true;
}

}  // namespace

Case make_large(std::string_view op_name, mluOpDataType_t dtype, const std::map<std::string, int64_t>& sizes) {
  const cases::Operator& op = cases::operator_of(std::string(op_name), {});
  cases::Recipe recipe = default_recipe(op, dtype);
  for (const auto& [name, value] : sizes) recipe.sizes.at(name) = value;
  return op.make(recipe);
}

LargeCall::LargeCall(const Case& made, const Names& large, const Names& dense)
    : parameters(made.parameters), op_(cases::operator_of(made.op_name, {})) {
  arguments.parameters = &parameters;
  const std::vector<cases::BoundTensor> bound = bind(made, op_);
  for (size_t i = 0; i < bound.size(); ++i) {
    const cases::Tensor& tensor = *bound[i].tensor;
    descriptors_.push_back(std::make_unique<Descriptor>(tensor.dtype, tensor.dims, tensor.layout));
    Operand& operand = arguments.tensors.emplace_back();
    operand.dtype = tensor.dtype;
    operand.layout = tensor.layout;
    operand.dims = tensor.dims;
    operand.desc = *descriptors_.back();
    if (contains(large, tensor.id) != (operand.count() > kLimit)) {
      throw std::logic_error(tensor.id + " has " + std::to_string(operand.count()) + " elements");
    }
    const bool is_dense = op_.tensors[i].is_written() || contains(dense, tensor.id);
    memories_.push_back(std::make_unique<LargeMemory>(static_cast<size_t>(operand.bytes()),
                                                      is_dense ? Pages::kDense : Pages::kSparse));
    operand.data = memories_.back()->bytes();
    if (bound[i].before == nullptr || !is_stated(*bound[i].before, operand.count())) continue;
    const Bytes elements = load(tensor, *bound[i].before, "");
    std::copy(elements.begin(), elements.end(), operand.data);
  }
}

LargeCall::~LargeCall() {
  while (!memories_.empty()) memories_.pop_back();
}

const Operand& LargeCall::operator[](std::string_view id) const {
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (op_.tensors[i].id == id) return arguments[i];
  }
  throw std::logic_error(op_.name + " has no tensor " + std::string(id));
}

mluOpStatus_t LargeCall::run(mluOpOmpAlgorithm_t algorithm) {
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (!op_.tensors[i].is_read()) memories_[i]->poison();
  }
  const Handle handle(algorithm);
  arguments.handle = handle;
  arguments.workspace_size = 0;
  if (op_.query != nullptr) require(op_.query(arguments, &arguments.workspace_size));
  const LargeMemory workspace(arguments.workspace_size, Pages::kDense);
  arguments.workspace = arguments.workspace_size == 0 ? nullptr : workspace.bytes();
  return op_.run(arguments);
}

std::vector<mluOpOmpAlgorithm_t> LargeCall::algorithms() const {
  if (op_.has_device_algorithm) return {std::begin(kAlgorithms), std::end(kAlgorithms)};
  return {MLUOP_OMP_ALGORITHM_NATIVE};
}

void LargeCall::expect_each(mluOpOmpAlgorithm_t algorithm, int64_t count, const Holds& holds) {
  SCOPED_TRACE(text_of(algorithm));
  ASSERT_EQ(run(algorithm), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(first_violation(count, holds), count);
}

void LargeCall::expect_each(int64_t count, const Holds& holds) {
  for (const auto algorithm : algorithms()) expect_each(algorithm, count, holds);
}

void LargeCall::expect_error(mluOpOmpAlgorithm_t algorithm, mluOpStatus_t status, const std::string& message) {
  SCOPED_TRACE(text_of(algorithm));
  EXPECT_EQ(run(algorithm), status);
  EXPECT_EQ(mluOpOmpGetLastError(), "[" + op_.function + "] " + message);
}

void LargeCall::expect_error(mluOpStatus_t status, const std::string& message) {
  for (const auto algorithm : algorithms()) expect_error(algorithm, status, message);
}

bool LargeCall::slices_agree(const std::vector<Slice>& slices) const {
  cases::Arguments found = arguments;
  for (size_t i = 0; i < slices.size(); ++i) slice(found[i], slices[i]);
  cases::Arguments part = found;
  std::vector<Bytes> expected(slices.size());
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!op_.tensors[i].is_written()) continue;
    expected[i].assign(static_cast<size_t>(found[i].bytes()), static_cast<std::byte>(kPoison));
    part[i].data = expected[i].data();
  }
  (op_.expect_bits != nullptr ? op_.expect_bits : op_.expect)(part);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (op_.tensors[i].is_written() && !same_elements(found[i], expected[i].data(), op_.copies)) return false;
  }
  return true;
}

}  // namespace mluop::test
