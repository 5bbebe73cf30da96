// Shared by the operators that compare each first box with each second box, or, if the parameter `aligned` is not
// 0, boxes with equal indices. Both inputs are boxes; the output has their overlaps.
#pragma once

#include "case/description.h"

namespace mluop::cases {

inline bool is_aligned(const Parameters& parameters) { return parameters.integer("aligned") != 0; }

inline void fit_box_pairs(Case& c) {
  const int64_t N = c.inputs[0].dims[0], M = c.inputs[1].dims[0];
  set_shape(c.outputs[0], is_aligned(c.parameters) ? Dims{N} : Dims{N, M});
}

// The boxes of an input; aligned boxes are kept in both inputs.
inline Reduction box_pair_reduction(size_t input) {
  return {input == 0 ? "first boxes" : "second boxes",
          [input](const Case& c) { return is_aligned(c.parameters) && input == 1 ? 0 : c.inputs[input].dims[0]; },
          [input](Case& c, const std::vector<int64_t>& kept) {
            for (size_t i = 0; i < 2; ++i) {
              if (i == input || is_aligned(c.parameters)) c.inputs[i] = slices_of(c.inputs[i], 0, kept);
            }
          },
          {{0, static_cast<int>(input)}}};
}

}  // namespace mluop::cases
