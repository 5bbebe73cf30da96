#include "primitives/key_order.h"

namespace mluop {
namespace {

// Tiles: few enough for their ranks to stay in the first level of a cache, and enough for each task to divide the
// work evenly, where one may hold many times the items of another.
constexpr int64_t kTiles = 4096;
constexpr int64_t kTilesPerTask = 256;

// Stretches of the sample, for each task: enough to know its share within a few percent.
constexpr int64_t kSamplePerTask = 2048;

// An item is read and added; what a key names is at least cleared.
constexpr int64_t kItemCost = 4;
constexpr int64_t kKeyCost = 1;

int shift_of(int64_t keys, int task_dim) {
  const int64_t most = std::max(kTiles, kTilesPerTask * task_dim);
  int shift = 0;
  while (ceil_div(keys, int64_t{1} << shift) > most) ++shift;
  return shift;
}

// Items: tiles. Adds up what the tasks have counted.
void merge(const KeyOrder& order, int64_t begin, int64_t end, Task&) {
  for (int t = 1; t < order.sample_task_dim; ++t) {
    const int32_t* counts = order.counts + int64_t{t} * order.tile_count;
    const int64_t* positions = order.positions + int64_t{t} * order.tile_count;
    for (int64_t tile = begin; tile < end; ++tile) {
      order.counts[tile] += counts[tile];
      order.positions[tile] += positions[tile];
    }
  }
}

}  // namespace

KeySample::KeySample(int64_t items, int tasks)
    : item_count(items),
      step(std::max<int64_t>(items / (kSamplePerTask * kItems * tasks), 1)),
      stretches(ceil_div(items, step * kItems)),
      task_dim(static_cast<int>(std::min<int64_t>(tasks, stretches))) {}

KeyOrderLayout::KeyOrderLayout(WorkspaceLayout& workspace, int64_t keys, const KeySample& sample)
    : key_count(keys),
      shift(shift_of(keys, sample.task_dim)),
      tile_count(static_cast<int32_t>(ceil_div(keys, int64_t{1} << shift))),
      sample_task_dim(sample.task_dim),
      counts(workspace.add<int32_t>(int64_t{tile_count} * sample_task_dim)),
      positions(workspace.add<int64_t>(int64_t{tile_count} * sample_task_dim)),
      buckets(workspace.add<int32_t>(sample.stretches + 1)),
      ranks(workspace.add<int32_t>(tile_count)),
      tiles(workspace.add<int32_t>(tile_count)),
      costs_before(workspace.add<int64_t>(int64_t{tile_count} + 1)) {}

KeyOrder::KeyOrder(const KeyOrderLayout& layout, std::byte* workspace)
    : key_count(layout.key_count),
      shift(layout.shift),
      tile_count(layout.tile_count),
      sample_task_dim(layout.sample_task_dim),
      counts(at<int32_t>(workspace, layout.counts)),
      positions(at<int64_t>(workspace, layout.positions)),
      buckets(at<int32_t>(workspace, layout.buckets)),
      ranks(at<int32_t>(workspace, layout.ranks)),
      tiles(at<int32_t>(workspace, layout.tiles)),
      costs_before(at<int64_t>(workspace, layout.costs_before)) {}

void KeyOrder::clear(int task_id) const {
  std::fill_n(counts + int64_t{task_id} * tile_count, tile_count, 0);
  std::fill_n(positions + int64_t{task_id} * tile_count, tile_count, 0);
}

void KeyOrder::decide(Context& context, const KeySample& sample) const {
  const int64_t bytes = int64_t{tile_count} * sample_task_dim * int64_t{sizeof(int32_t) + sizeof(int64_t)};
  launch(context, std::min(choose_task_dim(tile_count, bytes), sample_task_dim), Evenly{tile_count}, merge, *this);
  // A counting sort of the tiles by the mean stretch of their items. Tiles that the sample has missed cost next
  // to nothing; they stand where tiles of their place would, if items had the order of keys.
  std::fill_n(buckets, sample.stretches + 1, 0);
  for (int32_t tile = 0; tile < tile_count; ++tile) {
    int64_t& mean = positions[tile];
    mean = counts[tile] > 0 ? mean / counts[tile] : sample.stretches * tile / tile_count;
    ++buckets[mean + 1];
  }
  for (int64_t stretch = 0; stretch < sample.stretches; ++stretch) buckets[stretch + 1] += buckets[stretch];
  for (int32_t tile = 0; tile < tile_count; ++tile) {
    ranks[tile] = buckets[positions[tile]]++;
    tiles[ranks[tile]] = tile;
  }
  costs_before[0] = 0;
  for (int32_t rank = 0; rank < tile_count; ++rank) {
    const int32_t tile = tiles[rank];
    costs_before[rank + 1] =
        costs_before[rank] + counts[tile] * sample.step * kItemCost + keys(tile).size() * kKeyCost;
  }
}

}  // namespace mluop
