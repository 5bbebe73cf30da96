#include "reference/reached_sites.h"

#include "case/operators/shared/site_lists.h"

namespace mluop::cases::reached_sites {
namespace {

// Offsets [k, d]: the first k of a cube about the origin, the last axis fastest; in the box layout random, some of
// them equal.
Tensor make_offsets(const Recipe& r) {
  const int64_t K = r["k"], D = r["d"];
  checked_product({r["n"], K, D + 1});
  const auto cube_of = [&](int64_t side) {
    int64_t count = 1;
    for (int64_t axis = 0; axis < D && count < K; ++axis) count *= side;
    return count;
  };
  int64_t side = 1;
  while (D > 0 && cube_of(side) < K) ++side;
  Integers random(r.seed + 1);
  std::vector<int32_t> values(static_cast<size_t>(K * D));
  for (int64_t k = 0; k < K; ++k) {
    int64_t cell = k;
    for (int64_t d = D; d > 0; --d, cell /= side) {
      const int64_t offset = r["layout"] == kBox ? random.below(5) - 2 : cell % side - (side - 1) / 2;
      values[static_cast<size_t>(k * D + d - 1)] = static_cast<int32_t>(offset);
    }
  }
  return with_values(make_tensor("offsets", MLUOP_DTYPE_INT32, {K, D}), values);
}

// The multiple of the recipe along the first axis; one more along each further axis in the box layout.
Tensor make_multiples(const Recipe& r) {
  std::vector<int32_t> values;
  for (int64_t d = 0; d < r["d"]; ++d) {
    values.push_back(static_cast<int32_t>(r["multiple"] + (r["layout"] == kBox ? d % 2 : 0)));
  }
  return with_values(make_tensor("multiples", MLUOP_DTYPE_INT32, {r["d"]}), values);
}

Tensor make_input_sites(const Recipe& r) {
  return make_sites("sites", r["n"], r["d"], r["layout"], r["step"], r.seed);
}

reference::SiteList list_of(const Arguments& a, const Operand& multiples) {
  return {a[0].dim(0), a[0].dim(1) - 1, a[0].as<int32_t>(), multiples.as<int32_t>()};
}

void fit_reached(Case& c) {
  const Dims &sites = c.inputs[0].dims, &offsets = c.inputs[1].dims;
  set_shape(c.outputs[0], {sites[0] * offsets[0], sites[1]});
  set_shape(c.outputs[1], {1});
}

Case make_reached(const Recipe& r) {
  Case c = new_case("reached_sites", r);
  c.inputs = {make_input_sites(r), make_offsets(r), make_multiples(r)};
  c.outputs = {make_tensor("reached", MLUOP_DTYPE_INT32), make_tensor("num", MLUOP_DTYPE_INT32)};
  fit_reached(c);
  return c;
}

void fit_floors(Case& c) {
  const Dims sites = c.inputs[0].dims;
  set_shape(c.outputs[0], sites);
  set_shape(c.outputs[1], {sites[0]});
  set_shape(c.outputs[2], {1});
}

Case make_floors(const Recipe& r) {
  Case c = new_case("floor_sites", r);
  c.inputs = {make_input_sites(r), make_multiples(r)};
  c.outputs = {make_tensor("floors", MLUOP_DTYPE_INT32), make_tensor("inverse", MLUOP_DTYPE_INT32),
               make_tensor("num", MLUOP_DTYPE_INT32)};
  fit_floors(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const auto tensor = [](const char* id, Role role, const std::vector<std::string>& axes) {
    return TensorRule{id, role, axes, kAnyLayout};
  };
  Operator reached;
  reached.name = "reached_sites";
  reached.function = "mluOpOmpReachedSites";
  reached.query_function = "mluOpOmpGetReachedSitesWorkspaceSize";
  reached.tensors = {
      tensor("sites", Role::kInput, {"site", "column"}), tensor("offsets", Role::kInput, {"offset", "axis"}),
      tensor("multiples", Role::kInput, {"axis"}), tensor("reached", Role::kOutput, {"site", "column"}),
      tensor("num", Role::kOutput, {"element"})};
  reached.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetReachedSitesWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, bytes);
  };
  reached.run = [](const Arguments& a) {
    return call(mluOpOmpReachedSites, a.handle, a[0], a[1], a[2], a.workspace, a.workspace_size, a[3], a[4]);
  };
  reached.expect = [](Arguments& a) {
    *a[4].as<int32_t>() =
        reference::reached_sites(list_of(a, a[2]), a[1].dim(0), a[1].as<int32_t>(), a[3].as<int32_t>());
  };
  // An addition for each coordinate of a sum.
  reached.work = [](const Arguments& a) { return each_once(a, 3, a[3].count()); };
  reached.dtypes = {MLUOP_DTYPE_INT32};
  reached.sizes = {{"n", 60, 1, 400},        {"k", 8, 1, 27}, {"d", 3, 1, 7}, {"multiple", 2, 1, 4, false},
                   {"step", 1, 1, 3, false}, kSiteLayout};
  reached.parallel_sizes = {{{"n", 600}, {"k", 27}, {"multiple", 1}, {"layout", kSurface}},
                            {{"n", 2000}, {"k", 8}, {"d", 4}},
                            {{"n", 900}, {"k", 9}, {"d", 5}, {"multiple", 1}, {"layout", kWide}}};
  // Convolutions: a generative one that doubles the resolution, one that expands its coordinates, a strided one.
  reached.networks = {
      {"generative k2 s2 136000x8", {{"n", 136000}, {"k", 8}, {"multiple", 1}, {"step", 2}, {"layout", kSurface}}},
      {"expanding k3 136000x27", {{"n", 136000}, {"k", 27}, {"multiple", 1}, {"layout", kSurface}}},
      {"strided k3 s2 136000x27", {{"n", 136000}, {"k", 27}, {"multiple", 2}, {"layout", kSurface}}}};
  reached.make = make_reached;
  reached.fit = fit_reached;
  reached.reductions = {axis_reduction("sites", {{0, 0}}), axis_reduction("offsets", {{1, 0}})};

  Operator floors = reached;
  floors.name = "floor_sites";
  floors.function = "mluOpOmpFloorSites";
  floors.query_function = "mluOpOmpGetFloorSitesWorkspaceSize";
  floors.tensors = {tensor("sites", Role::kInput, {"site", "column"}), tensor("multiples", Role::kInput, {"axis"}),
                    tensor("floors", Role::kOutput, {"site", "column"}),
                    tensor("inverse", Role::kOutput, {"site"}), tensor("num", Role::kOutput, {"element"})};
  floors.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetFloorSitesWorkspaceSize(a.handle, a[0].desc, a[1].desc, bytes);
  };
  floors.run = [](const Arguments& a) {
    return call(mluOpOmpFloorSites, a.handle, a[0], a[1], a.workspace, a.workspace_size, a[2], a[3], a[4]);
  };
  floors.expect = [](Arguments& a) {
    *a[4].as<int32_t>() = reference::floor_sites(list_of(a, a[1]), a[2].as<int32_t>(), a[3].as<int32_t>());
  };
  // A division and a subtraction for each coordinate.
  floors.work = [](const Arguments& a) { return each_once(a, 2, 2 * a[0].count()); };
  floors.sizes = {
      {"n", 60, 1, 6000}, {"d", 3, 1, 7}, {"multiple", 2, 1, 4, false}, {"step", 1, 1, 3, false}, kSiteLayout};
  floors.parallel_sizes = {{{"n", 6000}, {"layout", kSurface}},
                           {{"n", 6000}, {"d", 5}, {"layout", kWide}},
                           {{"n", 6000}, {"multiple", 3}}};
  floors.networks = {{"minkunet s2 136000", {{"n", 136000}, {"layout", kSurface}}}};
  floors.make = make_floors;
  floors.fit = fit_floors;
  floors.reductions = {axis_reduction("sites", {{0, 0}}, {{1, 0}})};
  return {reached, floors};
}

}  // namespace mluop::cases::reached_sites
