// Checks indices against a bound. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_FIND_BAD_INDEX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_FIND_BAD_INDEX_INL_H
#undef MLUOP_PRIMITIVES_FIND_BAD_INDEX_INL_H
#else
#define MLUOP_PRIMITIVES_FIND_BAD_INDEX_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Number of indices whose maximum is compared with the bound at once.
constexpr int64_t kChunkIndices = 4096;

// Whether all of indices[0, count), as unsigned numbers, are below `limit`; negative indices are not.
HWY_INLINE bool all_below(const int32_t* indices, int64_t count, uint32_t limit) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* values = reinterpret_cast<const uint32_t*>(indices);
  auto max = hn::Zero(d);
  uint32_t max_of_rest = 0;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) max = hn::Max(max, hn::LoadU(d, values + i));
  for (; i < count; ++i) max_of_rest = std::max(max_of_rest, values[i]);
  return std::max(max_of_rest, hn::GetLane(hn::MaxOfLanes(d, max))) < limit;
}

// Position of the first of indices[begin, end) outside [0, M); `end` if there is none.
HWY_INLINE int64_t find_bad_index(const int32_t* indices, int64_t begin, int64_t end, int64_t M) {
  const auto limit = static_cast<uint32_t>(std::min(M, int64_t{1} << 31));
  for (int64_t first = begin; first < end; first += kChunkIndices) {
    const int64_t last = std::min(first + kChunkIndices, end);
    if (all_below(indices + first, last - first, limit)) continue;
    return std::find_if(indices + first, indices + last,
                        [=](int32_t index) { return static_cast<uint32_t>(index) >= limit; }) -
           indices;
  }
  return end;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
