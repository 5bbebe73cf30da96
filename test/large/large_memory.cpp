#include "large/large_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace mluop::test {
namespace {

constexpr int kPoison = 0xA5;

// Calls body(begin, end) for a part of [0, count) on each processor.
template <class Body>
void on_all_processors(int64_t count, const Body& body) {
  const int64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> team;
  for (int64_t id = 0; id < threads; ++id) {
    team.emplace_back(
        [&, id] { body(count / threads * id, id + 1 == threads ? count : count / threads * (id + 1)); });
  }
}

}  // namespace

LargeMemory::LargeMemory(size_t bytes, Pages pages) : byte_count_(bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inner = (bytes + page - 1) / page * page;
  mapped_bytes_ = inner + page;
  void* mapping =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  end_ = mapping_ + inner;
  if (mprotect(end_, page, PROT_NONE) != 0) throw std::bad_alloc();
  // A huge page for each row that is written would take gigabytes.
  madvise(mapping_, inner, pages == Pages::kSparse ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
}

LargeMemory::~LargeMemory() { munmap(mapping_, mapped_bytes_); }

void LargeMemory::poison() const {
  on_all_processors(static_cast<int64_t>(byte_count_), [&](int64_t begin, int64_t end) {
    std::memset(bytes() + begin, kPoison, static_cast<size_t>(end - begin));
  });
}

bool all_zero(const void* memory, size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(memory);
  // Equal to itself, shifted by one byte, and the first byte is 0.
  return bytes == 0 || (*first == 0 && std::memcmp(first, first + 1, bytes - 1) == 0);
}

int64_t first_violation(int64_t count, const std::function<bool(int64_t)>& holds) {
  std::atomic<int64_t> first = count;
  on_all_processors(count, [&](int64_t begin, int64_t end) {
    int64_t i = begin;
    while (i < end && holds(i)) ++i;
    if (i == end) return;
    int64_t known = first.load();
    while (i < known && !first.compare_exchange_weak(known, i)) continue;
  });
  return first;
}

bool has_memory(int64_t gib) {
  std::ifstream info("/proc/meminfo");
  std::string key, unit;
  for (int64_t kib = 0; info >> key >> kib;) {
    if (key == "MemAvailable:") return kib >> 20 >= gib;
    std::getline(info, unit);
  }
  return true;
}

}  // namespace mluop::test
