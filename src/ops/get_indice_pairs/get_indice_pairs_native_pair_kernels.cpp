#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/get_indice_pairs/get_indice_pairs_native_pair_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/simd.h"
#include "ops/get_indice_pairs/cells-inl.h"
#include "ops/get_indice_pairs/get_indice_pairs_native_kernels.h"
#include "primitives/memory/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Selects some of the set bits of `all`, which are numbered first, first + 1, ... in ascending order.
struct Selection {
  int64_t first;
  uint64_t all, selected;
};

// Writes the selected numbers in ascending order.
HWY_INLINE void write(const Selection& selection, int32_t* to) {
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
  const hn::ScalableTag<int32_t> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  auto numbers = hn::Iota(d, static_cast<int32_t>(selection.first));
  uint64_t bits = extract_bits(selection.selected, selection.all);
  do {
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
    const auto count = count_bits(bits & low_bits(kLanes));
    // Not CompressStore, which is slow on Zen 4.
    hn::BlendedStore(hn::Compress(numbers, mask), hn::FirstN(d, static_cast<size_t>(count)), d, to);
    to += count;
    numbers = hn::Add(numbers, hn::Set(d, int32_t{kLanes}));
    bits >>= kLanes;
  } while (HWY_UNLIKELY(bits != 0));
#else
  for (uint64_t bits = selection.selected; bits != 0; bits &= bits - 1) {
    *to++ = static_cast<int32_t>(selection.first + count_bits(selection.all & ((bits & -bits) - 1)));
  }
#endif
}

// Collects the pairs of a tile of sites in NRAM, by offset, and appends them to the pairs of the chunk.
class PairWriter {
 public:
  PairWriter(const PairArgs& args, const PairTile& tile, int64_t chunk)
      : tile_(tile),
        tile_sites_(args.tile_sites),
        offset_count_(args.offset_count()),
        pairs_(args.indice_pairs + chunk * kChunkSites),
        site_count_(args.site_count),
        counts_(args.counts + chunk * offset_count_) {
    std::fill_n(counts_, offset_count_, 0);
    std::fill_n(tile_.counts, offset_count_, 0);
  }

  // Appends pairs of offset k: inputs and ranks have equal numbers and the same order.
  HWY_INLINE void append(int64_t k, const Selection& inputs, const Selection& ranks) const {
    int32_t* const to = tile_.pairs + 2 * k * tile_sites_ + tile_.counts[k];
    write(inputs, to);
    write(ranks, to + tile_sites_);
    tile_.counts[k] += static_cast<int32_t>(count_bits(inputs.selected));
  }

  void flush() const {
    for (int64_t k = 0; k < offset_count_; ++k) {
      const int32_t count = tile_.counts[k];
      if (count == 0) continue;
      const int32_t* from = tile_.pairs + 2 * k * tile_sites_;
      int32_t* to = pairs_ + 2 * k * site_count_ + counts_[k];
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(int32_t));
      std::memcpy(to + site_count_, from + tile_sites_, static_cast<size_t>(count) * sizeof(int32_t));
      counts_[k] += count;
      tile_.counts[k] = 0;
    }
  }

 private:
  const PairTile& tile_;
  int64_t tile_sites_, offset_count_;
  int32_t* pairs_;
  int64_t site_count_;
  int32_t* counts_;  // [K], pairs of the chunk so far
};

// Finds the pairs of runs of sites.
template <bool kHashed, bool kSubmanifold>
class PairFinder {
 public:
  explicit PairFinder(const PairArgs& args) : args_(args), found_offsets_(args.found_offsets()), lines_(args) {}

  // Appends the pairs of the sites [begin, end).
  void append_sites(const PairWriter& writer, int64_t begin, int64_t end) {
    Runs runs(args_, args_.order, begin, end);
    for (Run run; runs.next(run);) append_run(writer, run);
  }

 private:
  HWY_INLINE void append_run(const PairWriter& writer, const Run& run) {
    lines_.for_each(run, [&](int64_t k, int64_t count, int64_t cell) HWY_ATTR {
      const int64_t found = std::min(count, found_offsets_ - k);
      if (found <= 0) return;
      const Window window = find_window<kHashed>(args_.cells, cell);
      if (window.bits == 0) return;
      for (int64_t i = 0; i < found; ++i) append_offset(writer, run, lines_.width().offset(i), window, k + i);
    });
  }

  HWY_INLINE void append_offset(const PairWriter& writer, const Run& run, const OffsetHits& offset,
                                const Window& window, int64_t k) const {
    uint64_t sites = offset.sites, cells = offset.cells;
    // Unless submanifold, every cell to which a site contributes is active.
    if constexpr (kSubmanifold) {
      cells &= window.bits;
      sites = shifted(cells, -offset.distance);
    }
    if (cells == 0) return;
    writer.append(k, {run.position, run.sites, sites}, {window.first_rank, window.bits, cells});
  }

  const PairArgs& args_;
  int64_t found_offsets_;
  RunLines lines_;
};

template <class Pairs>
void collect_chunks(const PairArgs& args, int64_t begin, int64_t end, Task& task) {
  const PairTile tile(task.nram, args.tile_sites, args.offset_count());
  Pairs pairs(args);
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const PairWriter writer(args, tile, chunk);
    const int64_t chunk_end = std::min((chunk + 1) * kChunkSites, args.site_count);
    for (int64_t l = chunk * kChunkSites; l < chunk_end; l += args.tile_sites) {
      pairs.append_sites(writer, l, std::min(l + args.tile_sites, chunk_end));
      writer.flush();
    }
  }
}

void find_pairs(const PairArgs& args, int64_t begin, int64_t end, Task& task) {
  if (args.cells.sizes.hashed) {
    args.sub_m ? collect_chunks<PairFinder<true, true>>(args, begin, end, task)
               : collect_chunks<PairFinder<true, false>>(args, begin, end, task);
  } else {
    args.sub_m ? collect_chunks<PairFinder<false, true>>(args, begin, end, task)
               : collect_chunks<PairFinder<false, false>>(args, begin, end, task);
  }
}

// Sorts the pairs of offset k by input row. table[row]: the output, or -1.
void reorder_offset(const ReorderArgs& args, int64_t k, int32_t* table) {
  int32_t* const inputs = args.indice_pairs + 2 * k * args.site_count;
  int32_t* const outputs = inputs + args.site_count;
  std::memset(table, 0xFF, static_cast<size_t>(args.site_count) * sizeof(int32_t));
  for (int64_t i = 0; i < args.indice_num[k]; ++i) {
    table[args.order[inputs[i]]] = args.sub_m ? static_cast<int32_t>(args.rows[outputs[i]]) : outputs[i];
  }
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t count = 0, l = 0;
  for (; l + lanes <= args.site_count; l += lanes) {
    const auto output = hn::LoadU(d, table + l);
    const auto mask = hn::Gt(output, hn::Set(d, -1));
    // Stores whole vectors: count is at most l.
    hn::StoreU(hn::Compress(output, mask), d, outputs + count);
    hn::StoreU(hn::Compress(hn::Iota(d, static_cast<int32_t>(l)), mask), d, inputs + count);
    count += static_cast<int64_t>(hn::CountTrue(d, mask));
  }
  for (; l < args.site_count; ++l) {
    if (table[l] < 0) continue;
    outputs[count] = table[l];
    inputs[count++] = static_cast<int32_t>(l);
  }
}

void reorder(const ReorderArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t table = begin; table < end; ++table) {
    for (int64_t k = table; k < args.offset_count(); k += SiteOrder::kTables) {
      reorder_offset(args, k, args.tables[static_cast<size_t>(table)]);
    }
  }
}

void pad(const PadArgs& args, int64_t begin, int64_t end, Task&) {
  const mluop::HWY_NAMESPACE::StreamWriter stream;
  for (int64_t row = begin / args.site_count; row * args.site_count < end; ++row) {
    const int64_t row_begin = row * args.site_count;
    const int64_t first = std::max(begin, row_begin + args.indice_num[row / 2]);
    const int64_t last = std::min(end, row_begin + args.site_count);
    if (first >= last) continue;
    // All bytes of -1 are equal.
    auto* const bytes = reinterpret_cast<uint8_t*>(args.indice_pairs + first);
    const auto count = static_cast<size_t>(last - first) * sizeof(int32_t);
    args.stream ? stream.fill(bytes, 0xFF, count) : static_cast<void>(std::memset(bytes, 0xFF, count));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::get_indice_pairs::native {

MLUOP_EXPORT_KERNEL(pair_kernel, find_pairs, PairArgs);
MLUOP_EXPORT_KERNEL(reorder_kernel, reorder, ReorderArgs);
MLUOP_EXPORT_KERNEL(pad_kernel, pad, PadArgs);

void join_chunks(const PairArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t offsets = args.offset_count();
  for (int64_t row = begin; row < end; ++row) {
    const int64_t k = row / 2;
    int32_t* const pairs = args.indice_pairs + row * args.site_count;
    int32_t* to = pairs;
    for (int64_t chunk = 0; chunk < chunk_count(args); ++chunk) {
      const int32_t* from = pairs + chunk * kChunkSites;
      const int32_t count = args.counts[chunk * offsets + k];
      if (to != from) std::memmove(to, from, static_cast<size_t>(count) * sizeof(int32_t));
      to += count;
    }
    const int64_t mirror = offsets - 1 - k;
    const bool copies = args.mirrored && mirror != k;
    // The inputs are the outputs of the mirrored offset.
    if (copies) std::copy(pairs, to, args.indice_pairs + (args.pair_rows() - 1 - row) * args.site_count);
    if (row % 2 != 0) continue;
    args.indice_num[k] = static_cast<int32_t>(to - pairs);
    if (copies) args.indice_num[mirror] = args.indice_num[k];
  }
}

}  // namespace mluop::get_indice_pairs::native
#endif
