#include "ops/get_indice_pairs/native/sort_words.h"

#include <bit>
#include <utility>

namespace mluop::get_indice_pairs::native {
namespace {

struct CollectArgs {
  Range slots(int64_t part) const { return split(cells.sizes.slot_count, kSlotParts, static_cast<int>(part)); }

  const Cells& cells;
  const SortMemory& memory;
};

// Work items: parts of the slots. Counts those in use.
void count_slots(const CollectArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    const Range slots = args.slots(part);
    int64_t count = 0;
    for (int64_t slot = slots.begin; slot < slots.end; ++slot) count += args.cells.slots[slot] != kNoWord ? 1 : 0;
    args.memory.first_places[part] = count;
  }
}

// Work items: parts of the slots. Copies the words of those in use.
void collect_words(const CollectArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    const Range slots = args.slots(part);
    int64_t place = args.memory.first_places[part];
    for (int64_t slot = slots.begin; slot < slots.end; ++slot) {
      if (args.cells.slots[slot] == kNoWord) continue;
      args.memory.words.keys[0][place] = args.cells.slots[slot];
      args.memory.words.values[0][place++] = static_cast<uint32_t>(slot);
    }
  }
}

}  // namespace

SortedWords sort_words(Context& context, int task_dim, const Cells& cells, int64_t count, int64_t word_bound,
                       const SortMemory& memory) {
  const CollectArgs args{cells, memory};
  launch<CollectArgs>(context, "count_slots", task_dim, Evenly{kSlotParts}, count_slots, args);
  int64_t sum = 0;
  for (int part = 0; part < kSlotParts; ++part) sum += std::exchange(memory.first_places[part], sum);
  launch<CollectArgs>(context, "collect_words", task_dim, Evenly{kSlotParts}, collect_words, args);
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(word_bound)));
  const size_t sorted = radix_sort(context, task_dim, count, bits, SortedValues::kGiven, memory.words);
  return {memory.words.keys[sorted], memory.words.values[sorted]};
}

}  // namespace mluop::get_indice_pairs::native
