// Assign score with k: the algorithm and the arguments of the forward and the backward operator.
//
// Letters: B batches, N0 points, N1 centers with K neighbors each, M kernels, O channels. Neighbor k of center n
// is row r = n * K + k of a batch.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "team/operator_call.h"

namespace mluop::assign_score_withk {

struct Sizes {
  int64_t rows() const { return N1 * K; }
  int64_t matrix() const { return M * O; }

  int64_t B, N0, N1, M, K, O;
};

// The inputs of both operators, checked except for the values of knn_idx.
struct Inputs : Sizes {
  const int32_t* indices_of(int64_t b) const { return knn_idx + b * rows(); }
  // The [M, O] matrix of point i of a batch, and the scores of a row. T: an element type.
  template <class T>
  const T* points_of(int64_t b, int64_t i) const {
    return static_cast<const T*>(points) + (b * N0 + i) * matrix();
  }
  template <class T>
  const T* centers_of(int64_t b, int64_t i) const {
    return static_cast<const T*>(centers) + (b * N0 + i) * matrix();
  }
  template <class T>
  const T* scores_of(int64_t b, int64_t row) const {
    return static_cast<const T*>(scores) + (b * rows() + row) * M;
  }

  mluOpDataType_t dtype;   // of all tensors except knn_idx
  const void* points;      // [B, N0, M, O]
  const void* centers;     // [B, N0, M, O]
  const void* scores;      // [B, N1, K, M]
  const int32_t* knn_idx;  // [B, N1, K]
};

struct ForwardArgs : Inputs {
  void* output;  // [B, O, N1, K]
};

// Each operation is rounded to fp32; results are rounded once to the data type. The forward operator adds in the
// order of m, the gradients of points and centers in the order of rows, and the gradients of scores in partial
// sums of channels (primitives/simd/partial_sums.h).
struct BackwardArgs : Inputs {
  const void* grad_output;  // [B, O, N1, K]
  void* grad_points;        // [B, N0, M, O]
  void* grad_centers;       // [B, N0, M, O]
  void* grad_scores;        // [B, N1, K, M]
};

namespace native {

// Compute the outputs. Throw before they write one: Failure with BAD_PARAM if an index is outside [0, N0), or if
// the bytes of all tensors or of the memory exceed int64_t, with ALLOC_FAILED if no tile fits NRAM, and
// std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace native
}  // namespace mluop::assign_score_withk
