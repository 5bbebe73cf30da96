#include "reference/roi_pooling.h"

#include <algorithm>

#include "case/operators/shared/box_scene.h"

namespace mluop::cases::roi_pooling {
namespace {

constexpr auto kInt = MLUOP_DTYPE_INT32;

// The extents of the voxels of RoIs: the first four dimensions of their tensors.
struct Grid {
  explicit Grid(const Recipe& r) : R(r["r"]), X(r["x"]), Y(r["y"]), Z(r["z"]) {}
  explicit Grid(const Dims& dims) : R(dims[0]), X(dims[1]), Y(dims[2]), Z(dims[3]) {}

  Dims with(int64_t last) const { return {R, X, Y, Z, last}; }

  int64_t R, X, Y, Z;
};

bool is_max(const Arguments& a) { return a.int32("pool_method") == 0; }

// Throws Problem if a tensor of voxels exceeds the limit of a case.
void check_sizes(const Recipe& r) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  for (const char* last : {"c", "p"}) checked_product({r["r"], r["x"], r["y"], r["z"], r[last]}, kLimit);
}

void set_parameters(Case& c, const Grid& grid, int64_t channels) {
  c.parameters.set("boxes_num", grid.R);
  c.parameters.set("channels", channels);
  c.parameters.set("out_x", grid.X);
  c.parameters.set("out_y", grid.Y);
  c.parameters.set("out_z", grid.Z);
}

// RoI-aware, forward.

mluOpStatus_t query_forward(const Arguments& a, size_t* bytes) {
  return mluOpGetRoiAwarePool3dForwardWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, bytes);
}

mluOpStatus_t run_forward(const Arguments& a) {
  return call(mluOpRoiAwarePool3dForward, a.handle, a.int32("pool_method"), a.int32("boxes_num"),
              a.int32("pts_num"), a.int32("channels"), a[0], a[1], a[2], a.workspace, a.workspace_size,
              a.int32("max_pts_each_voxel"), a.int32("out_x"), a.int32("out_y"), a.int32("out_z"), a[3], a[4],
              a[5]);
}

void expect_forward(Arguments& a) {
  const Grid grid(a[4].dims);
  const reference::RoiawarePool3dSizes sizes{grid.R, a[1].dim(0), a[2].dim(1), a[4].dim(4),
                                             grid.X, grid.Y,      grid.Z};
  with_element_type(a[0], [&]<class T>() {
    reference::roiaware_pool3d_forward(is_max(a), sizes, a[0].as<T>(), a[1].as<T>(), a[2].as<T>(),
                                       a[3].as<int32_t>(), a[4].as<int32_t>(), a[5].as<T>());
  });
}

void fit_forward(Case& c) {
  Grid grid(Dims{c.inputs[0].dims[0], c.parameters.integer("out_x"), c.parameters.integer("out_y"),
                 c.parameters.integer("out_z")});
  const int64_t C = c.inputs[2].dims[1];
  set_parameters(c, grid, C);
  c.parameters.set("pts_num", c.inputs[1].dims[0]);
  set_shape(c.outputs[0], grid.with(C));
  set_shape(c.outputs[1], grid.with(c.parameters.integer("max_pts_each_voxel")));
  set_shape(c.outputs[2], grid.with(C));
}

Case make_forward(const Recipe& r) {
  check_sizes(r);
  Case c = new_case("roiaware_pool3d_forward", r, {"pool_method"});
  c.parameters.set("max_pts_each_voxel", r["p"]);
  set_parameters(c, Grid(r), r["c"]);
  const BoxScene scene =
      make_box_scene(r, make_tensor("pts", r.dtype, {r["n"], 3}), make_tensor("rois", r.dtype, {r["r"], 7}));
  c.inputs = {scene.boxes, scene.points,
              with_uniform(make_tensor("pts_feature", r.dtype, {r["n"], r["c"]}), r.seed + 2)};
  c.outputs = {make_tensor("argmax", kInt), make_tensor("pts_idx_of_voxels", kInt),
               make_tensor("pooled_features", r.dtype)};
  fit_forward(c);
  return c;
}

Operator roiaware_forward() {
  Operator op;
  op.name = "roiaware_pool3d_forward";
  op.function = "mluOpRoiAwarePool3dForward";
  op.query_function = "mluOpGetRoiAwarePool3dForwardWorkspaceSize";
  op.refuses_200_series = true;
  op.tensors = {{"rois", Role::kInput, {"roi", "field"}},
                {"pts", Role::kInput, {"point", "coordinate"}},
                {"pts_feature", Role::kInput, {"point", "channel"}},
                {"argmax", Role::kOutput, {"roi", "x", "y", "z", "channel"}},
                {"pts_idx_of_voxels", Role::kOutput, {"roi", "x", "y", "z", "point"}},
                {"pooled_features", Role::kOutput, {"roi", "x", "y", "z", "channel"}}};
  op.query = query_forward;
  op.run = run_forward;
  op.expect = expect_forward;
  // Number of tests of points, without the tests that bounds of points save.
  op.work = [](const Arguments& a) { return each_once(a, 3, 4 * a[0].dim(0) * a[1].dim(0)); };
  op.sizes = {{"r", 6, 1, 40}, {"n", 200, 1, 1000},
              {"c", 5, 1, 70}, {"x", 3, 1, 8},
              {"y", 2, 1, 8},  {"z", 4, 1, 8},
              {"p", 6, 1, 12}, {"pool_method", 0, 0, 1, false},
              kSpecials,       kUniform};
  op.parallel_sizes = {{{"r", 70}, {"n", 3000}, {"c", 20}, {"x", 5}, {"pool_method", 0}},
                       {{"r", 70}, {"n", 3000}, {"c", 20}, {"x", 5}, {"pool_method", 1}}};
  op.make = make_forward;
  op.fit = fit_forward;
  op.reductions = {axis_reduction("points", {{1, 0}, {2, 0}}), axis_reduction("rois", {{0, 0}}, {{0, 0}}),
                   axis_reduction("channels", {{2, 1}})};
  return op;
}

// RoI-aware, backward.

mluOpStatus_t run_backward(const Arguments& a) {
  return call(mluOpRoiAwarePool3dBackward, a.handle, a.int32("pool_method"), a.int32("boxes_num"),
              a.int32("out_x"), a.int32("out_y"), a.int32("out_z"), a.int32("channels"),
              a.int32("max_pts_each_voxel"), a[0], a[1], a[2], a[3]);
}

template <bool kBits>
void expect_backward(Arguments& a) {
  const Grid grid(a[0].dims);
  const reference::RoiawarePool3dSizes sizes{grid.R, a[3].dim(0), a[3].dim(1), a[0].dim(4),
                                             grid.X, grid.Y,      grid.Z};
  with_element_type(a[2], [&]<class T>() {
    const auto compute = [&](auto* grad_in) {
      reference::roiaware_pool3d_backward(is_max(a), sizes, a[0].as<int32_t>(), a[1].as<int32_t>(), a[2].as<T>(),
                                          grad_in);
    };
    if constexpr (kBits) {
      compute(a[3].as<T>());
    } else {
      compute(sums_of(a[3]));
    }
  });
}

// After a call: the gradients of voxels with points, and one of the tensors of indices.
Work work_backward(const Arguments& a) {
  const bool reads_argmax = is_max(a);
  const int64_t C = a[3].dim(1), P = a[0].dim(4), voxels = a[0].count() / P;
  const auto element = static_cast<int64_t>(element_size(a[2].dtype));
  int64_t read = reads_argmax ? a[1].bytes() : voxels * int64_t{sizeof(int32_t)};
  int64_t ops = 0;
  for (int64_t v = 0; v < voxels; ++v) {
    const int32_t *maxima = a[1].as<int32_t>() + v * C, count = a[0].as<int32_t>()[v * P];
    const auto added =
        reads_argmax ? std::count_if(maxima, maxima + C, [](int32_t n) { return n >= 0; }) : count * C;
    ops += added;
    read += added > 0 ? C * element + (reads_argmax ? 0 : count * int64_t{sizeof(int32_t)}) : 0;
  }
  return {read, a[3].bytes(), ops};
}

void fit_backward(Case& c) {
  const Grid grid(c.inputs[0].dims);
  const int64_t C = c.inputs[2].dims[4];
  set_parameters(c, grid, C);
  c.parameters.set("max_pts_each_voxel", c.inputs[0].dims[4]);
  // The number of points is kept.
  set_shape(c.outputs[0], {c.outputs[0].dims[0], C});
}

// One in four voxels has points, any of the n.
Tensor with_points(const Tensor& tensor, const Recipe& r, int64_t voxels, bool is_argmax) {
  const int64_t row = tensor.dims[4], n = r["n"];
  Integers random(r.seed + (is_argmax ? 1 : 0));
  std::vector<int32_t> values;
  for (int64_t v = 0; v < voxels; ++v) {
    const bool has_points = random.below(4) == 0 && n > 0;
    const int32_t count = has_points && !is_argmax ? random.below(row) : 0;
    for (int64_t i = 0; i < row; ++i) {
      if (is_argmax) {
        values.push_back(has_points ? random.below(n + 1) - 1 : -1);
      } else {
        values.push_back(i == 0 ? count : i <= count ? random.below(n) : 0);
      }
    }
  }
  return with_values(tensor, values);
}

Case make_backward(const Recipe& r) {
  check_sizes(r);
  Case c = new_case("roiaware_pool3d_backward", r, {"pool_method"});
  const Grid grid(r);
  const int64_t voxels = grid.R * grid.X * grid.Y * grid.Z, n = r["n"];
  const Tensor listed = make_tensor("pts_idx_of_voxels", kInt, grid.with(r["p"])),
               argmax = make_tensor("argmax", kInt, grid.with(r["c"]));
  const bool holds = std::max(element_count(listed), element_count(argmax)) <= r.max_inline;
  c.inputs = {
      holds ? with_points(listed, r, voxels, false)
            : with_uniform(listed, r.seed, 0, static_cast<double>(std::min(r["p"], n))),
      holds ? with_points(argmax, r, voxels, true) : with_uniform(argmax, r.seed + 1, -1, static_cast<double>(n)),
      with_uniform(make_tensor("grad_out", r.dtype, grid.with(r["c"])), r.seed + 2)};
  c.outputs = {make_tensor("grad_in", r.dtype, {n, r["c"]})};
  fit_backward(c);
  return c;
}

Operator roiaware_backward() {
  Operator op;
  op.name = "roiaware_pool3d_backward";
  op.function = "mluOpRoiAwarePool3dBackward";
  op.refuses_200_series = true;
  op.tensors = {{"pts_idx_of_voxels", Role::kInput, {"roi", "x", "y", "z", "point"}},
                {"argmax", Role::kInput, {"roi", "x", "y", "z", "channel"}},
                {"grad_out", Role::kInput, {"roi", "x", "y", "z", "channel"}},
                {"grad_in", Role::kOutput, {"point", "channel"}, {}, {0}}};
  op.run = run_backward;
  op.expect = expect_backward<false>;
  op.expect_bits = expect_backward<true>;
  // All voxels may name the same point, and list it in each place.
  op.terms = [](const Arguments& a) { return a[0].count(); };
  op.work = work_backward;
  op.criteria = sum_criteria;
  op.sizes = {{"r", 6, 1, 20}, {"n", 60, 1, 1000}, {"c", 5, 1, 70}, {"x", 3, 1, 8},
              {"y", 2, 1, 8},  {"z", 4, 1, 8},     {"p", 6, 1, 12}, {"pool_method", 0, 0, 1, false}};
  op.parallel_sizes = {{{"r", 40}, {"n", 900}, {"c", 20}, {"x", 9}, {"pool_method", 0}},
                       {{"r", 40}, {"n", 900}, {"c", 20}, {"x", 9}, {"pool_method", 1}}};
  op.make = make_backward;
  op.fit = fit_backward;
  op.reductions = {axis_reduction("rois", {{0, 0}, {1, 0}, {2, 0}}),
                   axis_reduction("channels", {{1, 4}, {2, 4}}, {{0, 1}})};
  return op;
}

// RoI-point.

struct Ints {
  explicit Ints(const Arguments& a)
      : B(static_cast<int>(a[0].dim(0))),
        N(static_cast<int>(a[0].dim(1))),
        M(static_cast<int>(a[2].dim(1))),
        C(static_cast<int>(a[1].dim(2))),
        S(a.int32("num_sampled_points")) {}

  int B, N, M, C, S;
};

mluOpStatus_t query_points(const Arguments& a, size_t* bytes) {
  const Ints ints(a);
  return mluOpGetRoiPointPool3dWorkspaceSize(a.handle, ints.B, ints.N, ints.M, ints.C, ints.S, a[0].desc,
                                             a[1].desc, a[2].desc, a[3].desc, a[4].desc, bytes);
}

mluOpStatus_t run_points(const Arguments& a) {
  const Ints ints(a);
  return call(mluOpRoiPointPool3d, a.handle, ints.B, ints.N, ints.M, ints.C, ints.S, a[0], a[1], a[2], a.workspace,
              a.workspace_size, a[3], a[4]);
}

void expect_points(Arguments& a) {
  const Ints ints(a);
  with_element_type(a[0], [&]<class T>() {
    reference::roipoint_pool3d({ints.B, ints.N, ints.M, ints.C, ints.S}, a[0].as<T>(), a[1].as<T>(), a[2].as<T>(),
                               a[3].as<T>(), a[4].as<int32_t>());
  });
}

void fit_points(Case& c) {
  const int64_t B = c.inputs[0].dims[0], M = c.inputs[2].dims[1];
  set_shape(c.outputs[0], {B, M, c.parameters.integer("num_sampled_points"), 3 + c.inputs[1].dims[2]});
  set_shape(c.outputs[1], {B, M});
}

Case make_points(const Recipe& r) {
  checked_product({r["b"], r["m"], r["s"], r["c"]}, int64_t{1} << 40);
  Case c = new_case("roipoint_pool3d", r);
  c.parameters.message = "roipoint_pool3d_param";
  c.parameters.set("num_sampled_points", r["s"]);
  const BoxScene scene = make_box_scene(r, make_tensor("points", r.dtype, {r["b"], r["n"], 3}),
                                        make_tensor("boxes3d", r.dtype, {r["b"], r["m"], 7}));
  c.inputs = {scene.points,
              with_uniform(make_tensor("point_features", r.dtype, {r["b"], r["n"], r["c"]}), r.seed + 2),
              scene.boxes};
  c.outputs = {make_tensor("pooled_features", r.dtype), make_tensor("pooled_empty_flag", kInt)};
  fit_points(c);
  return c;
}

Operator roipoint() {
  Operator op;
  op.name = "roipoint_pool3d";
  op.function = "mluOpRoiPointPool3d";
  op.query_function = "mluOpGetRoiPointPool3dWorkspaceSize";
  op.tensors = {{"points", Role::kInput, {"batch", "point", "coordinate"}},
                {"point_features", Role::kInput, {"batch", "point", "channel"}},
                {"boxes3d", Role::kInput, {"batch", "box", "field"}},
                {"pooled_features", Role::kOutput, {"batch", "box", "sample", "channel"}},
                {"pooled_empty_flag", Role::kOutput, {"batch", "box"}}};
  op.query = query_points;
  op.run = run_points;
  op.expect = expect_points;
  op.copies = true;
  op.work = [](const Arguments& a) { return each_once(a, 3, 4 * a[4].count() * a[0].dim(1)); };
  op.sizes = {{"b", 2, 1, 4},  {"n", 200, 1, 1000}, {"m", 5, 1, 40}, {"c", 5, 1, 70},
              {"s", 8, 1, 60}, kSpecials,           kUniform};
  op.parallel_sizes = {{{"b", 2}, {"n", 2000}, {"m", 40}, {"c", 20}, {"s", 40}},
                       {{"b", 2}, {"n", 700}, {"m", 70}, {"c", 130}, {"s", 200}}};
  op.make = make_points;
  op.fit = fit_points;
  op.reductions = {axis_reduction("points", {{0, 1}, {1, 1}}), axis_reduction("boxes", {{2, 1}}, {{0, 1}, {1, 1}}),
                   axis_reduction("channels", {{1, 2}}),
                   axis_reduction("batches", {{0, 0}, {1, 0}, {2, 0}}, {{0, 0}, {1, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  std::vector<Operator> ops = {roiaware_forward(), roiaware_backward(), roipoint()};
  for (Operator& op : ops) {
    op.parameter_messages = {op.name + "_param"};
    for (TensorRule& tensor : op.tensors) tensor.other_layouts = kAnyLayout;
  }
  return ops;
}

}  // namespace mluop::cases::roi_pooling
