// Defines the functions that the library, mluop_case, and what a wheel links statically take from a glibc newer
// than 2.27, by functions of glibc 2.27, so that the wheel runs on the systems of PyTorch's wheels. Debian
// 12 has glibc 2.36, which also has the old versions of changed functions. auditwheel names a function that is
// missing here.
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "glibc_2_27.h"

// Defines NAME, which calls the function of the first version.
#define OF_FIRST_VERSION(TYPE, NAME, PARAMETERS, ARGUMENTS) \
  __asm__(".symver first_" #NAME "," #NAME "@" FIRST);      \
  extern TYPE first_##NAME PARAMETERS;                      \
  TYPE NAME PARAMETERS { return first_##NAME ARGUMENTS; }

OF_FIRST_VERSION(double, exp, (double x), (x))
OF_FIRST_VERSION(double, log, (double x), (x))
OF_FIRST_VERSION(double, pow, (double x, double y), (x, y))
OF_FIRST_VERSION(double, hypot, (double x, double y), (x, y))

// These functions moved from libpthread to libc in 2.34. libgomp loads libpthread if it exists.
typedef void* Start(void*);
typedef void Once(void);
OF_FIRST_VERSION(int, pthread_attr_getstacksize, (const pthread_attr_t* attributes, size_t* size),
                 (attributes, size))
OF_FIRST_VERSION(int, pthread_attr_setstacksize, (pthread_attr_t * attributes, size_t size), (attributes, size))
OF_FIRST_VERSION(int, pthread_create,
                 (pthread_t * thread, const pthread_attr_t* attributes, Start* start, void* argument),
                 (thread, attributes, start, argument))
OF_FIRST_VERSION(int, pthread_join, (pthread_t thread, void** result), (thread, result))
OF_FIRST_VERSION(int, pthread_once, (pthread_once_t * control, Once* function), (control, function))
OF_FIRST_VERSION(int, __pthread_key_create, (pthread_key_t * key, void (*destroy)(void*)), (key, destroy))

pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }
int tgkill(pid_t process, pid_t thread, int signal) { return (int)syscall(SYS_tgkill, process, thread, signal); }

// On these architectures the kernel and the C library have the same structure.
int stat(const char* path, struct stat* status) { return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0); }
int lstat(const char* path, struct stat* status) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat* status) { return (int)syscall(SYS_fstat, file, status); }
int fstat64(int file, struct stat64* status) { return (int)syscall(SYS_fstat, file, status); }

// The C++ library omits atomic operations if this variable is not 0.
char __libc_single_threaded = 0;

uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}
