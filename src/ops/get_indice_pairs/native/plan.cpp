#include "ops/get_indice_pairs/native/plan.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/caches.h"
#include "ops/get_indice_pairs/native/sort_words.h"
#include "team/fit_tile.h"

namespace mluop::get_indice_pairs::native {
namespace {

struct Workspace {
  Workspace(Arena& arena, const Args& args, const CellSizes& sizes)
      : cells(arena, sizes),
        sort(arena, sizes.hashed ? sizes.max_words : 0),
        rows(arena.take<int32_t>("rows of cells", {args.sub_m ? args.site_count : 0})),
        chunk_counts(arena.take<int32_t>("pairs of chunks", {chunk_count(args), args.offset_count()})) {}

  Cells cells;
  SortMemory sort;        // hashed only
  int32_t* rows;          // [L], submanifold only
  int32_t* chunk_counts;  // [chunks, K]
};

// Sites whose pairs are in NRAM at a time. Measured on 249,000 sites of a LiDAR, submanifold: 16.0 ms with 24 KiB,
// 14.4 with 64 KiB, 13.9 with 192 KiB.
int64_t fit_tile_sites(const Context& context, const Args& args) {
  constexpr int64_t kTileBytes = 192 << 10;
  const int64_t site_bytes = args.pair_rows() * int64_t{sizeof(int32_t)};
  const int64_t max_sites = std::clamp<int64_t>(kTileBytes / site_bytes, 16, kChunkSites);
  return fit_tile(context, max_sites,
                  [&](int64_t sites) { return bytes_of<PairTile>(sites, args.offset_count()); });
}

// Work items: words. Hashed only: writes the positions of the words to their slots.
struct PlaceArgs {
  const Cells& cells;
  const uint32_t* slots;  // of the words
};
void place_words(const PlaceArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    args.cells.slot_ranks[args.slots[i]] = static_cast<int32_t>(i);
    args.cells.words[i].bits = 0;
  }
}

// The launches of a call.
class Steps {
 public:
  Steps(Call& call, const Args& args, Arena workspace)
      : context_(call.context()),
        args_(args),
        memory_(workspace, args, CellSizes(args)),
        cells_(memory_.cells),
        task_dim_(choose_task_dim(args.site_count, args.tensor_bytes())),
        tile_sites_(fit_tile_sites(context_, args)) {
    call.log_detail(args.sub_m ? "submanifold, " : "", "native, ", cells_.sizes.hashed ? "hashed" : "direct",
                    " cells, taskDim ", task_dim_);
  }

  int run() {
    context_.reserve(0);
    check();
    find_words();
    launch(context_, "mark", task_dim_, Evenly{args_.site_count}, mark_kernel(), {args_, cells_});
    const int64_t outputs = list_outputs();
    write_pairs();
    return static_cast<int>(outputs);
  }

 private:
  void check() {
    FirstBadItem bad_site;
    std::atomic<bool> unordered{false};
    launch<CheckArgs>(context_, "check", task_dim_, Evenly{args_.site_count}, check_sites,
                      {args_, bad_site, unordered});
    if (bad_site.found()) fail(bad_site.item());
    ascending_ = !unordered;
  }

  [[noreturn]] void fail(int64_t row) const {
    const int32_t* site = args_.indices + row * args_.columns;
    const int64_t coordinates[] = {site[0], site[1], site[2], site[args_.columns - 1]};
    const int64_t bounds[] = {args_.batch_size, args_.axes[args_.columns == 4 ? 0 : 1].input_extent,
                              args_.axes[args_.columns == 4 ? 1 : 2].input_extent, args_.width().input_extent};
    const auto columns = static_cast<size_t>(args_.columns);
    throw Failure(MLUOP_STATUS_BAD_PARAM, text("indices[", row, "] is ", shape_text({coordinates, columns}),
                                               ", expected a batch and coordinates of at least 0 and less than ",
                                               shape_text({bounds, columns})));
  }

  void fill(void* data, int64_t bytes, int32_t value) {
    const int64_t count = bytes / int64_t{sizeof(int32_t)};
    launch(context_, "fill", choose_task_dim(count, bytes), Evenly{count}, fill_kernel(),
           {static_cast<int32_t*>(data), value});
  }

  // Replaces the counts of ranges by the sums of those before. Returns the sum of all.
  int64_t scan(int64_t ranges) const {
    int64_t sum = 0;
    for (int64_t range = 0; range < ranges; ++range) {
      const int64_t count = cells_.range_ranks[range];
      cells_.range_ranks[range] = sum;
      sum += count;
    }
    return sum;
  }

  // The words of the active cells, with no bit set.
  void find_words() { cells_.sizes.hashed ? find_hashed_words() : find_direct_words(); }

  void find_direct_words() {
    const CellSizes& sizes = cells_.sizes;
    fill(cells_.groups, sizes.group_count * int64_t{sizeof(Group)}, 0);
    claim();
    const int64_t ranges = sizes.groups.count(sizes.group_count);
    launch(context_, "count_words", task_dim_, Evenly{ranges}, count_words_kernel(), {args_, cells_});
    cells_.word_count = scan(ranges);
    check_words(cells_.word_count);
    launch(context_, "list_words", task_dim_, Evenly{ranges}, list_words_kernel(), {args_, cells_});
  }

  void find_hashed_words() {
    // kNoWord.
    fill(cells_.slots, cells_.sizes.slot_count * int64_t{sizeof(int64_t)}, -1);
    cells_.word_count = claim();
    check_words(cells_.word_count);
    const SortedWords sorted =
        sort_words(context_, task_dim_, cells_, cells_.word_count, cells_.sizes.space_words, memory_.sort);
    cells_.numbers = sorted.words;
    launch<PlaceArgs>(context_, "place_words", task_dim_, Evenly{cells_.word_count}, place_words,
                      {cells_, sorted.slots});
  }

  int64_t claim() {
    std::atomic<int64_t> claimed{0};
    launch(context_, "claim", task_dim_, Evenly{args_.site_count}, claim_kernel(), {args_, cells_, claimed});
    return claimed;
  }

  // Every word has an output site.
  void check_words(int64_t words) const {
    require(words <= cells_.sizes.max_words, MLUOP_STATUS_BAD_PARAM, "out_indices dim 0 is ", args_.capacity,
            ", expected at least the number of output sites");
  }

  // Ranks the active cells and writes out_indices. Returns the number of output sites.
  int64_t list_outputs() {
    const int64_t ranges = cells_.sizes.words.count(cells_.word_count);
    launch(context_, "count_cells", task_dim_, Evenly{ranges}, count_cells_kernel(), {args_, cells_});
    const int64_t cells = scan(ranges);
    if (!args_.sub_m) check_outputs(cells);
    launch(context_, "list_cells", task_dim_, Evenly{ranges}, list_cells_kernel(), {args_, cells_});
    if (!args_.sub_m) return cells;
    if (!ascending_) {
      const bool distinct = cells == args_.site_count;
      const int64_t bytes = cells * int64_t{sizeof(int32_t)};
      if (!distinct) fill(memory_.rows, bytes, std::numeric_limits<int32_t>::max());
      launch(context_, "rows", task_dim_, Evenly{args_.site_count}, row_kernel(),
             {args_, cells_, distinct, memory_.rows});
    }
    copy_sites();
    return args_.site_count;
  }

  void check_outputs(int64_t outputs) const {
    require(outputs <= args_.capacity, MLUOP_STATUS_BAD_PARAM, "out_indices dim 0 is ", args_.capacity,
            ", expected at least the number of output sites, which is ", outputs);
    require(outputs <= std::numeric_limits<int32_t>::max(), MLUOP_STATUS_NOT_SUPPORTED,
            "the number of output sites is ", outputs, ", expected fewer than 2^31");
  }

  void copy_sites() {
    const int64_t count = args_.indices_count();
    launch<Args>(
        context_, "copy", choose_task_dim(count, count * int64_t{sizeof(int32_t)}), Evenly{count},
        [](const Args& call, int64_t begin, int64_t end, Task&) {
          std::copy(call.indices + begin, call.indices + end, call.out_indices + begin);
        },
        args_);
  }

  void write_pairs() {
    const PairArgs pairs{args_, cells_, ascending_ ? nullptr : memory_.rows, memory_.chunk_counts, tile_sites_};
    const auto chunks = static_cast<int>(chunk_count(args_));
    launch_dynamic(context_, "pairs", task_dim_, chunks, Evenly{chunks}, pair_kernel(), pairs);
    constexpr int64_t kMaxParts = 4096;
    const int64_t rows = args_.pair_rows();
    const auto row_parts = static_cast<int>(std::min(rows, kMaxParts));
    launch_dynamic<PairArgs>(context_, "join", task_dim_, row_parts, Evenly{rows}, join_chunks, pairs);
    const int64_t bytes = args_.pairs_count() * int64_t{sizeof(int32_t)};
    constexpr int64_t kPadBytes = 256 << 10;
    const auto parts = static_cast<int>(std::min(ceil_div(bytes, kPadBytes), kMaxParts));
    launch_dynamic(context_, "pad", task_dim_, parts, Evenly{args_.pairs_count()}, pad_kernel(),
                   {args_, exceeds_caches(bytes)});
  }

  Context& context_;
  const Args& args_;
  Workspace memory_;
  Cells& cells_;
  int task_dim_;
  int64_t tile_sites_;
  bool ascending_ = false;  // submanifold: the rank of a cell is the row of its site
};

}  // namespace

void check_sites(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const auto inside = [&](const Site& site) {
    return 0 <= site.b && site.b < call.batch_size && 0 <= site.d && site.d < call.depth().input_extent &&
           0 <= site.h && site.h < call.height().input_extent && 0 <= site.w && site.w < call.width().input_extent;
  };
  // Only the sites of a submanifold convolution are cells.
  bool ascending = call.sub_m;
  int64_t before = -1;
  if (ascending && begin > 0 && inside(call.site(begin - 1))) before = call.cell(call.site(begin - 1));
  for (int64_t l = begin; l < end; ++l) {
    const Site site = call.site(l);
    if (!inside(site)) {
      args.bad_site.report(l);
      return;
    }
    if (!ascending) continue;
    const int64_t cell = call.cell(site);
    ascending = before < cell;
    before = cell;
  }
  if (!ascending) args.unordered.store(true, std::memory_order_relaxed);
}

void join_chunks(const PairArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t offsets = args.call.offset_count();
  for (int64_t row = begin; row < end; ++row) {
    int32_t* const pairs = args.call.indice_pairs + row * args.call.site_count;
    int32_t* to = pairs;
    for (int64_t chunk = 0; chunk < chunk_count(args.call); ++chunk) {
      const int32_t* from = pairs + chunk * kChunkSites;
      const int32_t count = args.counts[chunk * offsets + row / 2];
      if (to != from) std::memmove(to, from, static_cast<size_t>(count) * sizeof(int32_t));
      to += count;
    }
    if (row % 2 == 0) args.call.indice_num[row / 2] = static_cast<int32_t>(to - pairs);
  }
}

size_t workspace_bytes(const Args& args) { return workspace_bytes_of<Workspace>(args, CellSizes(args)); }

int run(Call& call, const Args& args, Arena workspace) { return Steps(call, args, workspace).run(); }

int run_empty(const Args& args) {
  std::fill_n(args.indice_num, args.offset_count(), 0);
  std::fill_n(args.indice_pairs, args.pairs_count(), -1);
  return 0;
}

}  // namespace mluop::get_indice_pairs::native
