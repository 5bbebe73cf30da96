// Non-temporal stores, for outputs that leave the caches before they are read: their lines are not read before
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

#include "core/element.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// All non-temporal stores of a kernel go through one StreamWriter, whose destructor issues the fence that they
// need. A fence after each row would wait for the write-combining buffers.
class StreamWriter {
 public:
  StreamWriter() = default;
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;
  ~StreamWriter() { hwy::FlushStream(); }

  // Stores one vector; `to` is aligned to it.
  template <class D>
  HWY_INLINE void store(hwy::HWY_NAMESPACE::Vec<D> v, D d, hwy::HWY_NAMESPACE::TFromD<D>* to) const {
    hwy::HWY_NAMESPACE::Stream(v, d, to);
  }

  // Stores one vector: non-temporal if kStream, otherwise an ordinary store to any address.
  template <bool kStream, class D>
  HWY_INLINE void write(hwy::HWY_NAMESPACE::Vec<D> v, D d, hwy::HWY_NAMESPACE::TFromD<D>* to) const {
    if constexpr (kStream) {
      store(v, d, to);
    } else {
      hwy::HWY_NAMESPACE::StoreU(v, d, to);
    }
  }

  // to[0, count) = from[0, count), for elements of any type that vectors support. The ranges must not overlap.
  template <class T>
  void copy(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, size_t count) const {
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

  template <Element16 T>
  void copy(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, size_t count) const {
    copy(reinterpret_cast<uint16_t*>(to), reinterpret_cast<const uint16_t*>(from), count);
  }

  // data[0, count) = value
  void fill(uint8_t* data, uint8_t value, size_t count) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<uint8_t> d;
    const size_t lanes = hn::Lanes(d);
    const size_t head = HWY_MIN((lanes - reinterpret_cast<uintptr_t>(data) % lanes) % lanes, count);
    std::memset(data, value, head);
    size_t i = head;
    for (; i + lanes <= count; i += lanes) hn::Stream(hn::Set(d, value), d, data + i);
    std::memset(data + i, value, count - i);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
