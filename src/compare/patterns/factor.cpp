#include "compare/patterns/factor.h"

#include <cmath>

#include "team/atomics.h"

namespace mluop::compare {
namespace {

// The relative error of a few roundings to the type.
double roundings(mluOpDataType_t dtype) {
  constexpr double kFew = 4;
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return kFew * 0x1p-11;
    case MLUOP_DTYPE_BFLOAT16: return kFew * 0x1p-8;
    case MLUOP_DTYPE_FLOAT: return kFew * 0x1p-24;
    default: return kFew * 0x1p-53;
  }
}

struct FactorArgs {
  const Problem& problem;
  double factor;
  FirstBadItem& first_bad;
};

// Work items: blocks.
void verify_factor(const FactorArgs& args, int64_t begin, int64_t end, Task&) {
  const Operands& operands = args.problem.operands;
  // Integers are rounded.
  const double relative = roundings(operands.found.dtype), absolute = is_floating(operands.found.dtype) ? 0 : 0.5;
  bool holds = true;
  for (int64_t block = begin; holds && block < end; ++block) {
    if (args.problem.measured.wrong_in_block[static_cast<size_t>(block)] == 0) continue;
    for_each_wrong(operands, block, [&](int64_t, const Pair& pair) {
      const double product = args.factor * pair.b;
      return holds = std::abs(pair.e - product) <= relative * std::abs(product) + absolute;
    });
    if (!holds) args.first_bad.report(block);
  }
}

}  // namespace

std::string factor(const Problem& problem) {
  constexpr int64_t kSeveral = 4;
  // Its b is the largest, if the errors are a multiple of b.
  const mluOpOmpWrongElement_t& worst = problem.measured.worst.front();
  const double factor = worst.found / worst.expected;
  if (problem.wrong() < kSeveral || !std::isfinite(factor) || factor == 0) return "";
  FirstBadItem first_bad;
  launch(problem.context, "verify_factor", problem.task_dim(), Evenly{block_count(problem.operands)},
         RangeKernel<FactorArgs>(verify_factor), {problem, factor, first_bad});
  if (first_bad.found()) return "";
  return text("each is ", factor, " times what is expected");
}

}  // namespace mluop::compare
