// Start with run() at the end.
//
// Sum v = n K + k is site n plus offset k. The sums at multiples are listed as records of a key and the number v,
// and sorted; the first record of each run of equal sums gives a row.
#include <array>
#include <utility>

#include "core/checks.h"
#include "ops/reached_sites/reached_sites.h"
#include "primitives/indices/site_rules.h"
#include "primitives/memory/fill.h"
#include "primitives/sort/row_order.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::reached_sites::native {
namespace {

// Sites, and then records, are divided into parts, whose results follow one another.
constexpr int kParts = 64;

struct Workspace {
  Workspace(Arena& arena, const Sizes& sizes)
      : remainders(arena.take<int32_t>("remainders of offsets", {sizes.K, sizes.D})),
        shifts(arena.take<int64_t>("shifts of keys", {sizes.K})),
        sort(arena, sizes.sums()) {}

  int32_t* remainders;  // [K, D]
  int64_t* shifts;      // [K]
  RowSortMemory sort;
};

// The least and the greatest offset of each axis, and 0.
struct OffsetBounds {
  explicit OffsetBounds(const Args& args) {
    for (int64_t k = 0; k < args.K; ++k) {
      for (int64_t d = 0; d < args.D; ++d) {
        const auto axis = static_cast<size_t>(d);
        low[axis] = std::min(low[axis], args.offsets[k * args.D + d]);
        high[axis] = std::max(high[axis], args.offsets[k * args.D + d]);
      }
    }
  }

  std::array<int32_t, kMaxSiteAxes> low{}, high{};
};

struct CheckArgs : Args {
  const OffsetBounds& offset_bounds;
  FirstBadItem& bad_element;
};

// Work items: sites. Reports the first coordinate that some offset moves outside int32.
void check_sites(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t d = 0; d < args.D; ++d) {
      const auto axis = static_cast<size_t>(d);
      const int64_t x = args.sites[n * (args.D + 1) + d + 1];
      if (x + args.offset_bounds.low[axis] < INT32_MIN || x + args.offset_bounds.high[axis] > INT32_MAX) {
        args.bad_element.report(n * args.D + d);
      }
    }
  }
}

void check_sums(const Args& args, const FirstBadItem& bad_element) {
  if (!bad_element.found()) return;
  const int64_t n = bad_element.item() / args.D, d = bad_element.item() % args.D;
  const int64_t x = args.sites[n * (args.D + 1) + d + 1];
  int64_t k = 0;
  const auto sum = [&] { return x + args.offsets[k * args.D + d]; };
  while (INT32_MIN <= sum() && sum() <= INT32_MAX) ++k;
  throw Failure(MLUOP_STATUS_BAD_PARAM, text("sites[", n, ", ", d + 1, "] plus offsets[", k, ", ", d, "] is ",
                                             sum(), ", expected an int32"));
}

struct SumArgs : Args {
  static Range part_of(int64_t count, int64_t part) { return split(count, kParts, static_cast<int>(part)); }
  // Whether offset k moves a site with these remainders to multiples.
  bool is_multiple(const int32_t* site_remainders, int64_t k) const {
    int32_t differing_bits = 0;
    for (int64_t d = 0; d < D; ++d) differing_bits |= site_remainders[d] ^ remainders[k * D + d];
    return differing_bits == 0;
  }
  void write_row(int64_t v, int32_t* to) const {
    const int32_t *const site = sites + v / K * (D + 1), *const offset = offsets + v % K * D;
    to[0] = site[0];
    for (int64_t d = 0; d < D; ++d) to[d + 1] = site[d + 1] + offset[d];
  }
  int64_t key(int64_t v) const {
    std::array<int32_t, kMaxRowColumns> row{};
    write_row(v, row.data());
    return keys.key(row.data(), key_index);
  }

  bool has_multiples;         // any above 1
  const int32_t* remainders;  // [K, D], of the negative offsets
  const RowKeys& keys;
  const int64_t* shifts;  // [K]; null: sums have several keys
  int key_index;          // of the keys to compute
  int64_t count;          // records
  int64_t* record_keys;
  uint32_t* record_sums;
  int64_t* part_counts;  // [kParts], then the number of all records or rows before the part
};

// Calls visit(n, k) for each sum at multiples, of sites [begin, end).
template <class Visit>
void for_each_sum(const SumArgs& args, Range sites, const Visit& visit) {
  std::array<int32_t, kMaxSiteAxes> remainders{};
  for (int64_t n = sites.begin; n < sites.end; ++n) {
    for (int64_t d = 0; args.has_multiples && d < args.D; ++d) {
      remainders[static_cast<size_t>(d)] = floor_modulo(args.sites[n * (args.D + 1) + d + 1], args.multiples[d]);
    }
    for (int64_t k = 0; k < args.K; ++k) {
      if (!args.has_multiples || args.is_multiple(remainders.data(), k)) visit(n, k);
    }
  }
}

// Work items: parts of the sites.
void count_sums(const SumArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    int64_t count = 0;
    for_each_sum(args, SumArgs::part_of(args.N, part), [&](int64_t, int64_t) { ++count; });
    args.part_counts[part] = count;
  }
}

// Work items: parts of the sites. Writes the records with their least significant keys.
void list_sums(const SumArgs& args, int64_t begin, int64_t end, Task&) {
  int64_t site = -1, site_key = 0;
  for (int64_t part = begin; part < end; ++part) {
    int64_t i = args.part_counts[part];
    for_each_sum(args, SumArgs::part_of(args.N, part), [&](int64_t n, int64_t k) {
      if (n != site) {
        site = n;
        site_key = args.keys.key(args.sites + n * (args.D + 1), args.key_index);
      }
      const int64_t v = n * args.K + k;
      args.record_keys[i] = args.shifts == nullptr ? args.key(v) : site_key + args.shifts[k];
      args.record_sums[i++] = static_cast<uint32_t>(v);
    });
  }
}

// Work items: records. Replaces their keys.
void compute_keys(const SumArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) args.record_keys[i] = args.key(args.record_sums[i]);
}

// Calls visit(v) for the first record of each run of equal sums, among the records of a part.
template <class Visit>
void for_each_distinct(const SumArgs& args, int64_t part, const Visit& visit) {
  const Range records = SumArgs::part_of(args.count, part);
  for (int64_t i = records.begin; i < records.end; ++i) {
    bool is_equal = i > 0 && args.record_keys[i] == args.record_keys[i - 1];
    if (is_equal && args.shifts == nullptr) {
      std::array<int32_t, kMaxRowColumns> row{}, last{};
      args.write_row(args.record_sums[i], row.data());
      args.write_row(args.record_sums[i - 1], last.data());
      is_equal = row == last;
    }
    if (!is_equal) visit(args.record_sums[i]);
  }
}

// Work items: parts of the sorted records.
void count_distinct(const SumArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    int64_t count = 0;
    for_each_distinct(args, part, [&](int64_t) { ++count; });
    args.part_counts[part] = count;
  }
}

// Work items: parts of the sorted records.
void write_distinct(const SumArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    int32_t* to = args.reached + args.part_counts[part] * (args.D + 1);
    for_each_distinct(args, part, [&](int64_t v) {
      args.write_row(v, to);
      to += args.D + 1;
    });
  }
}

// Replaces the counts of the parts by the numbers before them. Returns the number of all.
int64_t scan(std::array<int64_t, kParts>& counts) {
  int64_t total = 0;
  for (int64_t& count : counts) total += std::exchange(count, total);
  return total;
}

// Writes what the kernels read for each offset: remainders and, if sums have one key, shifts.
void prepare_offsets(const Args& args, const RowKeys& keys, const Workspace& memory) {
  for (int64_t k = 0; k < args.K; ++k) {
    const int32_t* const offset = args.offsets + k * args.D;
    for (int64_t d = 0; d < args.D; ++d) {
      const int32_t remainder = floor_modulo(offset[d], args.multiples[d]);
      memory.remainders[k * args.D + d] = remainder == 0 ? 0 : args.multiples[d] - remainder;
    }
    if (keys.count() == 1) memory.shifts[k] = keys.shift_of(offset);
  }
}

}  // namespace

size_t workspace_bytes(const Sizes& sizes) { return sizes.is_empty() ? 0 : workspace_bytes_of<Workspace>(sizes); }

void run(Call& call, Arena arena, const Args& args) {
  constexpr int64_t kSumBytes = 60;  // cost of a sum, in bytes of memory traffic
  Context& context = call.context();
  context.reserve(0);
  call.log_detail("native");
  const int64_t columns = args.D + 1;
  const int task_dim = choose_task_dim(args.sums(), args.sums() * kSumBytes);
  const int part_tasks = std::min(task_dim, kParts);
  const OffsetBounds offset_bounds(args);
  FirstBadItem bad_element;
  launch<CheckArgs>(context, "check_sites", task_dim, Evenly{args.N}, check_sites,
                    {args, offset_bounds, bad_element});
  check_sums(args, bad_element);

  RowBounds bounds = find_bounds(context, task_dim, {args.sites, args.N, nullptr, 0, columns});
  for (int64_t d = 0; d < args.D; ++d) {
    const auto axis = static_cast<size_t>(d);
    bounds.low[axis + 1] += offset_bounds.low[axis];
    bounds.high[axis + 1] += offset_bounds.high[axis];
  }
  const RowKeys keys(bounds);
  Workspace memory(arena, args);
  prepare_offsets(args, keys, memory);
  std::array<int64_t, kParts> part_counts{};
  SumArgs sums{args,
               std::any_of(args.multiples, args.multiples + args.D, [](int32_t m) { return m > 1; }),
               memory.remainders,
               keys,
               keys.count() == 1 ? memory.shifts : nullptr,
               keys.count() - 1,
               0,
               memory.sort.keys[0],
               memory.sort.values[0],
               part_counts.data()};
  launch(context, "count_sums", part_tasks, Evenly{kParts}, count_sums, sums);
  sums.count = scan(part_counts);
  launch(context, "list_sums", part_tasks, Evenly{kParts}, list_sums, sums);
  const auto sort = [&] {
    memory.sort.exchange(
        radix_sort(context, task_dim, sums.count, keys.bits(sums.key_index), SortedValues::kGiven, memory.sort));
    sums.record_keys = memory.sort.keys[0];
    sums.record_sums = memory.sort.values[0];
  };
  sort();
  while (sums.key_index > 0) {
    --sums.key_index;
    launch(context, "compute_keys", task_dim, Evenly{sums.count}, compute_keys, sums);
    sort();
  }

  launch(context, "count_distinct", part_tasks, Evenly{kParts}, count_distinct, sums);
  const int64_t count = scan(part_counts);
  launch(context, "write_distinct", part_tasks, Evenly{kParts}, write_distinct, sums);
  constexpr auto kElementBytes = static_cast<int64_t>(sizeof(int32_t));
  fill_zero(context, args.reached + count * columns, (args.sums() - count) * columns * kElementBytes);
  *args.num = static_cast<int32_t>(count);
}

}  // namespace mluop::reached_sites::native
