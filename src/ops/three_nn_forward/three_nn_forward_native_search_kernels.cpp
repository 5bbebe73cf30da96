#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_nn_forward/three_nn_forward_native_search_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_nn_forward/best-inl.h"
#include "ops/three_nn_forward/three_nn_forward_native_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_nn_forward::native {
namespace HWY_NAMESPACE {

constexpr int64_t kVectors = kWidth / kLanes;

HWY_INLINE Vector3 load_vectors(const float (&from)[3][kWidth], int64_t first) {
  const D d;
  return {hn::Load(d, from[0] + first), hn::Load(d, from[1] + first), hn::Load(d, from[2] + first)};
}

HWY_INLINE Vector3 broadcast(const float (&from)[3][kWidth], int64_t i) {
  const D d;
  return {hn::Set(d, from[0][i]), hn::Set(d, from[1][i]), hn::Set(d, from[2][i])};
}

// The cells of a vector of queries, found as classify_kernel() finds the cells of points. Queries on a split may
// be on either side of it.
HWY_INLINE Vi cells_of(const Vector3& queries, const Split* splits, int levels) {
  const D d;
  const Di di;
  static_assert(sizeof(Split) == 3 * sizeof(int32_t));
  const Vi one = hn::Set(di, 1), two = hn::Set(di, 2);
  Vi node = one;
  for (int level = 0; level < levels; ++level) {
    const Vi offset = hn::Add(hn::Add(node, node), node);
    const Vi dim = hn::GatherIndex(di, &splits->dim, offset);
    const V at = hn::GatherIndex(d, &splits->coordinate, offset);
    const V coordinate = hn::IfThenElse(hn::RebindMask(d, hn::Eq(dim, two)), queries.z,
                                        hn::IfThenElse(hn::RebindMask(d, hn::Eq(dim, one)), queries.y, queries.x));
    const auto second = hn::RebindMask(di, hn::Ge(coordinate, at));
    node = hn::Add(hn::Add(node, node), hn::IfThenElseZero(second, one));
  }
  return hn::Sub(node, hn::Set(di, 1 << levels));
}

// The part of its cell that contains each query: the bits of 4 x 4 x 4 parts of the box of the cell, interleaved,
// so that consecutive parts are near each other. Queries outside the box are in a part at its surface.
constexpr size_t kParts = 64;

HWY_INLINE Vi parts_of(const Vector3& queries, const CellBox* boxes, Vi cells) {
  const D d;
  const Di di;
  static_assert(sizeof(CellBox) == 6 * sizeof(float));
  const Vi pairs = hn::Add(cells, cells), offset = hn::Add(hn::Add(pairs, pairs), pairs);
  const V one = hn::Set(d, 1), two = hn::Set(d, 2);
  const V coordinates[3] = {queries.x, queries.y, queries.z};
  Vi parts = hn::Zero(di);
  HWY_UNROLL(3) for (int dim = 0; dim < 3; ++dim) {
    const V low = hn::GatherIndex(d, &boxes->low[dim], offset),
            scale = hn::GatherIndex(d, &boxes->scale[dim], offset);
    const V position = hn::Mul(hn::Sub(coordinates[dim], low), scale);
    const auto upper_half = hn::Ge(position, two);
    const auto upper_quarter = hn::Ge(hn::IfThenElse(upper_half, hn::Sub(position, two), position), one);
    parts = hn::Or(parts, hn::IfThenElseZero(hn::RebindMask(di, upper_half), hn::Set(di, 8 << dim)));
    parts = hn::Or(parts, hn::IfThenElseZero(hn::RebindMask(di, upper_quarter), hn::Set(di, 1 << dim)));
  }
  return parts;
}

// tile.order[0, count) = the queries of a tile, ascending by cell and part.
template <class T>
HWY_INLINE void sort_queries(const T* unknown, int64_t count, const TreeShape& shape, const Split* splits,
                             const CellBox* boxes, const SearchTile& tile) {
  int32_t next_of_cell[TreeShape::kMaxCells + 1] = {}, next_of_part[kParts + 1] = {};
  for (int64_t first = 0; first < count; first += kLanes) {
    const int64_t lanes = std::min(kLanes, count - first);
    alignas(64) float coordinates[3][kWidth] = {};
    for (int64_t i = 0; i < lanes; ++i) {
      for (int64_t dim = 0; dim < 3; ++dim) coordinates[dim][i] = to_f32(unknown[(first + i) * 3 + dim]);
    }
    alignas(64) int32_t cells[kWidth], parts[kWidth];
    const Vector3 queries = load_vectors(coordinates, 0);
    const Vi cells_of_lanes = cells_of(queries, splits, shape.cell_levels);
    hn::Store(cells_of_lanes, Di(), cells);
    hn::Store(parts_of(queries, boxes, cells_of_lanes), Di(), parts);
    for (int64_t i = 0; i < lanes; ++i) {
      tile.cells[first + i] = static_cast<uint8_t>(cells[i]);
      tile.parts[first + i] = static_cast<uint8_t>(parts[i]);
      ++next_of_cell[cells[i] + 1];
      ++next_of_part[parts[i] + 1];
    }
  }
  std::partial_sum(next_of_cell, next_of_cell + shape.cells, next_of_cell);
  std::partial_sum(next_of_part, next_of_part + kParts, next_of_part);
  for (int64_t i = 0; i < count; ++i) tile.by_part[next_of_part[tile.parts[i]]++] = static_cast<int32_t>(i);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t query = tile.by_part[i];
    tile.order[next_of_cell[tile.cells[query]]++] = query;
  }
}

// A vector of queries. Lanes without a finite query are inactive and repeat an active query.
struct Packet {
  // Returns the number of active lanes. load_query(i, coordinates) writes the coordinates of query i, for i in [0,
  // count).
  template <class LoadQuery>
  HWY_INLINE int64_t load(int64_t count, const LoadQuery& load_query) {
    int64_t active_count = 0, any = 0;
    for (int64_t i = 0; i < kLanes; ++i) {
      active[i] = 0;
      if (i < count) {
        load_query(i, coordinates);
        active[i] = std::isfinite(coordinates[0][i]) && std::isfinite(coordinates[1][i]) &&
                            std::isfinite(coordinates[2][i])
                        ? 1.0F
                        : 0.0F;
      }
      if (active[i] == 0) continue;
      any = i;
      ++active_count;
    }
    for (int64_t i = 0; i < kLanes; ++i) {
      if (active[i] != 0) continue;
      for (auto& of_dim : coordinates) of_dim[i] = of_dim[any];
    }
    return active_count;
  }

  HWY_INLINE Vector3 queries() const { return load_vectors(coordinates, 0); }
  HWY_INLINE Mask active_lanes() const { return hn::Gt(hn::Load(D(), active), hn::Zero(D())); }

  alignas(64) float coordinates[3][kWidth];
  alignas(64) float active[kWidth];
};

// The least differences between points in the boxes [low, high] and points in the boxes [other_low, other_high].
// Since every step is monotonic, their squared_length() is a lower bound of the squared distances; it is infinite
// for an empty box.
HWY_INLINE Vector3 gap(const Vector3& low, const Vector3& high, const Vector3& other_low,
                       const Vector3& other_high) {
  const auto of_dim = [](V from, V to, V other_from, V other_to) {
    return hn::Max(hn::Max(hn::Sub(other_from, to), hn::Sub(from, other_to)), hn::Zero(D()));
  };
  return {of_dim(low.x, high.x, other_low.x, other_high.x), of_dim(low.y, high.y, other_low.y, other_high.y),
          of_dim(low.z, high.z, other_low.z, other_high.z)};
}

// The search of a packet with at least one active lane.
template <class T>
class PacketSearch {
 public:
  HWY_INLINE PacketSearch(const TreeShape& shape, const Block* blocks, const Node* nodes, const Packet& packet)
      : shape_(shape),
        blocks_(blocks),
        nodes_(nodes),
        queries_(packet.queries()),
        low_{least(queries_.x), least(queries_.y), least(queries_.z)},
        high_{greatest(queries_.x), greatest(queries_.y), greatest(queries_.z)},
        best_(packet.active_lanes()) {}

  // Compares the queries with the points below a node, nearest child first; omits children without a better
  // neighbor of any query.
  void descend(int level, int64_t number) {
    const D d;
    const Node& node = nodes_[shape_.first_node[static_cast<size_t>(level)] + number];
    V bounds[kVectors];
    HWY_UNROLL(16) for (int64_t v = 0; v < kVectors; ++v) bounds[v] = bounds_of(node, v * kLanes);
    while (true) {
      V nearest = bounds[0];
      HWY_UNROLL(16) for (int64_t v = 1; v < kVectors; ++v) nearest = hn::Min(nearest, bounds[v]);
      // Tests `nearest`, because `bound` is always finite on targets whose MinOfLanes starts at the greatest
      // float.
      if (hn::AllTrue(d, hn::Eq(nearest, hn::Set(d, kInfinity)))) return;
      const float bound = hn::GetLane(least(nearest));
      if (hn::AllFalse(d, best_.may_admit(hn::Set(d, bound)))) return;
      const int64_t child = take_child(bound, bounds);
      const Vector3 gaps = gap(queries_, queries_, broadcast(node.low, child), broadcast(node.high, child));
      if (hn::AllFalse(d, best_.may_admit(squared_length<float>(gaps)))) continue;
      if (hn::AllFalse(d, best_.admits(squared_length<T>(gaps), node.first_index[child]))) continue;
      if (level == 0) {
        const Block& block = blocks_[number * kWidth + child];
        best_.insert_all(
            queries_, kWidth, [&](int64_t i) { return broadcast(block.coordinates, i); },
            [&](int64_t i) { return block.indices[i]; });
      } else {
        descend(level - 1, number * kWidth + child);
      }
    }
  }

  const Best<T, Order::kAny>& best() const { return best_; }

 private:
  static HWY_INLINE V least(V v) { return hn::MinOfLanes(D(), v); }
  static HWY_INLINE V greatest(V v) { return hn::MaxOfLanes(D(), v); }

  // Lower bounds of the approximate distances between queries and children. Uses squared_length() of fp32, which
  // is infinite only where no distance is finite; a fused multiply-add may overflow earlier.
  HWY_INLINE V bounds_of(const Node& node, int64_t first) const {
    return squared_length<float>(gap(low_, high_, load_vectors(node.low, first), load_vectors(node.high, first)));
  }

  // Returns the first child with this bound, and sets its bound to infinity.
  HWY_INLINE static int64_t take_child(float bound, V (&bounds)[kVectors]) {
    const D d;
    int64_t v = 0;
    intptr_t lane = -1;
    while (true) {
      lane = hn::FindFirstTrue(d, hn::Eq(bounds[v], hn::Set(d, bound)));
      if (kVectors == 1 || lane >= 0) break;
      ++v;
    }
    const auto taken = hn::Eq(hn::Iota(d, 0), hn::Set(d, static_cast<float>(lane)));
    bounds[v] = hn::IfThenElse(taken, hn::Set(d, kInfinity), bounds[v]);
    return v * kLanes + lane;
  }

  const TreeShape& shape_;
  const Block* blocks_;
  const Node* nodes_;
  const Vector3 queries_, low_, high_;
  Best<T, Order::kAny> best_;
};

template <class T>
void search(const SearchArgs& args, int64_t begin, int64_t end, Task& task) {
  const TreeShape& shape = args.shape;
  const SearchTile tile(task.nram, args.tile_queries);
  for (int64_t first = begin; first < end;) {
    const int64_t b = first / args.N;
    const int64_t count = std::min({args.tile_queries, (b + 1) * args.N - first, end - first});
    const T* unknown = static_cast<const T*>(args.unknown) + first * 3;
    sort_queries(unknown, count, shape, args.trees.splits + b * shape.cells,
                 args.trees.cell_boxes + b * shape.cells, tile);
    for (int64_t i = 0; i < count; i += kLanes) {
      const int32_t* order = tile.order + i;
      const int64_t lanes = std::min(kLanes, count - i);
      Packet packet;
      const int64_t active = packet.load(lanes, [&](int64_t lane, float(&to)[3][kWidth]) {
        const T* query = unknown + int64_t{order[lane]} * 3;
        for (int64_t dim = 0; dim < 3; ++dim) to[dim][lane] = to_f32(query[dim]);
      });
      const auto position = [&](int64_t lane) { return first + order[lane]; };
      T* dist2 = static_cast<T*>(args.dist2);
      if (active == 0) {
        Best<T, Order::kAny>().store(lanes, position, dist2, args.idx);
        continue;
      }
      PacketSearch<T> packet_search(shape, args.trees.blocks + b * shape.max_blocks,
                                    args.trees.nodes + b * shape.nodes, packet);
      packet_search.descend(shape.levels - 1, 0);
      packet_search.best().store(lanes, position, dist2, args.idx);
    }
    first += count;
  }
}

MLUOP_SELECT_BY_DTYPE(search, SearchArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_nn_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_nn_forward::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(search_kernel, search, SearchArgs);

}  // namespace mluop::three_nn_forward::native
#endif
