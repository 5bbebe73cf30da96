#include "primitives/sort/radix_sort.h"

#include "primitives/sort/counting_sort.h"
#include "team/launch.h"

namespace mluop {
namespace {

// The places of each part fill separate cache lines.
constexpr int kMinDigitBits = 4;

template <class Key>
struct PassArgs {
  int64_t digit(Key key) const { return static_cast<int64_t>(key >> shift) & (digits - 1); }
  Range records(int64_t part) const { return split(count, part_count, static_cast<int>(part)); }

  const Key* keys;
  const uint32_t* values;  // null: the positions
  int64_t count;
  int shift;
  int64_t digits;
  int part_count;
  uint32_t* places;  // [part_count, digits]
  Key* keys_to;
  uint32_t* values_to;
};

// Work items: parts.
template <class Key>
void count_digits(const PassArgs<Key>& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    uint32_t* const counts = args.places + part * args.digits;
    std::fill_n(counts, args.digits, 0);
    const Range records = args.records(part);
    for (int64_t i = records.begin; i < records.end; ++i) ++counts[args.digit(args.keys[i])];
  }
}

template <class Key, bool kPositions>
void move_part(const PassArgs<Key>& args, int64_t part) {
  uint32_t* const places = args.places + part * args.digits;
  const Range records = args.records(part);
  for (int64_t i = records.begin; i < records.end; ++i) {
    const Key key = args.keys[i];
    const uint32_t place = places[args.digit(key)]++;
    args.keys_to[place] = key;
    args.values_to[place] = kPositions ? static_cast<uint32_t>(i) : args.values[i];
  }
}

// Work items: parts.
template <class Key>
void move_records(const PassArgs<Key>& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    args.values == nullptr ? move_part<Key, true>(args, part) : move_part<Key, false>(args, part);
  }
}

}  // namespace

template <class Key>
size_t radix_sort(Context& context, int task_dim, int64_t count, int key_bits, SortedValues sorted_values,
                  const RadixSortMemory<Key>& memory) {
  if (count == 0) return 0;
  const auto parts = static_cast<int>(std::min<int64_t>(task_dim, memory.max_parts));
  // Keys without bits are in order; the pass writes the positions.
  const auto passes = std::max(static_cast<int>(ceil_div(key_bits, RadixSortMemory<Key>::kDigitBits)),
                               sorted_values == SortedValues::kPositions ? 1 : 0);
  size_t from = 0;
  for (int pass = 0, shift = 0; pass < passes; ++pass, from = 1 - from) {
    // Digits are as equal in size as possible.
    const auto bits = std::max(static_cast<int>(ceil_div(key_bits - shift, passes - pass)), kMinDigitBits);
    const bool positions = pass == 0 && sorted_values == SortedValues::kPositions;
    const PassArgs<Key> args{memory.keys[from],
                             positions ? nullptr : memory.values[from],
                             count,
                             shift,
                             int64_t{1} << bits,
                             parts,
                             memory.places,
                             memory.keys[1 - from],
                             memory.values[1 - from]};
    launch<PassArgs<Key>>(context, "count_digits", parts, Evenly{parts}, count_digits<Key>, args);
    exclusive_scan<uint32_t>(context, {args.places, parts, args.digits, nullptr, memory.totals});
    launch<PassArgs<Key>>(context, "move_records", parts, Evenly{parts}, move_records<Key>, args);
    shift += bits;
  }
  return from;
}

template size_t radix_sort(Context&, int, int64_t, int, SortedValues, const RadixSortMemory<uint32_t>&);
template size_t radix_sort(Context&, int, int64_t, int, SortedValues, const RadixSortMemory<int64_t>&);

}  // namespace mluop
