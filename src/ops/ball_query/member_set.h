// A set of the members of a ball, added in any order and taken in ascending order: a bitmap.
#pragma once

#include <hwy/base.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "core/arena.h"
#include "core/sizes.h"

namespace mluop::ball_query::native {

class MemberSet {
 public:
  // Members are stored a vector at a time; elements past the members are ignored.
  static constexpr int64_t kMaxLanes = 16;

  // Up to this many members, sorting by comparing each with all is faster.
  static constexpr int64_t kMaxFew = 48;

  // In NRAM; empty.
  MemberSet(Arena& nram, int64_t points)
      : words_count_(ceil_div(points, kWordBits)),
        summary_count_(ceil_div(words_count_, kWordBits)),
        listed_(nram.take<int32_t>("listed members", {kMaxListed + kMaxLanes})),
        words_(nram.take<uint64_t>("members", {words_count_})),
        summary_(nram.take<uint64_t>("words with members", {summary_count_})) {}

  void clear() {
    std::fill_n(words_, words_count_, 0);
    std::fill_n(summary_, summary_count_, 0);
  }

  // Where the next members are stored; then, how many were stored. No member may be stored twice.
  HWY_INLINE int32_t* next() const { return listed_ + listed_count_; }
  HWY_INLINE void advance(int64_t count) {
    count_ += count;
    listed_count_ += count;
    if (listed_count_ > kMaxListed) insert_listed();
  }

  // Whether there are at most kMaxFew members. They are then at listed(), in any order, and forget() empties the
  // set.
  HWY_INLINE bool is_few() const { return count_ <= kMaxFew; }
  HWY_INLINE int64_t count() const { return count_; }
  HWY_INLINE int32_t* listed() const { return listed_; }
  HWY_INLINE void forget() { count_ = listed_count_ = 0; }

  // Writes the members in ascending order while there is room and returns their number. Empties the set.
  HWY_INLINE int64_t take_ascending(int32_t* to, int64_t room) {
    insert_listed();
    count_ = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < summary_count_; ++i) {
      for (uint64_t words = std::exchange(summary_[i], 0); words != 0; words &= words - 1) {
        const int64_t word = i * kWordBits + std::countr_zero(words);
        for (uint64_t bits = std::exchange(words_[word], 0); bits != 0 && count < room; bits &= bits - 1) {
          to[count++] = static_cast<int32_t>(word * kWordBits + std::countr_zero(bits));
        }
      }
    }
    return count;
  }

 private:
  static constexpr int64_t kWordBits = 64;
  static constexpr int64_t kMaxListed = 1024;

  HWY_INLINE void insert_listed() {
    for (int64_t i = 0; i < listed_count_; ++i) {
      const auto member = static_cast<uint32_t>(listed_[i]);
      const uint32_t word = member / kWordBits;
      words_[word] |= uint64_t{1} << (member % kWordBits);
      summary_[word / kWordBits] |= uint64_t{1} << (word % kWordBits);
    }
    listed_count_ = 0;
  }

  int64_t words_count_, summary_count_;
  int64_t count_ = 0, listed_count_ = 0;
  int32_t* listed_;    // [kMaxListed + kMaxLanes]
  uint64_t* words_;    // [words_count_], a bit for each point
  uint64_t* summary_;  // [summary_count_], a bit for each word that is not 0
};

}  // namespace mluop::ball_query::native
