// abs, div, lgamma, log, logspace, sqrt and sqrt_backward.
#include "reference/elementwise.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "case/description.h"

namespace mluop::cases::elementwise {
namespace {

double number(const Operand& tensor, int64_t i) {
  return number_at(tensor.data, tensor.dtype, static_cast<size_t>(i));
}

void put(double result, const Operand& to, int64_t i) {
  put_bits(to.data, to.dtype, static_cast<size_t>(i), bits_of_number(to.dtype, result));
}

void expect_abs(Arguments& a) {
  for (int64_t i = 0; i < a[1].count(); ++i) {
    if (a[0].dtype == MLUOP_DTYPE_COMPLEX_FLOAT) {
      put(reference::complex_magnitude(number(a[0], 2 * i), number(a[0], 2 * i + 1)), a[1], i);
    } else if (a[0].dtype == MLUOP_DTYPE_INT32) {
      const int32_t value = a[0].as<int32_t>()[i];
      a[1].as<uint32_t>()[i] = value < 0 ? 0U - static_cast<uint32_t>(value) : static_cast<uint32_t>(value);
    } else {
      put(std::fabs(number(a[0], i)), a[1], i);
    }
  }
}

void expect_log(Arguments& a) {
  const int base = a.int32("log_base");
  for (int64_t i = 0; i < a[1].count(); ++i) put(reference::logarithm(base, number(a[0], i)), a[1], i);
}

void expect_lgamma(Arguments& a) {
  for (int64_t i = 0; i < a[1].count(); ++i) put(reference::log_of_gamma(number(a[0], i)), a[1], i);
}

void expect_sqrt(Arguments& a) {
  for (int64_t i = 0; i < a[1].count(); ++i) put(std::sqrt(number(a[0], i)), a[1], i);
}

void expect_sqrt_backward(Arguments& a) {
  for (int64_t i = 0; i < a[2].count(); ++i) {
    put(reference::sqrt_gradient(number(a[0], i), number(a[1], i)), a[2], i);
  }
}

void expect_div(Arguments& a) {
  for (int64_t i = 0; i < a[2].count(); ++i) {
    const double x = number(a[0], reference::broadcast_index(a[0].dims, a[2].dims, i));
    put(x / number(a[1], reference::broadcast_index(a[1].dims, a[2].dims, i)), a[2], i);
  }
}

// A number as an element of the type of a tensor.
float as_element(mluOpDataType_t dtype, float number) {
  std::byte element[4] = {};
  if (dtype == MLUOP_DTYPE_INT32) return std::trunc(number);
  put_bits(element, dtype, 0, bits_of_number(dtype, double{number}));
  return static_cast<float>(number_at(element, dtype, 0));
}

float real(const Arguments& a, const char* name) { return static_cast<float>(a.parameters->real(name)); }

void expect_logspace(Arguments& a) {
  const int64_t steps = a.integer("steps");
  const float start = as_element(a[0].dtype, real(a, "start")), end = as_element(a[0].dtype, real(a, "end"));
  for (int64_t i = 0; i < steps; ++i) {
    const double power = reference::power_of_space(start, end, steps, real(a, "base"), i);
    if (a[0].dtype == MLUOP_DTYPE_INT32) {
      constexpr double kLimit = 0x1p31;
      int32_t& to = a[0].as<int32_t>()[i];
      if (std::isnan(power)) {
        to = 0;
      } else if (std::fabs(power) < kLimit) {
        to = static_cast<int32_t>(power);
      } else {
        to = power < 0 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
      }
    } else {
      put(power, a[0], i);
    }
  }
}

// Results that the C library approximates, rounded to float and to the type.
std::vector<Criterion> rounded_twice(const Operand& output, mluOpOmpAlgorithm_t algorithm) {
  return output.dtype == MLUOP_DTYPE_FLOAT ? mean_errors(1e-6) : sum_criteria(output, algorithm);
}

void fit_alike(Case& c) { set_shape(c.outputs[0], c.inputs[0].dims); }

void fit_div(Case& c) {
  Dims dims = c.inputs[0].dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) dims[i] = c.inputs[1].dims[i];
  }
  set_shape(c.outputs[0], dims);
}

// An input, and an output like it.
Case make_unary(const char* name, const Recipe& r, double lower, double upper,
                std::initializer_list<const char*> parameters = {}) {
  Case c = new_case(name, r, parameters);
  const Dims dims = {r["n"], r["c"]};
  const int64_t count = checked_product({r["n"], r["c"]});
  const mluOpDataType_t to =
      r.dtype == MLUOP_DTYPE_COMPLEX_FLOAT || (r.dtype == MLUOP_DTYPE_INT32 && c.op_name == "sqrt")
          ? MLUOP_DTYPE_FLOAT
          : r.dtype;
  const Tensor x = make_tensor("x", r.dtype, dims), y = make_tensor("y", to, dims);
  if (r.dtype == MLUOP_DTYPE_INT32 && count <= r.max_inline) {
    // Negative numbers, squares, and the limits of the type.
    constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
    Integers random(r.seed);
    std::vector<int32_t> numbers(static_cast<size_t>(count));
    for (int32_t& each : numbers) {
      const int32_t root = random.below(46341), kind = random.below(8);
      each = kind == 0   ? kLeast + random.below(2)
             : kind == 1 ? -root
             : kind == 2 ? root * root
                         : root << (kind + 4);
    }
    c.inputs = {with_memory(with_values(x, numbers), r["memory"])};
  } else {
    c.inputs = {with_memory(with_uniform(x, r.seed, lower, upper), r["memory"])};
  }
  c.outputs = {with_memory(y, r["memory"])};
  fit_alike(c);
  return c;
}

Case make_sqrt_backward(const Recipe& r) {
  Case c = new_case("sqrt_backward", r);
  const Dims dims = {r["n"], r["c"]};
  checked_product({r["n"], r["c"]});
  c.inputs = {with_memory(with_uniform(make_tensor("y", r.dtype, dims), r.seed, 0, 4), r["memory"]),
              with_memory(with_uniform(make_tensor("diff_y", r.dtype, dims), r.seed + 1), r["memory"])};
  c.outputs = {with_memory(make_tensor("diff_x", r.dtype, dims), r["memory"])};
  fit_alike(c);
  return c;
}

// broadcast: 1 one row of divisors, 2 one column of divisors, 3 one row of dividends and one column of divisors.
Case make_div(const Recipe& r) {
  Case c = new_case("div", r, {"prefer"});
  const int64_t n = r["n"], columns = r["c"], kind = r["broadcast"];
  checked_product({n, columns});
  const Dims x = {kind == 3 ? 1 : n, columns}, y = {kind == 1 ? 1 : n, kind >= 2 ? 1 : columns};
  // Tensors of different shapes have no common strides.
  const int64_t memory = kind == 0 ? r["memory"] : 0;
  c.inputs = {with_memory(with_uniform(make_tensor("x", r.dtype, x), r.seed), memory),
              with_memory(with_uniform(make_tensor("y", r.dtype, y), r.seed + 1), memory)};
  c.outputs = {with_memory(make_tensor("z", r.dtype, {n, columns}), memory)};
  fit_div(c);
  return c;
}

Case make_logspace(const Recipe& r) {
  Case c = new_case("logspace", r);
  c.parameters.message = "logspace_param";
  c.parameters.set_real("start", static_cast<double>(r["start_quarters"]) / 4);
  c.parameters.set_real("end", static_cast<double>(r["end_quarters"]) / 4);
  c.parameters.set("steps", r["steps"]);
  c.parameters.set_real("base", static_cast<double>(r["base"]));
  const int64_t count = checked_product({r["steps"] + r["extra"]});
  c.outputs = {make_tensor("res", r.dtype, {count})};
  if (count <= r.max_inline) {
    const std::vector<float> before(static_cast<size_t>(count), 7);
    c.outputs[0].initial = with_numbers(c.outputs[0], before).elements;
  }
  return c;
}

const std::vector<std::string> kAxes = {"row", "column"};

TensorRule tensor(const char* id, Role role, bool is_any_type = false) {
  TensorRule rule{id, role, kAxes, kAnyLayout};
  rule.is_any_type = is_any_type;
  rule.has_any_rank = true;
  return rule;
}

Operator described(const char* name, const char* function, AllowedStrides strides) {
  Operator op;
  op.name = name;
  op.function = function;
  op.strides = strides;
  op.in_place = true;
  SizeRule memory = kMemory;
  if (strides == AllowedStrides::kDense) memory.highest = 1;
  op.sizes = {{"n", 13, 1, 70}, {"c", 11, 1, 300}, memory};
  op.parallel_sizes = {{{"n", 300}, {"c", 1001}}, {{"n", 300}, {"c", 1001}, {"memory", 1}}};
  op.networks = {{"2^20", {{"n", 1024}, {"c", 1024}}},
                 {"10^4", {{"n", 10}, {"c", 1000}}},
                 {"2^24", {{"n", 4096}, {"c", 4096}}}};
  op.fit = fit_alike;
  op.reductions = {axis_reduction("rows", {{0, 0}}, {{0, 0}}), axis_reduction("columns", {{0, 1}}, {{0, 1}})};
  return op;
}

Operator unary(const char* name, const char* function, AllowedStrides strides, bool is_any_type = false) {
  Operator op = described(name, function, strides);
  op.tensors = {tensor("x", Role::kInput, is_any_type), tensor("y", Role::kOutput)};
  return op;
}

mluOpComputationPreference_t prefer(const Arguments& a) {
  return static_cast<mluOpComputationPreference_t>(a.int32("prefer"));
}

const SizeRule kPrefer = {"prefer", 1, 0, 1, false};

std::vector<Operator> of_one_tensor() {
  // FLOAT is the result for complex numbers too.
  Operator abs = unary("abs", "mluOpAbs", AllowedStrides::kAny, true);
  abs.run = [](const Arguments& a) { return call(mluOpAbs, a.handle, a[0], a[1]); };
  abs.expect = expect_abs;
  abs.make = [](const Recipe& r) { return make_unary("abs", r, -4, 4); };
  abs.dtypes.insert(abs.dtypes.end(), {MLUOP_DTYPE_INT32, MLUOP_DTYPE_COMPLEX_FLOAT});
  abs.parallel_sizes.push_back({{"n", 300}, {"c", 1001}, {"memory", 2}});
  abs.parallel_sizes.push_back({{"n", 300}, {"c", 1001}, {"memory", 3}});

  Operator lgamma = unary("lgamma", "mluOpLgamma", AllowedStrides::kAny);
  lgamma.run = [](const Arguments& a) { return call(mluOpLgamma, a.handle, a[0], a[1]); };
  lgamma.expect = expect_lgamma;
  lgamma.criteria = rounded_twice;
  lgamma.refuses_200_series = true;
  lgamma.make = [](const Recipe& r) { return make_unary("lgamma", r, -4, 8); };
  lgamma.parallel_sizes.push_back({{"n", 300}, {"c", 1001}, {"memory", 3}});

  Operator log = unary("log", "mluOpLog", AllowedStrides::kDense);
  log.parameter_messages = {"log_param"};
  log.run = [](const Arguments& a) {
    return call(mluOpLog, a.handle, prefer(a), static_cast<mluOpLogBase_t>(a.int32("log_base")), a[0], a[1]);
  };
  log.expect = expect_log;
  log.criteria = rounded_twice;
  log.sizes.insert(log.sizes.end(), {{"log_base", 0, 0, 2, false}, kPrefer});
  log.make = [](const Recipe& r) { return make_unary("log", r, -0.125, 8, {"log_base", "prefer"}); };

  // FLOAT is the result for integers too.
  Operator sqrt = unary("sqrt", "mluOpSqrt", AllowedStrides::kDense, true);
  sqrt.parameter_messages = {"sqrt_param"};
  sqrt.run = [](const Arguments& a) { return call(mluOpSqrt, a.handle, prefer(a), a[0], a[1]); };
  sqrt.expect = expect_sqrt;
  sqrt.sizes.push_back(kPrefer);
  sqrt.make = [](const Recipe& r) { return make_unary("sqrt", r, -0.125, 8, {"prefer"}); };
  sqrt.dtypes.push_back(MLUOP_DTYPE_INT32);
  return {abs, lgamma, log, sqrt};
}

Operator described_sqrt_backward() {
  Operator op = described("sqrt_backward", "mluOpSqrtBackward", AllowedStrides::kDense);
  op.tensors = {tensor("y", Role::kInput), tensor("diff_y", Role::kInput), tensor("diff_x", Role::kOutput)};
  op.run = [](const Arguments& a) { return call(mluOpSqrtBackward, a.handle, a[0], a[1], a[2]); };
  op.expect = expect_sqrt_backward;
  op.make = make_sqrt_backward;
  op.reductions = {axis_reduction("rows", {{0, 0}, {1, 0}}, {{0, 0}}),
                   axis_reduction("columns", {{0, 1}, {1, 1}}, {{0, 1}})};
  return op;
}

Operator described_div() {
  Operator op = described("div", "mluOpDiv", AllowedStrides::kDense);
  op.parameter_messages = {"div_param"};
  op.tensors = {tensor("x", Role::kInput), tensor("y", Role::kInput), tensor("z", Role::kOutput)};
  op.run = [](const Arguments& a) { return call(mluOpDiv, a.handle, prefer(a), a[0], a[1], a[2]); };
  op.expect = expect_div;
  op.make = make_div;
  op.sizes.insert(op.sizes.end(), {{"broadcast", 0, 0, 3, false}, kPrefer});
  op.parallel_sizes.push_back({{"n", 300}, {"c", 1001}, {"broadcast", 1}});
  op.parallel_sizes.push_back({{"n", 300}, {"c", 1001}, {"broadcast", 3}});
  op.fit = fit_div;
  op.reductions.clear();
  return op;
}

Operator described_logspace() {
  Operator op;
  op.name = "logspace";
  op.function = "mluOpLogspace";
  op.tensors = {tensor("res", Role::kKeptOutput, true)};
  op.tensors[0].axes = {"element"};
  op.tensors[0].free_dims = {0};
  op.parameter_messages = {"logspace_param"};
  op.multiplies = true;
  op.run = [](const Arguments& a) {
    return call(mluOpLogspace, a.handle, real(a, "start"), real(a, "end"), a.integer("steps"), real(a, "base"),
                a[0]);
  };
  op.expect = expect_logspace;
  op.criteria = rounded_twice;
  op.work = [](const Arguments& a) {
    const int64_t steps = a.integer("steps");
    return Work{0, steps * static_cast<int64_t>(element_size(a[0].dtype)), 40 * steps};
  };
  op.sizes = {{"steps", 33, 1, 300},
              {"extra", 3, 0, 9, false},
              {"start_quarters", -8, -40, 40, false},
              {"end_quarters", 16, -40, 40, false},
              {"base", 10, -3, 10, false}};
  op.parallel_sizes = {{{"steps", 100001}}};
  op.networks = {{"2^20", {{"steps", 1 << 20}, {"extra", 0}}},
                 {"10^4", {{"steps", 10000}, {"extra", 0}}},
                 {"2^24", {{"steps", 1 << 24}, {"extra", 0}}}};
  op.dtypes.push_back(MLUOP_DTYPE_INT32);
  op.make = make_logspace;
  // The contents of res do not determine the parameters.
  op.fit = [](Case&) {};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  std::vector<Operator> all = of_one_tensor();
  all.insert(all.end(), {described_div(), described_logspace(), described_sqrt_backward()});
  return all;
}

}  // namespace mluop::cases::elementwise
