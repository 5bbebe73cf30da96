#include "case/operators/shared/index_pair_reductions.h"

#include "case/description.h"

namespace mluop::cases {
namespace {

using Kept = std::vector<int64_t>;

constexpr size_t kPairs = 2;

// A pair of an input row and an output row.
struct Pair {
  size_t offset;
  int32_t rows[2];
};

// The pairs of the case, as counted by indice_num.
std::vector<Pair> pairs_of(const Case& c) {
  const std::vector<int64_t>& counts = c.parameters.list("indice_num");
  const auto values = values_of<int32_t>(c.inputs[kPairs]);
  const auto L = static_cast<size_t>(c.inputs[kPairs].dims[2]);
  std::vector<Pair> pairs;
  for (size_t k = 0; k < counts.size(); ++k) {
    for (size_t l = 0; l < static_cast<size_t>(counts[k]); ++l) {
      pairs.push_back({k, {values[2 * k * L + l], values[(2 * k + 1) * L + l]}});
    }
  }
  return pairs;
}

// Replaces indice_pairs and indice_num. Pairs of an offset beyond the first L are dropped.
void set_pairs(Case& c, const std::vector<Pair>& pairs, int64_t L) {
  Tensor& tensor = c.inputs[kPairs];
  tensor.dims[2] = L;
  std::vector<int32_t> values(static_cast<size_t>(element_count(tensor)), -1);
  std::vector<int64_t> counts(static_cast<size_t>(tensor.dims[0]));
  for (const auto& [offset, rows] : pairs) {
    if (counts[offset] == L) continue;
    const auto place = static_cast<size_t>(counts[offset]++), length = static_cast<size_t>(L);
    for (size_t side = 0; side < 2; ++side) values[(2 * offset + side) * length + place] = rows[side];
  }
  tensor = with_values(tensor, values);
  c.parameters.set("indice_num", counts);
}

// Keeps the pairs whose rows are among `kept` (side 0: input rows, 1: output rows), renumbered to positions in it.
void keep_rows(Case& c, size_t side, const Kept& kept, int64_t L) {
  const std::map<int32_t, int32_t> positions = positions_of(kept);
  std::vector<Pair> pairs;
  for (Pair pair : pairs_of(c)) {
    const auto found = positions.find(pair.rows[side]);
    // A negative index marks a skipped pair.
    if (found == positions.end() && pair.rows[side] >= 0) continue;
    if (found != positions.end()) pair.rows[side] = found->second;
    pairs.push_back(pair);
  }
  set_pairs(c, pairs, L);
}

}  // namespace

FilterDims filter_dims(mluOpTensorLayout_t layout, size_t rank) {
  switch (layout) {
    case MLUOP_LAYOUT_NDHWC:
    case MLUOP_LAYOUT_NHWC: return {1, rank - 1, 0};
    case MLUOP_LAYOUT_NCDHW:
    case MLUOP_LAYOUT_NCHW: return {2, 1, 0};
    default: return {0, rank - 2, rank - 1};
  }
}

Reduction pairs_reduction() {
  return {"pairs", [](const Case& c) { return static_cast<int64_t>(pairs_of(c).size()); },
          [](Case& c, const Kept& kept) {
            const std::vector<Pair> all = pairs_of(c);
            std::vector<Pair> pairs;
            for (const int64_t i : kept) pairs.push_back(all[static_cast<size_t>(i)]);
            set_pairs(c, pairs, c.inputs[kPairs].dims[2]);
          }};
}

Reduction input_rows_reduction(bool input, const ResultDims& result_dims) {
  return {"input rows", [](const Case& c) { return c.inputs[kPairs].dims[2]; },
          [input](Case& c, const Kept& kept) {
            if (input) c.inputs[0] = slices_of(c.inputs[0], 0, kept);
            keep_rows(c, 0, kept, static_cast<int64_t>(kept.size()));
          },
          result_dims};
}

Reduction output_rows_reduction(std::optional<size_t> input, const ResultDims& result_dims) {
  return {
      "output rows",
      [input](const Case& c) { return input ? c.inputs[*input].dims[0] : c.parameters.integer("num_active_out"); },
      [input](Case& c, const Kept& kept) {
        if (input) {
          c.inputs[*input] = slices_of(c.inputs[*input], 0, kept);
        } else {
          c.parameters.set("num_active_out", static_cast<int64_t>(kept.size()));
        }
        keep_rows(c, 1, kept, c.inputs[kPairs].dims[2]);
      },
      result_dims};
}

Reduction channels_reduction(const char* name, size_t FilterDims::*channel, std::optional<size_t> input,
                             const ResultDims& result_dims) {
  const auto dim_of = [channel](const Case& c) { return filter_dims(c.inputs[1]).*channel; };
  return {name, [dim_of](const Case& c) { return c.inputs[1].dims[dim_of(c)]; },
          [dim_of, input](Case& c, const Kept& kept) {
            c.inputs[1] = slices_of(c.inputs[1], dim_of(c), kept);
            if (input) c.inputs[*input] = slices_of(c.inputs[*input], 1, kept);
          },
          result_dims};
}

}  // namespace mluop::cases
