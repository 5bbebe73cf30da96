#include "reference/unique_rows.h"

#include "case/operators/shared/site_lists.h"

namespace mluop::cases::unique_rows {
namespace {

reference::RowList list_of(const Operand& rows) { return {rows.dim(0), rows.dim(1), rows.as<int32_t>()}; }

Tensor make_rows(const Recipe& r, const char* id, const char* count, int32_t seed) {
  return make_sites(id, r[count], r["c"] - 1, r["layout"], 1, seed);
}

void fit_unique(Case& c) {
  const int64_t N = c.inputs[0].dims[0];
  set_shape(c.outputs[0], {N});
  set_shape(c.outputs[1], {N});
  set_shape(c.outputs[2], {1});
}

Case make_unique(const Recipe& r) {
  Case c = new_case("unique_rows", r, {"ascending"});
  c.inputs = {make_rows(r, "rows", "n", r.seed)};
  c.outputs = {make_tensor("first", MLUOP_DTYPE_INT32), make_tensor("inverse", MLUOP_DTYPE_INT32),
               make_tensor("num", MLUOP_DTYPE_INT32)};
  fit_unique(c);
  return c;
}

void fit_union(Case& c) {
  const int64_t N = c.inputs[0].dims[0], M = c.inputs[1].dims[0];
  set_shape(c.outputs[0], {N + M, c.inputs[0].dims[1]});
  set_shape(c.outputs[1], {N});
  set_shape(c.outputs[2], {M});
  set_shape(c.outputs[3], {1});
}

Case make_union(const Recipe& r) {
  Case c = new_case("union_rows", r);
  c.inputs = {make_rows(r, "a", "n", r.seed), make_rows(r, "b", "m", r.seed + 1)};
  c.outputs = {make_tensor("rows", MLUOP_DTYPE_INT32), make_tensor("index_a", MLUOP_DTYPE_INT32),
               make_tensor("index_b", MLUOP_DTYPE_INT32), make_tensor("num", MLUOP_DTYPE_INT32)};
  fit_union(c);
  return c;
}

TensorRule tensor(const char* id, Role role, const std::vector<std::string>& axes,
                  const std::vector<size_t>& free_dims = {}) {
  return {id, role, axes, kAnyLayout, free_dims};
}

Operator unique_rows() {
  Operator op;
  op.name = "unique_rows";
  op.function = "mluOpOmpUniqueRows";
  op.query_function = "mluOpOmpGetUniqueRowsWorkspaceSize";
  op.parameter_messages = {"unique_rows_param"};
  op.tensors = {tensor("rows", Role::kInput, {"row", "column"}, {1}), tensor("first", Role::kOutput, {"row"}),
                tensor("inverse", Role::kOutput, {"row"}), tensor("num", Role::kOutput, {"element"})};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetUniqueRowsWorkspaceSize(a.handle, a[0].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpOmpUniqueRows, a.handle, a.integer("ascending") != 0, a[0], a.workspace, a.workspace_size,
                a[1], a[2], a[3]);
  };
  op.expect = [](Arguments& a) {
    *a[3].as<int32_t>() =
        reference::unique_rows(list_of(a[0]), a.integer("ascending") != 0, a[1].as<int32_t>(), a[2].as<int32_t>());
  };
  op.dtypes = {MLUOP_DTYPE_INT32};
  op.sizes = {{"n", 60, 1, 6000}, {"c", 4, 1, 8, false}, {"ascending", 0, 0, 1, false}, kSiteLayout};
  op.parallel_sizes = {{{"n", 6000}, {"layout", kSurface}},
                       {{"n", 6000}, {"layout", kBox}, {"ascending", 1}},
                       {{"n", 6000}, {"layout", kWide}}};
  // The voxels of a scan, and the rows of points in a pool of 8 voxels along each axis.
  op.networks = {{"minkunet 136000", {{"n", 136000}, {"layout", kSurface}}},
                 {"sparse_quantize 136000", {{"n", 136000}, {"ascending", 1}, {"layout", kSurface}}},
                 {"repeated 136000", {{"n", 136000}, {"layout", kBox}}}};
  op.make = make_unique;
  op.fit = fit_unique;
  op.reductions = {axis_reduction("rows", {{0, 0}})};
  return op;
}

Operator union_rows() {
  Operator op;
  op.name = "union_rows";
  op.function = "mluOpOmpUnionRows";
  op.query_function = "mluOpOmpGetUnionRowsWorkspaceSize";
  op.tensors = {tensor("a", Role::kInput, {"row", "column"}),     tensor("b", Role::kInput, {"row", "column"}),
                tensor("rows", Role::kOutput, {"row", "column"}), tensor("index_a", Role::kOutput, {"row"}),
                tensor("index_b", Role::kOutput, {"row"}),        tensor("num", Role::kOutput, {"element"})};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetUnionRowsWorkspaceSize(a.handle, a[0].desc, a[1].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpOmpUnionRows, a.handle, a[0], a[1], a.workspace, a.workspace_size, a[2], a[3], a[4], a[5]);
  };
  op.expect = [](Arguments& a) {
    *a[5].as<int32_t>() = reference::union_rows(list_of(a[0]), list_of(a[1]), a[2].as<int32_t>(),
                                                a[3].as<int32_t>(), a[4].as<int32_t>());
  };
  op.dtypes = {MLUOP_DTYPE_INT32};
  op.sizes = {{"n", 60, 1, 3000}, {"m", 40, 1, 3000}, {"c", 4, 1, 8, false}, kSiteLayout};
  op.parallel_sizes = {{{"n", 3000}, {"m", 3000}, {"layout", kSurface}},
                       {{"n", 5000}, {"m", 1000}, {"layout", kWide}}};
  op.networks = {{"100000 and 36000", {{"n", 100000}, {"m", 36000}, {"layout", kSurface}}}};
  op.make = make_union;
  op.fit = fit_union;
  op.reductions = {axis_reduction("rows of a", {{0, 0}}), axis_reduction("rows of b", {{1, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {unique_rows(), union_rows()}; }

}  // namespace mluop::cases::unique_rows
