// Whether a sanitizer is part of the build: tests reduce counts, and skip what a sanitizer's own memory distorts.
#pragma once

#include "core/poison.h"

namespace mluop::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

inline constexpr bool kAddressSanitizer = kPoisons;
inline constexpr bool kSanitizer = kThreadSanitizer || kAddressSanitizer;

}  // namespace mluop::test
