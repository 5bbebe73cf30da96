#include "ops/dynamic_scatter_backward/key_partition.h"

namespace mluop::dynamic_scatter_backward {
namespace {

// Number of buckets: small enough for their ranks to stay in L1, and large enough to divide the work evenly
// although one bucket may hold many times the points of another.
constexpr int64_t kMaxBuckets = 4096;
constexpr int64_t kBucketsPerTask = 256;

// Sampled runs of a task: enough to estimate the share of a bucket within a few percent.
constexpr int64_t kRunsPerTask = 2048;

// A point is compared and its row written; a key costs at least clearing its bits.
constexpr int64_t kPointCost = 4;
constexpr int64_t kKeyCost = 1;

int shift_for(int64_t keys, int task_dim) {
  const int64_t max = std::max(kMaxBuckets, kBucketsPerTask * task_dim);
  int shift = 0;
  while (ceil_div(keys, int64_t{1} << shift) > max) ++shift;
  return shift;
}

// Work items: buckets. Adds the counts of all tasks to the counts of task 0.
void merge_samples(const KeyPartition& partition, int64_t begin, int64_t end, Task&) {
  for (int t = 1; t < partition.sample_task_dim; ++t) {
    const int32_t* counts = partition.sample_counts + int64_t{t} * partition.bucket_count;
    const int64_t* run_sums = partition.run_sums + int64_t{t} * partition.bucket_count;
    for (int64_t bucket = begin; bucket < end; ++bucket) {
      partition.sample_counts[bucket] += counts[bucket];
      partition.run_sums[bucket] += run_sums[bucket];
    }
  }
}

}  // namespace

SampledRuns::SampledRuns(int64_t points, int tasks)
    : point_count(points),
      step(std::max<int64_t>(points / (kRunsPerTask * kRunPoints * tasks), 1)),
      count(ceil_div(points, step * kRunPoints)),
      task_dim(static_cast<int>(std::min<int64_t>(tasks, count))) {}

KeyPartition::KeyPartition(Arena& arena, int64_t keys, const SampledRuns& sample)
    : key_count(keys),
      shift(shift_for(keys, sample.task_dim)),
      bucket_count(static_cast<int32_t>(ceil_div(keys, int64_t{1} << shift))),
      sample_task_dim(sample.task_dim),
      sample_counts(arena.take<int32_t>("sample counts", {sample_task_dim, bucket_count})),
      run_sums(arena.take<int64_t>("run sums", {sample_task_dim, bucket_count})),
      run_starts(arena.take<int32_t>("run starts", {sample.count + 2})),
      ranks(arena.take<int32_t>("ranks", {bucket_count})),
      ranked_buckets(arena.take<int32_t>("ranked buckets", {bucket_count})),
      cost_before(arena.take<int64_t>("cost before", {int64_t{bucket_count} + 1})) {}

void KeyPartition::clear_sample(int task_id) {
  std::fill_n(sample_counts + int64_t{task_id} * bucket_count, bucket_count, 0);
  std::fill_n(run_sums + int64_t{task_id} * bucket_count, bucket_count, 0);
}

void KeyPartition::assign_ranks(Context& context, const SampledRuns& sample, double max_part) {
  const int64_t bytes = int64_t{bucket_count} * sample_task_dim * int64_t{sizeof(int32_t) + sizeof(int64_t)};
  launch(context, "merge_samples", std::min(choose_task_dim(bucket_count, bytes), sample_task_dim),
         Evenly{bucket_count}, merge_samples, *this);
  // Sorts the buckets by the mean run of their points, with a counting sort. Buckets without sampled points cost
  // next to nothing; their rank assumes that the points are in the order of their keys. Shared buckets follow the
  // last run.
  const auto cost_of = [&](int32_t bucket) {
    return sample_counts[bucket] * sample.step * kPointCost + keys(bucket).size() * kKeyCost;
  };
  int64_t total_cost = 0;
  for (int32_t bucket = 0; bucket < bucket_count; ++bucket) total_cost += cost_of(bucket);
  const double max_cost = static_cast<double>(total_cost) * max_part;
  int64_t* const mean_runs = run_sums;  // in place
  std::fill_n(run_starts, sample.count + 2, 0);
  owned_count = bucket_count;
  for (int32_t bucket = 0; bucket < bucket_count; ++bucket) {
    const int32_t count = sample_counts[bucket];
    mean_runs[bucket] = count > 0 ? run_sums[bucket] / count : sample.count * bucket / bucket_count;
    if (static_cast<double>(cost_of(bucket)) > max_cost) {
      mean_runs[bucket] = sample.count;
      --owned_count;
    }
    ++run_starts[mean_runs[bucket] + 1];
  }
  for (int64_t run = 0; run <= sample.count; ++run) run_starts[run + 1] += run_starts[run];
  for (int32_t bucket = 0; bucket < bucket_count; ++bucket) {
    ranks[bucket] = run_starts[mean_runs[bucket]]++;
    ranked_buckets[ranks[bucket]] = bucket;
  }
  cost_before[0] = 0;
  for (int32_t rank = 0; rank < bucket_count; ++rank) {
    cost_before[rank + 1] = cost_before[rank] + cost_of(ranked_buckets[rank]);
  }
}

}  // namespace mluop::dynamic_scatter_backward
