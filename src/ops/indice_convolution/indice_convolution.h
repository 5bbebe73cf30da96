// Indice convolution: the algorithms and the arguments of the forward operator and of both gradients.
//
// Letters as in the design document: N rows of features, M rows of features_out, Ci and Co channels, K offsets of
// the filter. The index pairs that indice_num counts are numbered consecutively, offset by offset.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "core/simd.h"
#include "primitives/gemm/dot_products.h"
#include "primitives/indices/index_pairs.h"
#include "team/operator_call.h"

namespace mluop::indice_convolution {

// Distance in elements between consecutive co, k or ci of the filters.
struct FilterStrides {
  int64_t co, k, ci;
};

// How the native algorithm multiplies: in fp32, or bfloat16 without conversion by AVX512-BF16 or by AMX.
enum class Products { kFloat, kDotProducts, kTiles };

// With fewer channels, tile registers would be more than half empty.
inline constexpr int64_t kMinTileChannels = 16;

// Shared by the convolution and the gradient of its filters.
struct PairedRows : IndexPairs {
  int64_t element_bytes() const { return static_cast<int64_t>(size_of(dtype)); }
  // Nothing is added: the output is zero if it has elements.
  bool is_empty() const { return N == 0 || M == 0 || K == 0 || Ci == 0 || Co == 0; }

  Products products() const {
    if (!has_dot_products(dtype)) return Products::kFloat;
    const bool fill_tiles = Ci >= kMinTileChannels && Co >= kMinTileChannels;
    return fill_tiles && has_bf16_tiles() ? Products::kTiles : Products::kDotProducts;
  }

  mluOpDataType_t dtype;
  int64_t Ci, Co;  // channels of the input and the output rows
};

// A convolution by index pairs: the forward operator, or the gradient of its input, which exchanges the rows and
// channels of inputs and outputs.
struct Args : PairedRows {
  FilterStrides strides;
  const void* features;  // [N, Ci]
  const void* filters;   // accessed by strides
  void* features_out;    // [M, Co]
};

namespace backward_filter {

// The gradient of the filters: inputs are rows of features, outputs rows of output_grad.
struct Args : PairedRows {
  // The number of filter elements of an offset.
  int64_t matrix_count() const { return Ci * Co; }

  const void* features;     // [N, Ci]
  const void* output_grad;  // [M, Co]
  void* filters_grad;       // [K, Ci, Co]
};

}  // namespace backward_filter

namespace backward_filter {

// The bytes of the caller's workspace, at any address, without the data of tensors. Throws Failure with BAD_PARAM
// if they exceed int64_t.
size_t workspace_bytes(const Args& args);

// Computes the output. Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM, Failure with
// BAD_PARAM if an index is out of bounds, and std::bad_alloc, before it writes the output.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace backward_filter

namespace native {

// The bytes of the caller's workspace, at any address, without the data of tensors. Throws Failure with BAD_PARAM
// if they exceed int64_t.
size_t workspace_bytes(const Args& args);

// Computes the output. Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM, Failure with
// BAD_PARAM if an index is out of bounds, and std::bad_alloc, before it writes the output.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native

namespace device {

// The bytes of the caller's workspace, at any address, without the data of tensors. Throws Failure with BAD_PARAM
// if they exceed int64_t.
size_t workspace_bytes(const Args& args);

// Computes the output: fill, transpose, then gather, matmul and scatter_add for each offset that has pairs. Throws
// Failure (an index is out of bounds, or a tile does not fit NRAM) and std::bad_alloc before it writes the output.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace device
}  // namespace mluop::indice_convolution
