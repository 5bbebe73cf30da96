// StreamWriter of primitives/stream-inl.h, on the instruction set that the library has chosen. For tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop::test {

// to[0, count) = from[0, count)
template <class T>
using StreamCopy = void (*)(T* to, const T* from, size_t count);

// T: int16_t or int32_t.
template <class T>
StreamCopy<T> stream_copy();

// Whole vectors: `to` is aligned to 64 bytes, and count is a multiple of 16.
StreamCopy<int32_t> stream_store();

// data[0, count) = 0
using StreamZero = void (*)(uint8_t* data, size_t count);
StreamZero stream_zero();

}  // namespace mluop::test
