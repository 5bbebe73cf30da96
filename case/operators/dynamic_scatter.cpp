#include <algorithm>
#include <map>

#include "case/description.h"
#include "reference/dynamic_scatter.h"

namespace mluop::cases::dynamic_scatter {
namespace {

mluOpReduceMode_t reduce_type(const Arguments& a) {
  return static_cast<mluOpReduceMode_t>(a.int32("reduce_type"));
}

reference::Reduction reduction_of(mluOpReduceMode_t reduce_type) {
  switch (reduce_type) {
    case MLUOP_REDUCE_DSUM: return reference::Reduction::kSum;
    case MLUOP_REDUCE_DMEAN: return reference::Reduction::kMean;
    case MLUOP_REDUCE_DMAX: break;
  }
  return reference::Reduction::kMax;
}

// Forward.

void expect_forward(Arguments& a) {
  const auto result = reference::dynamic_point_to_voxel_forward(reduction_of(reduce_type(a)), a[0].dim(0),
                                                                a[0].dim(1), a[0].as<float>(), a[1].as<int32_t>());
  std::copy(result.coors.begin(), result.coors.end(), a[1].as<int32_t>());
  std::copy(result.voxel_feats.begin(), result.voxel_feats.end(), a[2].as<float>());
  std::copy(result.voxel_coors.begin(), result.voxel_coors.end(), a[3].as<int32_t>());
  std::copy(result.point2voxel_map.begin(), result.point2voxel_map.end(), a[4].as<int32_t>());
  std::copy(result.voxel_points_count.begin(), result.voxel_points_count.end(), a[5].as<int32_t>());
  *a[6].as<int32_t>() = result.voxel_num;
}

// After a call: only the rows of voxels, without the coordinates of points outside, which it replaces.
Work work_forward(const Arguments& a) {
  const int64_t N = a[0].dim(0), C = a[0].dim(1), V = *a[6].as<int32_t>();
  return {a[0].bytes() + a[1].bytes(), (V * (C + 4) + N + 1) * int64_t{sizeof(float)}, 0};
}

void fit_forward(Case& c) {
  const int64_t N = c.inputs[0].dims[0], C = c.inputs[0].dims[1];
  const Dims shapes[] = {{N, C}, {N, 3}, {N}, {N}, {1}};
  for (size_t i = 0; i < c.outputs.size(); ++i) set_shape(c.outputs[i], shapes[i]);
  c.inputs[1].result.reset();
}

std::vector<int32_t> random_coordinates(const Recipe& r, Integers& random) {
  checked_product({r["n"], 3});
  std::vector<int32_t> coors;
  for (int64_t n = 0; n < r["n"]; ++n) {
    const int64_t grid = is_crowded(r, n) ? 1 : r["grid"];
    for (int axis = 0; axis < 3; ++axis) coors.push_back(random.below(grid));
    // One negative coordinate suffices to exclude a point from all voxels.
    if (random.below(8) == 0) coors[static_cast<size_t>(3 * n + random.below(3))] = -1 - random.below(1 << 30);
  }
  return coors;
}

Tensor coordinates(const Recipe& r) {
  const Tensor coors = make_tensor("coors", MLUOP_DTYPE_INT32, {r["n"], 3});
  if (element_count(coors) > r.max_inline && r["crowded"] == 0)
    return with_uniform(coors, r.seed, -1, static_cast<double>(r["grid"]));
  Integers random(r.seed);
  return with_values(coors, random_coordinates(r, random));
}

Case make_forward(const Recipe& r) {
  Case c = new_case("dynamic_point_to_voxel_forward", r, {"reduce_type"});
  c.inputs = {with_uniform(make_tensor("feats", MLUOP_DTYPE_FLOAT, {r["n"], r["c"]}), r.seed + 1), coordinates(r)};
  c.outputs = {make_tensor("voxel_feats", MLUOP_DTYPE_FLOAT), make_tensor("voxel_coors", MLUOP_DTYPE_INT32),
               make_tensor("point2voxel_map", MLUOP_DTYPE_INT32),
               make_tensor("voxel_points_count", MLUOP_DTYPE_INT32), make_tensor("voxel_num", MLUOP_DTYPE_INT32)};
  fit_forward(c);
  return c;
}

// Backward.

mluOpStatus_t query_backward(const Arguments& a, size_t* bytes) {
  return mluOpGetDynamicPointToVoxelBackwardWorkspaceSize(a.handle, reduce_type(a), a[0].desc, a[1].desc,
                                                          a[2].desc, a[3].desc, a[4].desc, a[5].desc, bytes);
}

void expect_backward(Arguments& a) {
  if (a[1].count() == 0 || a[2].count() == 0 || *a[5].as<int32_t>() == 0) return set_zero(a[6]);
  const reference::DynamicScatterBackwardSizes sizes{static_cast<int>(a[1].dim(0)), static_cast<int>(a[2].dim(0)),
                                                     static_cast<int>(a[1].dim(1)), *a[5].as<int32_t>()};
  const mluOpReduceMode_t reduce = reduce_type(a);
  if (reduce == MLUOP_REDUCE_DMAX) {
    return reference::dynamic_scatter_backward(sizes, a[0].as<float>(), a[1].as<float>(), a[2].as<float>(),
                                               a[3].as<int32_t>(), a[6].as<float>());
  }
  reference::dynamic_scatter_backward_of_sums(sizes, a[0].as<float>(), a[3].as<int32_t>(),
                                              reduce == MLUOP_REDUCE_DMEAN ? a[4].as<int32_t>() : nullptr,
                                              a[6].as<float>());
}

// Sum and mean read neither feats nor voxel_feats; the mean reads the numbers of points.
Work work_backward(const Arguments& a) {
  const mluOpReduceMode_t reduce = reduce_type(a);
  int64_t read_bytes = a[0].bytes() + a[3].bytes() + a[5].bytes();
  if (reduce == MLUOP_REDUCE_DMAX) read_bytes += a[1].bytes() + a[2].bytes();
  if (reduce == MLUOP_REDUCE_DMEAN) read_bytes += a[4].bytes();
  return {read_bytes, a[6].bytes(), 0};
}

void fit_backward(Case& c) { set_shape(c.outputs[0], c.inputs[1].dims); }

// A large case of a sum or a mean, which do not read feats and voxel_feats.
void describe_sums(const Recipe& r, Case& c) {
  const int64_t N = r["n"], C = r["c"], V = std::max<int64_t>(N * 4 / 5, 1);
  const mluOpDataType_t real = MLUOP_DTYPE_FLOAT, integer = MLUOP_DTYPE_INT32;
  c.inputs = {with_uniform(make_tensor("grad_voxel_feats", real, {V, C}), r.seed + 1),
              with_uniform(make_tensor("feats", real, {N, C}), r.seed + 2),
              with_uniform(make_tensor("voxel_feats", real, {V, C}), r.seed + 3),
              with_uniform(make_tensor("point2voxel_map", integer, {N}), r.seed + 4, -1, static_cast<double>(V)),
              with_uniform(make_tensor("voxel_points_count", integer, {V}), r.seed + 5, 1, 6),
              with_values<int32_t>(make_tensor("voxel_num", integer, {1}), {static_cast<int32_t>(V)})};
}

// Stores the tensors of a forward pass.
void hold_forward_pass(const Recipe& r, Case& c) {
  Integers random(r.seed);
  const std::vector<int32_t> coors = random_coordinates(r, random);
  const int64_t N = r["n"], C = r["c"];
  std::vector<float> feats;
  for (int64_t i = 0; i < N * C; ++i) feats.push_back(static_cast<float>(random.below(2001) - 1000) / 1000.0F);
  const auto forward = reference::dynamic_point_to_voxel_forward(
      reduction_of(static_cast<mluOpReduceMode_t>(r["reduce_type"])), N, C, feats.data(), coors.data());
  const int64_t V = forward.voxel_num;
  const mluOpDataType_t real = MLUOP_DTYPE_FLOAT, integer = MLUOP_DTYPE_INT32;
  c.inputs = {with_uniform(make_tensor("grad_voxel_feats", real, {V, C}), r.seed + 1),
              with_values(make_tensor("feats", real, {N, C}), feats),
              with_values(make_tensor("voxel_feats", real, {V, C}), forward.voxel_feats),
              with_values(make_tensor("point2voxel_map", integer, {N}), forward.point2voxel_map),
              with_values(make_tensor("voxel_points_count", integer, {V}), forward.voxel_points_count),
              with_values<int32_t>(make_tensor("voxel_num", integer, {1}), {forward.voxel_num})};
}

Case make_backward(const Recipe& r) {
  Case c = new_case("dynamic_point_to_voxel_backward", r, {"reduce_type"});
  if (checked_product({r["n"], r["c"]}) > r.max_inline && r["reduce_type"] != MLUOP_REDUCE_DMAX) {
    describe_sums(r, c);
  } else {
    hold_forward_pass(r, c);
  }
  c.outputs = {make_tensor("grad_feats", MLUOP_DTYPE_FLOAT)};
  fit_backward(c);
  return c;
}

// A subset of the voxels: points of other voxels get no voxel. N is at least M.
Reduction voxels_reduction() {
  return {"voxels",
          [](const Case& c) { return std::min<int64_t>(c.inputs[2].dims[0], values_of<int32_t>(c.inputs[5])[0]); },
          [](Case& c, const std::vector<int64_t>& kept) {
            for (const size_t input : {0U, 2U, 4U}) c.inputs[input] = slices_of(c.inputs[input], 0, kept);
            const std::map<int32_t, int32_t> positions = positions_of(kept);
            std::vector<int32_t> map = values_of<int32_t>(c.inputs[3]);
            for (int32_t& voxel : map) {
              const auto found = positions.find(voxel);
              voxel = found == positions.end() ? -1 : found->second;
            }
            c.inputs[3] = with_values(c.inputs[3], map);
            c.inputs[5] = with_values<int32_t>(c.inputs[5], {static_cast<int32_t>(kept.size())});
          }};
}

}  // namespace

std::vector<Operator> operators() {
  Operator forward;
  forward.name = "dynamic_point_to_voxel_forward";
  forward.refuses_200_series = true;
  forward.function = "mluOpDynamicPointToVoxelForward";
  forward.query_function = "mluOpGetDynamicPointToVoxelForwardWorkspaceSize";
  forward.tensors = {{"feats", Role::kInput, {"point", "channel"}},
                     {"coors", Role::kInOut, {"point", "coordinate"}},
                     {"voxel_feats", Role::kKeptOutput, {"voxel", "channel"}},
                     {"voxel_coors", Role::kKeptOutput, {"voxel", "coordinate"}},
                     {"point2voxel_map", Role::kOutput, {"point"}},
                     {"voxel_points_count", Role::kKeptOutput, {"voxel"}},
                     {"voxel_num", Role::kOutput, {"element"}}};
  for (TensorRule& tensor : forward.tensors) tensor.other_layouts = kAnyLayout;
  forward.parameter_messages = {"dynamic_point_to_voxel_forward_param"};
  forward.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetDynamicPointToVoxelForwardWorkspaceSize(a.handle, a[0].desc, a[1].desc, bytes);
  };
  forward.run = [](const Arguments& a) {
    return call(mluOpDynamicPointToVoxelForward, a.handle, reduce_type(a), a[0], a[1], a.workspace,
                a.workspace_size, a[2], a[3], a[4], a[5], a[6]);
  };
  forward.expect = expect_forward;
  forward.work = work_forward;
  forward.sizes = {{"n", 100, 1, 5000},
                   {"c", 4, 1, 70},
                   {"grid", 4, 1, 1 << 30, false},
                   {"reduce_type", MLUOP_REDUCE_DMAX, MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMAX, false},
                   kCrowded};
  forward.parallel_sizes = {{{"n", 3000}, {"c", 20}, {"grid", 12}, {"reduce_type", MLUOP_REDUCE_DMAX}},
                            {{"n", 3000}, {"c", 20}, {"grid", 12}, {"reduce_type", MLUOP_REDUCE_DMEAN}},
                            {{"n", 3000}, {"c", 20}, {"grid", 1}, {"reduce_type", MLUOP_REDUCE_DSUM}},
                            {{"n", 3000}, {"c", 20}, {"grid", 1 << 30}, {"reduce_type", MLUOP_REDUCE_DSUM}}};
  forward.dtypes = {MLUOP_DTYPE_FLOAT};
  forward.make = make_forward;
  forward.fit = fit_forward;
  forward.reductions = {axis_reduction("points", {{0, 0}, {1, 0}}), axis_reduction("channels", {{0, 1}})};
  Operator backward = forward;
  backward.name = "dynamic_point_to_voxel_backward";
  backward.parallel_sizes = {{{"n", 3000}, {"c", 20}, {"grid", 10}, {"reduce_type", MLUOP_REDUCE_DSUM}},
                             {{"n", 3000}, {"c", 20}, {"grid", 10}, {"reduce_type", MLUOP_REDUCE_DMEAN}},
                             {{"n", 3000}, {"c", 20}, {"grid", 10}, {"reduce_type", MLUOP_REDUCE_DMAX}}};
  backward.refuses_200_series = false;
  backward.aliases = {"dynamic_scatter_backward"};
  backward.function = "mluOpDynamicPointToVoxelBackward";
  backward.query_function = "mluOpGetDynamicPointToVoxelBackwardWorkspaceSize";
  backward.tensors = {
      {"grad_voxel_feats", Role::kInput, {"voxel", "channel"}}, {"feats", Role::kInput, {"point", "channel"}},
      {"voxel_feats", Role::kInput, {"voxel", "channel"}},      {"point2voxel_map", Role::kInput, {"point"}},
      {"voxel_points_count", Role::kInput, {"voxel"}},          {"voxel_num", Role::kInput, {"element"}},
      {"grad_feats", Role::kOutput, {"point", "channel"}}};
  for (TensorRule& tensor : backward.tensors) tensor.other_layouts = kAnyLayout;
  backward.parameter_messages = {"dynamic_point_to_voxel_backward_param", "dynamic_scatter_backward_param"};
  backward.query = query_backward;
  backward.run = [](const Arguments& a) {
    return call(mluOpDynamicPointToVoxelBackward, a.handle, reduce_type(a), a[0], a[1], a[2], a[3], a[4], a[5],
                a.workspace, a.workspace_size, a[6]);
  };
  backward.has_device_algorithm = true;
  backward.expect = expect_backward;
  backward.work = work_backward;
  backward.make = make_backward;
  backward.fit = fit_backward;
  backward.reductions = {voxels_reduction(), axis_reduction("points", {{1, 0}, {3, 0}}, {{0, 0}}),
                         axis_reduction("channels", {{0, 1}, {1, 1}, {2, 1}}, {{0, 1}})};
  return {forward, backward};
}

}  // namespace mluop::cases::dynamic_scatter
