#include "case/assemble.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "case/npy.h"
#include "case/operators.h"
#include "case/read.h"
#include "case/values.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInitial = ".initial", kResult = ".result";

// The arrays of a folder, by tensor, optionally followed by .initial or .result.
using Arrays = std::map<std::string, NpyArray>;

std::string file_of(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / (name + ".npy")).string();
}

std::vector<std::string> names_of(const Operator& op) {
  std::vector<std::string> names;
  for (const TensorRule& rule : op.tensors) names.push_back(rule.id);
  return names;
}

const TensorRule& rule_of(const Operator& op, const std::string& id, const Place& place) {
  for (const TensorRule& rule : op.tensors) {
    if (rule.id == id) return rule;
  }
  fail(place, op.name + " has no tensor '" + id + "', expected some of " + joined(names_of(op)));
}

Arrays read_arrays(const std::string& folder, const Operator& op) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".npy") names.insert(entry.path().stem().string());
  }
  Arrays arrays;
  for (const std::string& name : names) {
    const std::string file = file_of(folder, name);
    const size_t dot = name.find('.');
    const std::string suffix = dot == name.npos ? "" : name.substr(dot);
    const TensorRule& rule = rule_of(op, name.substr(0, dot), {file});
    const bool is_known = suffix.empty() || (suffix == kInitial && !rule.is_read()) ||
                          (suffix == kResult && rule.role == Role::kInOut);
    if (!is_known) fail({file}, "is not a file of " + rule.id + ", expected " + rule.id + ".npy");
    NpyArray array = read_npy(file);
    if (array.dims.empty()) fail({file}, "has no dimensions, expected at least one: numpy.atleast_1d");
    arrays.emplace(name, std::move(array));
  }
  return arrays;
}

// Small generated cases for each data type, and for each value of each size that has few values.
std::vector<Case> examples_of(const Operator& op) {
  constexpr int64_t kMostValues = 8;
  std::vector<Case> examples;
  for (const mluOpDataType_t dtype : op.dtypes) {
    const Recipe usual = default_recipe(op, dtype);
    examples.push_back(op.make(usual));
    for (const SizeRule& size : op.sizes) {
      if (size.is_extent || size.highest - size.lowest >= kMostValues) continue;
      Recipe recipe = usual;
      for (recipe.sizes[size.name] = size.lowest; recipe[size.name] <= size.highest; ++recipe.sizes[size.name]) {
        examples.push_back(op.make(recipe));
      }
    }
  }
  return examples;
}

const Tensor* find(const std::vector<Tensor>& tensors, const std::string& id) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& tensor) { return tensor.id == id; });
  return found == tensors.end() ? nullptr : &*found;
}

// Throws Problem if no example has an input with the type and the number of dimensions of the array.
void check_input(const std::string& file, const NpyArray& array, const std::string& id,
                 const std::vector<Case>& examples) {
  std::set<std::string> types, ranks;
  for (const Case& example : examples) {
    const Tensor* input = find(example.inputs, id);
    if (input == nullptr) continue;
    types.emplace(dtype_name(input->dtype));
    ranks.insert(std::to_string(input->dims.size()));
  }
  const auto either = [](const std::set<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : " or ") + text;
    return all;
  };
  if (types.count(std::string(dtype_name(array.dtype))) == 0) {
    fail({file},
         "holds " + std::string(dtype_name(array.dtype)) + ", '" + array.type + "', expected " + either(types));
  }
  if (ranks.count(std::to_string(array.dims.size())) == 0) {
    fail({file}, "has shape " + text_of(array.dims) + ", expected " + either(ranks) + " dimensions");
  }
}

// How many outputs have the type of their arrays.
int64_t count_of_types(const Case& example, const Arrays& arrays) {
  return std::count_if(example.outputs.begin(), example.outputs.end(), [&](const Tensor& output) {
    const auto result = arrays.find(output.id), initial = arrays.find(output.id + std::string(kInitial));
    const auto array = result == arrays.end() ? initial : result;
    return array != arrays.end() && array->second.dtype == output.dtype;
  });
}

// The example whose inputs have the types and numbers of dimensions of the arrays and, among several, whose
// parameters agree best, then whose outputs have the types of their arrays. null: there is none.
const Case* closest(const std::vector<Case>& examples, const Arrays& arrays, const Operator& op,
                    const Parameters& parameters) {
  const Case* best = nullptr;
  int64_t best_score = -1;
  for (const Case& example : examples) {
    const bool matches = std::all_of(op.tensors.begin(), op.tensors.end(), [&](const TensorRule& rule) {
      if (!rule.is_read()) return true;
      const Tensor* input = find(example.inputs, rule.id);
      const auto array = arrays.find(rule.id);
      if (input == nullptr || array == arrays.end()) return input == nullptr && array == arrays.end();
      return array->second.dtype == input->dtype && array->second.dims.size() == input->dims.size();
    });
    if (!matches) continue;
    const int64_t agreeing =
        std::count_if(parameters.all.begin(), parameters.all.end(), [&](const Parameter& parameter) {
          const Parameter* other = example.parameters.find(parameter.name);
          return parameter.kind == Parameter::Kind::kInteger && other != nullptr &&
                 other->integer == parameter.integer;
        });
    const int64_t score =
        agreeing * static_cast<int64_t>(example.outputs.size() + 1) + count_of_types(example, arrays);
    if (score > best_score) {
      best = &example;
      best_score = score;
    }
  }
  return best;
}

Elements inline_elements(const NpyArray& array) {
  return {.source = Elements::Source::kInline, .bytes = array.bytes};
}

// The shapes of the outputs as the operator determines them, starting from the shapes `before`.
std::vector<Dims> fitted(Case the_case, const Operator& op, const std::vector<Dims>& before) {
  for (size_t i = 0; i < before.size(); ++i) the_case.outputs[i].dims = before[i];
  op.fit(the_case);
  std::vector<Dims> shapes;
  for (const Tensor& output : the_case.outputs) shapes.push_back(output.dims);
  return shapes;
}

bool differ(const Dims& a, const Dims& b, const std::vector<size_t>& free_dims) {
  if (a.size() != b.size()) return true;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool is_free = std::find(free_dims.begin(), free_dims.end(), i) != free_dims.end();
    if (a[i] != b[i] && !is_free) return true;
  }
  return false;
}

// Sets the shapes of the outputs: the stated shapes, or shapes determined by inputs and parameters.
void shape_outputs(Case& the_case, const Operator& op, const std::map<std::string, Dims>& stated) {
  std::vector<Dims> before, other;
  for (const Tensor& output : the_case.outputs) {
    const auto shape = stated.find(output.id);
    const bool is_stated = shape != stated.end() && shape->second.size() == output.dims.size();
    before.push_back(is_stated ? shape->second : output.dims);
    other.push_back(before.back());
    if (!is_stated) {
      for (int64_t& extent : other.back()) ++extent;
    }
  }
  const std::vector<Dims> shapes = fitted(the_case, op, before), others = fitted(the_case, op, other);
  op.fit(the_case);
  for (size_t i = 0; i < shapes.size(); ++i) {
    Tensor& output = the_case.outputs[i];
    const auto shape = stated.find(output.id);
    if (shape == stated.end()) {
      if (shapes[i] != others[i]) {
        fail({the_case.file}, "the shape of " + output.id + ", of " + std::to_string(shapes[i].size()) +
                                  " dimensions, does not follow from the inputs: --shape " + output.id + "=N,...");
      }
    } else if (differ(shape->second, shapes[i], rule_of(op, output.id, {}).free_dims)) {
      fail({the_case.file}, "the shape of " + output.id + " is " + text_of(shape->second) + ", expected " +
                                text_of(shapes[i]) + " for these inputs and parameters");
    }
    output.dims = shape == stated.end() ? shapes[i] : shape->second;
    byte_count(output);
  }
}

void set_layouts(Case& the_case, const std::map<std::string, std::string>& layouts) {
  for (const auto& [id, name] : layouts) {
    if (!is_layout_name(name))
      fail({}, "layout of " + id + " is '" + name + "', expected one such as NCHW, ARRAY");
    bool found = false;
    for (auto* list : {&the_case.inputs, &the_case.outputs}) {
      for (Tensor& tensor : *list) {
        if (tensor.id != id) continue;
        tensor.layout = layout_of_name(name);
        found = true;
      }
    }
    if (!found) fail({}, the_case.op_name + " has no tensor '" + id + "' whose layout could be " + name);
  }
}

// Requires that stated parameters have kept their values.
void check_parameters(const Parameters& stated, const Parameters& fitted) {
  for (const Parameter& parameter : stated.all) {
    const Parameter* other = fitted.find(parameter.name);
    if (!parameter.present || other->integer == parameter.integer) continue;
    fail({}, "parameter " + parameter.name + " is " + std::to_string(parameter.integer) + ", the inputs have " +
                 std::to_string(other->integer));
  }
}

void check_inputs(const std::string& folder, const Arrays& arrays, const Operator& op,
                  const std::vector<Case>& examples) {
  for (const TensorRule& rule : op.tensors) {
    if (!rule.is_read()) continue;
    const std::string file = file_of(folder, rule.id);
    if (const auto array = arrays.find(rule.id); array != arrays.end()) {
      check_input(file, array->second, rule.id, examples);
    } else if (!rule.is_optional) {
      fail({file}, "is missing, an input of " + op.name);
    }
  }
}

// The shapes of outputs stated by the settings or by arrays.
std::map<std::string, Dims> stated_shapes(const Case& the_case, const Operator& op, const std::string& folder,
                                          const Arrays& arrays, const FolderSettings& settings) {
  for (const auto& [id, dims] : settings.shapes) {
    if (rule_of(op, id, {}).is_read())
      fail({}, id + " is an input of " + op.name + ", whose file states the shape");
  }
  std::map<std::string, Dims> shapes = settings.shapes;
  for (const Tensor& output : the_case.outputs) {
    for (const std::string& name : {output.id, output.id + std::string(kInitial)}) {
      const auto found = arrays.find(name);
      if (found == arrays.end()) continue;
      const NpyArray& array = found->second;
      if (array.dtype != output.dtype) {
        fail({file_of(folder, name)}, "holds " + std::string(dtype_name(array.dtype)) + ", expected " +
                                          std::string(dtype_name(output.dtype)));
      }
      const Dims& expected = shapes.emplace(output.id, array.dims).first->second;
      if (expected != array.dims) {
        fail({file_of(folder, name)}, "has shape " + text_of(array.dims) + ", expected " + text_of(expected));
      }
    }
  }
  return shapes;
}

// Sets the results of outputs, their contents before the call, and the contents of inputs after it, if there are
// arrays for them.
void set_contents(Case& the_case, const std::string& folder, const Arrays& arrays) {
  for (Tensor& output : the_case.outputs) {
    const auto result = arrays.find(output.id), initial = arrays.find(output.id + std::string(kInitial));
    if (result != arrays.end()) output.elements = inline_elements(result->second);
    if (initial != arrays.end()) output.initial = inline_elements(initial->second);
  }
  for (Tensor& input : the_case.inputs) {
    const auto result = arrays.find(input.id + std::string(kResult));
    if (result == arrays.end()) continue;
    if (result->second.dtype != input.dtype || result->second.dims != input.dims) {
      fail({file_of(folder, result->first)}, "differs from " + input.id + " in type or shape");
    }
    input.result = inline_elements(result->second);
  }
}

}  // namespace

Case assemble(const std::string& folder, const FolderSettings& settings) {
  const Operator& op = operator_of(settings.op, {});
  const Arrays arrays = read_arrays(folder, op);
  const std::vector<Case> examples = examples_of(op);
  check_inputs(folder, arrays, op, examples);
  const Parameters parameters = parse_parameters(op, settings.parameters, {});
  const Case* example = closest(examples, arrays, op, parameters);
  if (example == nullptr) {
    fail({folder}, "the inputs' data types or numbers of dimensions do not belong together");
  }
  Case result = *example;
  result.file = folder;
  result.place = {folder};
  result.op_name = settings.op;
  result.parameters = parameters;
  for (Tensor& input : result.inputs) {
    input.dims = arrays.at(input.id).dims;
    input.strides = {};
    input.elements = inline_elements(arrays.at(input.id));
  }
  for (Tensor& output : result.outputs) {
    output.elements = {};
    output.initial.reset();
    output.strides = {};
  }
  set_layouts(result, settings.layouts);
  shape_outputs(result, op, stated_shapes(result, op, folder, arrays, settings));
  check_parameters(parameters, result.parameters);
  set_contents(result, folder, arrays);
  return result;
}

}  // namespace mluop::cases
