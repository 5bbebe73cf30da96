// Shared by the hypotheses on wrong elements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "compare/measure.h"
#include "core/text.h"
#include "team/launch.h"

namespace mluop::compare {

struct Problem {
  int64_t wrong() const { return measured.difference.wrong; }
  // Whether nearly all elements are wrong, so that their location tells nothing.
  bool all_wrong() const { return wrong() * 10 >= operands.count * 9; }
  int task_dim() const { return choose_task_dim(block_count(operands), operands.bytes()); }
  // Maximum bytes that a hypothesis may allocate.
  int64_t memory() const { return std::max(int64_t{32} << 20, operands.bytes() / 32); }
  std::string name_of_dim(size_t dim) const {
    const char* const* axes = operands.options.axes;
    return axes == nullptr || axes[dim] == nullptr ? "index" : axes[dim];
  }
  // Number of elements with one index of a dimension.
  int64_t slice(size_t dim) const { return operands.count / dims[dim]; }
  // Distance in elements between consecutive indices of a dimension.
  int64_t stride(size_t dim) const {
    int64_t elements = 1;
    for (size_t inner = dim + 1; inner < dims.size(); ++inner) elements *= dims[inner];
    return elements;
  }

  Context& context;
  const Operands& operands;
  std::span<const int64_t> dims;
  const Measured& measured;
};

// A pair of elements.
struct Pair {
  bool is_finite() const { return std::isfinite(e) && std::isfinite(b); }

  double e, b;
  uint64_t e_bits, b_bits;  // in the type of e
};

inline bool is_wrong(const Operands& operands, const Pair& pair) {
  const bool both_nan = std::isnan(pair.e) && std::isnan(pair.b);
  if (operands.options.bits != 0) {
    if (pair.e_bits == pair.b_bits) return false;
    return !both_nan || (operands.options.nan_payloads != 0 && operands.found.dtype == operands.expected.dtype);
  }
  if (!pair.is_finite()) return !(pair.e == pair.b || both_nan);
  if (operands.differ_by_distance(pair.e, pair.b)) {
    const mluOpDataType_t dtype = operands.found.dtype;
    const uint64_t distance = distance_of(key_of_bits(dtype, pair.e_bits), key_of_bits(dtype, pair.b_bits));
    return operands.exceeds(static_cast<double>(distance), pair.b);
  }
  return operands.exceeds(std::abs(pair.e - pair.b), pair.b);
}

// Pairs of consecutive elements of found and of expected.
class PairChunk {
 public:
  // count <= kChunk.
  void read(const Operands& operands, int64_t found_first, int64_t expected_first, int64_t count) {
    read_numbers(operands.found, found_first, count, e_);
    read_bits(operands.found, found_first, count, e_bits_);
    read_numbers(operands.expected, expected_first, count, b_);
    round_bits(operands.found.dtype, operands.expected, expected_first, count, b_, b_bits_);
  }
  Pair operator[](int64_t i) const { return {e_[i], b_[i], e_bits_[i], b_bits_[i]}; }

 private:
  double e_[kChunk], b_[kChunk];
  uint64_t e_bits_[kChunk], b_bits_[kChunk];
};

inline Pair pair_of(const Operands& operands, int64_t found, int64_t expected) {
  PairChunk chunk;
  chunk.read(operands, found, expected, 1);
  return chunk[0];
}

// ", 84 of its 84 elements"
inline std::string of_its(int64_t wrong, int64_t elements, const char* its) {
  return text(", ", wrong, " of ", its, ' ', elements, " elements");
}

}  // namespace mluop::compare
