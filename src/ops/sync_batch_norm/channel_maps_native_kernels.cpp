// Maps of elements with the numbers of their channels. Start with map() at the end of the file, then
// map_channels().
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sync_batch_norm/channel_maps_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <type_traits>

#include "core/caches.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/sync_batch_norm/sync_batch_norm.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "team/launch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::sync_batch_norm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::to_bits;

// Stores a vector, rounded to T. A non-temporal store writes at least 16 bytes.
template <bool kStream, class D, class T>
HWY_INLINE void write(const StreamWriter& writer, hn::Vec<D> v, D d, T* to) {
  if constexpr (!kStream || hn::MaxLanes(D()) * sizeof(T) < 16) {
    store_f32(v, d, to);
  } else if constexpr (std::is_same_v<T, float>) {
    writer.store(v, d, to);
  } else {
    writer.store(to_bits<T>(d, v), hn::Rebind<uint16_t, D>(), reinterpret_cast<uint16_t*>(to));
  }
}

// Calls body(d, i, number) for vectors of the work items, each a row of channels or the elements of a channel of a
// batch item. i: the first element; number(d, numbers): the channels' numbers for the vector.
template <class Body>
HWY_INLINE void map_channels(const Shape& shape, int64_t begin, int64_t end, const Body& body) {
  for (int64_t item = begin; item < end; ++item) {
    if (shape.S == 1) {
      for_each_vector(shape.C, [&](auto d, int64_t i) HWY_ATTR {
        body(d, item * shape.C + i,
             [i](auto tag, const float* numbers) HWY_ATTR { return hn::LoadU(tag, numbers + i); });
      });
    } else {
      const int64_t c = item % shape.C;
      for_each_vector(shape.S, [&](auto d, int64_t i) HWY_ATTR {
        body(d, item * shape.S + i,
             [c](auto tag, const float* numbers) HWY_ATTR { return hn::Set(tag, numbers[c]); });
      });
    }
  }
}

template <bool kStream, class T>
HWY_INLINE void map_forward_range(const MapArgs& args, int64_t begin, int64_t end) {
  const StreamWriter writer;
  const Channels& channels = args.channels;
  map_channels(args.shape, begin, end, [&](auto d, int64_t i, const auto& number) HWY_ATTR {
    const auto a = load_f32(d, static_cast<const T*>(args.a) + i);
    const auto norm = hn::Mul(hn::Sub(a, number(d, channels.mean)), number(d, channels.factor));
    if (args.norm != nullptr) write<kStream>(writer, norm, d, args.norm + i);
    write<kStream>(writer, hn::Add(hn::Mul(norm, number(d, channels.scale)), number(d, channels.offset)), d,
                   static_cast<T*>(args.output) + i);
  });
}

template <bool kStream, class A, class B>
HWY_INLINE void map_backward_range(const MapArgs& args, int64_t begin, int64_t end) {
  const StreamWriter writer;
  const Channels& channels = args.channels;
  map_channels(args.shape, begin, end, [&](auto d, int64_t i, const auto& number) HWY_ATTR {
    const auto a = load_f32(d, static_cast<const A*>(args.a) + i),
               b = load_f32(d, static_cast<const B*>(args.b) + i);
    const auto term = hn::Mul(hn::Sub(b, number(d, channels.mean)), number(d, channels.factor));
    const auto rest = hn::Sub(hn::Sub(a, number(d, channels.offset)), term);
    write<kStream>(writer, hn::Mul(rest, number(d, channels.scale)), d, static_cast<A*>(args.output) + i);
  });
}

template <class T>
void forward(const MapArgs& args, int64_t begin, int64_t end, Task&) {
  args.stream ? map_forward_range<true, T>(args, begin, end) : map_forward_range<false, T>(args, begin, end);
}
template <class T>
void backward(const MapArgs& args, int64_t begin, int64_t end, Task&) {
  args.stream ? map_backward_range<true, T, T>(args, begin, end)
              : map_backward_range<false, T, T>(args, begin, end);
}
template <class T>
void backward_of_float(const MapArgs& args, int64_t begin, int64_t end, Task&) {
  args.stream ? map_backward_range<true, T, float>(args, begin, end)
              : map_backward_range<false, T, float>(args, begin, end);
}

MLUOP_SELECT_BY_DTYPE(forward, MapArgs);
MLUOP_SELECT_BY_DTYPE(backward, MapArgs);
MLUOP_SELECT_BY_DTYPE(backward_of_float, MapArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::sync_batch_norm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::sync_batch_norm {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(forward_kernel, forward, MapArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(backward_kernel, backward, MapArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(backward_of_float_kernel, backward_of_float, MapArgs);

bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kCacheLine == 0; }

void map(Call& call, MapArgs args, RangeKernel<MapArgs> kernel, size_t element_bytes) {
  const auto [N, C, S] = args.shape;
  const auto size = static_cast<int64_t>(element_bytes);
  const int64_t items = S == 1 ? N : N * C, bytes = saturated_product({N * S, C, size, 2});
  const int task_dim = choose_task_dim(items, bytes);
  // Non-temporal stores fill whole lines.
  const bool whole_lines =
      (S == 1 ? C : S) * size % kCacheLine == 0 && is_aligned(args.output) && is_aligned(args.norm);
  args.stream = whole_lines && exceeds_caches(bytes);
  call.log_detail("native, taskDim ", task_dim, args.stream ? ", streamed" : "");
  launch(call.context(), "map", task_dim, Evenly{items}, kernel, args);
}

}  // namespace

Channels reserve_channels(Context& context, int64_t C) {
  Arena arena = context.reserve(bytes_of<Channels>(C));
  return {arena, C};
}

void map_forward(Call& call, const Shape& shape, mluOpDataType_t dtype, const void* a, const Channels& channels,
                 float* norm, void* output) {
  map(call, {shape, a, nullptr, output, norm, channels, false}, forward_kernel(dtype), size_of(dtype));
}

void map_backward(Call& call, const Shape& shape, mluOpDataType_t dtype, const void* a, const void* b,
                  bool b_is_float, const Channels& channels, void* output) {
  map(call, {shape, a, b, output, nullptr, channels, false},
      b_is_float ? backward_of_float_kernel(dtype) : backward_kernel(dtype), size_of(dtype));
}

}  // namespace mluop::sync_batch_norm
#endif
