#include "case/reduce.h"

#include <filesystem>
#include <numeric>
#include <ostream>

#include "case/data.h"
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

// Removes halves, then quarters, down to single elements, of one collection. Every attempt keeps at least one.
Case reduce_collection(const Case& the_case, const Operator& op, const Reduction& reduction, const Fails& fails) {
  Case smallest = the_case;
  Indices kept(static_cast<size_t>(reduction.count(the_case)));
  std::iota(kept.begin(), kept.end(), int64_t{0});
  for (size_t length = (kept.size() + 1) / 2; length >= 1 && kept.size() > 1;
       length = length == 1 ? 0 : (length + 1) / 2) {
    for (size_t begin = 0; begin < kept.size() && kept.size() > 1;) {
      const size_t end = std::min(begin + length, kept.size());
      const Indices rest = without(kept, begin, end);
      begin = end;
      if (rest.empty()) continue;
      Case smaller = the_case;
      reduction.keep(smaller, rest);
      op.fit(smaller);
      if (!fails(smaller)) continue;
      begin -= kept.size() - rest.size();
      kept = rest;
      smallest = std::move(smaller);
    }
  }
  return smallest;
}

}  // namespace

Case self_contained(const Case& the_case) {
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
    if (bound[i].before == nullptr) continue;
    Elements& before = is_input ? tensor.elements : tensor.initial.emplace();
    before.source = Elements::Source::kInline;
    before.bytes = load(*bound[i].tensor, *bound[i].before, folder);
  }
  for (Parameter& parameter : result.parameters.all) {
    if (parameter.name == "num_act_out") parameter.present = false;
  }
  return result;
}

Case reduce(const Case& the_case, const Fails& fails, std::ostream& progress) {
  const Operator& op = operator_of(the_case.op_name, the_case.place);
  Case smallest = the_case;
  // What one collection no longer needs, another may have needed.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Reduction& reduction : op.reductions) {
      const int64_t before = reduction.count(smallest);
      if (before <= 1) continue;
      smallest = reduce_collection(smallest, op, reduction, fails);
      const int64_t after = reduction.count(smallest);
      if (after == before) continue;
      progress << reduction.name << ": " << before << " -> " << after << '\n';
      changed = true;
    }
  }
  return smallest;
}

}  // namespace mluop::cases
