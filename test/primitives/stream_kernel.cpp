#include "primitives/stream_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/stream_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::StreamWriter;

void copy_2(int16_t* to, const int16_t* from, size_t count) { StreamWriter().copy(to, from, count); }
void copy_4(int32_t* to, const int32_t* from, size_t count) { StreamWriter().copy(to, from, count); }

void store(int32_t* to, const int32_t* from, size_t count) {
  const StreamWriter stream;
  const hn::ScalableTag<int32_t> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) stream.store(hn::LoadU(d, from + i), d, to + i);
}

void zero(uint8_t* data, size_t count) { StreamWriter().zero(data, count); }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::test {

HWY_EXPORT(copy_2);
HWY_EXPORT(copy_4);
HWY_EXPORT(store);
HWY_EXPORT(zero);

template <>
StreamCopy<int16_t> stream_copy() {
  return MLUOP_DISPATCH(copy_2);
}

template <>
StreamCopy<int32_t> stream_copy() {
  return MLUOP_DISPATCH(copy_4);
}

StreamCopy<int32_t> stream_store() { return MLUOP_DISPATCH(store); }
StreamZero stream_zero() { return MLUOP_DISPATCH(zero); }

}  // namespace mluop::test
#endif
