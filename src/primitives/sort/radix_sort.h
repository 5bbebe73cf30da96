// Sorts records of a key and a value by their keys: a stable, parallel radix sort, least significant digit first.
// The result does not depend on the number of tasks. Cost: two reads of each key, and a read and a write of each
// record, for each digit of the largest key.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/arena.h"
#include "core/sizes.h"
#include "team/context.h"

namespace mluop {

// Key: uint32_t or int64_t, non-negative.
template <class Key>
struct RadixSortMemory {
  RadixSortMemory(Arena& arena, int64_t max_count)
      : keys{arena.take<Key>("keys", {max_count}), arena.take<Key>("sorted keys", {max_count})},
        values{arena.take<uint32_t>("values", {max_count}), arena.take<uint32_t>("sorted values", {max_count})},
        max_parts(std::min(ceil_div(max_count, kMinPartRecords), kMaxParts)),
        places(arena.take<uint32_t>("places of digits", {max_parts, kDigits})),
        totals(arena.take<uint32_t>("totals of digits", {max_parts})) {}

  // Makes buffer i the input of the next sort.
  void exchange(size_t i) {
    std::swap(keys[0], keys[i]);
    std::swap(values[0], values[i]);
  }

  // A part is counted and moved by one task in a pass. The number of parts is limited, so that the memory does not
  // depend on the number of tasks.
  static constexpr int64_t kMaxParts = 64;
  static constexpr int64_t kMinPartRecords = 2048;
  // Two passes sort keys of 22 bits, three passes keys of 33 bits.
  static constexpr int kDigitBits = 11;
  static constexpr int64_t kDigits = 1 << kDigitBits;

  std::array<Key*, 2> keys;         // [max_count]
  std::array<uint32_t*, 2> values;  // [max_count]
  int64_t max_parts;
  uint32_t* places;  // [max_parts, kDigits]
  uint32_t* totals;  // [max_parts], memory of the scan of places
};

// The values before a sort.
enum class SortedValues {
  kGiven,     // values[0]
  kPositions  // 0, 1, ...: values[0] is not read
};

// Sorts `count` records, fewer than 2^32, in keys[0] and values[0] by the low `key_bits` bits of their keys; all
// higher bits must be 0. Returns which of the two buffers holds the result; the other buffer is unspecified.
// Instantiated for both types of keys.
template <class Key>
size_t radix_sort(Context& context, int task_dim, int64_t count, int key_bits, SortedValues sorted_values,
                  const RadixSortMemory<Key>& memory);

}  // namespace mluop
