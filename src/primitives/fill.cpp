#include "primitives/fill.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/fill.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cstring>

#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Items: bytes.
void fill_past_caches(uint8_t* const& data, int64_t begin, int64_t end, Task&) {
  stream_zero(data + begin, static_cast<size_t>(end - begin));
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(fill_past_caches);

namespace {

// What is larger is not found in a cache again.
constexpr int64_t kMaxCachedBytes = 64 << 20;

// Items: bytes.
void fill_in_caches(uint8_t* const& data, int64_t begin, int64_t end, Task&) {
  std::memset(data + begin, 0, static_cast<size_t>(end - begin));
}

}  // namespace

void fill_zero(Context& context, void* data, int64_t bytes) {
  launch<uint8_t*>(context, choose_task_dim(bytes, bytes), Evenly{bytes},
                   bytes > kMaxCachedBytes ? HWY_DYNAMIC_DISPATCH(fill_past_caches) : fill_in_caches,
                   static_cast<uint8_t*>(data));
}

}  // namespace mluop
#endif
