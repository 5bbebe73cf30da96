#include "reference/get_indice_pairs.h"

#include <array>

#include "case/api.h"
#include "case/description.h"

namespace mluop::cases::get_indice_pairs {
namespace {

// The arrays of the sparse convolution descriptor.
constexpr std::array<const char*, 6> kArrays = {"pad",         "stride",       "dilation",
                                                "input_space", "filter_space", "output_space"};

std::vector<int> array_of(const Arguments& a, const char* name) {
  const std::vector<int64_t>& values = a.parameters->list(name);
  const auto expected = static_cast<size_t>(std::max<int64_t>(int64_t{a.int32("dimnb")} - 2, 0));
  if (values.size() != expected) {
    fail(a.parameters->place, std::string(name) + " has " + std::to_string(values.size()) + " values, expected " +
                                  std::to_string(expected) + ", dimnb - 2");
  }
  return {values.begin(), values.end()};
}

mluOpStatus_t set(const Arguments& a, mluOpSparseConvolutionDescriptor_t desc) {
  std::array<std::vector<int>, kArrays.size()> arrays;
  for (size_t i = 0; i < kArrays.size(); ++i) arrays[i] = array_of(a, kArrays[i]);
  return mluOpSetSparseConvolutionDescriptor(desc, a.int32("dimnb"), a.int32("batch"), arrays[0].data(),
                                             arrays[1].data(), arrays[2].data(), arrays[3].data(),
                                             arrays[4].data(), arrays[5].data(), a.int32("sub_m"),
                                             a.int32("transpose"), a.int32("inverse"));
}

mluOpStatus_t query(const Arguments& a, size_t* bytes) {
  const SparseConvolutionDescriptor desc;
  const mluOpStatus_t status = set(a, desc);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return mluOpGetIndicePairsWorkspaceSize(a.handle, desc, a[0].desc, a[2].desc, a[1].desc, a[3].desc, bytes);
}

mluOpStatus_t run(const Arguments& a) {
  const SparseConvolutionDescriptor desc;
  mluOpStatus_t status = set(a, desc);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  status = call(mluOpGetIndicePairs, a.handle, mluOpSparseConvolutionDescriptor_t{desc}, a[0], a.workspace,
                a.workspace_size, a[2], a[1], a[3]);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  int num_act_out = 0;
  status = mluOpGetSparseConvolutionNumActOut(desc, &num_act_out);
  const Parameter* stated = a.parameters->find("num_act_out");
  if (stated != nullptr && stated->present && stated->integer != num_act_out) {
    throw Mismatch("num_act_out is " + std::to_string(num_act_out) + ", expected " +
                   std::to_string(stated->integer));
  }
  return status;
}

// The values along depth, height and width. Without depth, the first value is `missing`.
std::array<int32_t, 3> extent_of(const Arguments& a, const char* name, int32_t missing) {
  const std::vector<int> values = array_of(a, name);
  if (values.size() == 3) return {values[0], values[1], values[2]};
  return {missing, values[0], values[1]};
}

void expect(Arguments& a) {
  const auto columns = a[0].dims.size() == 2 ? static_cast<size_t>(a[0].dim(1)) : 0;
  reference::IndicePairsProblem problem;
  problem.batch_size = a.int32("batch");
  problem.input_space = extent_of(a, "input_space", 1);
  problem.output_space = extent_of(a, "output_space", 1);
  problem.kernel = extent_of(a, "filter_space", 1);
  problem.stride = extent_of(a, "stride", 1);
  problem.pad = extent_of(a, "pad", 0);
  problem.dilation = extent_of(a, "dilation", 1);
  problem.sub_m = a.integer("sub_m") != 0;
  std::fill_n(a[2].as<int32_t>(), a[2].count(), -1);
  std::fill_n(a[3].as<int32_t>(), a[3].count(), 0);
  if (a[0].count() == 0) return;
  for (int64_t l = 0; l < a[0].dim(0); ++l) {
    const int32_t* row = a[0].as<int32_t>() + l * static_cast<int64_t>(columns);
    problem.sites.push_back({row[0], columns == 4 ? row[1] : 0, row[columns - 2], row[columns - 1]});
  }
  const reference::IndicePairsResult result = reference::get_indice_pairs(problem);
  std::copy(result.indice_pairs.begin(), result.indice_pairs.end(), a[2].as<int32_t>());
  std::copy(result.indice_num.begin(), result.indice_num.end(), a[3].as<int32_t>());
  int32_t* out = a[1].as<int32_t>();
  for (const auto& site : result.outputs) {
    *out++ = site[0];
    for (size_t axis = columns == 4 ? 1 : 2; axis < 4; ++axis) *out++ = site[axis];
  }
}

void fit(Case& c) {
  const int64_t L = c.inputs[0].dims[0];
  int64_t K = 1;
  for (const int64_t extent : c.parameters.list("filter_space")) K = checked_product({K, extent}, INT64_MAX);
  int64_t cells = c.parameters.integer("batch");
  for (const int64_t extent : c.parameters.list("output_space")) {
    if (__builtin_mul_overflow(cells, extent, &cells)) cells = INT64_MAX;
  }
  const bool is_sub_m = c.parameters.integer("sub_m") != 0;
  const int64_t capacity = is_sub_m ? L : std::min(cells, checked_product({K, L}, INT64_MAX));
  set_shape(c.outputs[0], {capacity, c.inputs[0].dims[1]});
  set_shape(c.outputs[1], {K, 2, L});
  set_shape(c.outputs[2], {K});
}

// Sites spread over the grid or a corner of it, in ascending or any order, distinct or with repetitions.
std::vector<std::vector<int32_t>> draw_sites(const Recipe& r, const std::vector<int64_t>& space) {
  Integers random(r.seed);
  std::vector<int64_t> corner = space, first(space.size());
  const bool last_corner = r["corner"] > 0 && random.below(2) == 0;
  int64_t cells = r["batch"];
  for (size_t axis = 0; axis < space.size(); ++axis) {
    if (r["corner"] > 0) corner[axis] = std::min(space[axis], r["corner"]);
    if (last_corner) first[axis] = space[axis] - corner[axis];
    cells *= corner[axis];
  }
  const int64_t sites = std::min(r["sites"], cells);
  const int64_t cells_of_site = cells / std::max<int64_t>(sites, 1);
  std::vector<std::vector<int32_t>> rows;
  for (int64_t l = 0; l < sites; ++l) {
    int64_t cell = l * cells_of_site + random.below(cells_of_site);
    std::vector<int32_t> site(space.size() + 1);
    for (size_t axis = space.size(); axis > 0; --axis) {
      site[axis] = static_cast<int32_t>(first[axis - 1] + cell % corner[axis - 1]);
      cell /= corner[axis - 1];
    }
    site[0] = static_cast<int32_t>(cell);
    const bool repeats = r["repeated"] != 0 && l > 0 && random.below(2) == 0;
    rows.push_back(repeats ? rows.back() : site);
  }
  if (r["unordered"] == 0) return rows;
  for (size_t left = rows.size(); left > 1; --left) {
    std::swap(rows[left - 1], rows[static_cast<size_t>(random.below(static_cast<int64_t>(left)))]);
  }
  return rows;
}

// The convolution along an axis.
struct Axis {
  int64_t space, kernel, stride, dilation, pad, output;
};

// All axes have the kernel, stride and dilation of the recipe, and half the kernel as pad. With `uneven`, each
// axis has different values, up to these, and any output extent. A submanifold convolution keeps the sites of its
// input; other convolutions are strided or dilated.
std::vector<Axis> draw_axes(const Recipe& r) {
  std::vector<int64_t> space = {r["height"], r["width"]};
  if (r["two_dimensions"] == 0) space.insert(space.begin(), r["depth"]);
  const bool sub_m = r["sub_m"] != 0, is_uneven = r["uneven"] != 0;
  Integers random(static_cast<int32_t>(r["uneven"]));
  const auto up_to = [&](int64_t highest) { return is_uneven ? 1 + random.below(highest) : highest; };
  std::vector<Axis> axes;
  for (const int64_t extent : space) {
    Axis axis{extent, up_to(r["kernel"]), sub_m ? 1 : up_to(r["stride"]), 1, 0, extent};
    if (!sub_m && r["stride"] == 1) axis.dilation = up_to(r["dilation"]);
    axis.pad = is_uneven ? random.below(4) : axis.kernel / 2 * axis.dilation;
    const int64_t span = extent + 2 * axis.pad - axis.dilation * (axis.kernel - 1);
    if (!sub_m)
      axis.output = span < 1 || (is_uneven && random.below(4) == 0) ? up_to(70) : (span - 1) / axis.stride + 1;
    axes.push_back(axis);
  }
  return axes;
}

Case make(const Recipe& r) {
  Case c = new_case("get_indice_pairs", r, {"batch", "sub_m"});
  Parameters& p = c.parameters;
  if (r["stride"] == 0) fail({}, "stride is 0, expected at least 1");
  const int64_t kernel = r["kernel"], reach = checked_product({r["dilation"], kernel}) + 4;
  checked_product({r["sites"]});
  checked_product({r["sites"], kernel, kernel, kernel}, int64_t{1} << 62);
  checked_product({r["batch"], r["depth"] + reach, r["height"] + reach, r["width"] + reach}, int64_t{1} << 62);
  const std::vector<Axis> convolution = draw_axes(r);
  const auto axes = static_cast<int64_t>(convolution.size());
  const auto each_axis = [&](const char* name, int64_t Axis::*value) {
    std::vector<int64_t> values;
    for (const Axis& axis : convolution) values.push_back(axis.*value);
    p.set(name, values);
  };
  p.set("dimnb", axes + 2);
  each_axis("pad", &Axis::pad);
  each_axis("stride", &Axis::stride);
  each_axis("dilation", &Axis::dilation);
  each_axis("input_space", &Axis::space);
  each_axis("filter_space", &Axis::kernel);
  each_axis("output_space", &Axis::output);
  p.set("transpose", 0);
  p.set("inverse", 0);
  const std::vector<std::vector<int32_t>> rows = draw_sites(r, p.list("input_space"));
  std::vector<int32_t> indices;
  for (const auto& row : rows) indices.insert(indices.end(), row.begin(), row.end());
  const auto sites = static_cast<int64_t>(rows.size());
  c.inputs = {with_values(make_tensor("indices", MLUOP_DTYPE_INT32, {sites, axes + 1}), indices)};
  c.outputs = {make_tensor("out_indices", MLUOP_DTYPE_INT32), make_tensor("indice_pairs", MLUOP_DTYPE_INT32),
               make_tensor("indice_num", MLUOP_DTYPE_INT32)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "get_indice_pairs";
  op.refuses_200_series = true;
  op.function = "mluOpGetIndicePairs";
  op.query_function = "mluOpGetIndicePairsWorkspaceSize";
  op.tensors = {{"indices", Role::kInput, {"site", "coordinate"}},
                {"out_indices", Role::kKeptOutput, {"site", "coordinate"}},
                {"indice_pairs", Role::kOutput, {"offset", "side", "position"}},
                {"indice_num", Role::kOutput, {"offset"}}};
  for (TensorRule& tensor : op.tensors) tensor.other_layouts = kAnyLayout;
  op.tensors[1].free_dims = {0};
  op.parameter_messages = {"get_indice_pairs_param"};
  op.query = query;
  op.run = run;
  op.expect = expect;
  op.sizes = {{"batch", 2, 1, 4},
              {"depth", 4, 1, 1 << 19, false},
              {"height", 10, 1, 1 << 19, false},
              {"width", 12, 1, 1 << 19, false},
              {"sites", 60, 1, 400},
              {"kernel", 3, 1, 5},
              {"stride", 1, 1, 3, false},
              {"dilation", 1, 1, 3, false},
              {"two_dimensions", 0, 0, 1, false},
              {"sub_m", 0, 0, 1, false},
              {"unordered", 0, 0, 1, false},
              {"repeated", 0, 0, 1, false},
              {"corner", 0, 0, 20, false},
              {"uneven", 0, 0, INT16_MAX, false}};
  op.parallel_sizes = {
      {{"depth", 20}, {"height", 30}, {"width", 40}, {"sites", 3000}, {"stride", 2}},
      {{"depth", 20}, {"height", 30}, {"width", 40}, {"sites", 3000}, {"sub_m", 1}},
      {{"depth", 1 << 20}, {"height", 1 << 20}, {"width", 1 << 20}, {"sites", 3000}, {"stride", 2}}};
  op.dtypes = {MLUOP_DTYPE_INT32};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("sites", {{0, 0}})};
  return {op};
}

}  // namespace mluop::cases::get_indice_pairs
