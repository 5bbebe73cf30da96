#include "compare/patterns/transposition.h"

#include <array>
#include <numeric>
#include <vector>

#include "team/atomics.h"

namespace mluop::compare {
namespace {

constexpr size_t kMaxDims = 5;

// Maps the elements of one tensor to their places in the other. `extents`: the dimensions of the other, from the
// slowest to the fastest; `strides`: strides of the first for these dimensions.
class Order {
 public:
  explicit Order(bool found_is_permuted) : found_is_permuted_(found_is_permuted) {}

  void add(int64_t extent, int64_t stride) {
    extents_[rank_] = extent;
    strides_[rank_++] = stride;
  }
  // Whether element i of the permuted tensor is right.
  bool holds_for(const Operands& operands, int64_t i) const {
    const int64_t place = place_of(i);
    return !is_wrong(operands, found_is_permuted_ ? pair_of(operands, i, place) : pair_of(operands, place, i));
  }

 private:
  int64_t place_of(int64_t i) const {
    int64_t place = 0;
    for (size_t k = rank_; k-- > 0; i /= extents_[k]) place += i % extents_[k] * strides_[k];
    return place;
  }

  bool found_is_permuted_;
  size_t rank_ = 0;
  std::array<int64_t, kMaxDims> extents_{}, strides_{};
};

struct OrderArgs {
  const Operands& operands;
  Order order;
  FirstBadItem& first_bad;
};

// Work items: blocks.
void verify_order(const OrderArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t last = std::min(end * kBlockElements, args.operands.count);
  for (int64_t i = begin * kBlockElements; i < last; ++i) {
    if (!args.order.holds_for(args.operands, i)) return args.first_bad.report(i);
  }
}

bool holds(const Problem& problem, const Order& order) {
  for (const mluOpOmpWrongElement_t& wrong : problem.measured.worst) {
    if (!order.holds_for(problem.operands, wrong.index)) return false;
  }
  constexpr int64_t kSamples = 64;
  uint64_t state = 1;
  for (int64_t sample = 0; sample < kSamples; ++sample) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto i = static_cast<int64_t>((state >> 1) % static_cast<uint64_t>(problem.operands.count));
    if (!order.holds_for(problem.operands, i)) return false;
  }
  FirstBadItem first_bad;
  launch(problem.context, "verify_order", problem.task_dim(), Evenly{block_count(problem.operands)},
         RangeKernel<OrderArgs>(verify_order), {problem.operands, order, first_bad});
  return !first_bad.found();
}

std::string describe(const Problem& problem, const std::vector<size_t>& dims, bool found_is_permuted) {
  std::string names, list;
  for (const size_t dim : dims) {
    list += text(list.empty() ? "" : ", ", dim);
    names += text(names.empty() ? "" : ", ", problem.name_of_dim(dim));
  }
  const bool named = problem.operands.options.axes != nullptr;
  return text(
      "transposed: ", found_is_permuted ? "found has the dims of expected" : "expected has the dims of found",
      " in the order ", list, named ? " (" + names + ")" : "");
}

}  // namespace

std::string transposition(const Problem& problem) {
  std::vector<size_t> dims;  // dimensions with several indices
  for (size_t dim = 0; dim < problem.dims.size(); ++dim) {
    if (problem.dims[dim] > 1) dims.push_back(dim);
  }
  if (dims.size() < 2 || dims.size() > kMaxDims) return "";
  while (std::next_permutation(dims.begin(), dims.end())) {
    for (const bool found_is_permuted : {true, false}) {
      Order order(found_is_permuted);
      for (const size_t dim : dims) order.add(problem.dims[dim], problem.stride(dim));
      if (holds(problem, order)) return describe(problem, dims, found_is_permuted);
    }
  }
  return "";
}

}  // namespace mluop::compare
