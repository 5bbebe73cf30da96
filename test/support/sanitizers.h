// Whether a sanitizer is part of the build: tests reduce counts, and skip checks that a sanitizer's memory
// distorts.
#pragma once

#include "core/poison.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MLUOP_THREAD_SANITIZER 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define MLUOP_THREAD_SANITIZER 1
#endif

namespace mluop::test {

#ifdef MLUOP_THREAD_SANITIZER
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
inline constexpr bool kSanitizer = kThreadSanitizer || kPoisons;

}  // namespace mluop::test
