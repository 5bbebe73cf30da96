#include "case/description.h"

#include <algorithm>
#include <numeric>

namespace mluop::cases {

Tensor slices_of(const Tensor& tensor, size_t dim, const std::vector<int64_t>& kept) {
  Tensor slices = tensor;
  const auto extent = static_cast<size_t>(tensor.dims[dim]);
  size_t inner = element_size(tensor.dtype), outer = 1;
  for (size_t i = 0; i < dim; ++i) outer *= static_cast<size_t>(tensor.dims[i]);
  for (size_t i = dim + 1; i < tensor.dims.size(); ++i) inner *= static_cast<size_t>(tensor.dims[i]);
  slices.dims[dim] = static_cast<int64_t>(kept.size());
  slices.strides = strides_for(tensor, slices.dims);
  slices.elements.bytes.resize(outer * kept.size() * inner);
  std::byte* to = slices.elements.bytes.data();
  for (size_t o = 0; o < outer; ++o) {
    for (const int64_t index : kept) {
      if (inner > 0)
        std::memcpy(to, tensor.elements.bytes.data() + (o * extent + static_cast<size_t>(index)) * inner, inner);
      to += inner;
    }
  }
  return slices;
}

Tensor with_memory(Tensor tensor, int64_t memory) {
  enum : int64_t { kContiguous, kReversed, kGaps, kSteps, kReversedGaps };
  constexpr int64_t kGap = 3;
  if (memory == kContiguous) return tensor;
  std::vector<size_t> order(tensor.dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (memory == kReversed || memory == kReversedGaps) std::reverse(order.begin(), order.end());
  const int64_t step = memory == kSteps ? 2 : 1, gap = memory == kReversed ? 0 : memory == kSteps ? 1 : kGap;
  tensor.strides = strides_in_order(tensor.dims, order, step, gap);
  return tensor;
}

Reduction axis_reduction(std::string name, std::vector<std::pair<size_t, size_t>> dims,
                         std::vector<std::pair<size_t, int>> result_dims, std::vector<size_t> position_outputs) {
  return {std::move(name), [dims](const Case& c) { return c.inputs[dims[0].first].dims[dims[0].second]; },
          [dims](Case& c, const std::vector<int64_t>& kept) {
            for (const auto& [input, dim] : dims) {
              if (input < c.inputs.size()) c.inputs[input] = slices_of(c.inputs[input], dim, kept);
            }
          },
          std::move(result_dims), std::move(position_outputs)};
}

}  // namespace mluop::cases
