#include "large/large_call.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>

namespace mluop::test {
namespace {

using cases::Dims;
using cases::Operand;
using Pattern = std::span<const std::byte>;

constexpr std::byte kZero{0}, kMinusOne{0xFF};

bool contains(const Enlargement::Names& names, std::string_view id) {
  return std::find(names.begin(), names.end(), id) != names.end();
}

// The shape has one dimension for each axis of the tensor; missing last axes have the dimension 1.
Dims shape_of(const cases::Operator& op, const cases::Arguments& arguments, size_t i) {
  Dims dims = arguments[i].dims;
  const size_t axes = op.tensors[i].axes.size();
  if (dims.size() >= axes) return dims;
  if (op.report_shape != nullptr) return op.report_shape(arguments);
  dims.resize(axes, 1);
  return dims;
}

// The memory must be zero before the call.
bool fill(Pattern pattern, std::byte* memory, size_t bytes) {
  if (all_bytes(pattern.data(), pattern.size(), 0)) return true;
  for (size_t i = 0; i < bytes; i += pattern.size()) std::memcpy(memory + i, pattern.data(), pattern.size());
  return true;
}

bool holds(Pattern pattern, const std::byte* memory, size_t bytes) {
  // Memory filled with the pattern equals itself shifted by the pattern.
  return std::memcmp(memory, pattern.data(), pattern.size()) == 0 &&
         std::memcmp(memory, memory + pattern.size(), bytes - pattern.size()) == 0;
}

// A dimension of a tensor, and the bytes of a slice along it.
struct Dim {
  const LargeAxis* axis;
  int64_t extent, small_bytes, large_bytes;

  // The position of slice i of the small tensor in the large tensor; past the last slice, the end.
  int64_t place(int64_t i) const {
    if (axis == nullptr) return i;
    return i < extent ? axis->places[static_cast<size_t>(i)] : axis->extent;
  }
};

// The pattern of the other slices is empty: they equal the first slice of the small tensor.
template <class Visit>
const std::byte* walk_dims(std::span<const Dim> dims, const std::byte* small, std::byte* large, Pattern others,
                           const Visit& visit) {
  const Dim& dim = dims.front();
  const auto small_bytes = static_cast<size_t>(dim.small_bytes);
  std::byte* next = large;
  for (int64_t i = 0; i <= dim.extent; ++i) {
    std::byte* at = large + dim.place(i) * dim.large_bytes;
    const Pattern pattern = others.empty() ? Pattern(small, small_bytes) : others;
    if (at > next && !visit(pattern, next, static_cast<size_t>(at - next))) return next;
    if (i == dim.extent) return nullptr;
    const std::byte* from = small + i * dim.small_bytes;
    if (dims.size() > 1) {
      const std::byte* wrong = walk_dims(dims.subspan(1), from, at, others, visit);
      if (wrong != nullptr) return wrong;
    } else if (!visit(Pattern(from, small_bytes), at, small_bytes)) {
      return at;
    }
    next = at + dim.large_bytes;
  }
  return nullptr;
}

}  // namespace

LargeAxis consecutive_axis(const std::string& name, int64_t small, int64_t extent, int64_t first) {
  LargeAxis axis{name, extent, std::vector<int64_t>(static_cast<size_t>(small))};
  std::iota(axis.places.begin(), axis.places.end(), first);
  return axis;
}

LargeAxis random_axis(const std::string& name, int64_t small, int64_t extent) {
  std::seed_seq seed(name.begin(), name.end());
  std::mt19937 random(seed);
  std::set<int64_t> places;
  const auto count = [&] { return static_cast<int64_t>(places.size()); };
  while (count() < small / 10) places.insert(extent - 1 - count());
  while (count() < small) places.insert(static_cast<int64_t>(random()) % extent);
  return {name, extent, {places.begin(), places.end()}};
}

LargeCall::LargeCall(const Enlargement& enlargement)
    : enlargement_(enlargement),
      parameters_(enlargement.small.parameters),
      small_(handle_, enlargement_.small),
      op_(small_.op()),
      arguments_(small_.arguments) {
  arguments_.parameters = &parameters_;
  for (const auto& [name, value] : enlargement.parameters) parameters_.set(name, value);
  for (size_t i = 0; i < op_.tensors.size(); ++i) enlarge(i);
  if (op_.expect_bits != nullptr) {
    small_.expect_bits();
  } else {
    small_.expect();
  }
  for (const IndexTensor& indices : enlargement.indices) renumber(indices);
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (op_.tensors[i].is_read()) walk(i, fill);
  }
}

const LargeAxis* LargeCall::find_axis(const std::string& name) const {
  const auto& axes = enlargement_.axes;
  const auto found = std::find_if(axes.begin(), axes.end(), [&](const auto& axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

void LargeCall::enlarge(size_t i) {
  const cases::TensorRule& rule = op_.tensors[i];
  Operand& operand = arguments_[i];
  Dims shape = shape_of(op_, small_.arguments, i);
  for (size_t dim = 0; dim < rule.axes.size(); ++dim) {
    if (const LargeAxis* axis = find_axis(rule.axes[dim])) shape[dim] = axis->extent;
  }
  if (op_.report_shape == nullptr) shape.resize(operand.dims.size());
  while (shape.size() > operand.dims.size()) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  operand.dims = shape;
  if (contains(enlargement_.large, rule.id) != (operand.count() > kLimit)) {
    throw std::logic_error(rule.id + " has " + std::to_string(operand.count()) + " elements");
  }
  operand.desc = descriptors_.emplace_back(operand.dtype, operand.dims, operand.layout);
  operand.data =
      memories_.emplace_back(static_cast<size_t>(operand.bytes()), rule.is_read() ? Pages::kSparse : Pages::kDense)
          .bytes();
}

void LargeCall::renumber(const IndexTensor& indices) const {
  const Operand& tensor = small_[indices.id];
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const LargeAxis* axis = find_axis(indices.axes[static_cast<size_t>(i / indices.stride) % indices.axes.size()]);
    int32_t& index = tensor.as<int32_t>()[i];
    if (axis == nullptr || index < 0) continue;
    const auto small = static_cast<int64_t>(axis->places.size());
    index = static_cast<int32_t>(index < small ? axis->places[static_cast<size_t>(index)]
                                               : std::min<int64_t>(index + axis->extent - small, INT_MAX));
  }
}

template <class Visit>
const std::byte* LargeCall::walk(size_t i, const Visit& visit) const {
  const std::vector<std::string>& axes = op_.tensors[i].axes;
  const std::string_view id = op_.tensors[i].id;
  const Dims small = shape_of(op_, small_.arguments, i), large = shape_of(op_, arguments_, i);
  std::vector<Dim> dims = {{nullptr, 1, small_.arguments[i].bytes(), arguments_[i].bytes()}};
  size_t enlarged = 1;  // the dimensions up to the last such axis
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    const LargeAxis* axis = find_axis(axes[dim]);
    dims.push_back({axis, small[dim], dims.back().small_bytes / small[dim], dims.back().large_bytes / large[dim]});
    if (axis != nullptr) enlarged = dims.size();
  }
  Pattern others(&kZero, 1);
  if (contains(enlargement_.negative, id)) others = Pattern(&kMinusOne, 1);
  if (contains(enlargement_.repeated, id)) others = {};
  return walk_dims(std::span(dims).first(enlarged), small_.arguments[i].data, arguments_[i].data, others, visit);
}

const Operand& LargeCall::operator[](std::string_view id) const {
  return arguments_[static_cast<size_t>(&small_[id] - small_.arguments.tensors.data())];
}

mluOpStatus_t LargeCall::run(mluOpOmpAlgorithm_t algorithm) {
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (!op_.tensors[i].is_read()) memories_[i].poison();
  }
  const Handle handle(algorithm);
  arguments_.handle = handle;
  arguments_.workspace_size = 0;
  if (op_.query != nullptr) require(op_.query(arguments_, &arguments_.workspace_size));
  const LargeMemory workspace(arguments_.workspace_size, Pages::kDense);
  arguments_.workspace = arguments_.workspace_size == 0 ? nullptr : workspace.bytes();
  return op_.run(arguments_);
}

void LargeCall::expect_result(mluOpOmpAlgorithm_t algorithm) {
  SCOPED_TRACE(text_of(algorithm));
  ASSERT_EQ(run(algorithm), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  for (size_t i = 0; i < op_.tensors.size(); ++i) {
    if (!op_.tensors[i].is_written()) continue;
    const std::byte* wrong = walk(i, holds);
    EXPECT_EQ(wrong, nullptr) << op_.tensors[i].id << " from byte " << wrong - arguments_[i].data;
  }
}

void LargeCall::expect_result() {
  expect_result(MLUOP_OMP_ALGORITHM_NATIVE);
  if (op_.has_device_algorithm) expect_result(MLUOP_OMP_ALGORITHM_DEVICE);
}

void LargeCall::expect_error(mluOpOmpAlgorithm_t algorithm, mluOpStatus_t status, const std::string& message) {
  SCOPED_TRACE(text_of(algorithm));
  EXPECT_EQ(run(algorithm), status);
  EXPECT_EQ(mluOpOmpGetLastError(), "[" + op_.function + "] " + message);
}

}  // namespace mluop::test
