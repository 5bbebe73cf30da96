#include "ops/get_indice_pairs/get_indice_pairs_native_cells.h"

#include <bit>
#include <limits>

namespace mluop::get_indice_pairs::native {
namespace {

int64_t max_active_words(const Args& args, int64_t space_words) {
  constexpr int64_t kMaxRows = std::numeric_limits<int32_t>::max();
  const int64_t max_cells = args.sub_m ? args.site_count : args.offset_count() * args.site_count;
  return std::min({args.capacity, max_cells, space_words, kMaxRows});
}

}  // namespace

Ranges::Ranges(int64_t max_elements) {
  // Enough ranges for every team, and few enough for a serial scan of their counts.
  constexpr int64_t kMaxRanges = 2048;
  constexpr int kMinShift = 9;
  shift = std::max(kMinShift, static_cast<int>(std::bit_width(static_cast<uint64_t>(max_elements / kMaxRanges))));
}

CellSizes::CellSizes(const Args& args)
    : space_words(ceil_div(args.cell_count(), kWordCells)),
      max_words(max_active_words(args, space_words)),
      group_count(ceil_div(space_words, kGroupWords)),
      // At most two of three slots are in use.
      slot_count(max_words + max_words / 2 + 1),
      groups(group_count),
      words(max_words) {
  // Direct positions are faster unless they are far larger than the tensors.
  hashed = group_count > args.tensor_bytes() / int64_t{sizeof(Group)} + 1024;
  (hashed ? group_count : slot_count) = 0;
}

Cells::Cells(Arena& arena, const CellSizes& cell_sizes)
    : sizes(cell_sizes),
      groups(arena.take<Group>("groups", {sizes.group_count + 1})),
      slots(arena.take<int64_t>("slots", {sizes.slot_count})),
      slot_ranks(arena.take<int32_t>("ranks of slots", {sizes.slot_count})),
      // A hashed set keeps the numbers in the memory of its sort.
      numbers(arena.take<int64_t>("numbers of words", {sizes.hashed ? 0 : sizes.max_words})),
      words(arena.take<Word>("words", {sizes.max_words + 1})),
      range_ranks(arena.take<int64_t>("ranks of ranges", {std::max(sizes.groups.count(sizes.group_count),
                                                                   sizes.words.count(sizes.max_words))})) {}

}  // namespace mluop::get_indice_pairs::native
