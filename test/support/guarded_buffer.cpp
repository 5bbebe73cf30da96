#include "support/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/poison.h"

namespace mluop::test {
namespace {

constexpr std::byte kPattern{0xA5};
constexpr size_t kBufferAlignment = 64;

}  // namespace

GuardedMemory::GuardedMemory(size_t byte_count, size_t element_size, Placement placement)
    : byte_count_(byte_count) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  // Space for the data and one alignment on each side, in whole pages.
  const size_t inner = (byte_count + 2 * kBufferAlignment + page - 1) / page * page;
  mapped_bytes_ = inner + 2 * page;
  void* mapping = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  std::byte* first = mapping_ + page;
  if (mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  // Huge pages reduce page faults.
  madvise(first, inner, MADV_HUGEPAGE);
  std::fill_n(first, inner, kPattern);
  switch (placement) {
    case Placement::kAligned: data_ = first + kBufferAlignment; break;
    case Placement::kMisaligned: data_ = first + element_size; break;
    case Placement::kAgainstEnd: data_ = first + inner - byte_count; break;
  }
}

GuardedMemory::~GuardedMemory() {
  // An arena may have poisoned the mapping; its addresses are used again.
  unpoison(mapping_, mapped_bytes_);
  munmap(mapping_, mapped_bytes_);
}

bool GuardedMemory::intact() const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto untouched = [](std::byte b) { return b == kPattern; };
  return std::all_of(mapping_ + page, data_, untouched) &&
         std::all_of(data_ + byte_count_, mapping_ + mapped_bytes_ - page, untouched);
}

}  // namespace mluop::test
