// Poisoned memory: AddressSanitizer reports an access to it. In other builds poisoning does nothing.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MLUOP_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MLUOP_ADDRESS_SANITIZER 1
#endif

#ifdef MLUOP_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace mluop {

#ifdef MLUOP_ADDRESS_SANITIZER
inline constexpr bool kPoisons = true;
inline void poison(const void* memory, size_t bytes) { __asan_poison_memory_region(memory, bytes); }
inline void unpoison(const void* memory, size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }
#else
inline constexpr bool kPoisons = false;
inline void poison(const void* /*memory*/, size_t /*bytes*/) {}
inline void unpoison(const void* /*memory*/, size_t /*bytes*/) {}
#endif

}  // namespace mluop
