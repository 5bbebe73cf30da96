// What the tables of the operators share.
#pragma once

#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "case/operators.h"
#include "case/values.h"
#include "reference/half.h"

namespace mluop::cases {

// The layouts besides ARRAY, for tensors that may have any.
inline const std::vector<mluOpTensorLayout_t> kAnyLayout = {
    MLUOP_LAYOUT_NCHW, MLUOP_LAYOUT_NHWC, MLUOP_LAYOUT_HWCN, MLUOP_LAYOUT_NDHWC, MLUOP_LAYOUT_NCDHW,
    MLUOP_LAYOUT_TNC,  MLUOP_LAYOUT_NTC,  MLUOP_LAYOUT_NC,   MLUOP_LAYOUT_NLC,   MLUOP_LAYOUT_NCL};

// Calls body(T{}) with T the element type, float or Half.
template <class Body>
void with_element_type(const Operand& operand, const Body& body) {
  if (operand.is_half()) {
    body(reference::Half{});
  } else {
    body(float{});
  }
}

// The oracle's result in double, zeros.
inline double* sums_of(Operand& output) {
  output.sums.assign(static_cast<size_t>(output.count()), 0);
  return output.sums.data();
}

inline void set_zero(Operand& output) {
  if (output.bytes() > 0) std::memset(output.data, 0, static_cast<size_t>(output.bytes()));
}

// diff1 and diff2 of at most `threshold`.
inline std::vector<Criterion> mean_errors(double threshold) {
  return {{Metric::kDiff1, threshold}, {Metric::kDiff2, threshold}};
}

// For generators.
inline Tensor make_tensor(std::string id, mluOpDataType_t dtype, Dims dims,
                          mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY) {
  Tensor tensor;
  tensor.id = std::move(id);
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  tensor.layout = layout;
  tensor.place.field = tensor.id;
  return tensor;
}

inline Tensor with_uniform(Tensor tensor, int32_t seed, double lower = -1, double upper = 1) {
  tensor.elements.source = Elements::Source::kRandom;
  tensor.elements.random.seed = seed;
  tensor.elements.random.lower = lower;
  tensor.elements.random.upper = upper;
  return tensor;
}

template <class T>
Tensor with_values(Tensor tensor, const std::vector<T>& values) {
  tensor.elements.source = Elements::Source::kInline;
  tensor.elements.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor.elements.bytes.data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

// The product of sizes. Throws Problem if it exceeds `limit`, by default more elements than a generator computes
// with.
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

// A size of generators of points in cells: all points but one in 64 have the first cell.
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

// Sets the shape of an output, without contents.
inline void set_shape(Tensor& output, Dims dims) {
  output.dims = std::move(dims);
  output.elements = {};
  output.initial.reset();
}
// Slices the given dimensions of inputs (input, dimension); `fit` then sets what follows from the inputs: shapes
// of outputs and parameters.
Reduction axis_reduction(std::string name, std::vector<std::pair<size_t, size_t>> dims, void (*fit)(Case&));

}  // namespace mluop::cases
