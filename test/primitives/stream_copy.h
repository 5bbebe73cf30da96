// stream_copy() of the library's primitives, on the instruction set that the library has chosen. For tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop::test {

using StreamCopy = void (*)(int32_t* to, const int32_t* from, size_t count);

StreamCopy chosen_stream_copy();

}  // namespace mluop::test
