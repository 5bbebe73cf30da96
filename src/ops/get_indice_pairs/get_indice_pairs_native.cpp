// Get indice pairs, native algorithm: the decisions of a call, and its launches.
#include "ops/get_indice_pairs/get_indice_pairs.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "core/caches.h"
#include "ops/get_indice_pairs/get_indice_pairs_native_kernels.h"
#include "primitives/memory/fill.h"
#include "team/fit_tile.h"

namespace mluop::get_indice_pairs::native {
namespace {

struct Workspace {
  Workspace(Arena& arena, const Args& args, const CellSizes& sizes)
      : cells(arena, sizes),
        sort(arena, sizes.hashed ? sizes.max_words : 0),
        sites(arena, args),
        chunk_counts(arena.take<int32_t>("pairs of chunks", {chunk_count(args), args.offset_count()})) {}

  Cells cells;
  SortMemory sort;  // hashed only
  SiteOrder sites;
  int32_t* chunk_counts;  // [chunks, K]
};

// Sites whose pairs are in NRAM at a time. Measured on 249,000 LiDAR sites, submanifold: 16.4 ms with 24 KiB, 15.8
// ms with 64 KiB, 15.4 ms with 128 KiB, 16.2 ms with 192 KiB.
int64_t fit_tile_sites(const Context& context, const Args& args) {
  constexpr int64_t kTileBytes = 128 << 10;
  const int64_t site_bytes = args.pair_rows() * int64_t{sizeof(int32_t)};
  const int64_t max_sites = std::clamp<int64_t>(kTileBytes / site_bytes, 16, kChunkSites);
  return fit_tile(context, max_sites,
                  [&](int64_t sites) { return bytes_of<PairTile>(sites, args.offset_count()); });
}

// Exclusive scan of the counts, in place. Returns the total.
int64_t scan(int64_t* counts, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exchange(counts[i], sum);
  return sum;
}

// The launches of a call.
class Steps {
 public:
  Steps(Call& call, const Args& args, Arena arena)
      : context_(call.context()),
        args_(args),
        workspace_(arena, args, CellSizes(args)),
        cells_(workspace_.cells),
        task_dim_(choose_task_dim(args.site_count, args.tensor_bytes())),
        tile_sites_(fit_tile_sites(context_, args)) {
    call.log_detail(args.sub_m ? "submanifold, " : "", "native, ", cells_.sizes.hashed ? "hashed" : "direct",
                    " cells, taskDim ", task_dim_);
  }

  int run() {
    context_.reserve(0);
    if (!check_sites_ascend()) sort_sites();
    cells_.sizes.hashed ? find_hashed_words() : find_direct_words();
    launch(context_, "mark", task_dim_, Evenly{args_.site_count}, mark_kernel(), {args_, order_, cells_});
    const int64_t outputs = number_outputs();
    write_pairs();
    return static_cast<int>(outputs);
  }

 private:
  // Requires sites within the input space. Returns whether they ascend strictly.
  bool check_sites_ascend() {
    FirstBadItem bad_site;
    std::atomic<bool> unordered{false};
    launch(context_, "check", task_dim_, Evenly{args_.site_count}, check_sites, {args_, bad_site, unordered});
    if (bad_site.found()) fail(bad_site.item());
    return !unordered;
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

  void sort_sites() {
    if (args_.input_cell_count() == std::numeric_limits<int64_t>::max()) return;
    const RadixSortMemory<int64_t>& sort = workspace_.sites.sort;
    launch(context_, "number", task_dim_, Evenly{args_.site_count}, number_sites, {args_, sort.keys[0]});
    const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(args_.input_cell_count() - 1)));
    order_ = sort.values[radix_sort(context_, task_dim_, args_.site_count, bits, SortedValues::kPositions, sort)];
  }

  // Finds the words of the active cells and clears their bits, as does the hashed variant.
  void find_direct_words() {
    const CellSizes& sizes = cells_.sizes;
    fill_zero(context_, cells_.groups, (sizes.group_count + 1) * int64_t{sizeof(Group)});
    enter_words();
    const int64_t ranges = sizes.groups.count(sizes.group_count);
    launch(context_, "count_words", task_dim_, Evenly{ranges}, count_words_kernel(), {args_, cells_});
    cells_.word_count = scan(cells_.range_ranks, ranges);
    check_words(cells_.word_count);
    launch(context_, "list_words", task_dim_, Evenly{ranges}, list_words_kernel(), {args_, cells_});
  }

  void find_hashed_words() {
    const int64_t slots = cells_.sizes.slot_count;
    launch<Cells>(
        context_, "clear", choose_task_dim(slots, slots * int64_t{sizeof(int64_t)}), Evenly{slots},
        [](const Cells& cells, int64_t begin, int64_t end, Task&) {
          std::fill(cells.slots + begin, cells.slots + end, kNoWord);
        },
        cells_);
    cells_.word_count = enter_words();
    check_words(cells_.word_count);
    const SortMemory& sort = workspace_.sort;
    const SlotArgs slot_args{cells_, sort};
    launch(context_, "count_slots", task_dim_, Evenly{SortMemory::kRanges}, count_slots, slot_args);
    scan(sort.first_places, SortMemory::kRanges);
    launch(context_, "collect_words", task_dim_, Evenly{SortMemory::kRanges}, collect_words, slot_args);
    const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(cells_.sizes.space_words - 1)));
    const size_t sorted =
        radix_sort(context_, task_dim_, cells_.word_count, bits, SortedValues::kGiven, sort.words);
    cells_.numbers = sort.words.keys[sorted];
    launch(context_, "place_words", task_dim_, Evenly{cells_.word_count}, place_words,
           {cells_, sort.words.values[sorted]});
  }

  // Returns the number of words; 0 if direct.
  int64_t enter_words() {
    std::atomic<int64_t> claimed{0};
    launch(context_, "claim", task_dim_, Evenly{args_.site_count}, claim_kernel(),
           {{args_, order_, cells_}, claimed});
    return claimed;
  }

  // Every word contains an output site.
  void check_words(int64_t words) const {
    require(words <= cells_.sizes.max_words, MLUOP_STATUS_BAD_PARAM, "out_indices dim 0 is ", args_.capacity,
            ", expected at least the number of output sites");
  }

  // Ranks the active cells and writes out_indices. Returns the number of output sites.
  int64_t number_outputs() {
    const int64_t ranges = cells_.sizes.words.count(cells_.word_count);
    launch(context_, "count_cells", task_dim_, Evenly{ranges}, count_cells_kernel(), {args_, cells_});
    const int64_t cells = scan(cells_.range_ranks, ranges);
    if (!args_.sub_m) check_outputs(cells);
    launch(context_, "list_cells", task_dim_, Evenly{ranges}, list_cells_kernel(), {args_, cells_});
    if (!args_.sub_m) return cells;
    distinct_ = cells == args_.site_count;
    rows_ = order_;
    if (!distinct_) {
      launch(context_, "rows", task_dim_, Evenly{args_.site_count}, row_kernel(),
             {{args_, order_, cells_}, workspace_.sites.rows});
      rows_ = workspace_.sites.rows;
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
        [](const Args& args, int64_t begin, int64_t end, Task&) {
          std::copy(args.indices + begin, args.indices + end, args.out_indices + begin);
        },
        args_);
  }

  // The keys of the sort are no longer in use.
  void reorder() {
    const auto tasks = std::min(task_dim_, static_cast<int>(SiteOrder::kTables));
    const auto& [even, odd] = workspace_.sites.sort.keys;
    const auto halves = [](int64_t* keys) { return reinterpret_cast<int32_t*>(keys); };
    launch(context_, "reorder", tasks, Evenly{SiteOrder::kTables}, reorder_kernel(),
           {args_,
            order_,
            rows_,
            {halves(even), halves(even) + args_.site_count, halves(odd), halves(odd) + args_.site_count}});
  }

  void write_pairs() {
    const PairArgs pairs{
        {args_, order_, cells_}, distinct_ && args_.is_symmetric(), workspace_.chunk_counts, tile_sites_};
    const auto chunks = static_cast<int>(chunk_count(args_));
    launch_dynamic(context_, "pairs", task_dim_, chunks, Evenly{chunks}, pair_kernel(), pairs);
    constexpr int64_t kMaxChunks = 4096;
    const int64_t rows = 2 * pairs.found_offsets();
    const auto row_chunks = static_cast<int>(std::min(rows, kMaxChunks));
    launch_dynamic(context_, "join", task_dim_, row_chunks, Evenly{rows}, join_chunks, pairs);
    if (order_ != nullptr) reorder();
    const int64_t bytes = args_.pairs_count() * int64_t{sizeof(int32_t)};
    constexpr int64_t kPadBytes = 256 << 10;
    const auto pad_chunks = static_cast<int>(std::min(ceil_div(bytes, kPadBytes), kMaxChunks));
    launch_dynamic(context_, "pad", task_dim_, pad_chunks, Evenly{args_.pairs_count()}, pad_kernel(),
                   {args_, exceeds_caches(bytes)});
  }

  Context& context_;
  const Args& args_;
  Workspace workspace_;
  Cells& cells_;
  int task_dim_;
  int64_t tile_sites_;
  const uint32_t* order_ = nullptr;  // order of sites that do not ascend
  // Submanifold:
  bool distinct_ = false;           // the rank of a site is its position in the order
  const uint32_t* rows_ = nullptr;  // by rank
};

}  // namespace

size_t workspace_bytes(const Args& args) { return workspace_bytes_of<Workspace>(args, CellSizes(args)); }

int run(Call& call, const Args& args, Arena arena) { return Steps(call, args, arena).run(); }

int run_empty(const Args& args) {
  std::fill_n(args.indice_num, args.offset_count(), 0);
  std::fill_n(args.indice_pairs, args.pairs_count(), -1);
  return 0;
}

}  // namespace mluop::get_indice_pairs::native
