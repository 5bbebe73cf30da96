#include "compare/patterns/hits.h"

#include <cmath>
#include <utility>

#include "team/atomics.h"

namespace mluop::compare {
namespace {

// The least positive normal number.
double least_normal(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return 0x1p-14;
    case MLUOP_DTYPE_BFLOAT16:
    case MLUOP_DTYPE_FLOAT: return 0x1p-126;
    case MLUOP_DTYPE_DOUBLE: return 0x1p-1022;
    default: return 0;
  }
}

// What each task finds.
struct TaskHits {
  std::vector<int64_t> borders;
  uint32_t traits = kAllTraits;
};

struct HitArgs {
  const Problem& problem;
  bool locates;
  std::vector<std::vector<uint64_t>>& bits;
  std::vector<TaskHits>& tasks;
};

// Whether e is a value of `dtype` that b may be rounded to, up or down.
bool is_rounded_to(mluOpDataType_t dtype, const Pair& pair) {
  if (!pair.is_finite()) return false;
  const Elements e{MLUOP_DTYPE_DOUBLE, reinterpret_cast<const std::byte*>(&pair.e)};
  const Elements b{MLUOP_DTYPE_DOUBLE, reinterpret_cast<const std::byte*>(&pair.b)};
  if (rounded(dtype, pair.e) != pair.e) return false;
  uint64_t e_bits, b_bits;
  round_bits(dtype, e, 0, 1, &pair.e, &e_bits);
  round_bits(dtype, b, 0, 1, &pair.b, &b_bits);
  return distance_of(key_of_bits(dtype, e_bits), key_of_bits(dtype, b_bits)) <= 1;
}

// Those of `candidates` that a pair has.
uint32_t traits_of(mluOpDataType_t dtype, const Pair& pair, uint32_t candidates) {
  const auto [e, b, e_bits, b_bits] = pair;
  uint32_t traits = 0;
  const auto set = [&](Trait trait, bool holds) { traits |= holds ? trait : 0U; };
  set(kIsNaN, std::isnan(e) && !std::isnan(b));
  set(kOverflowed, std::isinf(e) && std::isfinite(b));
  set(kIsZero, e == 0 && b != 0 && std::isfinite(b));
  set(kIsFlushed, e == 0 && b != 0 && std::abs(b) < least_normal(dtype));
  set(kIsNegated, e == -b && e != 0);
  set(kIsOneUlp, pair.is_finite() && distance_of(key_of_bits(dtype, e_bits), key_of_bits(dtype, b_bits)) == 1);
  const bool has_more_bits = dtype == MLUOP_DTYPE_FLOAT || dtype == MLUOP_DTYPE_DOUBLE;
  if (has_more_bits && (candidates & kIsHalf) != 0) set(kIsHalf, is_rounded_to(MLUOP_DTYPE_HALF, pair));
  if (has_more_bits && (candidates & kIsBFloat16) != 0)
    set(kIsBFloat16, is_rounded_to(MLUOP_DTYPE_BFLOAT16, pair));
  return candidates & traits;
}

// Work items: blocks.
void find_in_blocks(const HitArgs& args, int64_t begin, int64_t end, Task& task) {
  const Problem& problem = args.problem;
  const std::span<const int64_t> dims = problem.dims;
  TaskHits& found = args.tasks[static_cast<size_t>(task.taskId)];
  for (int64_t block = begin; block < end; ++block) {
    if (!args.locates && found.traits == 0) return;
    if (problem.measured.wrong_in_block[static_cast<size_t>(block)] == 0) continue;
    for_each_wrong(problem.operands, block, [&](int64_t i, const Pair& pair) {
      if (found.traits != 0) found.traits = traits_of(problem.operands.found.dtype, pair, found.traits);
      if (!args.locates) return found.traits != 0;
      size_t border = 0;
      int64_t rest = i;
      for (size_t dim = dims.size(); dim-- > 0;) {
        const int64_t index = rest % dims[dim];
        rest /= dims[dim];
        if (dims[dim] >= 3 && (index == 0 || index == dims[dim] - 1)) border |= size_t{1} << dim;
        if (args.bits[dim].empty()) continue;
        atomic_or(&args.bits[dim][static_cast<size_t>(index / 64)], uint64_t{1} << (index % 64));
      }
      ++found.borders[border];
      return true;
    });
  }
}

}  // namespace

Hits find_hits(const Problem& problem) {
  Hits hits{std::vector<std::vector<uint64_t>>(problem.dims.size()), {}, kAllTraits};
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
  for (TaskHits& task : tasks) task.borders.resize(borders);
  launch(problem.context, "find_hits", task_dim, Evenly{block_count(problem.operands)},
         RangeKernel<HitArgs>(find_in_blocks), {problem, locates, hits.bits, tasks});
  hits.borders.resize(borders);
  for (const TaskHits& task : tasks) {
    hits.traits &= task.traits;
    for (size_t border = 0; border < borders; ++border) hits.borders[border] += task.borders[border];
  }
  return hits;
}

std::string common_trait(const Problem& problem, const Hits& hits) {
  // Numbers such as 1 and 0.5 are values of every type.
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
  for (const auto& [trait, text] : kTexts) {
    const bool is_rounding = trait == kIsHalf || trait == kIsBFloat16;
    if ((hits.traits & trait) == 0 || (is_rounding && problem.wrong() < kEnough)) continue;
    return trait == kIsOneUlp && !is_floating(problem.operands.found.dtype) ? "each is off by 1" : text;
  }
  return "";
}

}  // namespace mluop::compare
