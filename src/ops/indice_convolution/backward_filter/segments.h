// Indice convolution backward filter: the division of the reduction over pairs. It depends on the arguments of the
// call alone, so that the order of additions does not depend on the number of tasks.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/indice_convolution/backward_filter/args.h"

namespace mluop::indice_convolution::backward_filter {

// The positions [begin, end) of the pairs of an offset. Segments of a group tend to name the same rows.
struct Segment {
  int64_t k;
  int64_t first_pair;  // the pairs of the segments before it
  int32_t begin, end;
  int32_t group;    // the number of the segment in its offset
  int32_t partial;  // where its sums are in the partial sums; kNone: it is the only one of its offset
};

inline constexpr int32_t kNone = -1;

// The counts of a division.
struct Division {
  explicit Division(const Args& args);

  // The segments of an offset with `pairs` pairs.
  int64_t segments_of(int64_t pairs) const { return pairs == 0 ? 0 : pairs <= min_pairs ? 1 : most; }

  int64_t min_pairs;          // more pairs are divided
  int64_t most;               // segments of an offset that is divided
  int64_t segment_count = 0;  // less than 2^31
  int64_t partial_count = 0;  // segments of the offsets that have several
};

struct Segments {
  Segments(Arena& pool, const Args& args, const Division& division);

  // After construction over memory.
  void initialize(const Args& args);

  Division division;
  Segment* segments;        // [segment_count], group by group
  int32_t* first_partials;  // [K], the first partial sum of an offset that has
                            // several segments
};

}  // namespace mluop::indice_convolution::backward_filter
