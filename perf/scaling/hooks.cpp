// What compilers call in code compiled with -fsanitize=thread, and the functions of the C library that move
// memory.
#include <atomic>
#include <cstdint>
#include <cstring>

#include "perf/scaling/count_access.h"

using mluop::perf::accesses;

#define MLUOP_COUNT_SIZE(bytes)                                                       \
  void __tsan_read##bytes(void* address) { accesses.read(address, bytes); }           \
  void __tsan_write##bytes(void* address) { accesses.write(address, bytes); }         \
  void __tsan_unaligned_read##bytes(void* address) { accesses.read(address, bytes); } \
  void __tsan_unaligned_write##bytes(void* address) { accesses.write(address, bytes); }

#define MLUOP_COUNT_UPDATE(bits, name, operation)                                                           \
  uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* target, uint##bits##_t value, int) { \
    count_update(target, sizeof(value));                                                                    \
    return operation(target, value, __ATOMIC_SEQ_CST);                                                      \
  }

#define MLUOP_COUNT_EXCHANGE(bits, name)                                                                       \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t* target, uint##bits##_t* expected, \
                                                    uint##bits##_t value, int, int) {                          \
    count_update(target, sizeof(value));                                                                       \
    return __atomic_compare_exchange_n(target, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }

#define MLUOP_COUNT_ATOMICS(bits)                                                                \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* source, int) {        \
    accesses.read(source, sizeof(*source));                                                      \
    return __atomic_load_n(source, __ATOMIC_SEQ_CST);                                            \
  }                                                                                              \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* target, uint##bits##_t value, int) { \
    accesses.write(target, sizeof(value));                                                       \
    __atomic_store_n(target, value, __ATOMIC_SEQ_CST);                                           \
  }                                                                                              \
  MLUOP_COUNT_UPDATE(bits, exchange, __atomic_exchange_n)                                        \
  MLUOP_COUNT_UPDATE(bits, fetch_add, __atomic_fetch_add)                                        \
  MLUOP_COUNT_UPDATE(bits, fetch_sub, __atomic_fetch_sub)                                        \
  MLUOP_COUNT_UPDATE(bits, fetch_and, __atomic_fetch_and)                                        \
  MLUOP_COUNT_UPDATE(bits, fetch_or, __atomic_fetch_or)                                          \
  MLUOP_COUNT_UPDATE(bits, fetch_xor, __atomic_fetch_xor)                                        \
  MLUOP_COUNT_EXCHANGE(bits, strong)                                                             \
  MLUOP_COUNT_EXCHANGE(bits, weak)

namespace {

void count_update(const volatile void* target, size_t bytes) {
  accesses.read(target, bytes);
  accesses.write(target, bytes);
  ++accesses.counts.atomics;
}

}  // namespace

extern "C" {

MLUOP_COUNT_SIZE(1)
MLUOP_COUNT_SIZE(2)
MLUOP_COUNT_SIZE(4)
MLUOP_COUNT_SIZE(8)
MLUOP_COUNT_SIZE(16)
void __tsan_read_range(void* address, size_t bytes) { accesses.read(address, bytes); }
void __tsan_write_range(void* address, size_t bytes) { accesses.write(address, bytes); }
void __tsan_vptr_update(void** address, void*) { accesses.write(static_cast<void*>(address), sizeof(void*)); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

MLUOP_COUNT_ATOMICS(8)
MLUOP_COUNT_ATOMICS(16)
MLUOP_COUNT_ATOMICS(32)
MLUOP_COUNT_ATOMICS(64)
void __tsan_atomic_thread_fence(int) { std::atomic_thread_fence(std::memory_order_seq_cst); }

// The linker leads the calls here (--wrap).
void* __real_memcpy(void* target, const void* source, size_t bytes);
void* __real_memmove(void* target, const void* source, size_t bytes);
void* __real_memset(void* target, int value, size_t bytes);

void* __wrap_memcpy(void* target, const void* source, size_t bytes) {
  accesses.read(source, bytes);
  accesses.write(target, bytes);
  return __real_memcpy(target, source, bytes);
}

void* __wrap_memmove(void* target, const void* source, size_t bytes) {
  accesses.read(source, bytes);
  accesses.write(target, bytes);
  return __real_memmove(target, source, bytes);
}

void* __wrap_memset(void* target, int value, size_t bytes) {
  accesses.write(target, bytes);
  return __real_memset(target, value, bytes);
}
}
