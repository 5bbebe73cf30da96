#include "compare/patterns/hits.h"

#include <bit>
#include <cmath>
#include <utility>

#include "compare/patterns/traits.h"
#include "team/atomics.h"

namespace mluop::compare {
namespace {

// The result of one task.
struct TaskHits {
  std::vector<int64_t> borders;
  uint32_t traits;
};

struct HitArgs {
  const Problem& problem;
  TraitArgs traits;
  StepFunction traits_of_step;
  bool locates;
  std::vector<std::vector<uint64_t>>& bits;
  std::vector<TaskHits>& tasks;
};

// Records the indices of element i.
void locate(const HitArgs& args, int64_t i, TaskHits& found) {
  const std::span<const int64_t> dims = args.problem.dims;
  size_t border = 0;
  for (size_t dim = dims.size(); dim-- > 0;) {
    const int64_t index = i % dims[dim];
    i /= dims[dim];
    if (dims[dim] >= 3 && (index == 0 || index == dims[dim] - 1)) border |= size_t{1} << dim;
    if (args.bits[dim].empty()) continue;
    atomic_or(&args.bits[dim][static_cast<size_t>(index / 64)], uint64_t{1} << (index % 64));
  }
  ++found.borders[border];
}

// Work items: blocks.
void find_in_blocks(const HitArgs& args, int64_t begin, int64_t end, Task& task) {
  TaskHits& found = args.tasks[static_cast<size_t>(task.taskId)];
  for (int64_t block = begin; block < end; ++block) {
    args.problem.measured.wrong_steps.for_each(block, [&](int64_t first) {
      const StepTraits step = args.traits_of_step(args.traits, first, found.traits);
      found.traits = step.traits;
      if (!args.locates) return found.traits != 0;
      for (uint32_t wrong = step.wrong; wrong != 0; wrong &= wrong - 1) {
        locate(args, first + std::countr_zero(wrong), found);
      }
      return true;
    });
    if (!args.locates && found.traits == 0) return;
  }
}

// The factor of the worst element, which has the largest b if errors are a multiple of b. 0 if there are few
// elements.
double factor_of(const Problem& problem) {
  constexpr int64_t kSeveral = 4;
  const mluOpOmpWrongElement_t& worst = problem.measured.worst.front();
  const double factor = worst.found / worst.expected;
  return problem.wrong() < kSeveral || !std::isfinite(factor) ? 0 : factor;
}

}  // namespace

Hits find_hits(const Problem& problem) {
  const Operands& operands = problem.operands;
  const double factor = factor_of(problem);
  const uint32_t candidates = factor == 0 ? kAllTraits & ~kIsScaled : kAllTraits;
  Hits hits{std::vector<std::vector<uint64_t>>(problem.dims.size()), {}, candidates, factor};
  const bool locates = !problem.all_wrong();
  const size_t borders = size_t{1} << problem.dims.size();
  int64_t memory = problem.memory();
  for (size_t dim = 0; locates && dim < problem.dims.size(); ++dim) {
    const int64_t words = problem.dims[dim] / 64 + 1;
    if (problem.dims[dim] == 1 || words * 8 > memory) continue;
    memory -= words * 8;
    hits.bits[dim].resize(static_cast<size_t>(words));
  }
  const int task_dim = problem.task_dim();
  std::vector<TaskHits> tasks(static_cast<size_t>(task_dim));
  for (TaskHits& task : tasks) task = {std::vector<int64_t>(borders), candidates};
  launch(problem.context, "find_hits", task_dim, Evenly{block_count(operands)},
         RangeKernel<HitArgs>(find_in_blocks),
         {problem, TraitArgs(operands, factor),
          operands.are_vectors() ? traits_of_vectors(operands.found.dtype) : traits_of_numbers, locates, hits.bits,
          tasks});
  hits.borders.resize(borders);
  for (const TaskHits& task : tasks) {
    hits.traits &= task.traits;
    for (size_t border = 0; border < borders; ++border) hits.borders[border] += task.borders[border];
  }
  return hits;
}

std::string common_trait(const Problem& problem, const Hits& hits) {
  // Every type can represent small numbers such as 1 and 0.5, so a few elements prove nothing.
  constexpr int64_t kEnough = 8;
  constexpr std::pair<Trait, const char*> kTexts[] = {
      {kIsNaN, "each is NaN"},
      {kOverflowed, "each is infinite (overflow)"},
      {kIsFlushed, "each is 0, expected a subnormal number (flushed to zero)"},
      {kIsZero, "each is 0"},
      {kIsNegated, "each has the other sign"},
      {kIsOneUlp, "each is off by 1 ULP"},
      {kIsHalf, "each is rounded to half"},
      {kIsBFloat16, "each is rounded to bfloat16"},
  };
  for (const auto& [trait, name] : kTexts) {
    const bool is_rounding = trait == kIsHalf || trait == kIsBFloat16;
    if ((hits.traits & trait) == 0 || (is_rounding && problem.wrong() < kEnough)) continue;
    return trait == kIsOneUlp && !is_floating(problem.operands.found.dtype) ? "each is off by 1" : name;
  }
  return (hits.traits & kIsScaled) != 0 ? text("each is ", hits.factor, " times what is expected") : "";
}

}  // namespace mluop::compare
