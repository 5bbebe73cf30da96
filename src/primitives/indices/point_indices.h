// Indices of points among the features of their batch: [B, M], or [B, P, S] for P groups of S samples.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/boundary.h"
#include "core/tensor.h"
#include "core/text.h"
#include "primitives/indices/check_indices.h"

namespace mluop {

// Whether the indices, and the tensor of the points that they name, have a dimension of samples. Null-safe.
inline bool has_samples(const TensorDescriptor* indices_desc, const TensorDescriptor* points_desc) {
  const auto has_dims = [](const TensorDescriptor* desc, int count) {
    return desc != nullptr && desc->dim_count == count;
  };
  return has_dims(indices_desc, 3) && has_dims(points_desc, 4);
}

// Throws Failure (BAD_PARAM) that names the first index outside [0, limit) as [batch, point] or [batch, point,
// sample], by the shape of the indices. `name`: the tensor of the indices.
inline void check_point_indices(Context& context, std::string_view name, const CheckIndicesArgs& args,
                                std::span<const int64_t> shape) {
  const FirstBadItem first_bad = check_indices(context, args);
  if (!first_bad.found()) return;
  const int64_t i = first_bad.item();
  const auto position = shape.size() == 2
                            ? text(i / shape[1], ", ", i % shape[1])
                            : text(i / shape[2] / shape[1], ", ", i / shape[2] % shape[1], ", ", i % shape[2]);
  throw Failure(MLUOP_STATUS_BAD_PARAM,
                text(name, "[", position, "] is ", args.indices[i], ", expected 0 to ", args.limit - 1));
}

}  // namespace mluop
