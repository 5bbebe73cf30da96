#include "perf/support/operator_case.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "case/data.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

std::span<std::byte> bytes_of(const cases::Operand& operand) {
  return {operand.data, static_cast<size_t>(operand.bytes())};
}

// Compares bit by bit.
std::string differing_bits(const std::string& name, const cases::Operand& found, const cases::Operand& expected) {
  const auto [bad, end] = std::ranges::mismatch(bytes_of(found), bytes_of(expected));
  if (bad == bytes_of(found).end()) return {};
  const size_t i =
      static_cast<size_t>(bad - bytes_of(found).begin()) / cases::element_size(cases::part_type(found.dtype));
  const auto text = [i](const cases::Operand& operand) {
    char buffer[64];
    std::snprintf(buffer, sizeof(buffer), "%.17g (bits 0x%llx)", cases::number_at(operand.data, operand.dtype, i),
                  static_cast<unsigned long long>(cases::bits_at(operand.data, operand.dtype, i)));
    return std::string(buffer);
  };
  return name + '[' + std::to_string(i) + "] is " + text(found) + ", expected " + text(expected);
}

cases::Parameters parameters_of(const std::vector<NamedValue>& settings) {
  cases::Parameters parameters;
  for (const auto& [name, value] : settings) {
    if (const auto* real = std::get_if<double>(&value)) parameters.set_real(name, *real);
    if (const auto* integer = std::get_if<int64_t>(&value)) parameters.set(name, *integer);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) parameters.set(name, *list);
  }
  return parameters;
}

}  // namespace

std::vector<float> floats_of(const cases::Operand& operand) {
  if (!operand.sums.empty()) return {operand.sums.begin(), operand.sums.end()};
  std::vector<float> values(static_cast<size_t>(operand.numbers()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(cases::number_at(operand.data, operand.dtype, i));
  }
  return values;
}

OperatorCase::OperatorCase(const std::string& op, const Variant& variant,
                           const std::vector<NamedValue>& parameters, const std::vector<TensorShape>& tensors)
    : Case(variant.algorithm), op_(cases::operator_of(op, {})), parameters_(parameters_of(parameters)) {
  if (tensors.size() != op_.tensors.size()) throw std::logic_error(op + ": wrong number of tensors");
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].id != op_.tensors[i].id) {
      throw std::logic_error(op + " has no tensor " + tensors[i].id + " at its place");
    }
    add_tensor(
        i, {.id = tensors[i].id, .layout = tensors[i].layout, .dtype = tensors[i].dtype, .dims = tensors[i].dims});
  }
  finish();
}

OperatorCase::OperatorCase(const cases::Case& generated, mluOpOmpAlgorithm_t algorithm)
    : Case(algorithm), op_(cases::operator_of(generated.op_name, {})), parameters_(generated.parameters) {
  const auto bound = cases::bind(generated, op_);
  for (size_t i = 0; i < bound.size(); ++i) {
    const cases::Tensor& tensor = *bound[i].tensor;
    add_tensor(i, tensor);
    if (!op_.tensors[i].is_read()) continue;
    std::ranges::copy(cases::load(tensor, tensor.elements, {}), arguments_[i].data);
  }
  finish();
}

void OperatorCase::add_tensor(size_t i, const cases::Tensor& tensor) {
  cases::Operand operand;
  operand.dtype = tensor.dtype;
  operand.layout = tensor.layout;
  operand.dims = tensor.dims;
  operand.desc = descriptors_.emplace_back(descriptor_of(tensor));
  operand.data = buffers_.emplace_back(operand.bytes()).data();
  arguments_.tensors.push_back(std::move(operand));
  if (is_strided(tensor)) {
    const cases::StridedMemory memory(tensor, op_.tensors[i].is_written());
    strided_.push_back({i, memory, Buffer<std::byte>(static_cast<int64_t>(memory.bytes()))});
  }
  const std::span<const std::byte> input = bytes_of(arguments_[i]);
  if (op_.tensors[i].is_read() && input.size() > options.largest_input.size()) options.largest_input = input;
}

void OperatorCase::finish() {
  options.oracle = op_.expect_bits != nullptr ? op_.expect_bits : op_.expect;
  options.baselines = {{"serial", [this, serial = options.oracle] { serial(expected()); }}};
  arguments_.handle = handle();
  arguments_.parameters = &parameters_;
  passed_ = arguments_;
  for (Strided& strided : strided_) passed_[strided.tensor].data = strided.buffer.data();
  scatter();
  if (op_.query == nullptr) return;
  cases::require(op_.query(passed_, &passed_.workspace_size));
  workspace_.emplace(static_cast<int64_t>(passed_.workspace_size));
  passed_.workspace = workspace_->data();
}

void OperatorCase::scatter() {
  for (Strided& strided : strided_) {
    strided.memory.scatter(arguments_[strided.tensor].data, strided.buffer.data());
  }
}

void OperatorCase::gather() {
  for (const Strided& strided : strided_) {
    strided.memory.gather(strided.buffer.data(), arguments_[strided.tensor].data);
  }
}

size_t OperatorCase::index_of(std::string_view id) const {
  const auto found = std::ranges::find(op_.tensors, id, &cases::TensorRule::id);
  if (found == op_.tensors.end()) throw std::logic_error(op_.name + " has no tensor " + std::string(id));
  return static_cast<size_t>(found - op_.tensors.begin());
}

std::span<std::byte> OperatorCase::bytes(std::string_view id) { return bytes_of(arguments_[index_of(id)]); }

void OperatorCase::fill_uniform(std::string_view id, uint64_t seed) {
  switch (arguments_[index_of(id)].dtype) {
    case MLUOP_DTYPE_HALF: return perf::fill_uniform(values<reference::Half>(id), seed);
    case MLUOP_DTYPE_BFLOAT16: return perf::fill_uniform(values<reference::BFloat16>(id), seed);
    default: return perf::fill_uniform(values<float>(id), seed);
  }
}

void OperatorCase::fill_points(std::string_view id, uint64_t seed, Points points) {
  fill_uniform(id, seed);
  if (points == Points::kUniform) return;
  const std::span<float> all = values<float>(id);
  const auto count = static_cast<size_t>(arguments_[index_of(id)].dim(1));
  for (size_t i = 0; i < all.size(); ++i) {
    if (points == Points::kEqual) all[i] = all[0];
    if (points == Points::kCluster && i / 3 % count != 0) all[i] *= 0x1p-8F;
    if (points == Points::kFar) all[i] *= 100;
  }
}

void OperatorCase::fill_bits(std::string_view id, std::mt19937& random) {
  const cases::Operand& operand = arguments_[index_of(id)];
  const auto count = static_cast<size_t>(operand.numbers());
  for (size_t i = 0; i < count; ++i) cases::put_bits(operand.data, operand.dtype, i, random());
}

cases::Arguments& OperatorCase::expected() {
  if (expected_) return *expected_;
  expected_ = arguments_;
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (!op_.tensors[i].is_written()) continue;
    cases::Operand& operand = (*expected_)[i];
    operand.data = expected_buffers_.emplace_back(operand.bytes()).data();
    std::ranges::copy(bytes_of(arguments_[i]), operand.data);
  }
  return *expected_;
}

Work OperatorCase::work() const {
  return op_.work != nullptr ? op_.work(arguments_) : cases::work_of_tensors(op_, arguments_);
}

void OperatorCase::write_inputs(const NpyFolder& folder) const {
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (!op_.tensors[i].is_read()) continue;
    const cases::Operand& tensor = arguments_[i];
    folder.write(op_.tensors[i].id, cases::npy_type(tensor.dtype), tensor.dims, bytes_of(tensor));
  }
  for (const auto& dump : dumps_) dump(folder);
}

void OperatorCase::run() {
  passed_.handle = handle();
  cases::require(op_.run(passed_));
}

std::function<void()> OperatorCase::algorithmic_bound() {
  return is_native() && options.bound ? options.bound() : std::function<void()>();
}

std::optional<Memory> OperatorCase::memory() const {
  if (!options.measures_memory) return std::nullopt;
  Memory memory{0, static_cast<int64_t>(passed_.workspace_size)};
  for (const cases::Operand& tensor : arguments_.tensors) memory.tensor_bytes += tensor.bytes();
  return memory;
}

// Fills with values that no result has, except elements that the call may leave unchanged.
void OperatorCase::fill_outputs(cases::Arguments& arguments) const {
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (op_.tensors[i].is_read()) continue;
    const cases::Operand& output = arguments[i];
    const bool is_integer = !cases::is_floating(output.dtype) && op_.tensors[i].role == cases::Role::kOutput;
    std::ranges::fill(bytes_of(output), is_integer ? std::byte{0x7F} : std::byte{0xFF});
  }
}

std::string OperatorCase::difference(size_t i) {
  const std::string& name = op_.tensors[i].id;
  std::vector<cases::Criterion> criteria;
  const bool same_bits = is_native() && op_.expect_bits != nullptr;
  if (!same_bits && op_.criteria != nullptr) criteria = op_.criteria(arguments_[i], algorithm());
  if (criteria.empty() || criteria.front().metric == cases::Metric::kBits) {
    return differing_bits(name, arguments_[i], expected()[i]);
  }
  return too_different(name, floats_of(arguments_[i]), floats_of(expected()[i]),
                       std::max(criteria.front().threshold, options.min_tolerance));
}

std::string OperatorCase::verify() {
  fill_outputs(arguments_);
  fill_outputs(expected());
  scatter();
  run();
  gather();
  options.oracle(expected());
  std::string problem;
  for (size_t i = 0; problem.empty() && i < op_.tensors.size(); ++i) {
    if (op_.tensors[i].is_written()) problem = difference(i);
  }
  if (problem.empty() && options.verify_baselines) problem = options.verify_baselines();
  for (cases::Operand& operand : expected().tensors) operand.sums = {};
  return problem;
}

uint64_t OperatorCase::checksum() const {
  uint64_t hash = kEmptyChecksum;
  for (const std::span<const std::byte> part : options.checksummed) hash = checksum_bytes(part, hash);
  if (!options.checksummed.empty()) return hash;
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (!op_.tensors[i].is_written()) continue;
    const auto strided = std::ranges::find(strided_, i, &Strided::tensor);
    hash = checksum_bytes(strided == strided_.end() ? bytes_of(arguments_[i]) : strided->buffer.values(), hash);
  }
  return hash;
}

}  // namespace mluop::perf
