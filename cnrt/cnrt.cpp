#include "cnrt.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

struct CNqueue_st {};

struct CNnotifier_st {
  std::optional<std::chrono::steady_clock::time_point> placed;
};

namespace {

constexpr std::size_t kAlignment = 64;

struct Free {
  void operator()(void* address) const { std::free(address); }
};

// What the functions below have handed out and not taken back. Never destroyed: destructors of static objects may
// call the functions.
struct Live {
  std::mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<CNqueue_st>> queues;
  std::unordered_map<const void*, std::unique_ptr<CNnotifier_st>> notifiers;
  std::unordered_map<const void*, std::unique_ptr<void, Free>> memory;
};

Live& live() {
  static Live& objects = *new Live;
  return objects;
}

// Calls `function` with the live objects, which no other thread uses meanwhile.
template <class Function>
cnrtRet_t with_live(Function function) noexcept {
  try {
    Live& objects = live();
    const std::lock_guard lock(objects.mutex);
    return function(objects);
  } catch (const std::bad_alloc&) {
    return cnrtErrorSysNoMem;
  }
}

template <class Object>
void create(std::unordered_map<const void*, std::unique_ptr<Object>>& objects, Object** handle) {
  auto object = std::make_unique<Object>();
  Object* address = object.get();
  objects.emplace(address, std::move(object));
  *handle = address;
}

bool is_queue(const Live& objects, const CNqueue_st* queue) {
  return queue == nullptr || objects.queues.contains(queue);
}

}  // namespace

cnrtRet_t cnrtGetDeviceCount(unsigned int* count) {
  if (count == nullptr) return cnrtErrorArgsInvalid;
  *count = 1;
  return cnrtSuccess;
}

cnrtRet_t cnrtGetDevice(int* ordinal) {
  if (ordinal == nullptr) return cnrtErrorArgsInvalid;
  *ordinal = 0;
  return cnrtSuccess;
}

cnrtRet_t cnrtSetDevice(int ordinal) { return ordinal == 0 ? cnrtSuccess : cnrtErrorDeviceInvalid; }

cnrtRet_t cnrtQueueCreate(cnrtQueue_t* queue) {
  if (queue == nullptr) return cnrtErrorArgsInvalid;
  return with_live([=](Live& objects) {
    create(objects.queues, queue);
    return cnrtSuccess;
  });
}

cnrtRet_t cnrtQueueDestroy(cnrtQueue_t queue) {
  return with_live([=](Live& objects) {
    return objects.queues.erase(queue) == 1 ? cnrtSuccess : cnrtErrorInvalidResourceHandle;
  });
}

cnrtRet_t cnrtQueueSync(cnrtQueue_t queue) {
  return with_live([=](const Live& objects) {
    return is_queue(objects, queue) ? cnrtSuccess : cnrtErrorInvalidResourceHandle;
  });
}

cnrtRet_t cnrtMalloc(void** ptr, size_t bytes) {
  if (ptr == nullptr) return cnrtErrorArgsInvalid;
  if (bytes > std::numeric_limits<size_t>::max() - kAlignment) return cnrtErrorNoMem;
  // At least one byte, so that the address is unique.
  const size_t rounded = (bytes / kAlignment + 1) * kAlignment;
  std::unique_ptr<void, Free> memory(std::aligned_alloc(kAlignment, rounded));
  if (memory == nullptr) return cnrtErrorNoMem;
  return with_live([&](Live& objects) {
    void* const address = memory.get();
    objects.memory.emplace(address, std::move(memory));
    *ptr = address;
    return cnrtSuccess;
  });
}

cnrtRet_t cnrtFree(void* ptr) {
  if (ptr == nullptr) return cnrtSuccess;
  return with_live(
      [=](Live& objects) { return objects.memory.erase(ptr) == 1 ? cnrtSuccess : cnrtErrorArgsInvalid; });
}

cnrtRet_t cnrtMemcpy(void* dst, void* src, size_t bytes, cnrtMemTransDir_t dir) {
  if (static_cast<unsigned int>(dir) > cnrtMemcpyNoDirection) return cnrtErrorMemcpyDirectionInvalid;
  if (bytes == 0) return cnrtSuccess;
  if (dst == nullptr || src == nullptr) return cnrtErrorArgsInvalid;
  std::memmove(dst, src, bytes);
  return cnrtSuccess;
}

cnrtRet_t cnrtMemset(void* ptr, int value, size_t bytes) {
  if (bytes == 0) return cnrtSuccess;
  if (ptr == nullptr) return cnrtErrorArgsInvalid;
  std::memset(ptr, value, bytes);
  return cnrtSuccess;
}

cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t* notifier) {
  if (notifier == nullptr) return cnrtErrorArgsInvalid;
  return with_live([=](Live& objects) {
    create(objects.notifiers, notifier);
    return cnrtSuccess;
  });
}

cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t notifier) {
  return with_live([=](Live& objects) {
    return objects.notifiers.erase(notifier) == 1 ? cnrtSuccess : cnrtErrorInvalidResourceHandle;
  });
}

cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) {
  const auto now = std::chrono::steady_clock::now();
  return with_live([=](const Live& objects) {
    if (!objects.notifiers.contains(notifier) || !is_queue(objects, queue)) return cnrtErrorInvalidResourceHandle;
    notifier->placed = now;
    return cnrtSuccess;
  });
}

cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end, float* us) {
  if (us == nullptr) return cnrtErrorArgsInvalid;
  return with_live([=](const Live& objects) {
    if (!objects.notifiers.contains(start) || !objects.notifiers.contains(end)) {
      return cnrtErrorInvalidResourceHandle;
    }
    if (!start->placed.has_value() || !end->placed.has_value()) return cnrtErrorIllegalState;
    *us = std::chrono::duration<float, std::micro>(*end->placed - *start->placed).count();
    return cnrtSuccess;
  });
}

void cnrtCheck(cnrtRet_t result, const char* call, const char* file, int line) {
  if (result == cnrtSuccess) return;
  std::fprintf(stderr, "%s:%d: cnrt of mluop-omp: %s returned %d\n", file, line, call, static_cast<int>(result));
  std::exit(EXIT_FAILURE);
}
