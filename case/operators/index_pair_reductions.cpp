#include "case/operators/index_pair_reductions.h"

#include "case/operators/rulebook.h"
#include "case/operators/support.h"

namespace mluop::cases {
namespace {

constexpr size_t kPairs = 2;

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

Reduction pairs_reduction(void (*fit)(Case&)) {
  return {"pairs", [](const Case& c) { return pair_count(rulebook_of(c)); },
          [fit](const Case& c, const std::vector<int64_t>& kept) {
            Case smaller = c;
            set_rulebook(smaller, kept_pairs(rulebook_of(c), kept), c.inputs[kPairs].dims[2]);
            fit(smaller);
            return smaller;
          }};
}

Reduction input_rows_reduction(bool input, void (*fit)(Case&)) {
  return {"input rows", [](const Case& c) { return c.inputs[kPairs].dims[2]; },
          [input, fit](const Case& c, const std::vector<int64_t>& kept) {
            Case smaller = c;
            if (input) smaller.inputs[0] = slices_of(c.inputs[0], 0, kept);
            set_rulebook(smaller, with_rows(rulebook_of(c), 0, kept), static_cast<int64_t>(kept.size()));
            fit(smaller);
            return smaller;
          }};
}

Reduction output_rows_reduction(std::optional<size_t> input, void (*fit)(Case&)) {
  return {
      "output rows",
      [input](const Case& c) { return input ? c.inputs[*input].dims[0] : c.parameters.integer("num_active_out"); },
      [input, fit](const Case& c, const std::vector<int64_t>& kept) {
        Case smaller = c;
        if (input) {
          smaller.inputs[*input] = slices_of(c.inputs[*input], 0, kept);
        } else {
          smaller.parameters.set("num_active_out", static_cast<int64_t>(kept.size()));
        }
        set_rulebook(smaller, with_rows(rulebook_of(c), 1, kept), c.inputs[kPairs].dims[2]);
        fit(smaller);
        return smaller;
      }};
}

Reduction channels_reduction(const char* name, size_t FilterDims::*channel, std::optional<size_t> input,
                             void (*fit)(Case&)) {
  const auto dim_of = [channel](const Case& c) {
    return filter_dims(c.inputs[1].layout, c.inputs[1].dims.size()).*channel;
  };
  return {name, [dim_of](const Case& c) { return c.inputs[1].dims[dim_of(c)]; },
          [dim_of, input, fit](const Case& c, const std::vector<int64_t>& kept) {
            Case smaller = c;
            smaller.inputs[1] = slices_of(c.inputs[1], dim_of(c), kept);
            if (input) smaller.inputs[*input] = slices_of(c.inputs[*input], 1, kept);
            fit(smaller);
            return smaller;
          }};
}

}  // namespace mluop::cases
