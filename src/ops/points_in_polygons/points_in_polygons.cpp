// mluOpOmpPointsInPolygons in one file: kernel, launches, entry.
// Start with the entry at the end, then run() and the kernel test().
//
// Letters: B points, M quadrilaterals.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/points_in_polygons/points_in_polygons.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/checks.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "mlu_op_omp.h"
#include "primitives/memory/split_columns.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "team/launch.h"
#include "team/operator_call.h"

#ifndef MLUOP_POINTS_IN_POLYGONS_ONCE
#define MLUOP_POINTS_IN_POLYGONS_ONCE
namespace mluop::points_in_polygons {

struct Args {
  int64_t B, M;
  const float* points;    // [B, 2]
  const float* polygons;  // [M, 8]
  const float* columns;   // [8, M]: the polygons, column by column
  float* output;          // [B, M]
};

// Polygons of a work item.
constexpr int64_t kChunk = 512;

}  // namespace mluop::points_in_polygons
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::points_in_polygons {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;

// Whether the polygons from column m on contain a point, as the serial loop over their edges decides: an edge
// that ends at the point or crosses its row at the point ends the loop.
template <class D>
HWY_INLINE hn::Mask<D> contain(D d, const Args& args, float point_x, float point_y, int64_t m) {
  const auto px = hn::Set(d, point_x), py = hn::Set(d, point_y);
  const auto corner = [&](int64_t i) HWY_ATTR { return hn::LoadU(d, args.columns + i * args.M + m); };
  auto is_running = hn::FirstN(d, hn::Lanes(d)), is_odd = hn::MaskFromVec(hn::Zero(d));
  auto tx = corner(6), ty = corner(7);
  for (int64_t i = 0; i < 4; ++i) {
    const auto sx = corner(2 * i), sy = corner(2 * i + 1);
    const auto is_beside =
        hn::Or(hn::And(hn::Lt(py, sy), hn::Lt(py, ty)), hn::And(hn::Gt(py, sy), hn::Gt(py, ty)));
    const auto is_end = hn::Or(hn::And(hn::Eq(sx, px), hn::Eq(sy, py)), hn::And(hn::Eq(tx, px), hn::Eq(ty, py)));
    const auto crosses = hn::Or(hn::And(hn::Lt(sy, py), hn::Ge(ty, py)), hn::And(hn::Ge(sy, py), hn::Lt(ty, py)));
    const auto x = hn::Add(sx, hn::Div(hn::Mul(hn::Sub(py, sy), hn::Sub(tx, sx)), hn::Sub(ty, sy)));
    is_running = hn::AndNot(hn::AndNot(is_beside, is_end), is_running);
    const auto counted = hn::And(is_running, crosses);
    is_running = hn::AndNot(hn::And(crosses, hn::Eq(x, px)), is_running);
    is_odd = hn::Xor(is_odd, hn::And(counted, hn::Gt(x, px)));
    tx = sx;
    ty = sy;
  }
  return is_odd;
}

// Work items: (b, chunk of m), chunks fastest.
void test(const Args& args, int64_t begin, int64_t end, Task&) {
  const int64_t chunks = ceil_div(args.M, kChunk);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / chunks, first = item % chunks * kChunk, count = std::min(kChunk, args.M - first);
    const float* const point = args.points + b * 2;
    float* const to = args.output + b * args.M + first;
    for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR {
      const auto is_inside = contain(d, args, point[0], point[1], first + i);
      hn::StoreU(hn::IfThenElseZero(is_inside, hn::Set(d, 1)), d, to + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::points_in_polygons
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::points_in_polygons {
namespace {

MLUOP_EXPORT_KERNEL(test_kernel, test, Args);

struct Scratch {
  Scratch(Arena& arena, int64_t M) : columns(arena.take<float>("columns", {8, M})) {}

  float* columns;
};

void run(Call& call, Args args) {
  Context& context = call.context();
  constexpr int64_t kPairBytes = 32;  // cost of a pair, in bytes of memory traffic
  call.log_detail("native");
  Arena arena = context.reserve(bytes_of<Scratch>(args.M));
  const Scratch scratch(arena, args.M);
  split_columns<8>(context, MLUOP_DTYPE_FLOAT, args.M, args.polygons, scratch.columns);
  args.columns = scratch.columns;
  const int64_t items = args.B * ceil_div(args.M, kChunk);
  launch(context, "test", choose_task_dim(items, saturated_product({args.B, args.M, kPairBytes})), Evenly{items},
         test_kernel(), args);
}

}  // namespace
}  // namespace mluop::points_in_polygons

mluOpStatus_t MLUOP_WIN_API mluOpOmpPointsInPolygons(mluOpHandle_t handle,
                                                     const mluOpTensorDescriptor_t points_desc, const void* points,
                                                     const mluOpTensorDescriptor_t polygons_desc,
                                                     const void* polygons,
                                                     const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  return run_operator("mluOpOmpPointsInPolygons", handle, [&](Call& call) {
    constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
    const int64_t B = dim_of(points_desc, 0), M = dim_of(polygons_desc, 0);
    call.input("points", points_desc, points, kFloat, kAnyLayout, {kAny, 2});
    call.input("polygons", polygons_desc, polygons, kFloat, kAnyLayout, {kAny, 8});
    call.output("output", output_desc, output, kFloat, kAnyLayout, {B, M});
    if (has_no_elements(output_desc)) call.reads_nothing();
    call.check_pointers();
    call.check_tensors();
    if (has_no_elements(output_desc)) return;
    points_in_polygons::run(call, {B, M, static_cast<const float*>(points), static_cast<const float*>(polygons),
                                   nullptr, static_cast<float*>(output)});
  });
}
#endif
