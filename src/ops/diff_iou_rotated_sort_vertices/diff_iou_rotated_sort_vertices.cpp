// mluOpDiffIouRotatedSortVerticesForward in one file: comparison, kernel, launch, entry.
// Start with the entry at the end, then sort() and Vertex::is_before(), the comparison of mmcv's kernel.
//
// Letters: B x N pairs of boxes, each with 24 candidate vertices of the intersection.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/checks.h"
#include "mlu_op.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::diff_iou_rotated_sort_vertices {
namespace {

// Candidates 0 to 7 are corners of the boxes, the others crossings of sides.
constexpr int kCandidates = 24, kCorners = 8;
// The indices of a pair: at most 8 vertices, and the first of them again.
constexpr int kIndices = 9, kMaxVertices = 8;
// A double, as in mmcv: differences are compared with it in double.
constexpr double kEpsilon = 1e-8;

struct Args {
  const float* vertices;  // [pairs, 24, 2]
  const uint8_t* mask;    // [pairs, 24]
  const int32_t* num_valid;
  int32_t* idx;  // [pairs, 9]
};

struct Vertex {
  Vertex() : Vertex(1, static_cast<float>(-kEpsilon)) {}
  Vertex(float new_x, float new_y) : x(new_x), y(new_y) {
    key = std::abs(x) * x / static_cast<float>(double{x * x + y * y} + kEpsilon);
  }

  // Whether the angle of this vertex is less, counter-clockwise from the x axis, by the comparison of mmcv: equal
  // vertices and vertices with y = 0 are not before any other vertex. So y is not 0 in `other`, which has been
  // before a vertex, or is the first one.
  bool is_before(const Vertex& other) const {
    if (double{std::abs(x - other.x)} < kEpsilon && double{std::abs(other.y - y)} < kEpsilon) return false;
    const double difference = key - other.key;
    if (y > 0) return other.y < 0 || difference > kEpsilon;
    return y < 0 && other.y < 0 && difference < kEpsilon;
  }

  float x, y;
  float key;  // the squared cosine of the angle, with the sign of x
};

// Whether exactly four pairs of an index from the first four and one from the next four are equal: the boxes are
// equal, and their corners count twice.
bool are_corners_doubled(const int32_t* idx) {
  int64_t equal = 0;
  for (int i = 0; i < kCorners / 2; ++i) equal += std::count(idx + kCorners / 2, idx + kCorners, idx[i]);
  return equal == kCorners / 2;
}

// Writes the indices of a pair.
void sort(const float* vertices, const uint8_t* mask, int32_t num_valid, int32_t* idx) {
  const uint8_t* const crossings_end = mask + kCandidates;
  const uint8_t* const invalid = std::find(mask + kCorners, crossings_end, uint8_t{0});
  std::fill_n(idx, kIndices, invalid == crossings_end ? 0 : static_cast<int32_t>(invalid - mask));
  if (num_valid < 3) return;

  std::array<Vertex, kCandidates> valid;
  std::array<int32_t, kCandidates> positions{};
  size_t count = 0;
  for (int32_t i = 0; i < kCandidates; ++i) {
    if (mask[i] == 0) continue;
    valid[count] = Vertex(vertices[int64_t{i} * 2], vertices[int64_t{i} * 2 + 1]);
    positions[count++] = i;
  }
  const int32_t selected = std::min(num_valid, kMaxVertices);
  const int32_t pad = idx[0];
  for (int32_t j = 0; j < selected; ++j) {
    // If no vertex is selected, the index is 0, and so is the vertex with which the next ones are compared.
    const Vertex previous =
        j == 0 ? Vertex() : Vertex(vertices[int64_t{idx[j - 1]} * 2], vertices[int64_t{idx[j - 1]} * 2 + 1]);
    Vertex first;
    idx[j] = 0;
    for (size_t k = 0; k < count; ++k) {
      if (!valid[k].is_before(first) || (j > 0 && !previous.is_before(valid[k]))) continue;
      first = valid[k];
      idx[j] = positions[k];
    }
  }
  idx[selected] = idx[0];
  if (selected == kMaxVertices && are_corners_doubled(idx)) {
    idx[kCorners / 2] = idx[0];
    std::fill(idx + kCorners / 2 + 1, idx + kIndices, pad);
  }
}

// Work items: pairs.
void sort_all(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t pair = begin; pair < end; ++pair) {
    sort(args.vertices + pair * kCandidates * 2, args.mask + pair * kCandidates, args.num_valid[pair],
         args.idx + pair * kIndices);
  }
}

}  // namespace
}  // namespace mluop::diff_iou_rotated_sort_vertices

mluOpStatus_t MLUOP_WIN_API mluOpDiffIouRotatedSortVerticesForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t vertices_desc, const void* vertices,
    const mluOpTensorDescriptor_t mask_desc, const void* mask, const mluOpTensorDescriptor_t num_valid_desc,
    const void* num_valid, const mluOpTensorDescriptor_t idx_desc, void* idx) {
  using namespace mluop;
  using namespace mluop::diff_iou_rotated_sort_vertices;
  return run_operator("mluOpDiffIouRotatedSortVerticesForward", handle, [&](Call& call) {
    const int64_t B = dim_of(vertices_desc, 0), N = dim_of(vertices_desc, 1);
    call.input("vertices", vertices_desc, vertices, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kAny, kCandidates, 2});
    call.input("mask", mask_desc, mask, MLUOP_DTYPE_BOOL, kAnyLayout, {B, N, kCandidates});
    call.input("num_valid", num_valid_desc, num_valid, MLUOP_DTYPE_INT32, kAnyLayout, {B, N});
    call.output("idx", idx_desc, idx, MLUOP_DTYPE_INT32, kAnyLayout, {B, N, kIndices});
    if (has_no_elements(idx_desc)) call.reads_nothing();

    call.check_pointers();
    call.check_not_200_series();
    call.check_tensors();
    if (has_no_elements(idx_desc)) return;
    constexpr int64_t kPairBytes = 2048;  // cost of a pair, in bytes of memory traffic
    const int64_t pairs = B * N;
    const int task_dim = choose_task_dim(pairs, pairs * kPairBytes);
    call.log_detail("native, taskDim ", task_dim);
    call.context().reserve(0);
    launch(call.context(), "sort", task_dim, Evenly{pairs}, sort_all,
           Args{static_cast<const float*>(vertices), static_cast<const uint8_t*>(mask),
                static_cast<const int32_t*>(num_valid), static_cast<int32_t*>(idx)});
  });
}
