// The set of active cells, in words of 64 consecutive cells. Only words with active cells are stored, in ascending
// order, so that for LiDAR clouds their bits and ranks fit the caches in any space. The position of a word is
// found through a bitmap of the words of the space and the ranks of groups of 64 words (direct) or, where the
// bitmap would exceed the memory of the tensors, through a hash table with linear probing (hashed).
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/get_indice_pairs/get_indice_pairs.h"

namespace mluop::get_indice_pairs::native {

inline constexpr int64_t kWordCells = 64;
inline constexpr int64_t kGroupWords = 64;
inline constexpr int64_t kNoWord = -1;

// Ranges of elements whose counts a launch computes before they are scanned serially.
struct Ranges {
  explicit Ranges(int64_t max_elements);

  int64_t begin(int64_t range) const { return range << shift; }
  int64_t end(int64_t range, int64_t elements) const { return std::min((range + 1) << shift, elements); }
  // The ranges of `elements` elements.
  int64_t count(int64_t elements) const { return ceil_div(elements, int64_t{1} << shift); }

  int shift;
};

// The sizes of the set; they depend only on arguments that the workspace query has.
struct CellSizes {
  explicit CellSizes(const Args& args);

  int64_t space_words;  // words of all cells
  int64_t max_words;    // maximum number of words with active cells
  bool hashed;
  int64_t group_count;  // direct: groups of words; hashed: 0
  int64_t slot_count;   // hashed: slots of the table; direct: 0
  Ranges groups, words;
};

// 64 consecutive words.
struct Group {
  uint64_t present;  // a bit for each word: whether it is stored
  int64_t rank;      // the position of the first stored word
};

// 64 consecutive cells.
struct Word {
  uint64_t bits;  // a bit for each active cell
  int64_t rank;   // rank of the first active cell
};

struct Cells {
  Cells(Arena& arena, const CellSizes& cell_sizes);

  CellSizes sizes;
  Group* groups;        // [group_count + 1]: the last group is empty and may be read
  int64_t* slots;       // [slot_count], the number of the word in each slot, or kNoWord
  int32_t* slot_ranks;  // [slot_count], the position of the word

  int64_t word_count = 0;
  int64_t* numbers;      // [max_words], numbers of the words, ascending
  Word* words;           // [max_words + 1]: the last word may be read; its value is ignored
  int64_t* range_ranks;  // [ranges of groups or words], counts; after their scan, ranks
};

}  // namespace mluop::get_indice_pairs::native
