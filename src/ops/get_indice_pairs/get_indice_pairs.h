// Get indice pairs: the algorithm and the arguments of a call.
//
// Letters as in the design document: L input sites, K filter offsets. A cell is a position of the output space;
// its number is ((b * Do + d) * Ho + h) * Wo + w.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/sizes.h"
#include "team/operator_call.h"

namespace mluop::get_indice_pairs {

// One axis of the convolution.
struct Axis {
  int64_t pad, stride, dilation;
  int64_t input_extent, kernel, output_extent;
};

// The coordinates of a site.
struct Site {
  bool operator<(const Site& other) const {
    return std::tie(b, d, h, w) < std::tie(other.b, other.d, other.h, other.w);
  }

  int32_t b, d, h, w;
};

// The arguments of the call, checked.
struct Args {
  const Axis& depth() const { return axes[0]; }
  const Axis& height() const { return axes[1]; }
  const Axis& width() const { return axes[2]; }

  Site site(int64_t row) const {
    const int32_t* at = indices + row * columns;
    return columns == 4 ? Site{at[0], at[1], at[2], at[3]} : Site{at[0], 0, at[1], at[2]};
  }
  // The cell of a site of the output space.
  int64_t cell(const Site& site) const {
    return ((site.b * depth().output_extent + site.d) * height().output_extent + site.h) * width().output_extent +
           site.w;
  }
  // The cell in the input space, which must have at most 2^63 - 1 cells.
  int64_t input_cell(const Site& site) const {
    return ((site.b * depth().input_extent + site.d) * height().input_extent + site.h) * width().input_extent +
           site.w;
  }
  int64_t input_cell_count() const {
    return saturated_product({batch_size, depth().input_extent, height().input_extent, width().input_extent});
  }
  int64_t offset_count() const { return depth().kernel * height().kernel * width().kernel; }
  // Submanifold: whether the middle offset of the filter maps each site to itself.
  bool is_symmetric() const {
    return std::all_of(axes.begin(), axes.end(), [](const Axis& axis) { return 2 * axis.pad == axis.kernel - 1; });
  }
  // Rows of pairs: a row of inputs and a row of outputs for each filter offset.
  int64_t pair_rows() const { return 2 * offset_count(); }
  int64_t cell_count() const {
    return batch_size * depth().output_extent * height().output_extent * width().output_extent;
  }

  // Numbers of elements of indices and of indice_pairs.
  int64_t indices_count() const { return site_count * columns; }
  int64_t pairs_count() const { return pair_rows() * site_count; }
  int64_t tensor_bytes() const {
    // out_indices may have more rows than memory has bytes.
    constexpr int64_t kMaxCapacity = int64_t{1} << 48;
    return (indices_count() + pairs_count() + std::min(capacity, kMaxCapacity) * columns) *
           int64_t{sizeof(int32_t)};
  }

  int64_t site_count;  // L
  int64_t columns;     // columns of indices and out_indices: 4, or 3 without depth
  int64_t capacity;    // rows of out_indices
  int64_t batch_size;
  std::array<Axis, 3> axes;  // depth, height, width
  bool sub_m;
  const int32_t* indices;  // [L, columns]
  int32_t* indice_pairs;   // [K, 2, L]
  int32_t* out_indices;    // [capacity, columns]
  int32_t* indice_num;     // [K]
};

namespace native {

// Bytes of the caller's workspace, at any address and for any number of threads.
size_t workspace_bytes(const Args& args);

// Computes the outputs and returns the number of output sites. Throws Failure, before it writes an output:
// BAD_PARAM if a site is outside the input space or out_indices is too small, NOT_SUPPORTED if there are 2^31
// output sites or more; and std::bad_alloc.
int run(Call& call, const Args& args, Arena arena);

// The same for a call with an empty tensor: there are no pairs.
int run_empty(const Args& args);

}  // namespace native
}  // namespace mluop::get_indice_pairs
