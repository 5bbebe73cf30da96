// The version of the functions in the first release of glibc for the architecture.
#pragma once

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#else
#error "unknown architecture: expected x86-64 or aarch64"
#endif
