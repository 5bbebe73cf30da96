#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "case/call.h"
#include "case/commands.h"
#include "case/data.h"
#include "case/read.h"
#include "case/reduce.h"
#include "case/report.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

std::string source_of(const Elements& elements) {
  std::ostringstream text;
  switch (elements.source) {
    case Elements::Source::kNone: return "none";
    case Elements::Source::kInline: return elements.place.field.substr(elements.place.field.rfind('.') + 1);
    case Elements::Source::kFile: return "file " + elements.path;
    case Elements::Source::kRandom: break;
  }
  const Random& random = elements.random;
  if (random.distribution == Distribution::kUniform) {
    text << "uniform [" << random.lower << ", " << random.upper << ")";
  } else {
    text << "Gaussian mu " << random.mu << " sigma " << random.sigma;
  }
  text << ", seed " << random.seed;
  return text.str();
}

void print_tensors(const char* title, const std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    std::cout << title << ' ' << i << "   " << tensor.id << "  " << dtype_name(tensor.dtype) << ' '
              << text_of(tensor.dims) << ' ' << layout_name(tensor.layout);
    if (!tensor.strides.empty()) std::cout << " strides " << text_of(tensor.strides);
    if (tensor.onchip_dtype != MLUOP_DTYPE_INVALID) std::cout << " on-chip " << dtype_name(tensor.onchip_dtype);
    std::cout << "  elements: " << source_of(tensor.elements);
    if (tensor.initial) std::cout << ", initial: " << source_of(*tensor.initial);
    if (tensor.result) std::cout << ", result: " << source_of(*tensor.result);
    std::cout << '\n';
  }
}

std::string value_of(const Parameter& parameter) {
  std::ostringstream text;
  switch (parameter.kind) {
    case Parameter::Kind::kInteger: text << parameter.integer; break;
    case Parameter::Kind::kReal: text << parameter.real; break;
    case Parameter::Kind::kText: text << parameter.text; break;
    case Parameter::Kind::kList: text << text_of(parameter.list); break;
  }
  return text.str();
}

std::string names_of(const std::vector<SizeRule>& sizes) {
  std::vector<std::string> names;
  for (const SizeRule& size : sizes) names.push_back(size.name + '=' + std::to_string(size.value));
  return joined(names);
}

// Whether a call succeeded with a wrong result.
bool is_wrong(const std::vector<Outcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
    return outcome.status == Status::kFailed && !outcome.outputs.empty();
  });
}

// Throws Problem if a run of the case would not have enough memory, or if the library rejects the case.
void require_accepted(const Operator& op, const Case& the_case) {
  // The case, and the arguments and results of the call and of the oracle.
  constexpr int64_t kCopies = 4;
  int64_t bytes = 0;
  for (const auto* list : {&the_case.inputs, &the_case.outputs}) {
    for (const Tensor& tensor : *list) bytes += static_cast<int64_t>(span_bytes(tensor));
  }
  byte_count({.dtype = MLUOP_DTYPE_UINT8, .dims = {kCopies * bytes}, .place = {.field = "the tensors of a run"}});
  try {
    const LoadedCase loaded(the_case);
    Run(loaded, MLUOP_OMP_ALGORITHM_NATIVE).call();
  } catch (const Problem&) {
    throw;
  } catch (const std::exception& error) {
    fail({}, op.name + " refuses a case of these sizes: " + error.what());
  }
}

}  // namespace

int show_command(const ShowCommand& command) {
  const Case the_case = read_case(command.file);
  if (command.own_files) require_own_files(the_case);
  bind(the_case, operator_of(the_case.op_name, the_case.place));
  std::cout << "operator  " << the_case.op_name << '\n';
  print_tensors("input ", the_case.inputs);
  print_tensors("output", the_case.outputs);
  for (const Parameter& parameter : the_case.parameters.all) {
    if (!parameter.present && parameter.kind == Parameter::Kind::kText) continue;
    std::cout << "parameter  " << parameter.name << " = " << value_of(parameter)
              << (parameter.present ? "" : " (default)") << '\n';
  }
  for (const Criterion& criterion : the_case.criteria) {
    std::cout << "criterion  " << name_of(criterion.metric) << " <= " << criterion.threshold;
    if (criterion.imaginary_threshold) std::cout << ", imaginary parts <= " << *criterion.imaginary_threshold;
    std::cout << '\n';
  }
  if (the_case.criteria.empty()) std::cout << "criterion  default of the operator\n";
  if (the_case.algorithm) std::cout << "algorithm  " << *the_case.algorithm << '\n';
  if (the_case.tasks) std::cout << "tasks      " << *the_case.tasks << '\n';
  return kPassed;
}

int new_command(const NewCommand& command) {
  const Operator& op = operator_of(command.op, {});
  Recipe recipe = default_recipe(op, command.dtype.empty() ? op.dtypes.front() : dtype_of_name(command.dtype));
  if (std::find(op.dtypes.begin(), op.dtypes.end(), recipe.dtype) == op.dtypes.end()) {
    fail({}, op.name + " does not accept data type '" + command.dtype + "'");
  }
  recipe.seed = command.seed;
  for (const auto& [name, value] : command.sizes) {
    const auto size = std::ranges::find(op.sizes, name, &SizeRule::name);
    if (size == op.sizes.end()) {
      fail({}, op.name + " has no size '" + name + "', expected some of " + names_of(op.sizes));
    }
    if (value == 0 && size->lowest > 0 && !size->is_extent) {
      fail({}, "size " + name + " of " + op.name + " is 0, expected at least 1");
    }
    recipe.sizes[name] = value;
  }
  const Case the_case = op.make(recipe);
  require_accepted(op, the_case);
  if (command.output.empty()) {
    std::cout << text_of(the_case);
  } else {
    write_case(the_case, command.output);
  }
  return kPassed;
}

int reduce_command(const ReduceCommand& command) {
  const Case read = read_case(command.file);
  if (command.options.own_files) require_own_files(read);
  Case the_case = self_contained(read);
  std::vector<Outcome> original = run_case(the_case, command.options);
  if (!is_wrong(original)) {
    // The library is right, so the results that the case states may be wrong.
    the_case = self_contained(read, true);
    original = run_case(the_case, command.options);
  }
  if (!is_wrong(original)) {
    const std::string& message = original.back().message;
    fail({command.file},
         message.empty() ? "passes: nothing to reduce" : "the call is rejected: nothing to reduce: " + message);
  }
  const Fails fails = [&](const Case& smaller) { return is_wrong(run_case(smaller, command.options)); };
  Case smallest = reduce(the_case, fails, std::cout);
  const std::string output =
      command.output.empty() ? std::filesystem::path(command.file).replace_extension(".reduced.prototxt").string()
                             : command.output;
  write_case(smallest, output);
  smallest.file = output;
  std::cout << "wrote " << output << '\n';
  for (const Outcome& outcome : run_case(smallest, command.options)) print(std::cout, outcome);
  return kPassed;
}

}  // namespace mluop::cases
