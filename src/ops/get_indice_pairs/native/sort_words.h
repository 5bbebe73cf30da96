// Sorts the words of a hashed set by their numbers: primitives/radix_sort.h over the slots in use.
#pragma once

#include <cstdint>

#include "ops/get_indice_pairs/native/kernels.h"
#include "primitives/radix_sort.h"

namespace mluop::get_indice_pairs::native {

// Consecutive slots that a task counts and moves together. Fixed, so that the memory does not depend on the number
// of tasks.
inline constexpr int kSlotParts = 64;

struct SortMemory {
  SortMemory(Arena& arena, int64_t max_words)
      : words(arena, max_words), first_places(arena.take<int64_t>("places of parts", {kSlotParts})) {}

  RadixSortMemory<int64_t> words;  // values: slots
  int64_t* first_places;           // [kSlotParts]
};

// The words of a hashed set, ascending, and the slot of each.
struct SortedWords {
  int64_t* words;         // [count]
  const uint32_t* slots;  // [count]
};

// Sorts the `count` words in the slots of `cells`. word_bound is greater than every word.
SortedWords sort_words(Context& context, int task_dim, const Cells& cells, int64_t count, int64_t word_bound,
                       const SortMemory& memory);

}  // namespace mluop::get_indice_pairs::native
