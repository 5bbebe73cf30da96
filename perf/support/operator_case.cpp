#include "perf/support/operator_case.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

std::span<std::byte> bytes_of(const cases::Operand& operand) {
  return {operand.data, static_cast<size_t>(operand.bytes())};
}

// Bit by bit.
std::string differing_bits(std::string_view name, const cases::Operand& found, const cases::Operand& expected) {
  const auto [bad, end] = std::ranges::mismatch(bytes_of(found), bytes_of(expected));
  if (bad == bytes_of(found).end()) return {};
  const size_t i = static_cast<size_t>(bad - bytes_of(found).begin()) / cases::element_size(found.dtype);
  std::ostringstream message;
  message.precision(std::numeric_limits<double>::max_digits10);
  message << name << "[" << i << "] is " << cases::number_at(found.data, found.dtype, i) << std::hex << " (bits 0x"
          << cases::bits_at(found.data, found.dtype, i) << "), expected "
          << cases::number_at(expected.data, expected.dtype, i) << " (bits 0x"
          << cases::bits_at(expected.data, expected.dtype, i) << ')';
  return message.str();
}

std::vector<float> floats_of(const cases::Operand& operand) {
  if (!operand.sums.empty()) return {operand.sums.begin(), operand.sums.end()};
  std::vector<float> values(static_cast<size_t>(operand.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(cases::number_at(operand.data, operand.dtype, i));
  }
  return values;
}

}  // namespace

OperatorCase::OperatorCase(const std::string& op, mluOpOmpAlgorithm_t algorithm, cases::Parameters parameters,
                           const std::vector<TensorShape>& tensors)
    : Case(algorithm), op_(cases::operator_of(op, {})), algorithm_(algorithm), parameters_(std::move(parameters)) {
  if (tensors.size() != op_.tensors.size()) throw std::logic_error(op + ": wrong number of tensors");
  arguments_.handle = handle();
  arguments_.parameters = &parameters_;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorShape& shape = tensors[i];
    if (shape.id != op_.tensors[i].id) throw std::logic_error(op + " has no tensor " + shape.id + " at its place");
    cases::Operand operand;
    operand.dtype = shape.dtype;
    operand.layout = shape.layout;
    operand.dims = shape.dims;
    operand.desc = descriptors_.emplace_back(shape.dtype, shape.dims, shape.layout);
    operand.data = buffers_.emplace_back(operand.bytes()).data();
    arguments_.tensors.push_back(std::move(operand));
    const std::span<const std::byte> input = bytes_of(arguments_[i]);
    if (op_.tensors[i].is_read() && input.size() > largest_input_.size()) largest_input_ = input;
  }
  if (op_.query == nullptr) return;
  test::require(op_.query(arguments_, &arguments_.workspace_size));
  workspace_.emplace(static_cast<int64_t>(arguments_.workspace_size));
  arguments_.workspace = workspace_->data();
}

size_t OperatorCase::index_of(std::string_view id) const {
  const auto found = std::ranges::find(op_.tensors, id, &cases::TensorRule::id);
  if (found == op_.tensors.end()) throw std::logic_error(op_.name + " has no tensor " + std::string(id));
  return static_cast<size_t>(found - op_.tensors.begin());
}

std::span<std::byte> OperatorCase::bytes(std::string_view id) { return bytes_of(arguments_[index_of(id)]); }

void OperatorCase::fill_uniform(std::string_view id, uint64_t seed) {
  if (arguments_[index_of(id)].is_half()) {
    perf::fill_uniform(values<test::Half>(id), seed);
  } else {
    perf::fill_uniform(values<float>(id), seed);
  }
}

void OperatorCase::fill_bits(std::string_view id, std::mt19937& random) {
  if (arguments_[index_of(id)].is_half()) {
    std::ranges::generate(values<uint16_t>(id), [&] { return static_cast<uint16_t>(random()); });
  } else {
    std::ranges::generate(values<uint32_t>(id), [&] { return static_cast<uint32_t>(random()); });
  }
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

std::vector<float> OperatorCase::expected_values(size_t i) { return floats_of(expected()[i]); }

Work OperatorCase::work() const {
  const cases::Work work = op_.work != nullptr ? op_.work(arguments_) : cases::work_of_tensors(op_, arguments_);
  return {work.read_bytes, work.write_bytes, work.ops};
}

void OperatorCase::write_inputs(const NpyFolder& folder) const {
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    const cases::Operand& tensor = arguments_[i];
    const auto write = [&]<class T>(const T* data) {
      folder.write(op_.tensors[i].id, tensor.dims, std::span(data, static_cast<size_t>(tensor.count())));
    };
    if (!op_.tensors[i].is_read()) continue;
    switch (tensor.dtype) {
      case MLUOP_DTYPE_FLOAT: write(tensor.as<float>()); break;
      case MLUOP_DTYPE_HALF: write(tensor.as<test::Half>()); break;
      default: write(tensor.as<int32_t>());
    }
  }
  if (write_parameters_) write_parameters_(folder);
}

void OperatorCase::run() {
  arguments_.handle = handle();
  test::require(op_.run(arguments_));
}

void OperatorCase::expect() { (op_.expect_bits != nullptr ? op_.expect_bits : op_.expect)(expected()); }

std::vector<Baseline> OperatorCase::baselines() {
  return {{"serial", [this] { expect(); }}};
}

std::function<void()> OperatorCase::algorithmic_bound() {
  return is_native() && bound_ ? bound_() : std::function<void()>();
}

std::optional<Footprint> OperatorCase::footprint() const {
  if (!measures_memory_) return std::nullopt;
  Footprint footprint{0, static_cast<int64_t>(arguments_.workspace_size)};
  for (const cases::Operand& tensor : arguments_.tensors) footprint.tensor_bytes += tensor.bytes();
  return footprint;
}

// No result has these values, except elements that the call may leave unchanged.
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
  if (!same_bits && op_.criteria != nullptr) criteria = op_.criteria(arguments_[i], algorithm_);
  if (criteria.empty() || criteria.front().metric == cases::Metric::kBits) {
    return differing_bits(name, arguments_[i], expected()[i]);
  }
  return too_different(name, floats_of(arguments_[i]), expected_values(i), tolerance(criteria.front().threshold));
}

std::string OperatorCase::verify() {
  fill_outputs(arguments_);
  fill_outputs(expected());
  run();
  expect();
  std::string problem;
  for (size_t i = 0; problem.empty() && i < op_.tensors.size(); ++i) {
    if (op_.tensors[i].is_written()) problem = difference(i);
  }
  if (problem.empty()) problem = verify_baselines();
  for (cases::Operand& operand : expected().tensors) operand.sums = {};
  return problem;
}

uint64_t OperatorCase::checksum() const {
  uint64_t hash = kEmptyChecksum;
  for (const std::span<const std::byte> part : checksummed_) hash = checksum_bytes(part, hash);
  if (!checksummed_.empty()) return hash;
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (op_.tensors[i].is_written()) hash = checksum_bytes(bytes_of(arguments_[i]), hash);
  }
  return hash;
}

}  // namespace mluop::perf
