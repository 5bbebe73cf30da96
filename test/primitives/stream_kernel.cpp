#include "primitives/stream_copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/stream_copy.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {

void copy_2(int16_t* to, const int16_t* from, size_t count) {
  mluop::HWY_NAMESPACE::stream_copy(to, from, count);
  hwy::FlushStream();
}

void copy_4(int32_t* to, const int32_t* from, size_t count) {
  mluop::HWY_NAMESPACE::stream_copy(to, from, count);
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::test {

HWY_EXPORT(copy_2);
HWY_EXPORT(copy_4);

template <>
StreamCopy<int16_t> chosen_stream_copy() {
  return HWY_DYNAMIC_DISPATCH(copy_2);
}

template <>
StreamCopy<int32_t> chosen_stream_copy() {
  return HWY_DYNAMIC_DISPATCH(copy_4);
}

}  // namespace mluop::test
#endif
