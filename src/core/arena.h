// Typed buffers in one piece of memory: NRAM tiles, workspaces, the handle's pool.
//
// A set of buffers is a struct whose constructor takes each buffer from an Arena. Only this constructor states the
// sizes: with a measuring arena it computes the bytes of the set, with a memory arena it yields the views.
//
//   struct Tile {
//     Tile(Arena& nram, int64_t points, int64_t channels)
//         : cells(nram.take<int32_t>("cells", {points})), rows(nram.take<float>("rows", {points, channels})) {}
//     int32_t* cells;  // [points]
//     float* rows;     // [points, channels]
//   };
//   ... bytes_of<Tile>(points, channels) ... Tile(task.nram, points, channels) ...
//
// Under AddressSanitizer, the memory of an arena is poisoned except for the elements of taken buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "core/aligned_buffer.h"
#include "core/poison.h"

namespace mluop {

// Bytes that internal arenas add to their capacity: poisoned cache lines between the first 64 buffers.
inline constexpr size_t kArenaGapBytes = kPoisons ? 64 * kScratchAlignment : 0;

class Arena {
 public:
  // A measuring arena: unlimited; every buffer is null.
  Arena() = default;
  // A memory arena over `bytes` bytes at `memory`, aligned to kScratchAlignment and followed by `gap_bytes` bytes
  // for gaps between the buffers.
  Arena(std::byte* memory, size_t bytes, size_t gap_bytes = 0)
      : memory_(memory), capacity_(bytes), gap_bytes_(gap_bytes), measures_(false) {
    poison(memory, bytes + gap_bytes);
  }

  // A buffer with the product of `shape` elements, aligned to kScratchAlignment; contents are unspecified. Throws
  // Failure: BAD_PARAM if the bytes exceed int64_t, INTERNAL_ERROR if they exceed the remaining capacity.
  template <class T>
  T* take(const char* name, std::initializer_list<int64_t> shape) {
    // Elements may be pointers. NOLINTNEXTLINE(bugprone-sizeof-expression)
    return reinterpret_cast<T*>(take_bytes(name, shape, sizeof(T)));
  }

  // Ends the use of all buffers: poisons their memory again.
  void release() const { poison(memory_, measures_ ? 0 : used_ + used_gap_bytes_); }

  // Bytes taken, without the gaps.
  size_t used() const { return used_; }
  size_t capacity() const { return capacity_; }

 private:
  std::byte* take_bytes(const char* name, std::initializer_list<int64_t> shape, size_t element_bytes);

  std::byte* memory_ = nullptr;
  size_t capacity_ = PTRDIFF_MAX;
  size_t used_ = 0;
  size_t gap_bytes_ = 0;
  size_t used_gap_bytes_ = 0;
  bool measures_ = true;
};

// The bytes of Set(arena, sizes...), a multiple of kScratchAlignment.
template <class Set, class... Sizes>
size_t bytes_of(const Sizes&... sizes) {
  Arena arena;
  Set(arena, sizes...);
  return arena.used();
}

// The caller's workspace may start at any address: size queries add the bytes that alignment may skip.
inline constexpr size_t kWorkspaceSlack = kScratchAlignment - 1;

template <class Set, class... Sizes>
size_t workspace_bytes_of(const Sizes&... sizes) {
  return bytes_of<Set>(sizes...) + kWorkspaceSlack;
}

// An arena over the caller's workspace, starting at its first aligned address.
Arena workspace_arena(void* workspace, size_t bytes);

}  // namespace mluop
