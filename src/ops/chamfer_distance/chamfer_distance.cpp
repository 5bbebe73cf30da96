// mluOpOmpChamferDistanceForward and mluOpOmpChamferDistanceBackward: entries, and the loops of the latter. Start
// with the entries at the end, then run_backward() and add(). The search of the former is in
// chamfer_distance_forward_native.cpp.
#include "ops/chamfer_distance/chamfer_distance.h"

#include "core/dtype.h"
#include "mlu_op_omp.h"
#include "primitives/indices/point_indices.h"
#include "primitives/memory/fill.h"
#include "primitives/sort/counting_sort.h"
#include "team/launch.h"

namespace mluop::chamfer_distance {
namespace {

// The points of a side and what belongs to them.
struct Side {
  int64_t count;
  const void* xyz;        // [B, count, 2]
  const int32_t* idx;     // [B, count]: points of the other side
  const void* grad_dist;  // [B, count]
  void* grad_xyz;         // [B, count, 2]
  int32_t* starts;        // [B, count + 1]: positions in sorted
  int32_t* sorted;        // [B, points of the other side]: these points, by the point that is nearest to each
};

struct BackwardArgs {
  int64_t B;
  mluOpDataType_t dtype;
  Side sides[2];
};

// Work items: (side, b).
void sort(const BackwardArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item % args.B;
    const Side &own = args.sides[item / args.B], &other = args.sides[1 - item / args.B];
    const int32_t* const nearest = other.idx + b * other.count;
    sort_on_one_task(
        other.count, own.count, [=](int32_t i) { return nearest[i]; }, own.starts + b * (own.count + 1),
        own.sorted + b * other.count);
  }
}

// Work items: (side, b, point). Adds the terms of the point's own distance, then of the distances to it, by
// ascending index.
template <class T>
void add(const BackwardArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t first_items = args.B * args.sides[0].count;
  for (int64_t item = begin; item < end; ++item) {
    const bool is_second = item >= first_items;
    const Side &own = args.sides[is_second ? 1 : 0], &other = args.sides[is_second ? 0 : 1];
    const int64_t point = is_second ? item - first_items : item, b = point / own.count, n = point % own.count;
    const auto number = [](const void* from, int64_t i) { return double{to_f32(static_cast<const T*>(from)[i])}; };
    double sums[2] = {};
    const auto add_term = [&](int64_t of_other, double grad) {
      for (int64_t dim = 0; dim < 2; ++dim) {
        sums[dim] += 2 * grad * (number(own.xyz, 2 * point + dim) - number(other.xyz, 2 * of_other + dim));
      }
    };
    add_term(b * other.count + own.idx[point], number(own.grad_dist, point));
    const int32_t* const starts = own.starts + b * (own.count + 1);
    for (int64_t i = starts[n]; i < starts[n + 1]; ++i) {
      const int64_t of_other = b * other.count + own.sorted[b * other.count + i];
      add_term(of_other, number(other.grad_dist, of_other));
    }
    T* const to = static_cast<T*>(own.grad_xyz) + 2 * point;
    for (int64_t dim = 0; dim < 2; ++dim) round_to(static_cast<float>(sums[dim]), to + dim);
  }
}

struct Scratch {
  Scratch(Arena& arena, int64_t B, int64_t N, int64_t M)
      : starts{arena.take<int32_t>("starts", {B, N + 1}), arena.take<int32_t>("starts", {B, M + 1})},
        sorted{arena.take<int32_t>("sorted", {B, M}), arena.take<int32_t>("sorted", {B, N})} {}

  int32_t *starts[2], *sorted[2];
};

// Requires points on both sides.
void run_backward(Call& call, BackwardArgs args) {
  constexpr int64_t kPointBytes = 64;  // cost of a point, in bytes of memory traffic
  Context& context = call.context();
  Side &first = args.sides[0], &second = args.sides[1];
  const int64_t B = args.B, points = B * (first.count + second.count);
  Arena arena = context.reserve(bytes_of<Scratch>(B, first.count, second.count));
  const Scratch scratch(arena, B, first.count, second.count);
  const int64_t shapes[2][2] = {{B, first.count}, {B, second.count}};
  check_point_indices(context, "idx1", {first.idx, B * first.count, second.count}, shapes[0]);
  check_point_indices(context, "idx2", {second.idx, B * second.count, first.count}, shapes[1]);
  for (int side = 0; side < 2; ++side) {
    args.sides[side].starts = scratch.starts[side];
    args.sides[side].sorted = scratch.sorted[side];
  }
  launch(context, "sort", choose_task_dim(2 * B, points * kPointBytes), Evenly{2 * B}, sort, args);
  launch(
      context, "add", choose_task_dim(points, points * kPointBytes), Evenly{points},
      dispatch_dtype(args.dtype, [](auto element) -> RangeKernel<BackwardArgs> { return add<decltype(element)>; }),
      args);
}

// The results if a side has no points.
void write_zeros(Call& call, std::initializer_list<Output> outputs) {
  call.context().reserve(0);
  for (const Output& output : outputs) {
    if (!has_no_elements(output.desc)) fill_zero(call.context(), output.data, byte_count(*output.desc));
  }
}

struct Sizes {
  int64_t B, N, M;
};

// Declares the points of both sides.
Sizes declare_points(Call& call, const Input& xyz1, const Input& xyz2) {
  const auto dtype = dtype_of(xyz1.desc);
  const Sizes sizes{dim_of(xyz1.desc, 0), dim_of(xyz1.desc, 1), dim_of(xyz2.desc, 1)};
  call.input("xyz1", xyz1.desc, xyz1.data, dtype, kAnyLayout, {kAny, kAny, 2});
  call.input("xyz2", xyz2.desc, xyz2.data, dtype, kAnyLayout, {sizes.B, kAny, 2});
  return sizes;
}

void check(Call& call, const Sizes& sizes, mluOpDataType_t dtype) {
  call.check_pointers();
  require_element_type("xyz1", dtype);
  require_int32_count("xyz1 dim 1", sizes.N);
  require_int32_count("xyz2 dim 1", sizes.M);
  call.check_tensors();
}

}  // namespace
}  // namespace mluop::chamfer_distance

mluOpStatus_t MLUOP_WIN_API mluOpOmpChamferDistanceForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t xyz1_desc, const void* xyz1,
    const mluOpTensorDescriptor_t xyz2_desc, const void* xyz2, const mluOpTensorDescriptor_t dist1_desc,
    void* dist1, const mluOpTensorDescriptor_t dist2_desc, void* dist2, const mluOpTensorDescriptor_t idx1_desc,
    void* idx1, const mluOpTensorDescriptor_t idx2_desc, void* idx2) {
  using namespace mluop;
  using namespace mluop::chamfer_distance;
  return run_operator("mluOpOmpChamferDistanceForward", handle, [&](Call& call) {
    const auto dtype = dtype_of(xyz1_desc);
    const Sizes sizes = declare_points(call, {xyz1_desc, xyz1}, {xyz2_desc, xyz2});
    const auto [B, N, M] = sizes;
    call.output("dist1", dist1_desc, dist1, dtype, kAnyLayout, {B, N});
    call.output("dist2", dist2_desc, dist2, dtype, kAnyLayout, {B, M});
    call.output("idx1", idx1_desc, idx1, MLUOP_DTYPE_INT32, kAnyLayout, {B, N});
    call.output("idx2", idx2_desc, idx2, MLUOP_DTYPE_INT32, kAnyLayout, {B, M});
    check(call, sizes, dtype);
    if (B == 0 || N == 0 || M == 0) {
      return write_zeros(call, {{dist1_desc, dist1}, {dist2_desc, dist2}, {idx1_desc, idx1}, {idx2_desc, idx2}});
    }
    native::run_forward(call, {B,
                               dtype,
                               {N, M},
                               {xyz1, xyz2},
                               {dist1, dist2},
                               {static_cast<int32_t*>(idx1), static_cast<int32_t*>(idx2)}});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpChamferDistanceBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t xyz1_desc, const void* xyz1,
    const mluOpTensorDescriptor_t xyz2_desc, const void* xyz2, const mluOpTensorDescriptor_t idx1_desc,
    const void* idx1, const mluOpTensorDescriptor_t idx2_desc, const void* idx2,
    const mluOpTensorDescriptor_t grad_dist1_desc, const void* grad_dist1,
    const mluOpTensorDescriptor_t grad_dist2_desc, const void* grad_dist2,
    const mluOpTensorDescriptor_t grad_xyz1_desc, void* grad_xyz1, const mluOpTensorDescriptor_t grad_xyz2_desc,
    void* grad_xyz2) {
  using namespace mluop;
  using namespace mluop::chamfer_distance;
  return run_operator("mluOpOmpChamferDistanceBackward", handle, [&](Call& call) {
    const auto dtype = dtype_of(xyz1_desc);
    const Sizes sizes = declare_points(call, {xyz1_desc, xyz1}, {xyz2_desc, xyz2});
    const auto [B, N, M] = sizes;
    call.input("idx1", idx1_desc, idx1, MLUOP_DTYPE_INT32, kAnyLayout, {B, N});
    call.input("idx2", idx2_desc, idx2, MLUOP_DTYPE_INT32, kAnyLayout, {B, M});
    call.input("grad_dist1", grad_dist1_desc, grad_dist1, dtype, kAnyLayout, {B, N});
    call.input("grad_dist2", grad_dist2_desc, grad_dist2, dtype, kAnyLayout, {B, M});
    call.output("grad_xyz1", grad_xyz1_desc, grad_xyz1, dtype, kAnyLayout, {B, N, 2});
    call.output("grad_xyz2", grad_xyz2_desc, grad_xyz2, dtype, kAnyLayout, {B, M, 2});
    check(call, sizes, dtype);
    if (B == 0 || N == 0 || M == 0) {
      return write_zeros(call, {{grad_xyz1_desc, grad_xyz1}, {grad_xyz2_desc, grad_xyz2}});
    }
    call.log_detail("native");
    run_backward(call, {B,
                        dtype,
                        {{N, xyz1, static_cast<const int32_t*>(idx1), grad_dist1, grad_xyz1, nullptr, nullptr},
                         {M, xyz2, static_cast<const int32_t*>(idx2), grad_dist2, grad_xyz2, nullptr, nullptr}}});
  });
}
