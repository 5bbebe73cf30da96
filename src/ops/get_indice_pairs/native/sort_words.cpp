#include "ops/get_indice_pairs/native/sort_words.h"

#include <algorithm>
#include <bit>

namespace mluop::get_indice_pairs::native {
namespace {

struct SortArgs {
  const int64_t* words;   // [count]
  const uint32_t* slots;  // [count]; null: word i is in slot i, and free slots are skipped
  int64_t count;
  int shift;  // of the digit
  int64_t* places;
  int64_t* words_to;
  uint32_t* slots_to;

  int64_t digit(int64_t word) const { return slots == nullptr ? 0 : (word >> shift) & (kDigits - 1); }
  bool skips(int64_t word) const { return slots == nullptr && word == kNoWord; }
  uint32_t slot(int64_t i) const { return slots == nullptr ? static_cast<uint32_t>(i) : slots[i]; }
};

// Work items: parts.
void count_digits(const SortArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    int64_t* counts = args.places + part * kDigits;
    std::fill_n(counts, kDigits, 0);
    const Range items = split(args.count, kSortParts, static_cast<int>(part));
    for (int64_t i = items.begin; i < items.end; ++i) {
      if (!args.skips(args.words[i])) ++counts[args.digit(args.words[i])];
    }
  }
}

// Work items: parts.
void move_words(const SortArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    int64_t* places = args.places + part * kDigits;
    const Range items = split(args.count, kSortParts, static_cast<int>(part));
    for (int64_t i = items.begin; i < items.end; ++i) {
      const int64_t word = args.words[i];
      if (args.skips(word)) continue;
      const int64_t place = places[args.digit(word)]++;
      args.words_to[place] = word;
      args.slots_to[place] = args.slot(i);
    }
  }
}

// The first place of each digit in each part.
void scan(int64_t* places) {
  int64_t sum = 0;
  for (int64_t digit = 0; digit < kDigits; ++digit) {
    for (int64_t part = 0; part < kSortParts; ++part) {
      int64_t& place = places[part * kDigits + digit];
      const int64_t count = place;
      place = sum;
      sum += count;
    }
  }
}

void run_pass(Context& context, int task_dim, const SortArgs& args) {
  launch<SortArgs>(context, "count_digits", task_dim, Evenly{kSortParts}, count_digits, args);
  scan(args.places);
  launch<SortArgs>(context, "move_words", task_dim, Evenly{kSortParts}, move_words, args);
}

}  // namespace

SortedWords sort_words(Context& context, int task_dim, const Cells& cells, int64_t count, int64_t word_bound,
                       const SortMemory& memory) {
  run_pass(context, task_dim,
           {cells.slots, nullptr, cells.sizes.slot_count, 0, memory.places, memory.words[0], memory.slots[0]});
  size_t from = 0;
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(word_bound)));
  for (int shift = 0; shift < bits; shift += kDigitBits, from = 1 - from) {
    run_pass(context, task_dim,
             {memory.words[from], memory.slots[from], count, shift, memory.places, memory.words[1 - from],
              memory.slots[1 - from]});
  }
  return {memory.words[from], memory.slots[from]};
}

}  // namespace mluop::get_indice_pairs::native
