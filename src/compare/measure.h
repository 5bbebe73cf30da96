// The figures of a comparison. One pass over both tensors measures each block of elements; the partial results are
// added in the order of the blocks, independently of the number of tasks. A second pass follows if sums of the
// first overflow, or cancel in the variances.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "compare/elements.h"
#include "core/dtype.h"
#include "mlu_op_omp.h"
#include "team/context.h"

namespace mluop::compare {

// Both tensors, contiguous and with `count` elements each, and the checked options.
struct Operands {
  // Total bytes of both tensors.
  int64_t bytes() const { return count * static_cast<int64_t>(size_of(found.dtype) + size_of(expected.dtype)); }
  // Whether e and b, which may be rounded to double, differ by their distance in values of the type of `found`.
  bool differ_by_distance(double e, double b) const {
    return is_64_bit_integer(found.dtype) && (found.dtype == expected.dtype || e == b);
  }
  // Whether the tensors can be read as vectors.
  bool are_vectors() const {
    return found.dtype == expected.dtype && is_floating(found.dtype) && found.dtype != MLUOP_DTYPE_DOUBLE;
  }
  // Whether the error of two finite numbers makes the element wrong when `bits` is 0.
  bool exceeds(double error, double b) const { return !(error <= options.atol + options.rtol * std::abs(b)); }

  Elements found, expected;
  int64_t count;
  mluOpOmpCompareOptions_t options;
};

// Elements of a block, the work item of all launches over elements.
inline constexpr int64_t kBlockElements = 65536;
inline int64_t block_count(const Operands& operands) {
  return operands.count / kBlockElements + (operands.count % kBlockElements != 0 ? 1 : 0);
}

// The end of the elements of a block.
inline int64_t block_end(const Operands& operands, int64_t block) {
  return std::min((block + 1) * kBlockElements, operands.count);
}

// A bit for each step of elements.
class StepBits {
 public:
  explicit StepBits(int64_t blocks) : words_(static_cast<size_t>(blocks * kWordsOfBlock)) {}

  // Sets the step of an element, or, for each bit of `bits`, the step that many steps later; all lie in one word.
  // Blocks may be set concurrently.
  void set(int64_t element, uint64_t bits = 1) {
    const int64_t step = element / kStep;
    words_[static_cast<size_t>(step / 64)] |= bits << (step % 64);
  }
  // Calls visit(first element) for each step of a block that is set, while it returns true.
  template <class Visit>
  void for_each(int64_t block, const Visit& visit) const {
    for (int64_t word = block * kWordsOfBlock; word < (block + 1) * kWordsOfBlock; ++word) {
      for (uint64_t bits = words_[static_cast<size_t>(word)]; bits != 0; bits &= bits - 1) {
        if (!visit((word * 64 + std::countr_zero(bits)) * kStep)) return;
      }
    }
  }

 private:
  static constexpr int64_t kWordsOfBlock = kBlockElements / kStep / 64;

  std::vector<uint64_t> words_;
};

struct Measured {
  mluOpOmpDifference_t difference;
  std::vector<mluOpOmpWrongElement_t> worst;  // at least as many as the options require
  StepBits wrong_steps;                       // steps with wrong elements
};

// Reserves memory of the context for this launch and all later launches of the comparison. Throws std::bad_alloc.
Measured measure(Context& context, const Operands& operands);

}  // namespace mluop::compare
