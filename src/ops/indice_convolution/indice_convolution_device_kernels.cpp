#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution/indice_convolution_device_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/caches.h"
#include "core/simd.h"
#include "ops/indice_convolution/indice_convolution_device_kernels.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns the number of leading pairs with both indices in range, rounded down to whole vectors.
HWY_INLINE int64_t count_in_range(const Args& args, const CheckTile& tile, int64_t i, int64_t count) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // As unsigned numbers, negative indices exceed every bound.
  const auto max_input = hn::Set(d, static_cast<uint32_t>(args.N - 1));
  const auto max_output = hn::Set(d, static_cast<uint32_t>(args.M - 1));
  const int64_t first = i;
  for (; i + lanes <= count; i += lanes) {
    const auto input = hn::LoadU(d, reinterpret_cast<const uint32_t*>(tile.inputs + i));
    const auto output = hn::LoadU(d, reinterpret_cast<const uint32_t*>(tile.outputs + i));
    const auto in_range =
        hn::And(hn::Eq(hn::Min(input, max_input), input), hn::Eq(hn::Min(output, max_output), output));
    if (!hn::AllTrue(d, in_range)) break;
  }
  return i - first;
}

// Returns the first pair of a tile with an index out of bounds, or count.
HWY_INLINE int64_t find_bad_pair(const Args& args, const CheckTile& tile, int64_t count, int32_t& lowest) {
  for (int64_t i = 0; i < count; ++i) {
    i += count_in_range(args, tile, i, count);
    if (i == count) break;
    const int32_t input = tile.inputs[i], output = tile.outputs[i];
    lowest = std::min({lowest, input, output});
    if ((input | output) >= 0 && (input >= args.N || output >= args.M)) return i;
  }
  return count;
}

void check_pairs(const CheckArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kMaxPairs = 2048;
  // Each buffer has whole cache lines.
  const int64_t fitting =
      static_cast<int64_t>(task.nram.capacity()) / (2 * kCacheLine) * (kCacheLine / int64_t{sizeof(int32_t)});
  const CheckTile tile(task.nram, std::min(fitting, kMaxPairs));
  int32_t lowest = 0;
  int64_t k = std::upper_bound(args.first_pairs, args.first_pairs + args.K, begin) - args.first_pairs - 1;
  for (int64_t pair = begin; pair < end;) {
    while (args.first_pairs[k + 1] <= pair) ++k;
    const int64_t l = pair - args.first_pairs[k];
    const int64_t count = std::min({tile.pairs, end - pair, args.first_pairs[k + 1] - pair});
    ++task.statistics->tiles;
    load(task, tile.inputs, args.inputs(k) + l, count * int64_t{sizeof(int32_t)});
    load(task, tile.outputs, args.outputs(k) + l, count * int64_t{sizeof(int32_t)});
    const int64_t bad = find_bad_pair(args, tile, count, lowest);
    if (bad < count) {
      args.first_bad.report(pair + bad);
      return;
    }
    pair += count;
  }
  atomic_min(args.lowest, lowest);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution::device {

MLUOP_EXPORT_KERNEL(check_kernel, check_pairs, CheckArgs);

}  // namespace mluop::indice_convolution::device
#endif
