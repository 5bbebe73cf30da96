#include "primitives/fill.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/fill.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cstring>

#include "core/caches.h"
#include "core/simd.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Work items: bytes.
void stream_zeros(uint8_t* const& data, int64_t begin, int64_t end, Task&) {
  const StreamWriter stream;
  stream.zero(data + begin, static_cast<size_t>(end - begin));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(stream_zeros);

namespace {

// Work items: bytes.
void store_zeros(uint8_t* const& data, int64_t begin, int64_t end, Task&) {
  std::memset(data + begin, 0, static_cast<size_t>(end - begin));
}

}  // namespace

void fill_zero(Context& context, void* data, int64_t bytes) {
  // The zeros are updated soon: they bypass the caches only where these cannot hold them until then.
  const bool stream = bytes > 2 * cache_sizes().llc;
  launch<uint8_t*>(context, "fill", task_dim_of(context, bytes, bytes), Evenly{bytes},
                   stream ? MLUOP_DISPATCH(stream_zeros) : store_zeros, static_cast<uint8_t*>(data));
}

}  // namespace mluop
#endif
