// Site pairs, native algorithm: a few offsets at a time, the input of each output, then their pairs in the order
// of the outputs. Start with run() at the end, then RowMatcher in primitives/sort/row_matcher.h.
#include <algorithm>
#include <numeric>

#include "ops/site_pairs/site_pairs.h"
#include "primitives/sort/row_matcher.h"

namespace mluop::site_pairs::native {
namespace {

// Offsets whose inputs are found together: as many as fit the LLC, and enough to share merges.
constexpr int64_t kBatchSites = int64_t{1} << 20;
constexpr int64_t kMinBatch = 6;

int64_t batch_size(int64_t M, int64_t K) { return std::min(K, std::max(kBatchSites / M, kMinBatch)); }

struct Workspace {
  Workspace(Arena& arena, int64_t N, int64_t M, int64_t K)
      : batch(batch_size(M, K)),
        matcher(arena, N, M, K),
        found(arena.take<int32_t>("inputs of outputs", {batch, M})),
        rows(arena.take<int32_t*>("rows of found", {batch})),
        counts(arena.take<int64_t>("pairs of parts", {batch, kMaxRowParts + 1})) {}

  int64_t batch;  // offsets
  RowMatcher::Memory matcher;
  int32_t* found;   // [batch, M]
  int32_t** rows;   // [batch], the rows of `found`
  int64_t* counts;  // [batch, kMaxRowParts + 1], pairs, then the place of the first pair; at the end all pairs
};

struct BatchArgs {
  Range outputs(int64_t part) const { return split(args.M, part_count, static_cast<int>(part)); }
  int64_t* counts_of(int64_t i) const { return workspace.counts + i * (kMaxRowParts + 1); }

  const Args& args;
  const Workspace& workspace;
  const RowMatcher& matcher;
  int part_count;  // of the outputs
  int64_t begin;   // position of the first offset
  int64_t size;    // offsets
};

// Work items: parts of each offset.
void count_pairs(const BatchArgs& batch, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t i = item / batch.part_count, part = item % batch.part_count;
    const int32_t* const found = batch.workspace.rows[i];
    const Range outputs = batch.outputs(part);
    int64_t count = 0;
    for (int64_t o = outputs.begin; o < outputs.end; ++o) count += found[o] >= 0 ? 1 : 0;
    batch.counts_of(i)[part] = count;
  }
}

// Work items: parts of each offset.
void write_pairs(const BatchArgs& batch, int64_t begin, int64_t end, Task&) {
  const Args& args = batch.args;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t i = item / batch.part_count, part = item % batch.part_count;
    const int64_t offset = batch.matcher.offset_at(batch.begin + i);
    const int32_t* const found = batch.workspace.rows[i];
    int32_t* const inputs = args.indice_pairs + offset * 2 * args.N;
    int32_t* const outputs = inputs + args.N;
    int64_t* const places = batch.counts_of(i);
    const Range range = batch.outputs(part);
    // A single part is not counted.
    const int64_t limit = batch.part_count == 1 ? args.N : places[part + 1];
    // Each output is written where the next pair belongs; the next output overwrites it, unless it is a pair.
    int64_t place = batch.part_count == 1 ? 0 : places[part];
    for (int64_t o = range.begin; o < range.end && place < limit; ++o) {
      inputs[place] = found[o];
      outputs[place] = static_cast<int32_t>(o);
      place += found[o] >= 0 ? 1 : 0;
    }
    const int64_t total = batch.part_count == 1 ? place : places[batch.part_count];
    if (part == 0) args.indice_num[offset] = static_cast<int32_t>(total);
    const Range rest = split(args.N - total, batch.part_count, static_cast<int>(part));
    std::fill_n(inputs + total + rest.begin, rest.size(), -1);
    std::fill_n(outputs + total + rest.begin, rest.size(), -1);
  }
}

// The launches of a call.
class Steps {
 public:
  Steps(Context& context, int task_dim, const Args& args, Workspace& workspace)
      : context_(context),
        task_dim_(task_dim),
        args_(args),
        workspace_(workspace),
        matches_{args.columns, args.inputs, args.N, args.outputs, args.M, args.offsets, args.K},
        matcher_(context, task_dim, matches_, workspace.matcher) {
    for (int64_t i = 0; i < workspace.batch; ++i) workspace.rows[i] = workspace.found + i * args.M;
  }

  // Only repeated outputs can give an offset more than N pairs.
  void check_pairs() const {
    if (args_.M <= args_.N || matcher_.has_distinct_queries()) return;
    for_each_batch([&](const BatchArgs& batch) {
      count(batch);
      for (int64_t i = 0; i < batch.size; ++i) {
        const int64_t total = batch.counts_of(i)[batch.part_count];
        require(total <= args_.N, MLUOP_STATUS_BAD_PARAM, "outputs has ", total, " pairs of offset ",
                matcher_.offset_at(batch.begin + i), ", expected at most ", args_.N,
                ", the number of inputs: outputs are repeated");
      }
    });
  }

  void write() const {
    for_each_batch([&](const BatchArgs& batch) {
      if (batch.part_count > 1) count(batch);
      launch(context_, "write_pairs", task_dim_, Evenly{batch.size * batch.part_count}, write_pairs, batch);
    });
  }

 private:
  // Finds the inputs of a batch, then calls visit(batch).
  template <class Visit>
  void for_each_batch(const Visit& visit) const {
    for (int64_t begin = 0; begin < args_.K;) {
      const int64_t end = matcher_.batch_end(begin, workspace_.batch), size = end - begin;
      matcher_.find(begin, end, workspace_.rows, 1);
      const int part_count = size >= task_dim_ ? 1 : std::min(task_dim_, kMaxRowParts);
      visit(BatchArgs{args_, workspace_, matcher_, part_count, begin, size});
      begin = end;
    }
  }

  // Counts the pairs of each part.
  void count(const BatchArgs& batch) const {
    launch(context_, "count_pairs", task_dim_, Evenly{batch.size * batch.part_count}, count_pairs, batch);
    for (int64_t i = 0; i < batch.size; ++i) {
      int64_t* const counts = batch.counts_of(i);
      counts[batch.part_count] = 0;
      std::exclusive_scan(counts, counts + batch.part_count + 1, counts, int64_t{0});
    }
  }

  Context& context_;
  int task_dim_;
  const Args& args_;
  Workspace& workspace_;
  RowMatches matches_;
  RowMatcher matcher_;
};

}  // namespace

size_t workspace_bytes(int64_t N, int64_t M, int64_t K) { return workspace_bytes_of<Workspace>(N, M, K); }

void run(Call& call, const Args& args, Arena arena) {
  Context& context = call.context();
  context.reserve(0);
  const int64_t bytes = saturated_product({args.K, args.N + args.M, 16});
  const int task_dim = choose_task_dim(args.M, bytes);
  call.log_detail("native, taskDim ", task_dim);
  Workspace workspace(arena, args.N, args.M, args.K);
  const Steps steps(context, task_dim, args, workspace);
  steps.check_pairs();
  steps.write();
}

}  // namespace mluop::site_pairs::native
