#include "compare/root_mean_square.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compare/measure_kernels.h"
#include "team/launch.h"

namespace mluop::compare {
namespace {

struct Squares {
  double sum = 0;
  int64_t count = 0;  // number of finite nonzero elements
};

struct SquaresMemory {
  SquaresMemory(Arena& arena, int64_t blocks) : partials(arena.take<Squares>("squares", {blocks})) {}

  Squares* partials;
};

struct SquaresArgs : Operands {
  double scale;
  Squares* partials;  // for each block
};

// Work items: blocks.
void add_squares(const SquaresArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t block = begin; block < end; ++block) {
    double sums[kSumLanes] = {};
    int64_t nonzero[kSumLanes] = {};
    const int64_t last = block_end(args, block);
    for (int64_t first = block * kBlockElements; first < last; first += kChunk) {
      double numbers[kChunk] = {};
      read_numbers(args.expected, first, std::min(kChunk, last - first), numbers);
      for (int64_t i = 0; i < kChunk; i += kSumLanes) {
        for (int lane = 0; lane < kSumLanes; ++lane) {
          const double magnitude = std::abs(numbers[i + lane]);
          const bool counts = magnitude > 0 && magnitude <= std::numeric_limits<double>::max();
          const double scaled = counts ? magnitude * args.scale : 0;
          sums[lane] += scaled * scaled;
          nonzero[lane] += counts ? 1 : 0;
        }
      }
    }
    args.partials[block] = {sum_of_lanes(sums), 0};
    for (const int64_t of_lane : nonzero) args.partials[block].count += of_lane;
  }
}

}  // namespace

double root_mean_square(Context& context, const Operands& operands) {
  const int64_t blocks = block_count(operands);
  Arena arena = context.reserve(bytes_of<SquaresMemory>(blocks));
  Squares* const partials = SquaresMemory(arena, blocks).partials;
  const int64_t bytes = operands.count * static_cast<int64_t>(size_of(operands.expected.dtype));
  const int task_dim = choose_task_dim(blocks, bytes);
  // With one of these scales, the squares neither overflow nor all underflow.
  for (const double scale : {1.0, 0x1p-560, 0x1p+560}) {
    launch(context, "add_squares", task_dim, Evenly{blocks}, RangeKernel<SquaresArgs>(add_squares),
           {operands, scale, partials});
    Squares total;
    for (int64_t block = 0; block < blocks; ++block) {
      total.sum += partials[block].sum;
      total.count += partials[block].count;
    }
    if (total.count == 0) return 0;
    if (total.sum == 0 || std::isinf(total.sum)) continue;
    const double rms = std::sqrt(total.sum / static_cast<double>(total.count)) / scale;
    return std::min(rms, std::numeric_limits<double>::max());
  }
  return 0;
}

}  // namespace mluop::compare
