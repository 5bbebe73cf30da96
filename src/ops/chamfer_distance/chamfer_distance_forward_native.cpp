// Chamfer distance forward: search trees, launches and the search for nearest points. Start with run_forward() at
// the end, then PointTree and Search.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/chamfer_distance/chamfer_distance_forward_native.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/dtype.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/chamfer_distance/chamfer_distance.h"
#include "primitives/geometry/point_split.h"
#include "team/launch.h"

#ifndef MLUOP_CHAMFER_DISTANCE_ONCE
#define MLUOP_CHAMFER_DISTANCE_ONCE
namespace mluop::chamfer_distance::native {

constexpr int64_t kWidth = 16;  // points of a block
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int32_t kPadding = std::numeric_limits<int32_t>::max();  // index of points that fill up the last block

// Points with a coordinate that is not finite have infinite coordinates here.
struct Block {
  float x[kWidth], y[kWidth];
  int32_t indices[kWidth];
};
static_assert(sizeof(Block) <= kWidth * sizeof(IndexedPoint), "blocks replace the points that they are made of");

// Bounds of points, empty if low is infinite, and a lower bound of their indices.
struct Box {
  float low[2], high[2];
  int32_t first_index;
};

// A node of a tree: consecutive blocks. The root has the number 1.
struct Node {
  int64_t size() const { return end - begin; }
  Node child(int64_t second) const {
    const int64_t middle = begin + size() / 2;
    return second == 0 ? Node{2 * number, begin, middle} : Node{2 * number + 1, middle, end};
  }

  int64_t number, begin, end;
};

// The kinds of a coordinate: finite, infinite, -infinite. Where no distance of a query is finite, the kinds of its
// coordinates decide which distances are NaN.
constexpr float kKinds[3] = {0, kInfinity, -kInfinity};
inline int64_t kind_of(float coordinate) { return std::isinf(coordinate) ? (coordinate > 0 ? 1 : 2) : 0; }

// The points of a side, in blocks. A tree is binary, and its leaves are blocks: a node is split at the median of
// (coordinate, index) in the dimension of the largest extent, so that any distribution, even of equal points,
// yields full blocks.
struct PointTree {
  PointTree(Arena& arena, const ForwardArgs& args, int of_side, bool is_sorted)
      : side(of_side),
        count(args.counts[side]),
        block_count(ceil_div(count, kWidth)),
        node_count(is_sorted ? 2 * static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(block_count))) : 0),
        points(arena.take<IndexedPoint>("points", {args.B, block_count, kWidth})),
        boxes(arena.take<Box>("boxes", {args.B, node_count})),
        first_numbers(arena.take<int32_t>("first numbers", {args.B, 9})) {}

  Node root() const { return {1, 0, block_count}; }
  IndexedPoint* points_of(int64_t b, int64_t block) const { return points + (b * block_count + block) * kWidth; }
  const Block& block(int64_t b, int64_t i) const { return *reinterpret_cast<const Block*>(points_of(b, i)); }

  int side;
  int64_t count, block_count, node_count;
  IndexedPoint* points;    // [B, block_count, kWidth], later blocks
  Box* boxes;              // [B, node_count], by the numbers of nodes
  int32_t* first_numbers;  // [B, 9]: the first point whose distance to a query of kinds x + 3 y is a number; or -1
};

struct SearchArgs {
  ForwardArgs args;
  bool is_sorted;
  const PointTree &queries, &known;
};

}  // namespace mluop::chamfer_distance::native
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::chamfer_distance::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kWidth>;
using Di = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Finds the points nearest to a vector of queries: the least (squared distance, index) of finite distances.
class Search {
 public:
  HWY_INLINE Search(const PointTree& known, int64_t b, const Block& queries, int64_t first)
      : known_(known), b_(b), x_(hn::Load(D(), queries.x + first)), y_(hn::Load(D(), queries.y + first)) {
    const D d;
    const auto is_active = hn::Lt(x_, hn::Set(d, kInfinity));
    const auto lane = static_cast<int64_t>(std::max<intptr_t>(hn::FindFirstTrue(d, is_active), 0));
    guide_x_ = queries.x[first + lane];
    guide_y_ = queries.y[first + lane];
    // No distance is less than -1 or equal to it.
    distances_ = hn::IfThenElse(is_active, hn::Set(d, kInfinity), hn::Set(d, -1));
    indices_ = hn::Zero(Di());
  }

  HWY_INLINE void compare_all() {
    for (int64_t i = 0; i < known_.block_count; ++i) compare<true>(known_.block(b_, i));
  }

  // Compares with the points of a node that may be nearer; the child that is nearer to one of the queries first,
  // of equally near ones that with the lower index.
  void descend(const Node& node) {
    const Box& box = known_.boxes[b_ * known_.node_count + node.number];
    const V bound = squared(gap(x_, box, 0), gap(y_, box, 1));
    if (hn::AllFalse(D(), better(bound, hn::Set(Di(), box.first_index)))) return;
    if (node.size() == 1) return compare<false>(known_.block(b_, node.begin));
    const Node first = node.child(0), second = node.child(1);
    const bool swaps = key_of(second) < key_of(first);
    descend(swaps ? second : first);
    descend(swaps ? first : second);
  }

  HWY_INLINE void store(float* distances, int32_t* indices) const {
    hn::Store(distances_, D(), distances);
    hn::Store(indices_, Di(), indices);
  }

 private:
  static HWY_INLINE V squared(V x, V y) { return hn::Add(hn::Mul(x, x), hn::Mul(y, y)); }

  // The least difference from points of a box. Each step of squared() is monotonic: it gives a lower bound.
  static HWY_INLINE V gap(V at, const Box& box, int dim) {
    const D d;
    return hn::Max(hn::Max(hn::Sub(hn::Set(d, box.low[dim]), at), hn::Sub(at, hn::Set(d, box.high[dim]))),
                   hn::Zero(d));
  }

  std::pair<float, int32_t> key_of(const Node& node) const {
    const Box& box = known_.boxes[b_ * known_.node_count + node.number];
    const float dx = std::max({box.low[0] - guide_x_, guide_x_ - box.high[0], 0.0F});
    const float dy = std::max({box.low[1] - guide_y_, guide_y_ - box.high[1], 0.0F});
    return {dx * dx + dy * dy, box.first_index};
  }

  HWY_INLINE hn::Mask<D> better(V distance, hn::Vec<Di> index) const {
    const auto is_lower = hn::RebindMask(D(), hn::Lt(index, indices_));
    return hn::Or(hn::Lt(distance, distances_), hn::And(hn::Eq(distance, distances_), is_lower));
  }

  // kAscending: the indices are greater than all before.
  template <bool kAscending>
  HWY_INLINE void compare(const Block& block) {
    const D d;
    const Di di;
    HWY_UNROLL(16) for (int64_t i = 0; i < kWidth; ++i) {
      const V distance = squared(hn::Sub(x_, hn::Set(d, block.x[i])), hn::Sub(y_, hn::Set(d, block.y[i])));
      const auto index = hn::Set(di, block.indices[i]);
      const auto nearer = kAscending ? hn::Lt(distance, distances_) : better(distance, index);
      distances_ = hn::IfThenElse(nearer, distance, distances_);
      indices_ = hn::IfThenElse(hn::RebindMask(di, nearer), index, indices_);
    }
  }

  const PointTree& known_;
  const int64_t b_;
  const V x_, y_;
  float guide_x_, guide_y_;  // the query that chooses the order of visits
  V distances_;
  hn::Vec<Di> indices_;
};

// Writes the result of query n, whose nearest point at a finite distance is given.
template <class T>
HWY_INLINE void write(const SearchArgs& args, int64_t b, int64_t n, float distance, int32_t index) {
  const int side = args.queries.side;
  const int64_t query = b * args.queries.count + n;
  if (!(distance >= 0 && distance < kInfinity)) {
    const T* const at = static_cast<const T*>(args.args.xyz[side]) + query * 2;
    const float x = to_f32(at[0]), y = to_f32(at[1]);
    const int64_t kinds = kind_of(x) + 3 * kind_of(y);
    index = std::isnan(x) || std::isnan(y) ? -1 : args.known.first_numbers[b * 9 + kinds];
    distance = index < 0 ? std::numeric_limits<float>::quiet_NaN() : kInfinity;
  }
  round_to(distance, static_cast<T*>(args.args.dist[side]) + query);
  args.args.idx[side][query] = std::max(index, 0);
}

// Work items: (b, block of queries).
template <class T>
void search(const SearchArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / args.queries.block_count;
    const Block& queries = args.queries.block(b, item % args.queries.block_count);
    for (int64_t first = 0; first < kWidth; first += kLanes) {
      Search nearest(args.known, b, queries, first);
      if (args.is_sorted) {
        nearest.descend(args.known.root());
      } else {
        nearest.compare_all();
      }
      alignas(64) float distances[kWidth];
      alignas(64) int32_t indices[kWidth];
      nearest.store(distances, indices);
      for (int64_t i = 0; i < kLanes; ++i) {
        const int32_t n = queries.indices[first + i];
        if (n != kPadding) write<T>(args, b, n, distances[i], indices[i]);
      }
    }
  }
}

MLUOP_SELECT_BY_DTYPE(search, SearchArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::chamfer_distance::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::chamfer_distance::native {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(search_kernel, search, SearchArgs);

// With fewer points on a side, all points are compared.
constexpr int64_t kMinTreePoints = 384;
// Levels whose nodes are split in launches of their own.
constexpr int kTopLevels = 3;
static_assert(kMinTreePoints / kWidth >> kTopLevels > 1, "a node of a top level has more than one block");

// Cost of each step, in bytes of memory traffic.
constexpr int64_t kCompareBytes = 2;   // comparing two points
constexpr int64_t kSearchBytes = 512;  // searching a tree
constexpr int64_t kPointBytes = 16;    // loading a point
constexpr int64_t kSplitBytes = 64;    // a point at a level of a tree

struct LoadArgs {
  const PointTree& tree;
  const ForwardArgs& args;
  bool is_sorted;
};

struct BuildArgs {
  const PointTree &first, &second;
  int64_t B;
  int level;
};

void write_block(IndexedPoint* points) {
  Block block;
  for (int64_t i = 0; i < kWidth; ++i) {
    block.x[i] = points[i].coordinates[0];
    block.y[i] = points[i].coordinates[1];
    block.indices[i] = points[i].index;
  }
  std::memcpy(static_cast<void*>(points), &block, sizeof(block));
}

// Work items: (b, block).
template <class T>
void load(const LoadArgs& args, int64_t begin, int64_t end, Task&) {
  const PointTree& tree = args.tree;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / tree.block_count, first = item % tree.block_count * kWidth;
    const T* const xyz = static_cast<const T*>(args.args.xyz[tree.side]) + b * tree.count * 2;
    IndexedPoint* const to = tree.points + item * kWidth;
    for (int64_t i = 0; i < kWidth; ++i) {
      const int64_t n = first + i;
      const float point[3] = {n < tree.count ? to_f32(xyz[2 * n]) : kInfinity,
                              n < tree.count ? to_f32(xyz[2 * n + 1]) : kInfinity, 0};
      to[i] = load_point(point, n < tree.count ? n : int64_t{kPadding});
    }
    if (!args.is_sorted) write_block(to);
  }
}

// Work items: batches. Finds first_numbers.
template <class T>
void find_numbers(const LoadArgs& args, int64_t begin, int64_t end, Task&) {
  const PointTree& tree = args.tree;
  for (int64_t b = begin; b < end; ++b) {
    const T* const xyz = static_cast<const T*>(args.args.xyz[tree.side]) + b * tree.count * 2;
    for (int64_t kinds = 0; kinds < 9; ++kinds) {
      const auto is_nan = [&](int64_t n) {
        return std::isnan(kKinds[kinds % 3] - to_f32(xyz[2 * n])) ||
               std::isnan(kKinds[kinds / 3] - to_f32(xyz[2 * n + 1]));
      };
      int64_t n = 0;
      while (n < tree.count && is_nan(n)) ++n;
      tree.first_numbers[b * 9 + kinds] = n == tree.count ? -1 : static_cast<int32_t>(n);
    }
  }
}

// Writes the box of a node, and moves its points to its children; a leaf becomes a block.
void split(const PointTree& tree, int64_t b, const Node& node) {
  IndexedPoint* const points = tree.points_of(b, node.begin);
  const int64_t count = node.size() * kWidth;
  PointBounds bounds;
  int32_t first_index = kPadding;
  for (int64_t i = 0; i < count; ++i) {
    bounds.add(points[i]);
    first_index = std::min(first_index, points[i].index);
  }
  tree.boxes[b * tree.node_count + node.number] = {
      {bounds.low[0], bounds.low[1]}, {bounds.high[0], bounds.high[1]}, first_index};
  if (node.size() == 1) return write_block(points);
  split_points(points, count, node.child(0).size() * kWidth);
}

void split_all(const PointTree& tree, int64_t b, const Node& node) {
  split(tree, b, node);
  if (node.size() == 1) return;
  split_all(tree, b, node.child(0));
  split_all(tree, b, node.child(1));
}

// Work items: (side, b, node of a level). Splits the nodes; at level kTopLevels, all nodes below them, too.
void build(const BuildArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t row = item >> args.level;
    const PointTree& tree = row < args.B ? args.first : args.second;
    Node node = tree.root();
    for (int bit = args.level - 1; bit >= 0; --bit) node = node.child(item >> bit & 1);
    (args.level < kTopLevels ? split : split_all)(tree, row % args.B, node);
  }
}

template <class Args>
void run(Context& context, const char* name, int64_t items, int64_t item_bytes, RangeKernel<Args> kernel,
         const std::type_identity_t<Args>& args) {
  launch(context, name, choose_task_dim(items, saturated_product({items, item_bytes})), Evenly{items}, kernel,
         args);
}

// Loads the points of a side.
void load_points(Context& context, const LoadArgs& args) {
  const auto load_kernel = dispatch_dtype(
      args.args.dtype, [](auto element) -> RangeKernel<LoadArgs> { return load<decltype(element)>; });
  const auto numbers_kernel = dispatch_dtype(
      args.args.dtype, [](auto element) -> RangeKernel<LoadArgs> { return find_numbers<decltype(element)>; });
  run(context, "load", args.args.B * args.tree.block_count, kWidth * kPointBytes, load_kernel, args);
  run(context, "find_numbers", args.args.B, kPointBytes, numbers_kernel, args);
}

struct Scratch {
  Scratch(Arena& arena, const ForwardArgs& args, bool is_sorted)
      : first(arena, args, 0, is_sorted), second(arena, args, 1, is_sorted) {}

  PointTree first, second;
};

}  // namespace

void run_forward(Call& call, const ForwardArgs& args) {
  Context& context = call.context();
  const bool is_sorted = std::min(args.counts[0], args.counts[1]) >= kMinTreePoints;
  Arena arena = context.reserve(bytes_of<Scratch>(args, is_sorted));
  const Scratch scratch(arena, args, is_sorted);
  call.log_detail("native, ", is_sorted ? "trees" : "comparison of all points");
  const PointTree &first = scratch.first, &second = scratch.second;
  for (const PointTree* tree : {&first, &second}) load_points(context, {*tree, args, is_sorted});
  for (int level = 0; is_sorted && level <= kTopLevels; ++level) {
    const int64_t points = std::max(first.count, second.count) >> level;
    run<BuildArgs>(context, "build", 2 * args.B << level, points * kSplitBytes, build,
                   {first, second, args.B, level});
  }
  const auto search_all = [&](const PointTree& queries, const PointTree& known) {
    const int64_t point_bytes = is_sorted ? kSearchBytes : known.count * kCompareBytes;
    run(context, "search", args.B * queries.block_count, kWidth * point_bytes, search_kernel(args.dtype),
        {args, is_sorted, queries, known});
  };
  search_all(first, second);
  search_all(second, first);
}

}  // namespace mluop::chamfer_distance::native
#endif
