#include "case/operators.h"

#include <algorithm>
#include <utility>

#include "case/near.h"
#include "case/values.h"

namespace mluop::cases {

// The tables: operators() of the namespace that each file of operators/ is named after. CMake lists the files.
#define MLUOP_FAMILY(NAME)           \
  namespace NAME {                   \
  std::vector<Operator> operators(); \
  }
#include "families.inc"
#undef MLUOP_FAMILY

namespace {

std::vector<std::string> ids_of(const Operator& op, bool outputs) {
  std::vector<std::string> ids;
  for (const TensorRule& rule : op.tensors) {
    if (rule.is_read() != outputs) ids.push_back(rule.id);
  }
  return ids;
}

const TensorRule* rule_of(const Operator& op, const std::string& id) {
  const auto found =
      std::find_if(op.tensors.begin(), op.tensors.end(), [&](const TensorRule& rule) { return rule.id == id; });
  return found == op.tensors.end() ? nullptr : &*found;
}

BoundTensor bound_tensor(const Tensor& tensor, bool is_output) {
  const auto pointer = [](const std::optional<Elements>& elements) { return elements ? &*elements : nullptr; };
  if (!is_output) return {&tensor, &tensor.elements, pointer(tensor.result)};
  const bool stated = tensor.elements.source != Elements::Source::kNone;
  return {&tensor, pointer(tensor.initial), stated ? &tensor.elements : nullptr};
}

int64_t bytes_of(const Case& the_case) {
  size_t bytes = 0;
  for (const auto* list : {&the_case.inputs, &the_case.outputs}) {
    for (const Tensor& tensor : *list) bytes += span_bytes(tensor);
  }
  return static_cast<int64_t>(bytes);
}

bool all_ids_are_names(const Case& the_case, const Operator& op) {
  const auto is_name = [&](const Tensor& tensor) { return rule_of(op, tensor.id) != nullptr; };
  return std::all_of(the_case.inputs.begin(), the_case.inputs.end(), is_name) &&
         std::all_of(the_case.outputs.begin(), the_case.outputs.end(), is_name);
}

const Tensor kAbsent{.id = "NULL", .dims = {0}};

size_t required_count(const Operator& op, bool outputs) {
  return static_cast<size_t>(std::ranges::count_if(
      op.tensors, [&](const TensorRule& rule) { return rule.is_read() != outputs && !rule.is_optional; }));
}

std::vector<BoundTensor> bind_by_id(const Case& the_case, const Operator& op) {
  std::vector<BoundTensor> bound(op.tensors.size(), BoundTensor{nullptr, nullptr, nullptr});
  const auto bind_one = [&](const Tensor& tensor, bool is_output) {
    const TensorRule* rule = rule_of(op, tensor.id);
    BoundTensor& slot = bound[static_cast<size_t>(rule - op.tensors.data())];
    if (slot.tensor != nullptr) fail(tensor.place, "a second tensor " + tensor.id);
    if (is_output ? !rule->is_written() : !rule->is_read()) {
      fail(tensor.place, tensor.id + (is_output ? " is an input of " : " is an output of ") + op.name);
    }
    slot = bound_tensor(tensor, is_output);
  };
  for (const Tensor& tensor : the_case.inputs) bind_one(tensor, false);
  for (const Tensor& tensor : the_case.outputs) bind_one(tensor, true);
  for (size_t i = 0; i < bound.size(); ++i) {
    if (bound[i].tensor != nullptr) continue;
    if (!op.tensors[i].is_optional) fail(the_case.place, op.name + ": tensor " + op.tensors[i].id + " is missing");
    bound[i].tensor = &kAbsent;
  }
  return bound;
}

}  // namespace

int64_t Operand::count() const {
  int64_t product = 1;
  for (const int64_t extent : dims) product *= extent;
  return product;
}

int64_t Operand::numbers() const { return count() * static_cast<int64_t>(parts_of(dtype)); }
int64_t Operand::bytes() const { return count() * static_cast<int64_t>(element_size(dtype)); }

const std::vector<Operator>& operators() {
  static const std::vector<Operator> all = [] {
    std::vector<Operator> list;
#define MLUOP_FAMILY(NAME) \
  for (Operator & op : NAME::operators()) list.push_back(std::move(op));
#include "families.inc"
#undef MLUOP_FAMILY
    std::sort(list.begin(), list.end(), [](const Operator& a, const Operator& b) { return a.name < b.name; });
    return list;
  }();
  return all;
}

const Operator& operator_of(const std::string& name, const Place& place) {
  for (const Operator& op : operators()) {
    if (op.name == name || std::find(op.aliases.begin(), op.aliases.end(), name) != op.aliases.end()) return op;
  }
  std::vector<std::string> names;
  for (const Operator& op : operators()) {
    names.push_back(op.name);
    names.insert(names.end(), op.aliases.begin(), op.aliases.end());
  }
  fail(place, "unknown operator '" + name + "'" + did_you_mean(name, names));
}

void join_inouts(Case& the_case, const Operator& op) {
  std::vector<Tensor>&inputs = the_case.inputs, &outputs = the_case.outputs;
  const auto count_of = [&](auto&& is) { return static_cast<size_t>(std::ranges::count_if(op.tensors, is)); };
  const auto is_kept = [](const TensorRule& rule) { return rule.role == Role::kKeptOutput; };
  const bool by_id = all_ids_are_names(the_case, op);
  const size_t reads = count_of(&TensorRule::is_read);
  const bool has_kept_inputs = inputs.size() == reads + count_of(is_kept);
  const bool are_twice = outputs.size() == count_of(&TensorRule::is_written);
  if (!by_id && !(are_twice && (has_kept_inputs || inputs.size() == reads))) return;
  size_t input = 0, output = 0;  // of rules by position
  for (const TensorRule& rule : op.tensors) {
    const bool is_kept_input = is_kept(rule) && (by_id || has_kept_inputs);
    if (by_id) {
      const auto has_id = [&](const Tensor& tensor) { return tensor.id == rule.id; };
      input = static_cast<size_t>(std::ranges::find_if(inputs, has_id) - inputs.begin());
      output = static_cast<size_t>(std::ranges::find_if(outputs, has_id) - outputs.begin());
    }
    const bool is_pair =
        (rule.role == Role::kInOut || is_kept_input) && input < inputs.size() && output < outputs.size();
    if (!is_pair) {
      input += rule.is_read() ? 1 : 0;
      output += rule.is_written() ? 1 : 0;
      continue;
    }
    Tensor &before = inputs[input], &after = outputs[output];
    if (before.dtype != after.dtype || before.dims != after.dims || before.strides != after.strides) {
      fail(after.place, rule.id + " differs in data type, shape or strides from the input " + before.id);
    }
    if (is_kept_input) {
      after.initial = std::move(before.elements);
      inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(input));
      ++output;
    } else {
      if (after.elements.source != Elements::Source::kNone) before.result = std::move(after.elements);
      outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(output));
      ++input;
    }
  }
}

std::vector<BoundTensor> bind(const Case& the_case, const Operator& op) {
  if (all_ids_are_names(the_case, op)) return bind_by_id(the_case, op);
  // By position; without the optional tensors if there are fewer.
  const std::vector<std::string> inputs = ids_of(op, false), outputs = ids_of(op, true);
  const bool has_all_inputs = the_case.inputs.size() == inputs.size(),
             has_all_outputs = the_case.outputs.size() == outputs.size();
  if ((!has_all_inputs && the_case.inputs.size() != required_count(op, false)) ||
      (!has_all_outputs && the_case.outputs.size() != required_count(op, true))) {
    fail(the_case.place, op.name + " has " + std::to_string(inputs.size()) + " inputs and " +
                             std::to_string(outputs.size()) + " outputs (" + joined(inputs) + " -> " +
                             joined(outputs) + "), found " + std::to_string(the_case.inputs.size()) + " and " +
                             std::to_string(the_case.outputs.size()));
  }
  std::vector<BoundTensor> bound;
  auto input = the_case.inputs.begin(), output = the_case.outputs.begin();
  for (const TensorRule& rule : op.tensors) {
    if (rule.is_optional && !(rule.is_read() ? has_all_inputs : has_all_outputs)) {
      bound.push_back({&kAbsent, nullptr, nullptr});
    } else {
      bound.push_back(rule.is_read() ? bound_tensor(*input++, false) : bound_tensor(*output++, true));
    }
  }
  return bound;
}

Recipe default_recipe(const Operator& op, mluOpDataType_t dtype) {
  Recipe recipe;
  recipe.dtype = dtype;
  for (const SizeRule& size : op.sizes) recipe.sizes[size.name] = size.value;
  return recipe;
}

Recipe draw_recipe(const Operator& op, mluOpDataType_t dtype,
                   const std::function<int64_t(int64_t, int64_t)>& number, int64_t max_bytes) {
  constexpr int64_t kSmall = 17;
  Recipe recipe = default_recipe(op, dtype);
  for (const SizeRule& size : op.sizes) {
    const int64_t highest = number(0, 1) == 0 ? std::min(size.highest, kSmall) : size.highest;
    recipe.sizes[size.name] = number(size.lowest, highest);
  }
  recipe.seed = static_cast<int32_t>(number(0, INT16_MAX));
  int64_t bytes = bytes_of(op.make(recipe));
  // Half of the recipes enlarge the size with the widest range until the memory limit is reached.
  if (bytes < max_bytes && bytes > 0 && number(0, 1) == 1) {
    const auto widest = std::max_element(op.sizes.begin(), op.sizes.end(), [](const auto& a, const auto& b) {
      return a.is_extent == b.is_extent ? a.highest < b.highest : b.is_extent;
    });
    int64_t& extent = recipe.sizes[widest->name];
    extent = std::min(extent * max_bytes / bytes, widest->highest);
    bytes = bytes_of(op.make(recipe));
  }
  for (; bytes > max_bytes; bytes = bytes_of(op.make(recipe))) {
    const SizeRule* largest = nullptr;
    for (const SizeRule& size : op.sizes) {
      if (size.is_extent && (largest == nullptr || recipe[size.name] > recipe[largest->name])) largest = &size;
    }
    int64_t& extent = recipe.sizes[largest->name];
    if (extent <= largest->lowest) break;
    extent = std::max((extent + 1) / 2, largest->lowest);
  }
  return recipe;
}

Work work_of_tensors(const Operator& op, const Arguments& arguments) {
  Work work;
  for (size_t i = 0; i < op.tensors.size(); ++i) {
    const int64_t bytes = arguments[i].bytes();
    if (op.tensors[i].is_read()) work.read_bytes += bytes;
    if (op.tensors[i].is_written()) work.write_bytes += bytes;
  }
  return work;
}

}  // namespace mluop::cases
