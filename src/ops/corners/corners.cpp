// mluOpOmpCorners and its workspace query in one file: kernels, checks, entries. Start with the entry at the end,
// then run() and locate(). RowMatcher is in primitives/sort/row_matcher.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op_omp.h"
#include "primitives/indices/site_rules.h"
#include "primitives/sort/row_matcher.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::corners {
namespace {

constexpr int64_t kMaxCorners = 1 << kMaxSiteAxes;

// N points, M sites, D axes.
struct Sizes {
  // The corners of a cell; kAny unless D is supported.
  int64_t corner_count() const { return 1 <= D && D <= kMaxSiteAxes ? int64_t{1} << D : kAny; }

  int64_t N, M, D;
};

// The arguments of the call, checked.
struct Args : Sizes {
  const float* points;     // [N, 1 + D]
  const int32_t* sites;    // [M, 1 + D]
  const int32_t* strides;  // [D]
  int32_t* corners;        // [N, 2^D]
  float* weights;          // [N, 2^D]
};

struct Workspace {
  Workspace(Arena& arena, const Sizes& sizes)
      : lowest(arena.take<int32_t>("lowest corners", {sizes.N, sizes.D + 1})),
        is_inside(arena.take<bool>("points with corners", {sizes.N})),
        offsets(arena.take<int32_t>("offsets of corners", {sizes.corner_count(), sizes.D})),
        matcher(arena, sizes.M, sizes.N, sizes.corner_count()) {}

  int32_t* lowest;   // [N, 1 + D], the lowest corner of the cell of each point
  bool* is_inside;   // [N]
  int32_t* offsets;  // [2^D, D], of the corners from the lowest
  RowMatcher::Memory matcher;
};

struct LocateArgs : Args {
  int32_t* lowest;
  bool* is_inside;
};

bool is_int32(double number) { return INT32_MIN <= number && number <= INT32_MAX; }

// Writes the lowest corner of the cell of a point. Returns whether all corners are in int32: never with a NaN.
bool locate(const LocateArgs& args, const float* point, int32_t* lowest) {
  const double batch = std::nearbyint(double{point[0]});
  if (!is_int32(batch)) return false;
  lowest[0] = static_cast<int32_t>(batch);
  for (int64_t d = 0; d < args.D; ++d) {
    // The quotient of a float and an int32 does not round to an integer in double unless it is one.
    const double stride = args.strides[d], low = std::floor(double{point[d + 1]} / stride) * stride;
    if (!is_int32(low) || !is_int32(low + stride)) return false;
    lowest[d + 1] = static_cast<int32_t>(low);
  }
  return true;
}

// Writes the weights of the corners of a cell: the products of a weight for each axis.
void write_weights(const LocateArgs& args, const float* point, const int32_t* lowest, float* to) {
  std::array<double, kMaxCorners> products{1};
  size_t count = 1;
  for (int64_t d = 0; d < args.D; ++d, count *= 2) {
    const double stride = args.strides[d], low = lowest[d + 1], p = double{point[d + 1]};
    const double lower = 1 - (p - low) / stride, upper = 1 - (low + stride - p) / stride;
    for (size_t j = count; j-- > 0;) {
      products[2 * j + 1] = products[j] * upper;
      products[2 * j] = products[j] * lower;
    }
  }
  for (size_t j = 0; j < count; ++j) to[j] = static_cast<float>(products[j]);
}

// Work items: points. Writes their weights and lowest corners; zeros for points without corners.
void locate_points(const LocateArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t columns = args.D + 1, corners = args.corner_count();
  for (int64_t n = begin; n < end; ++n) {
    const float* const point = args.points + n * columns;
    int32_t* const lowest = args.lowest + n * columns;
    float* const weights = args.weights + n * corners;
    args.is_inside[n] = locate(args, point, lowest);
    if (args.is_inside[n]) {
      write_weights(args, point, lowest, weights);
    } else {
      std::fill_n(lowest, columns, 0);
      std::fill_n(weights, corners, 0.0F);
    }
  }
}

// Work items: points. Removes the sites found for points without corners; without sites, of all points.
void remove_corners(const LocateArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t corners = args.corner_count();
  for (int64_t n = begin; n < end; ++n) {
    if (args.M == 0 || !args.is_inside[n]) std::fill_n(args.corners + n * corners, corners, -1);
  }
}

// Writes to args.corners the site at each corner, or -1. Requires sites.
void find_sites(Context& context, int task_dim, const Args& args, Workspace& memory) {
  const int64_t corners = args.corner_count();
  for (int64_t j = 0; j < corners; ++j) {
    for (int64_t d = 0; d < args.D; ++d) {
      memory.offsets[j * args.D + d] = (j >> (args.D - 1 - d) & 1) != 0 ? args.strides[d] : 0;
    }
  }
  const RowMatches matches{args.D + 1, args.sites, args.M, memory.lowest, args.N, memory.offsets, corners};
  const RowMatcher matcher(context, task_dim, matches, memory.matcher);
  std::array<int32_t*, kMaxCorners> found{};
  for (int64_t i = 0; i < corners; ++i) found[static_cast<size_t>(i)] = args.corners + matcher.offset_at(i);
  matcher.find(0, corners, found.data(), corners);
}

// Requires points.
void run(Call& call, Arena arena, const Args& args) {
  constexpr int64_t kRowBytes = 100;    // cost of sorting a row, in bytes of memory traffic
  constexpr int64_t kCornerBytes = 16;  // cost of a corner
  Context& context = call.context();
  context.reserve(0);
  call.log_detail("native");
  Workspace memory(arena, args);
  const int64_t bytes = (args.N + args.M) * kRowBytes + args.N * args.corner_count() * kCornerBytes;
  const int task_dim = choose_task_dim(args.N, bytes);
  const LocateArgs located{args, memory.lowest, memory.is_inside};
  launch(context, "locate_points", task_dim, Evenly{args.N}, locate_points, located);
  if (args.M > 0) find_sites(context, task_dim, args, memory);
  launch(context, "remove_corners", task_dim, Evenly{args.N}, remove_corners, located);
}

// Declares the inputs of the operator and of its query.
void declare_inputs(Call& call, const Input& points, const Input& sites, const Input& strides) {
  const int64_t columns = dim_of(points.desc, 1);
  call.input("points", points.desc, points.data, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kAny});
  call.input("sites", sites.desc, sites.data, MLUOP_DTYPE_INT32, kAnyLayout, {kAny, columns});
  call.input("strides", strides.desc, strides.data, MLUOP_DTYPE_INT32, kAnyLayout, {columns - 1});
  if (dim_of(points.desc, 0) == 0) call.reads_nothing();
}

void check(Call& call, const Sizes& sizes) {
  call.check_pointers();
  require_int32_count("points dim 0", sizes.N);
  require_int32_count("sites dim 0", sizes.M);
  call.check_tensors();
  require_site_columns("points", sizes.D + 1);
}

size_t workspace_bytes(const Sizes& sizes) { return sizes.N == 0 ? 0 : workspace_bytes_of<Workspace>(sizes); }

Sizes sizes_of(const TensorDescriptor* points_desc, const TensorDescriptor* sites_desc) {
  return {dim_of(points_desc, 0), dim_of(sites_desc, 0), dim_of(points_desc, 1) - 1};
}

}  // namespace
}  // namespace mluop::corners

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetCornersWorkspaceSize(mluOpHandle_t handle,
                                                            const mluOpTensorDescriptor_t points_desc,
                                                            const mluOpTensorDescriptor_t sites_desc,
                                                            const mluOpTensorDescriptor_t strides_desc,
                                                            size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::corners;
  return run_workspace_query("mluOpOmpGetCornersWorkspaceSize", handle, workspace_size, [&](Call& call) {
    const Sizes sizes = sizes_of(points_desc, sites_desc);
    declare_inputs(call, {points_desc}, {sites_desc}, {strides_desc});
    check(call, sizes);
    return workspace_bytes(sizes);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpCorners(mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc,
                                            const void* points, const mluOpTensorDescriptor_t sites_desc,
                                            const void* sites, const mluOpTensorDescriptor_t strides_desc,
                                            const void* strides, void* workspace, size_t workspace_size,
                                            const mluOpTensorDescriptor_t corners_desc, void* corners,
                                            const mluOpTensorDescriptor_t weights_desc, void* weights) {
  using namespace mluop;
  using namespace mluop::corners;
  return run_operator("mluOpOmpCorners", handle, [&](Call& call) {
    const Sizes sizes = sizes_of(points_desc, sites_desc);
    declare_inputs(call, {points_desc, points}, {sites_desc, sites}, {strides_desc, strides});
    call.output("corners", corners_desc, corners, MLUOP_DTYPE_INT32, kAnyLayout, {sizes.N, sizes.corner_count()});
    call.output("weights", weights_desc, weights, MLUOP_DTYPE_FLOAT, kAnyLayout, {sizes.N, sizes.corner_count()});
    check(call, sizes);
    if (sizes.N == 0) return;
    const auto* const steps = static_cast<const int32_t*>(strides);
    require_axis_steps("strides", steps, sizes.D);
    const Arena arena = call.workspace(workspace, workspace_size, workspace_bytes(sizes));
    run(call, arena,
        {sizes, static_cast<const float*>(points), static_cast<const int32_t*>(sites), steps,
         static_cast<int32_t*>(corners), static_cast<float*>(weights)});
  });
}
