#include "large/enlarged_call.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <set>

namespace mluop::test {
namespace {

const LargeAxis* find_axis(const std::vector<LargeAxis>& axes, const std::string& name) {
  const auto found = std::find_if(axes.begin(), axes.end(), [&](const auto& axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

// Tensors that become larger have no elements.
cases::Case enlarge(cases::Case made, const std::vector<LargeAxis>& axes) {
  for (const cases::TensorRule& rule : cases::operator_of(made.op_name, {}).tensors) {
    for (auto* list : {&made.inputs, &made.outputs}) {
      for (cases::Tensor& tensor : *list) {
        for (size_t dim = 0; tensor.id == rule.id && dim < rule.axes.size(); ++dim) {
          const LargeAxis* axis = find_axis(axes, rule.axes[dim]);
          if (axis == nullptr) continue;
          tensor.dims[dim] = axis->extent;
          tensor.elements = {};
        }
      }
    }
  }
  return made;
}

// A dimension of a tensor; bytes of a slice along it.
struct Dim {
  const LargeAxis* axis;
  int64_t extent, small_bytes, large_bytes;
};

template <class Run, class Gap>
const std::byte* walk_dims(const Dim* dim, const Dim* end, std::byte* small, std::byte* large, const Run& run,
                           const Gap& gap) {
  if (dim == end) return run(small, large) ? nullptr : large;
  std::byte* next = large;
  for (int64_t i = 0; i < dim->extent; ++i) {
    std::byte* at =
        large + (dim->axis == nullptr ? i : dim->axis->places[static_cast<size_t>(i)]) * dim->large_bytes;
    if (at > next && !gap(next, static_cast<size_t>(at - next))) return next;
    const std::byte* wrong = walk_dims(dim + 1, end, small + i * dim->small_bytes, at, run, gap);
    if (wrong != nullptr) return wrong;
    next = at + dim->large_bytes;
  }
  std::byte* past = large + (dim->axis == nullptr ? dim->extent : dim->axis->extent) * dim->large_bytes;
  return past > next && !gap(next, static_cast<size_t>(past - next)) ? next : nullptr;
}

}  // namespace

LargeAxis random_axis(const std::string& name, int64_t small, int64_t extent, std::mt19937& random) {
  std::set<int64_t> places;
  const auto count = [&] { return static_cast<int64_t>(places.size()); };
  while (count() < small / 10) places.insert(extent - 1 - count());
  while (count() < small) places.insert(static_cast<int64_t>(random()) % extent);
  return {name, extent, {places.begin(), places.end()}};
}

EnlargedCall::EnlargedCall(const cases::Case& small, const std::vector<LargeAxis>& axes,
                           const std::vector<IndexTensor>& indices, const Names& large, Names negative)
    : LargeCall(enlarge(small, axes), large), small_(handle_, small), axes_(axes), negative_(std::move(negative)) {
  if (op().expect_bits != nullptr) {
    small_.expect_bits();
  } else {
    small_.expect();
  }
  for (const IndexTensor& tensor : indices) renumber(tensor, small_[tensor.id]);
  for (size_t i = 0; i < op().tensors.size(); ++i) {
    if (!op().tensors[i].is_read()) continue;
    walk(
        i,
        [](const std::byte* from, std::byte* to, size_t bytes) { return std::memcpy(to, from, bytes) != nullptr; },
        [](std::byte* to, size_t bytes, int value) {
          return value == 0 || std::memset(to, value, bytes) != nullptr;
        });
  }
}

void EnlargedCall::renumber(const IndexTensor& indices, const cases::Operand& tensor) const {
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const auto n = static_cast<size_t>(i / indices.stride) % indices.axes.size();
    const LargeAxis* axis = find_axis(axes_, indices.axes[n]);
    int32_t& index = tensor.as<int32_t>()[i];
    if (axis == nullptr || index < 0) continue;
    const auto small = static_cast<int64_t>(axis->places.size());
    index = static_cast<int32_t>(index < small ? axis->places[static_cast<size_t>(index)]
                                               : std::min<int64_t>(index + axis->extent - small, INT_MAX));
  }
}

template <class Run, class Gap>
const std::byte* EnlargedCall::walk(size_t i, const Run& run, const Gap& gap) const {
  const cases::Operand &small = small_.arguments[i], &large = arguments[i];
  const cases::TensorRule& rule = op().tensors[i];
  std::vector<Dim> dims;
  size_t enlarged = 0;  // the last such dimension and all before
  Dim outer{nullptr, 1, small.bytes(), large.bytes()};
  for (size_t dim = 0; dim < rule.axes.size(); ++dim) {
    outer = {find_axis(axes_, rule.axes[dim]), small.dims[dim], outer.small_bytes / small.dims[dim],
             outer.large_bytes / large.dims[dim]};
    dims.push_back(outer);
    if (outer.axis != nullptr) enlarged = dim + 1;
  }
  const auto bytes = static_cast<size_t>(enlarged == 0 ? small.bytes() : dims[enlarged - 1].small_bytes);
  const int value = std::find(negative_.begin(), negative_.end(), rule.id) == negative_.end() ? 0 : 0xFF;
  return walk_dims(
      dims.data(), dims.data() + enlarged, small.data, large.data,
      [&](std::byte* from, std::byte* to) { return run(from, to, bytes); },
      [&](std::byte* to, size_t count) { return gap(to, count, value); });
}

void EnlargedCall::expect_result(mluOpOmpAlgorithm_t algorithm) {
  SCOPED_TRACE(text_of(algorithm));
  ASSERT_EQ(run(algorithm), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  for (size_t i = 0; i < op().tensors.size(); ++i) {
    if (!op().tensors[i].is_written()) continue;
    const std::byte* wrong = walk(
        i, [](const std::byte* a, const std::byte* b, size_t bytes) { return std::memcmp(a, b, bytes) == 0; },
        all_bytes);
    EXPECT_EQ(wrong, nullptr) << op().tensors[i].id << " from byte " << wrong - arguments[i].data;
  }
}

void EnlargedCall::expect_result() {
  for (const auto algorithm : algorithms()) expect_result(algorithm);
}

}  // namespace mluop::test
