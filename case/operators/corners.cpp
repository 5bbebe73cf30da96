#include "reference/corners.h"

#include "case/operators/shared/site_lists.h"

namespace mluop::cases::corners {
namespace {

// Points [n, 1 + d]: in the box layout random numbers; elsewhere beside random sites, in one of 8 on a border.
Tensor make_points(const Recipe& r, const Tensor& sites) {
  const int64_t columns = r["d"] + 1;
  Tensor points = make_tensor("points", MLUOP_DTYPE_FLOAT, {r["n"], columns});
  checked_product({r["n"], std::max<int64_t>(columns, int64_t{1} << std::clamp<int64_t>(r["d"], 0, kMostAxes)),
                   r["stride"] + 1});
  if (r["layout"] == kBox || r["m"] == 0) return with_uniform(points, r.seed + 1, -2, 2);
  Integers random(r.seed + 1);
  const std::vector<int32_t> rows = values_of<int32_t>(sites);
  std::vector<float> values;
  for (int64_t n = 0; n < r["n"]; ++n) {
    const int64_t m = random.below(r["m"]);
    const bool is_on_border = random.below(8) == 0;
    for (int64_t c = 0; c < columns; ++c) {
      const float cells = is_on_border ? 0 : static_cast<float>(random.below(1 << 16)) / (1 << 16);
      const float move = c == 0 ? 0 : cells * static_cast<float>(r["stride"]);
      values.push_back(static_cast<float>(rows[static_cast<size_t>(m * columns + c)]) + move);
    }
  }
  return with_values(points, values);
}

void fit(Case& c) {
  const Dims& points = c.inputs[0].dims;
  const int64_t axes = std::clamp<int64_t>(points[1] - 1, 0, kMostAxes);
  for (Tensor& output : c.outputs) set_shape(output, {points[0], int64_t{1} << axes});
}

Case make(const Recipe& r) {
  Case c = new_case("corners", r);
  const Tensor sites = make_sites("sites", r["m"], r["d"], r["layout"], r["stride"], r.seed);
  const std::vector<int32_t> strides(static_cast<size_t>(r["d"]), static_cast<int32_t>(r["stride"]));
  c.inputs = {make_points(r, sites), sites,
              with_values(make_tensor("strides", MLUOP_DTYPE_INT32, {r["d"]}), strides)};
  c.outputs = {make_tensor("corners", MLUOP_DTYPE_INT32), make_tensor("weights", MLUOP_DTYPE_FLOAT)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "corners";
  op.function = "mluOpOmpCorners";
  op.query_function = "mluOpOmpGetCornersWorkspaceSize";
  op.tensors = {{"points", Role::kInput, {"point", "column"}, kAnyLayout},
                {"sites", Role::kInput, {"site", "column"}, kAnyLayout, {0}},
                {"strides", Role::kInput, {"axis"}, kAnyLayout},
                {"corners", Role::kOutput, {"point", "corner"}, kAnyLayout},
                {"weights", Role::kOutput, {"point", "corner"}, kAnyLayout}};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetCornersWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpOmpCorners, a.handle, a[0], a[1], a[2], a.workspace, a.workspace_size, a[3], a[4]);
  };
  op.expect = [](Arguments& a) {
    reference::corners({a[0].dim(0), a[1].dim(0), a[0].dim(1) - 1}, a[0].as<float>(), a[1].as<int32_t>(),
                       a[2].as<int32_t>(), a[3].as<int32_t>(), a[4].as<float>());
  };
  // Four operations for each axis of a point, and a product for each corner.
  op.work = [](const Arguments& a) { return each_once(a, 3, 4 * a[0].count() + a[4].count()); };
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {{"n", 60, 1, 2000}, {"m", 80, 1, 2000}, {"d", 3, 1, 7}, {"stride", 1, 1, 4, false}, kSiteLayout};
  op.parallel_sizes = {{{"n", 3000}, {"m", 2000}, {"layout", kSurface}},
                       {{"n", 3000}, {"m", 1000}, {"stride", 3}},
                       {{"n", 2000}, {"m", 2000}, {"d", 4}, {"layout", kWide}}};
  // The points of a scene in voxels of its size, and in voxels of four times the size.
  op.networks = {{"minkunet 120000 in 40000", {{"n", 120000}, {"m", 40000}, {"layout", kSurface}}},
                 {"spvcnn s4 120000 in 8000", {{"n", 120000}, {"m", 8000}, {"stride", 4}, {"layout", kSurface}}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("points", {{0, 0}}, {{0, 0}, {1, 0}}),
                   axis_reduction("sites", {{1, 0}}, {}, {0})};
  return {op};
}

}  // namespace mluop::cases::corners
