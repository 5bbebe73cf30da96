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

#include "core/sizes.h"

namespace mluop::test {
namespace {

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

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// Throws std::bad_alloc. Pages that are never touched take no memory.
std::byte* map_pages(size_t bytes) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(mapping);
}

void protect_page(std::byte* page, int protection) {
  if (mprotect(page, page_size(), protection) != 0) throw std::bad_alloc();
}

// The dense pages of all tests, on a stack that keeps them: the system takes longer to provide gigabytes of pages
// than a test to write them.
class DensePages {
 public:
  std::byte* push(size_t bytes) {
    if (base_ == nullptr) {
      base_ = map_pages(kBytes);
      madvise(base_, kBytes, MADV_HUGEPAGE);
    }
    if (bytes > kBytes - used_) throw std::bad_alloc();
    used_ += bytes;
    touched_ = std::max(touched_, used_);
    return base_ + used_ - bytes;
  }
  void pop(size_t bytes) { used_ -= bytes; }
  size_t touched() const { return touched_; }

 private:
  static constexpr size_t kBytes = size_t{20} << 30;

  std::byte* base_ = nullptr;
  size_t used_ = 0, touched_ = 0;
};

DensePages dense_pages;

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

LargeMemory::LargeMemory(size_t bytes, Pages pages) : pages_(pages), byte_count_(bytes) {
  const size_t inner = round_up(bytes, page_size());
  if (pages == Pages::kDense) {
    mapped_bytes_ = round_up(inner + page_size(), kHugePage);
    mapping_ = dense_pages.push(mapped_bytes_);
  } else {
    mapped_bytes_ = inner + page_size();
    mapping_ = map_pages(mapped_bytes_);
    // A huge page for each row that is written would take gigabytes.
    madvise(mapping_, mapped_bytes_, MADV_NOHUGEPAGE);
  }
  end_ = mapping_ + inner;
  protect_page(end_, PROT_NONE);
}

LargeMemory::~LargeMemory() {
  if (pages_ == Pages::kDense) {
    protect_page(end_, PROT_READ | PROT_WRITE);
    dense_pages.pop(mapped_bytes_);
  } else {
    munmap(mapping_, mapped_bytes_);
  }
}

void LargeMemory::poison() const {
  on_all_processors(static_cast<int64_t>(byte_count_), [&](int64_t begin, int64_t end) {
    std::memset(bytes() + begin, kPoison, static_cast<size_t>(end - begin));
  });
}

bool all_bytes(const void* memory, size_t bytes, int value) {
  const auto* first = static_cast<const unsigned char*>(memory);
  // Memory with equal bytes equals itself shifted by one byte.
  return bytes == 0 || (*first == value && std::memcmp(first, first + 1, bytes - 1) == 0);
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
    if (key == "MemAvailable:") return (kib + static_cast<int64_t>(dense_pages.touched() >> 10)) >> 20 >= gib;
    std::getline(info, unit);
  }
  return true;
}

}  // namespace mluop::test
