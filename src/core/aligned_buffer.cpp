#include "core/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "core/sizes.h"

namespace mluop {
namespace {

// Buffers from here on are aligned to, and advised for, huge pages: random access then costs fewer
// translations.
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void AlignedBuffer::Release::operator()(std::byte* memory) const { std::free(memory); }

void AlignedBuffer::reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  const size_t alignment = bytes >= kHugePage ? kHugePage : kScratchAlignment;
  if (bytes > static_cast<size_t>(PTRDIFF_MAX) - alignment) throw std::bad_alloc();
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  data_.reset(memory);
  capacity_ = rounded;
}

}  // namespace mluop
