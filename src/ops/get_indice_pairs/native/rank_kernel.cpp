#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/get_indice_pairs/native/rank_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "ops/get_indice_pairs/native/cells-inl.h"
#include "ops/get_indice_pairs/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {

void count_words(const MarkArgs& args, int64_t begin, int64_t end, Task&) {
  const Cells& cells = args.cells;
  const Ranges& groups = cells.sizes.groups;
  for (int64_t range = begin; range < end; ++range) {
    const int64_t groups_end = groups.end(range, cells.sizes.group_count);
    int64_t count = 0;
    for (int64_t i = groups.begin(range); i < groups_end; ++i) count += count_bits(cells.groups[i].present);
    cells.range_ranks[range] = count;
  }
}

void list_words(const MarkArgs& args, int64_t begin, int64_t end, Task&) {
  const Cells& cells = args.cells;
  const Ranges& groups = cells.sizes.groups;
  for (int64_t range = begin; range < end; ++range) {
    int64_t rank = cells.range_ranks[range];
    const int64_t groups_end = groups.end(range, cells.sizes.group_count);
    for (int64_t group = groups.begin(range); group < groups_end; ++group) {
      cells.groups[group].rank = rank;
      for (uint64_t bits = cells.groups[group].present; bits != 0; bits &= bits - 1, ++rank) {
        cells.numbers[rank] = group * kGroupWords + __builtin_ctzll(bits);
        cells.words[rank].bits = 0;
      }
    }
  }
}

void count_cells(const MarkArgs& args, int64_t begin, int64_t end, Task&) {
  const Cells& cells = args.cells;
  const Ranges& words = cells.sizes.words;
  for (int64_t range = begin; range < end; ++range) {
    const int64_t words_end = words.end(range, cells.word_count);
    int64_t count = 0;
    for (int64_t i = words.begin(range); i < words_end; ++i) count += count_bits(cells.words[i].bits);
    cells.range_ranks[range] = count;
  }
}

// The coordinates of ascending cells.
class Decoder {
 public:
  explicit Decoder(const Args& call)
      : width_(call.width().output_extent),
        height_(call.height().output_extent),
        depth_(call.depth().output_extent) {}

  HWY_INLINE Site decode(int64_t cell) {
    if (cell >= line_end_) find_line(cell);
    site_.w = static_cast<int32_t>(cell - line_begin_);
    return site_;
  }

 private:
  void find_line(int64_t cell) {
    const int64_t line = cell / width_;
    const int64_t plane = line / height_;
    line_begin_ = line * width_;
    line_end_ = line_begin_ + width_;
    site_.h = static_cast<int32_t>(line - plane * height_);
    site_.b = static_cast<int32_t>(plane / depth_);
    site_.d = static_cast<int32_t>(plane % depth_);
  }

  int64_t width_, height_, depth_;
  int64_t line_begin_ = 0, line_end_ = 0;
  Site site_{};
};

HWY_INLINE void write_row(int32_t* row, const Site& site, bool has_depth) {
  *row++ = site.b;
  if (has_depth) *row++ = site.d;
  *row++ = site.h;
  *row = site.w;
}

void list_cells(const MarkArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const Cells& cells = args.cells;
  const Ranges& words = cells.sizes.words;
  const bool has_depth = call.columns == 4;
  Decoder decoder(call);
  for (int64_t range = begin; range < end; ++range) {
    int64_t rank = cells.range_ranks[range];
    const int64_t words_end = words.end(range, cells.word_count);
    for (int64_t i = words.begin(range); i < words_end; ++i) {
      Word& word = cells.words[i];
      word.rank = rank;
      if (call.sub_m) {
        rank += count_bits(word.bits);
        continue;
      }
      for (uint64_t bits = word.bits; bits != 0; bits &= bits - 1, ++rank) {
        const Site site = decoder.decode(cells.numbers[i] * kWordCells + __builtin_ctzll(bits));
        write_row(call.out_indices + rank * call.columns, site, has_depth);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::get_indice_pairs::native {

MLUOP_EXPORT_KERNEL(count_words_kernel, count_words, MarkArgs);
MLUOP_EXPORT_KERNEL(list_words_kernel, list_words, MarkArgs);
MLUOP_EXPORT_KERNEL(count_cells_kernel, count_cells, MarkArgs);
MLUOP_EXPORT_KERNEL(list_cells_kernel, list_cells, MarkArgs);

}  // namespace mluop::get_indice_pairs::native
#endif
