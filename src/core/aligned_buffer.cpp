#include "core/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace mluop {
namespace {

// Buffers of at least this size are aligned to huge pages and use them: random access then needs fewer address
// translations.
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void AlignedBuffer::reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  const size_t alignment = bytes >= kHugePage ? kHugePage : kScratchAlignment;
  if (bytes > static_cast<size_t>(PTRDIFF_MAX) - alignment) throw std::bad_alloc();
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* memory = static_cast<std::byte*>(::operator new (rounded, std::align_val_t{alignment}));
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  data_ = {memory, AlignedDelete{std::align_val_t{alignment}}};
  capacity_ = rounded;
}

}  // namespace mluop
