// Sorts the words of a hashed set by their numbers: a parallel radix sort, least significant digit first, 8 bits
// at a time. Cost: a read and a write of each word for each digit of the largest number.
#pragma once

#include <array>
#include <cstdint>

#include "ops/get_indice_pairs/native/kernels.h"

namespace mluop::get_indice_pairs::native {

// Consecutive words, or slots, that a task counts and moves together. Fixed, so that the memory does not depend on
// the number of tasks.
inline constexpr int kSortParts = 64;
inline constexpr int kDigitBits = 8;
inline constexpr int64_t kDigits = 1 << kDigitBits;

struct SortMemory {
  SortMemory(Arena& arena, int64_t max_words)
      : words{arena.take<int64_t>("words", {max_words}), arena.take<int64_t>("sorted words", {max_words})},
        slots{arena.take<uint32_t>("slots", {max_words}), arena.take<uint32_t>("sorted slots", {max_words})},
        places(arena.take<int64_t>("places of digits", {kSortParts, kDigits})) {}

  std::array<int64_t*, 2> words;   // [max_words]
  std::array<uint32_t*, 2> slots;  // [max_words]
  int64_t* places;                 // [kSortParts, kDigits]
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
