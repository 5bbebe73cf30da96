// Partition of keys over tasks: each point with a key is visited once, by the one owner of its key, in order. The
// tests use the kernels of a minimal operator: the keys of its points are given, and it records its visits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/key_partition_test.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <utility>
#include <vector>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/key_partition-inl.h"

#ifndef MLUOP_TEST_KEY_PARTITION
#define MLUOP_TEST_KEY_PARTITION
namespace mluop::test {

using dynamic_scatter_backward::ByCost;
using dynamic_scatter_backward::fit_chunks;
using dynamic_scatter_backward::KeyedPoints;
using dynamic_scatter_backward::KeyPartition;
using dynamic_scatter_backward::SampledRuns;
using dynamic_scatter_backward::VisitQueue;

using Visits = std::vector<std::pair<int64_t, int64_t>>;  // (point, key)

struct PartitionArgs {
  const SampledRuns& sample;
  KeyPartition& partition;
  const KeyedPoints& points;
  int64_t tile_points = 0, lookahead = 0;
  std::vector<Visits>* visits = nullptr;      // of each task
  std::vector<Visits>* prefetched = nullptr;  // of each task
};

}  // namespace mluop::test
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {

// Work items: chunks of points.
void rank_points(const PartitionArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    dynamic_scatter_backward::HWY_NAMESPACE::rank_chunk(args.partition, args.points, chunk);
  }
}

struct Recorder {
  void prefetch(int64_t point, int64_t key) const { prefetched.emplace_back(point, key); }
  void visit(int64_t point, int64_t key) const { visits.emplace_back(point, key); }

  int64_t lookahead;
  Visits& visits;
  Visits& prefetched;
};

// Work items: ranks of buckets.
void visit_points(const PartitionArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto id = static_cast<size_t>(task.taskId);
  VisitQueue queue(task.nram, args.tile_points);
  const Recorder recorder{args.lookahead, (*args.visits)[id], (*args.prefetched)[id]};
  dynamic_scatter_backward::HWY_NAMESPACE::visit_owned(args.points, args.points.chunks(), {begin, end}, recorder,
                                                       queue);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/guarded_buffer.h"
#include "support/labels.h"
#include "support/team_context.h"

namespace mluop::test {
namespace {

constexpr int32_t kNoKey = KeyedPoints::kNoKey;

MLUOP_EXPORT_KERNEL(rank_kernel, rank_points, PartitionArgs);
MLUOP_EXPORT_KERNEL(visit_kernel, visit_points, PartitionArgs);

// Work items: sampled runs.
void count_keys(const PartitionArgs& args, int64_t begin, int64_t end, Task& task) {
  args.partition.clear_sample(task.taskId);
  for (int64_t run = begin; run < end; ++run) {
    const Range points = args.sample.points(run);
    for (int64_t point = points.begin; point < points.end; ++point) {
      const int32_t key = args.points.keys[point];
      if (key != kNoKey) args.partition.count(task.taskId, key, run);
    }
  }
}

struct Problem {
  std::string name;
  int64_t key_count;
  std::vector<int32_t> keys;  // of the points
};

struct Buffers {
  Buffers(Arena& arena, const Problem& problem, const SampledRuns& sample)
      : partition(arena, problem.key_count, sample),
        points(arena, static_cast<int64_t>(problem.keys.size()), problem.keys.data()) {}

  KeyPartition partition;
  KeyedPoints points;
};

// The steps of key_partition.h, in uninitialized memory between guard zones.
class Partition {
 public:
  Partition(Context& context, const Problem& problem, int task_dim, double max_part = 1)
      : context_(context),
        sample_(static_cast<int64_t>(problem.keys.size()), task_dim),
        memory_(bytes_of<Buffers>(problem, sample_)),
        arena_(memory_.data(), memory_.size()),
        buffers_(arena_, problem, sample_) {
    const PartitionArgs args{sample_, buffers_.partition, buffers_.points};
    launch(context, "test", sample_.task_dim, Evenly{sample_.count}, count_keys, args);
    buffers_.partition.assign_ranks(context, sample_, max_part);
    launch(context, "test", task_dim, Evenly{buffers_.points.chunk_count()}, rank_kernel(), args);
  }

  // Each point with a key is visited once, by the one owner of its key, in ascending order; prefetched points are
  // visited later.
  void expect_visits(const Problem& problem, int task_dim, int64_t tile_points, int64_t lookahead) {
    std::vector<Visits> visits(static_cast<size_t>(task_dim)), prefetched(visits.size());
    launch(context_, "test", task_dim, ByCost{buffers_.partition}, visit_kernel(),
           {sample_, buffers_.partition, buffers_.points, tile_points, lookahead, &visits, &prefetched});
    std::vector<int> owners(static_cast<size_t>(problem.key_count), -1);
    int64_t count = 0;
    for (size_t task = 0; task < visits.size(); ++task) {
      int64_t before = -1;
      for (const auto& [point, key] : visits[task]) {
        EXPECT_GT(point, before);
        before = point;
        ASSERT_EQ(key, problem.keys.at(static_cast<size_t>(point)));
        int& owner = owners[static_cast<size_t>(key)];
        EXPECT_TRUE(owner == -1 || owner == static_cast<int>(task)) << "key " << key;
        owner = static_cast<int>(task);
        ++count;
      }
      EXPECT_TRUE(std::ranges::includes(visits[task], prefetched[task]));
    }
    EXPECT_EQ(count, std::ranges::count_if(problem.keys, [](int32_t key) { return key != kNoKey; }));
  }

  // Each key is in one bucket.
  void expect_ranks() const {
    const KeyPartition& keys = buffers_.partition;
    std::vector<int> seen(static_cast<size_t>(keys.key_count));
    for (int32_t rank = 0; rank < keys.bucket_count; ++rank) {
      EXPECT_EQ(keys.ranks[keys.ranked_buckets[rank]], rank);
      EXPECT_LT(keys.cost_before[rank], keys.cost_before[rank + 1]);
      const Range bucket = keys.keys(keys.ranked_buckets[rank]);
      for (int64_t key = bucket.begin; key < bucket.end; ++key) ++seen[static_cast<size_t>(key)];
    }
    EXPECT_EQ(std::ranges::count(seen, 1), keys.key_count);
    EXPECT_TRUE(memory_.intact());
  }

  const KeyPartition& keys() const { return buffers_.partition; }

 private:
  Context& context_;
  SampledRuns sample_;
  GuardedBuffer<std::byte> memory_;
  Arena arena_;
  Buffers buffers_;
};

Problem random_problem(std::string name, int64_t points, int32_t keys, int tenths_without_key) {
  Problem problem{std::move(name), keys, {}};
  auto random = seeded_random();
  std::uniform_int_distribution<int32_t> key(0, keys - 1), tenth(1, 10);
  for (int64_t i = 0; i < points; ++i) {
    problem.keys.push_back(tenth(random) <= tenths_without_key ? kNoKey : key(random));
  }
  return problem;
}

std::vector<Problem> problems() {
  std::vector<Problem> all = {
      {"one point", 1, {0}},
      {"no point has a key", 5, std::vector<int32_t>(300, kNoKey)},
      random_problem("a chunk", 64, 10, 2),
      random_problem("a chunk and one point", 65, 10, 2),
      random_problem("one key", 1000, 1, 1),
      random_problem("few keys", 5000, 7, 0),
      random_problem("keys without points", 500, 9000, 5),
      random_problem("buckets of several keys", 100000, 50001, 3),
  };
  Problem sorted = random_problem("keys in the order of the points", 30000, 6000, 0);
  std::sort(sorted.keys.begin(), sorted.keys.end());
  all.push_back(sorted);
  return all;
}

// Up to 4096 buckets, or 256 for each task that samples, each bucket has one key. For more keys, the size of
// buckets doubles until they are few enough.
TEST(OpsDynamicScatterBackwardKeyPartition, BucketsAreAsNarrowAsTheirNumberAllows) {
  const struct {
    int64_t keys;
    int tasks, shift;
    int32_t buckets;
  } kTable[] = {{1, 1, 0, 1},        {4096, 1, 0, 4096},  {4097, 1, 1, 2049},
                {8192, 1, 1, 4096},  {8193, 1, 2, 2049},  {4097, 16, 1, 2049},
                {4352, 17, 0, 4352}, {4353, 17, 1, 2177}, {8704, 34, 0, 8704}};
  for (const auto& row : kTable) {
    SCOPED_TRACE(::testing::Message() << row.keys << " keys, " << row.tasks << " tasks");
    const SampledRuns sample(int64_t{1} << 30, row.tasks);
    ASSERT_EQ(sample.task_dim, row.tasks);
    GuardedBuffer<std::byte> memory(bytes_of<KeyPartition>(row.keys, sample));
    Arena arena(memory.data(), memory.size());
    const KeyPartition partition(arena, row.keys, sample);
    EXPECT_EQ(partition.shift, row.shift);
    EXPECT_EQ(partition.bucket_count, row.buckets);
  }
}

TEST(OpsDynamicScatterBackwardKeyPartition, OwnersVisitEachPointOnce) {
  MLUOP_LABELS(kNotEmulated);
  for (const int task_dim : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(task_dim);
    TeamContext context(task_dim);
    for (const Problem& problem : problems()) {
      SCOPED_TRACE(problem.name);
      Partition partition(context, problem, task_dim);
      for (const auto& [tile_points, lookahead] : {std::pair{64, 1}, {64, 64}, {1024, 16}}) {
        partition.expect_visits(problem, task_dim, tile_points, lookahead);
      }
      partition.expect_ranks();
    }
  }
}

// A bucket is shared if its cost exceeds one task's part of the cost: the buckets are ranked all the same.
TEST(OpsDynamicScatterBackwardKeyPartition, SharesLargeBuckets) {
  TeamContext context(4);
  Problem problem = random_problem("keys with most points", 40000, 8000, 1);
  for (size_t i = 0; i < problem.keys.size(); ++i) {
    if (i % 8 < 3) problem.keys[i] = 500;
    if (i % 8 == 3 || i % 8 == 4) problem.keys[i] = 20;
  }
  for (const auto& [max_part, shared] : {std::pair{1.5, 0}, {1.0, 0}, {0.5, 0}, {0.33, 1}, {0.2, 2}, {0.01, 2}}) {
    SCOPED_TRACE(max_part);
    const Partition partition(context, problem, 4, max_part);
    const KeyPartition& keys = partition.keys();
    const Range ranks = keys.shared_ranks();
    EXPECT_EQ(ranks.size(), shared);
    EXPECT_EQ(ranks.end, keys.bucket_count);
    EXPECT_EQ(keys.ranks[500 >> keys.shift] >= ranks.begin, shared > 0);
    EXPECT_EQ(keys.ranks[20 >> keys.shift] >= ranks.begin, shared > 1);
    EXPECT_LE(keys.shared_keys(), keys.max_shared_keys(max_part));
    int64_t next = 0;
    for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
      const Range bucket = keys.keys(keys.ranked_buckets[rank]);
      for (int64_t key = bucket.begin; key < bucket.end; ++key) EXPECT_EQ(keys.shared_index(key), next++);
    }
    EXPECT_EQ(next, keys.shared_keys());
    EXPECT_EQ(ByCost{keys}(4, 3).end, ranks.begin);
    partition.expect_ranks();
  }
}

// A tile has as many whole chunks as fit NRAM, at most 16.
TEST(OpsDynamicScatterBackwardKeyPartition, TilesAreWholeChunks) {
  Context context;
  for (const size_t kib : {1, 2, 3, 8, 640}) {
    context.nram_capacity = kib * 1024;
    const auto bytes = [](int64_t points) { return bytes_of<VisitQueue>(points); };
    const int64_t points = fit_chunks(context, bytes);
    EXPECT_EQ(points % KeyedPoints::kChunkPoints, 0);
    EXPECT_GE(points, KeyedPoints::kChunkPoints);
    EXPECT_LE(bytes(points), context.nram_capacity);
    if (points < 16 * KeyedPoints::kChunkPoints) {
      EXPECT_GT(bytes(points + KeyedPoints::kChunkPoints), context.nram_capacity);
    }
  }
}

}  // namespace
}  // namespace mluop::test
#endif
