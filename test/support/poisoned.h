// Functions that ask AddressSanitizer which memory is poisoned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/poison.h"

namespace mluop::test {

#ifdef MLUOP_ADDRESS_SANITIZER
inline bool is_poisoned(const void* address) { return __asan_address_is_poisoned(address) != 0; }
#else
inline bool is_poisoned(const void* /*address*/) { return false; }
#endif

// The number of poisoned bytes from `memory` on, up to `max`.
inline size_t poisoned_bytes(const void* memory, size_t max) {
  const auto* const bytes = static_cast<const std::byte*>(memory);
  size_t count = 0;
  while (count < max && is_poisoned(bytes + count)) ++count;
  return count;
}

// Whether each of `count` elements can be accessed.
template <class T>
bool accessible(const T* elements, size_t count) {
  const auto bytes = std::as_bytes(std::span(elements, count));
  return std::none_of(bytes.begin(), bytes.end(), [](const std::byte& byte) { return is_poisoned(&byte); });
}

}  // namespace mluop::test
