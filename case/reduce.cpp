#include "case/reduce.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>

#include "case/call.h"
#include "case/data.h"
#include "case/description.h"
#include "case/operators.h"

namespace mluop::cases {
namespace {

using Indices = std::vector<int64_t>;

// `all` without [begin, end).
Indices without(const Indices& all, size_t begin, size_t end) {
  Indices rest(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin));
  rest.insert(rest.end(), all.begin() + static_cast<std::ptrdiff_t>(end), all.end());
  return rest;
}

// Results of outputs, inline; tensors without elements stand for missing results.
using Results = std::vector<Tensor>;

bool is_stated(const Tensor& output) { return output.elements.source == Elements::Source::kInline; }

// The oracle's results for the outputs in `stated`. Nothing if the library rejects the case.
std::optional<Results> right_results(const Case& the_case, const Results& stated) {
  Results results = stated;
  try {
    const LoadedCase loaded(the_case);
    const std::vector<Bytes> computed = oracle_results(loaded);
    for (Tensor& result : results) {
      if (!is_stated(result)) continue;
      for (size_t i = 0; i < computed.size(); ++i) {
        if (loaded.op().tensors[i].id == result.id) result.elements.bytes = computed[i];
      }
    }
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return results;
}

// Keeps the part of the results that belongs to `kept`. Returns false if they contain a position that is not kept.
bool keep_results(Results& results, const Reduction& reduction, const Indices& kept) {
  for (const auto& [output, dim] : reduction.result_dims) {
    Tensor& result = results[output];
    const int rank = static_cast<int>(result.dims.size());
    if (is_stated(result)) result = slices_of(result, static_cast<size_t>(dim < 0 ? rank + dim : dim), kept);
  }
  const std::map<int32_t, int32_t> positions = positions_of(kept);
  for (const size_t output : reduction.position_outputs) {
    if (!is_stated(results[output])) continue;
    std::vector<int32_t> values = values_of<int32_t>(results[output]);
    for (int32_t& value : values) {
      if (value < 0) continue;
      const auto position = positions.find(value);
      if (position == positions.end()) return false;
      value = position->second;
    }
    results[output] = with_values(results[output], values);
  }
  return true;
}

class Reducer {
 public:
  Reducer(const Case& the_case, const Operator& op, const Fails& fails) : op_(op), fails_(fails) {
    smallest_.the_case = the_case;
    if (std::none_of(the_case.outputs.begin(), the_case.outputs.end(), is_stated)) return;
    smallest_.stated = the_case.outputs;
    smallest_.right = right_results(the_case, the_case.outputs).value_or(Results());
  }

  const Case& smallest() const { return smallest_.the_case; }

  // Removes halves, then quarters, down to single elements, of one collection. Every attempt keeps at least one
  // element.
  void reduce_collection(const Reduction& reduction) {
    const Reduced whole = smallest_;
    Indices kept(static_cast<size_t>(reduction.count(whole.the_case)));
    std::iota(kept.begin(), kept.end(), int64_t{0});
    for (size_t length = (kept.size() + 1) / 2; length >= 1 && kept.size() > 1;
         length = length == 1 ? 0 : (length + 1) / 2) {
      for (size_t begin = 0; begin < kept.size() && kept.size() > 1;) {
        const size_t end = std::min(begin + length, kept.size());
        const Indices rest = without(kept, begin, end);
        begin = end;
        if (rest.empty()) continue;
        std::optional<Reduced> smaller = part_of(whole, reduction, rest);
        if (!smaller || !fails_(smaller->the_case)) continue;
        begin -= kept.size() - rest.size();
        kept = rest;
        smallest_ = std::move(*smaller);
      }
    }
  }

 private:
  // A case and, if it states results, its results and the results of the oracle.
  struct Reduced {
    Case the_case;
    Results stated = {}, right = {};
  };

  // Nothing if the stated results do not match the remaining case.
  std::optional<Reduced> part_of(const Reduced& whole, const Reduction& reduction, const Indices& kept) const {
    Reduced part = whole;
    reduction.keep(part.the_case, kept);
    op_.fit(part.the_case);
    if (part.stated.empty()) return part;
    if (part.right.empty() || !keep_results(part.stated, reduction, kept) ||
        !keep_results(part.right, reduction, kept)) {
      return std::nullopt;
    }
    for (size_t i = 0; i < part.stated.size(); ++i) {
      Tensor& output = part.the_case.outputs[i];
      if (!is_stated(part.stated[i])) continue;
      if (output.dims != part.stated[i].dims) return std::nullopt;
      output.elements = part.stated[i].elements;
    }
    const std::optional<Results> results = right_results(part.the_case, part.right);
    const auto is_same = [](const Tensor& a, const Tensor& b) { return a.elements.bytes == b.elements.bytes; };
    if (!results || !std::equal(results->begin(), results->end(), part.right.begin(), is_same)) {
      return std::nullopt;
    }
    return part;
  }

  const Operator& op_;
  const Fails& fails_;
  Reduced smallest_;
};

}  // namespace

Case self_contained(const Case& the_case, bool with_results) {
  const Operator& op = operator_of(the_case.op_name, the_case.place);
  const std::vector<BoundTensor> bound = bind(the_case, op);
  const std::string folder = std::filesystem::path(the_case.file).parent_path().string();
  Case result = the_case;
  result.inputs.clear();
  result.outputs.clear();
  for (size_t i = 0; i < bound.size(); ++i) {
    if (bound[i].tensor->is_null()) continue;
    const bool is_input = op.tensors[i].is_read();
    Tensor& tensor = (is_input ? result.inputs : result.outputs).emplace_back(*bound[i].tensor);
    tensor.id = op.tensors[i].id;
    tensor.elements = {};
    tensor.initial.reset();
    tensor.result.reset();
    const auto fill = [&](Elements& elements, const Elements& source) {
      elements.source = Elements::Source::kInline;
      elements.bytes = load(*bound[i].tensor, source, folder);
    };
    if (bound[i].before != nullptr) fill(is_input ? tensor.elements : tensor.initial.emplace(), *bound[i].before);
    if (with_results && !is_input && bound[i].after != nullptr) fill(tensor.elements, *bound[i].after);
  }
  for (Parameter& parameter : result.parameters.all) {
    if (parameter.name == "num_act_out") parameter.present = false;
  }
  return result;
}

Case reduce(const Case& the_case, const Fails& fails, std::ostream& progress) {
  const Operator& op = operator_of(the_case.op_name, the_case.place);
  Reducer reducer(the_case, op, fails);
  // Stated results depend on most of the inputs until few of them are left.
  const bool has_results = std::any_of(the_case.outputs.begin(), the_case.outputs.end(), is_stated);
  std::vector<Reduction> reductions = op.reductions;
  std::stable_partition(reductions.begin(), reductions.end(), [&](const Reduction& reduction) {
    return !has_results || !reduction.result_dims.empty();
  });
  // An element that one collection no longer needs may have been needed by another.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Reduction& reduction : reductions) {
      const int64_t before = reduction.count(reducer.smallest());
      if (before <= 1) continue;
      reducer.reduce_collection(reduction);
      const int64_t after = reduction.count(reducer.smallest());
      if (after == before) continue;
      progress << reduction.name << ": " << before << " -> " << after << '\n';
      changed = true;
    }
  }
  return reducer.smallest();
}

}  // namespace mluop::cases
