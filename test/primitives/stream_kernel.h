// stream_copy() of the library's primitives, on the instruction set that the library has chosen. For tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop::test {

template <class T>
using StreamCopy = void (*)(T* to, const T* from, size_t count);

// T: int16_t or int32_t.
template <class T>
StreamCopy<T> chosen_stream_copy();

}  // namespace mluop::test
