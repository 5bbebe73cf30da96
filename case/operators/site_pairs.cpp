#include "reference/site_pairs.h"

#include <set>

#include "case/operators/shared/site_lists.h"

namespace mluop::cases::site_pairs {
namespace {

// The outputs of a generated case.
enum Outputs : int64_t {
  kDrawn,   // other sites like the inputs; distinct if they are more than the inputs
  kInputs,  // the inputs
  kFloors,  // the distinct inputs with coordinates floored to multiples of 2 steps, ascending
};

// Offsets [k, d]: the first k of a cube about the origin, or from the origin on if its side is even, the last axis
// fastest; each coordinate a multiple of the step. In the wide layout, some are the largest numbers.
Tensor make_offsets(const Recipe& r) {
  const int64_t K = r["k"], D = r["d"];
  checked_product({K, D + 1});
  const auto cube_of = [&](int64_t side) {
    int64_t count = 1;
    for (int64_t axis = 0; axis < D && count < K; ++axis) count *= side;
    return count;
  };
  int64_t side = 1;
  while (D > 0 && cube_of(side) < K) ++side;
  Integers random(r.seed + 2);
  std::vector<int32_t> values(static_cast<size_t>(K * D));
  for (int64_t k = 0; k < K; ++k) {
    int64_t cell = k;
    for (int64_t d = D; d > 0; --d, cell /= side) {
      int64_t offset = (cell % side - (side - 1) / 2) * r["step"];
      if (r["layout"] == kWide && random.below(8) == 0) offset = random.below(2) == 0 ? INT32_MIN : INT32_MAX;
      values[static_cast<size_t>(k * D + d - 1)] = static_cast<int32_t>(offset);
    }
  }
  return with_values(make_tensor("offsets", MLUOP_DTYPE_INT32, {K, D}), values);
}

// The distinct sites of a tensor, ascending, with coordinates floored to multiples.
Tensor distinct_floors(const Tensor& sites, int64_t multiple) {
  const std::vector<int32_t> values = values_of<int32_t>(sites);
  const auto columns = static_cast<std::ptrdiff_t>(sites.dims[1]);
  std::set<std::vector<int32_t>> floors;
  for (auto row = values.begin(); row != values.end(); row += columns) {
    std::vector<int32_t> site(row, row + columns);
    for (size_t d = 1; d < site.size(); ++d) {
      site[d] = static_cast<int32_t>(site[d] - ((site[d] % multiple) + multiple) % multiple);
    }
    floors.insert(site);
  }
  std::vector<int32_t> floored;
  for (const auto& site : floors) floored.insert(floored.end(), site.begin(), site.end());
  return with_values(make_tensor("outputs", MLUOP_DTYPE_INT32, {static_cast<int64_t>(floors.size()), columns}),
                     floored);
}

Tensor make_outputs(const Recipe& r, const Tensor& inputs) {
  if (r["outputs"] == kFloors) return distinct_floors(inputs, 2 * r["step"]);
  Tensor outputs = inputs;
  outputs.id = outputs.place.field = "outputs";
  if (r["outputs"] == kInputs) return outputs;
  outputs = make_sites("outputs", r["m"], r["d"], r["layout"], r["step"], r.seed + 1);
  // Repeated outputs may have no more pairs than there are inputs.
  return r["m"] > r["n"] ? distinct_floors(outputs, 1) : outputs;
}

void fit(Case& c) {
  const int64_t N = c.inputs[0].dims[0], K = c.inputs[2].dims[0];
  set_shape(c.outputs[0], {K, 2, N});
  set_shape(c.outputs[1], {K});
}

Case make(const Recipe& r) {
  Case c = new_case("site_pairs", r);
  checked_product({r["n"], r["k"], 2});
  const Tensor inputs = make_sites("inputs", r["n"], r["d"], r["layout"], r["step"], r.seed);
  c.inputs = {inputs, make_outputs(r, inputs), make_offsets(r)};
  c.outputs = {make_tensor("indice_pairs", MLUOP_DTYPE_INT32), make_tensor("indice_num", MLUOP_DTYPE_INT32)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "site_pairs";
  op.function = "mluOpOmpSitePairs";
  op.query_function = "mluOpOmpGetSitePairsWorkspaceSize";
  op.tensors = {{"inputs", Role::kInput, {"site", "column"}},
                {"outputs", Role::kInput, {"site", "column"}},
                {"offsets", Role::kInput, {"offset", "axis"}},
                {"indice_pairs", Role::kOutput, {"offset", "side", "position"}},
                {"indice_num", Role::kOutput, {"offset"}}};
  for (TensorRule& tensor : op.tensors) tensor.other_layouts = kAnyLayout;
  op.tensors[1].free_dims = {0};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetSitePairsWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpOmpSitePairs, a.handle, a[0], a[1], a[2], a.workspace, a.workspace_size, a[3], a[4]);
  };
  op.expect = [](Arguments& a) {
    const reference::SitePairsProblem problem{a[0].dim(0),       a[1].dim(0),        a[2].dim(0),
                                              a[2].dim(1),       a[0].as<int32_t>(), a[1].as<int32_t>(),
                                              a[2].as<int32_t>()};
    reference::site_pairs(problem, a[3].as<int32_t>(), a[4].as<int32_t>());
  };
  op.dtypes = {MLUOP_DTYPE_INT32};
  op.sizes = {{"n", 60, 1, 400}, {"m", 50, 1, 400},        {"k", 9, 1, 30},
              {"d", 3, 1, 7},    {"step", 1, 1, 6, false}, {"outputs", kDrawn, kDrawn, kFloors, false},
              kSiteLayout};
  // Few offsets for the tasks, and many; one key for each site, and several.
  op.parallel_sizes = {{{"n", 3000}, {"m", 2000}, {"k", 1}, {"layout", kSurface}},
                       {{"n", 2000}, {"k", 125}, {"outputs", kInputs}, {"layout", kSurface}},
                       {{"n", 2000}, {"k", 8}, {"outputs", kFloors}, {"step", 3}, {"layout", kSurface}},
                       {{"n", 2000}, {"m", 1000}, {"k", 27}, {"outputs", kInputs}, {"layout", kWide}}};
  op.networks = {
      {"minkunet k3 136000x27", {{"n", 136000}, {"k", 27}, {"outputs", kInputs}, {"layout", kSurface}}},
      {"minkunet k2 s2 136000x8", {{"n", 136000}, {"k", 8}, {"outputs", kFloors}, {"layout", kSurface}}},
      {"minkunet k5 30000x125", {{"n", 30000}, {"k", 125}, {"outputs", kInputs}, {"layout", kSurface}}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("inputs", {{0, 0}}), axis_reduction("outputs", {{1, 0}}),
                   axis_reduction("offsets", {{2, 0}}, {{0, 0}, {1, 0}})};
  return {op};
}

}  // namespace mluop::cases::site_pairs
