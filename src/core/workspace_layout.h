// Describes a workspace once: the size query and the execution both read this description.
//
//   WorkspaceLayout layout;
//   const size_t keys = layout.add<int32_t>(n);   // an offset
//   ... layout.bytes() ... at<int32_t>(workspace, keys) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "core/aligned_buffer.h"
#include "core/sizes.h"

namespace mluop {

class WorkspaceLayout {
 public:
  // Appends a buffer of `count` elements on a kScratchAlignment boundary and returns its offset in bytes.
  // Throws std::bad_alloc if the bytes exceed int64_t.
  template <class T>
  size_t add(int64_t count) {
    const auto offset = static_cast<size_t>(bytes_);
    const auto size = checked_product(count, sizeof(T));
    const auto end = size ? checked_sum(*size, bytes_) : size;
    // Rounding up must not overflow either.
    if (!end || *end > INT64_MAX - kAlignment) throw std::bad_alloc();
    bytes_ = round_up(*end, kAlignment);
    return offset;
  }

  size_t bytes() const { return static_cast<size_t>(bytes_); }

 private:
  static constexpr auto kAlignment = static_cast<int64_t>(kScratchAlignment);

  int64_t bytes_ = 0;
};

// A caller's workspace may lie at any address: it is used from its first kScratchAlignment boundary on, and the
// size query asks for so many bytes more.
inline constexpr size_t kWorkspaceSlack = kScratchAlignment - 1;
inline std::byte* align_workspace(std::byte* workspace) {
  const auto address = reinterpret_cast<uintptr_t>(workspace);
  return workspace + (kScratchAlignment - address % kScratchAlignment) % kScratchAlignment;
}

// The buffer at `offset` of a workspace.
template <class T>
T* at(std::byte* workspace, size_t offset) {
  return reinterpret_cast<T*>(workspace + offset);
}

}  // namespace mluop
