// Copies that bypass the caches, for outputs too large to be found there again: the lines are not read before
// they are written. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_STREAM_INL_H
#undef MLUOP_PRIMITIVES_STREAM_INL_H
#else
#define MLUOP_PRIMITIVES_STREAM_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// to[0, count) = from[0, count), elements of any type that a vector holds. Ranges do not overlap.
// hwy::FlushStream() before the task ends.
template <class T>
void stream_copy(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const size_t misaligned = reinterpret_cast<uintptr_t>(to) / sizeof(T) % lanes;
  const size_t head = misaligned == 0 ? 0 : HWY_MIN(lanes - misaligned, count);
  std::memcpy(to, from, head * sizeof(T));
  size_t i = head;
  for (; i + lanes <= count; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::memcpy(to + i, from + i, (count - i) * sizeof(T));
}

// data[0, count) = 0; otherwise as stream_copy().
inline void stream_zero(uint8_t* data, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  const size_t head = HWY_MIN((lanes - reinterpret_cast<uintptr_t>(data) % lanes) % lanes, count);
  std::memset(data, 0, head);
  size_t i = head;
  for (; i + lanes <= count; i += lanes) hn::Stream(hn::Zero(d), d, data + i);
  std::memset(data + i, 0, count - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
