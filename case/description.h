// Shared by the descriptions of the operators.
#pragma once

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "case/operators.h"
#include "case/strides.h"
#include "case/values.h"
#include "reference/element.h"

namespace mluop::cases {

// The layouts besides ARRAY, for tensors that accept any layout.
inline const std::vector<mluOpTensorLayout_t> kAnyLayout = {
    MLUOP_LAYOUT_NCHW, MLUOP_LAYOUT_NHWC, MLUOP_LAYOUT_HWCN, MLUOP_LAYOUT_NDHWC, MLUOP_LAYOUT_NCDHW,
    MLUOP_LAYOUT_TNC,  MLUOP_LAYOUT_NTC,  MLUOP_LAYOUT_NC,   MLUOP_LAYOUT_NLC,   MLUOP_LAYOUT_NCL};

// The arguments that call() passes: descriptor and data of a tensor, or the argument itself.
inline std::tuple<mluOpTensorDescriptor_t, void*> passed(const Operand& tensor) {
  return {tensor.desc, tensor.data};
}
template <class T>
std::tuple<T> passed(const T& argument) {
  return {argument};
}

// Calls a function of the library; each tensor becomes two arguments.
template <class... Parameters, class... Arguments>
mluOpStatus_t call(mluOpStatus_t (*function)(Parameters...), const Arguments&... arguments) {
  return std::apply(function, std::tuple_cat(passed(arguments)...));
}

// Calls body<T>() with T the element type, for complex elements the type of a part: float, Half or BFloat16.
template <class Body>
void with_element_type(const Operand& operand, const Body& body) {
  switch (part_type(operand.dtype)) {
    case MLUOP_DTYPE_HALF: return body.template operator()<reference::Half>();
    case MLUOP_DTYPE_BFLOAT16: return body.template operator()<reference::BFloat16>();
    default: return body.template operator()<float>();
  }
}

// Calls body<T>() with T the unsigned integer of the element's size, for outputs that are copies.
template <class Body>
void with_bits_type(const Operand& operand, const Body& body) {
  if (operand.is_16_bit()) {
    body.template operator()<uint16_t>();
  } else {
    body.template operator()<uint32_t>();
  }
}

// The oracle's result in double, initialized with zeros.
inline double* sums_of(Operand& output) {
  output.sums.assign(static_cast<size_t>(output.numbers()), 0);
  return output.sums.data();
}

// The number, or infinity if it rounds to infinity as float.
inline double in_range_of_float(double number) {
  constexpr double kLimit = 0x1.ffffffp127;  // between the largest float and infinity
  return std::abs(number) < kLimit || std::isnan(number)
             ? number
             : std::copysign(std::numeric_limits<double>::infinity(), number);
}

inline void set_zero(Operand& output) {
  if (output.bytes() > 0) std::memset(output.data, 0, static_cast<size_t>(output.bytes()));
}

// The work of a call that reads the first `inputs` tensors and writes the others, each once.
inline Work each_once(const Arguments& a, size_t inputs, int64_t ops) {
  Work work{0, 0, ops};
  for (size_t i = 0; i < a.tensors.size(); ++i) (i < inputs ? work.read_bytes : work.write_bytes) += a[i].bytes();
  return work;
}

// diff1 and diff2 of at most `threshold`.
inline std::vector<Criterion> mean_errors(double threshold) {
  return {{Metric::kDiff1, threshold}, {Metric::kDiff2, threshold}};
}

// The criteria of sums: the usual tolerance, or for bfloat16 the size of its rounding.
inline std::vector<Criterion> sum_criteria(const Operand& output, mluOpOmpAlgorithm_t) {
  return mean_errors(output.dtype == MLUOP_DTYPE_BFLOAT16 ? 8e-3 : 3e-3);
}

// For generators.

// A case without tensors whose parameters are these sizes.
inline Case new_case(const std::string& op, const Recipe& r, std::initializer_list<const char*> parameters = {}) {
  Case c;
  c.op_name = op;
  if (parameters.size() > 0) c.parameters.message = op + "_param";
  for (const char* name : parameters) c.parameters.set(name, r[name]);
  return c;
}

inline Tensor make_tensor(const std::string& id, mluOpDataType_t dtype, Dims dims = {},
                          mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY) {
  return {.id = id, .layout = layout, .dtype = dtype, .dims = std::move(dims), .place = {.field = id}};
}

inline Tensor with_uniform(Tensor tensor, int32_t seed, double lower = -1, double upper = 1) {
  tensor.elements = {.source = Elements::Source::kRandom,
                     .random = {.seed = seed, .lower = lower, .upper = upper}};
  return tensor;
}

template <class T>
Tensor with_values(Tensor tensor, const std::vector<T>& values) {
  tensor.elements.source = Elements::Source::kInline;
  tensor.elements.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor.elements.bytes.data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

// Sets the numbers, two for each complex element, rounded to the data type of the tensor.
inline Tensor with_numbers(Tensor tensor, const std::vector<float>& numbers) {
  tensor.elements.source = Elements::Source::kInline;
  tensor.elements.bytes.resize(numbers.size() * element_size(part_type(tensor.dtype)));
  for (size_t i = 0; i < numbers.size(); ++i) {
    put_bits(tensor.elements.bytes.data(), tensor.dtype, i, bits_of_number(tensor.dtype, double{numbers[i]}));
  }
  return tensor;
}

inline Tensor with_strides(Tensor tensor, Dims strides) {
  tensor.strides = std::move(strides);
  return tensor;
}

// A size of generators of tensors with strides: where the elements of a tensor lie, for with_memory(). Operators
// that accept no gaps have the values 0 and 1.
inline const SizeRule kMemory = {"memory", 0, 0, 4, false};

// The tensor, whose shape must be set, with strides. 0: contiguous; 1: the dimensions in reverse order; 2: a gap
// of three elements after each row; 3: every second element, and a gap after each row; 4: 1 and 2.
Tensor with_memory(Tensor tensor, int64_t memory);

// The product of sizes. Throws Problem if it exceeds `limit`, by default the maximum number of elements of a
// generator.
inline int64_t checked_product(std::initializer_list<int64_t> sizes, int64_t limit = int64_t{1} << 27) {
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(product, size, &product) || product > limit) {
      fail({}, "sizes are too large: a product of them exceeds " + std::to_string(limit));
    }
  }
  return product;
}

// Integers in [0, count); 0 if count is 0.
class Integers {
 public:
  explicit Integers(int32_t seed) : engine_(static_cast<uint32_t>(seed)) {}
  int32_t below(int64_t count) {
    return count == 0 ? 0 : static_cast<int32_t>(engine_() % static_cast<uint64_t>(count));
  }

 private:
  std::minstd_rand engine_;
};

// A size of generators of points in cells: all points except one in 64 are in the first cell.
inline const SizeRule kCrowded = {"crowded", 0, 0, 1, false};
inline bool is_crowded(const Recipe& r, int64_t point) { return r["crowded"] != 0 && point % 64 > 0; }

// For reductions.

// The elements of an inline tensor.
template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  std::vector<T> values(tensor.elements.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.elements.bytes.data(), values.size() * sizeof(T));
  return values;
}

// The slices `kept` of an inline tensor along a dimension.
Tensor slices_of(const Tensor& tensor, size_t dim, const std::vector<int64_t>& kept);

// Sets the shape of an output, without contents. Its strides keep the order of the dimensions and the gaps.
inline void set_shape(Tensor& output, Dims dims) {
  output.strides = strides_for(output, dims);
  output.dims = std::move(dims);
  output.elements = {};
  output.initial.reset();
}

// Maps each element of `kept` to its position.
inline std::map<int32_t, int32_t> positions_of(const std::vector<int64_t>& kept) {
  std::map<int32_t, int32_t> positions;
  for (const int64_t each : kept)
    positions.emplace(static_cast<int32_t>(each), static_cast<int32_t>(positions.size()));
  return positions;
}

// Slices the given dimensions of inputs (input, dimension). result_dims, position_outputs: as in Reduction.
Reduction axis_reduction(std::string name, std::vector<std::pair<size_t, size_t>> dims,
                         std::vector<std::pair<size_t, int>> result_dims = {},
                         std::vector<size_t> position_outputs = {});

}  // namespace mluop::cases
