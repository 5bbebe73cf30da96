#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_nn_forward/native/search_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_nn_forward/native/best-inl.h"
#include "ops/three_nn_forward/native/distance-inl.h"
#include "ops/three_nn_forward/native/kernels.h"

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

// A vector of queries. Lanes without a query, and those whose query is not finite, are not active and repeat one
// that is.
struct Packet {
  // Returns the number of active lanes. load_query(i, coordinates) writes those of query i, for i in [0, count).
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

// The search of a packet with at least one active lane.
template <class T>
class Search {
 public:
  HWY_INLINE Search(const TreeShape& shape, const Block* blocks, const Node* nodes, const Packet& packet)
      : shape_(shape),
        blocks_(blocks),
        nodes_(nodes),
        queries_(packet.queries()),
        low_{least(queries_.x), least(queries_.y), least(queries_.z)},
        high_{greatest(queries_.x), greatest(queries_.y), greatest(queries_.z)},
        best_(packet.active_lanes()) {}

  HWY_INLINE const Best<Order::kAny>& run() {
    search_node(shape_.levels - 1, 0);
    return best_;
  }

 private:
  static HWY_INLINE V least(V v) { return hn::MinOfLanes(D(), v); }
  static HWY_INLINE V greatest(V v) { return hn::MaxOfLanes(D(), v); }

  // Lower bounds of the distances of the queries to children.
  HWY_INLINE V bounds_of(const Node& node, int64_t first) const {
    const auto gap = [](V low, V high, V child_low, V child_high) {
      return hn::Max(hn::Max(hn::Sub(child_low, high), hn::Sub(low, child_high)), hn::Zero(D()));
    };
    const Vector3 low = load_vectors(node.low, first), high = load_vectors(node.high, first);
    return squared_length<T>(gap(low_.x, high_.x, low.x, high.x), gap(low_.y, high_.y, low.y, high.y),
                             gap(low_.z, high_.z, low.z, high.z));
  }

  void search_node(int level, int64_t number) {
    const D d;
    const Node& node = nodes_[shape_.first_node[static_cast<size_t>(level)] + number];
    V bounds[kVectors];
    HWY_UNROLL(16) for (int64_t v = 0; v < kVectors; ++v) bounds[v] = bounds_of(node, v * kLanes);
    while (true) {
      V nearest = bounds[0];
      HWY_UNROLL(16) for (int64_t v = 1; v < kVectors; ++v) nearest = hn::Min(nearest, bounds[v]);
      // Not a comparison of `bound`: MinOfLanes of scalar targets is finite.
      if (hn::AllTrue(d, hn::Eq(nearest, hn::Set(d, kInfinity)))) return;
      const float bound = hn::GetLane(least(nearest));
      if (hn::AllFalse(d, best_.admits(hn::Set(d, bound)))) return;
      const int64_t child = take_child(bound, bounds);
      const V bounds_of_lanes =
          squared_distance_to_box<T>(queries_, broadcast(node.low, child), broadcast(node.high, child));
      if (hn::AllFalse(d, best_.admits(bounds_of_lanes, node.first_index[child]))) continue;
      if (level == 0) {
        search_block(blocks_[number * kWidth + child]);
      } else {
        search_node(level - 1, number * kWidth + child);
      }
    }
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

  HWY_INLINE void search_block(const Block& block) {
    best_.template insert_all<T>(
        queries_, kWidth, [&](int64_t i) { return broadcast(block.coordinates, i); },
        [&](int64_t i) { return block.indices[i]; });
  }

  const TreeShape& shape_;
  const Block* blocks_;
  const Node* nodes_;
  const Vector3 queries_, low_, high_;
  Best<Order::kAny> best_;
};

// The cells of a vector of queries, as cell_of(). Queries on a split may be on either side of it.
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

// order[0, count) = the queries of a tile, ascending by cell.
template <class T>
HWY_INLINE void sort_queries(const T* unknown, int64_t count, const TreeShape& shape, const Split* splits,
                             const SearchTile& tile) {
  int32_t next[TreeShape::kMaxCells + 1] = {};
  for (int64_t first = 0; first < count; first += kLanes) {
    const int64_t lanes = std::min(kLanes, count - first);
    alignas(64) float coordinates[3][kWidth] = {};
    for (int64_t i = 0; i < lanes; ++i) {
      for (int64_t dim = 0; dim < 3; ++dim) coordinates[dim][i] = to_f32(unknown[(first + i) * 3 + dim]);
    }
    alignas(64) int32_t cells[kWidth];
    hn::Store(cells_of(load_vectors(coordinates, 0), splits, shape.cell_levels), Di(), cells);
    for (int64_t i = 0; i < lanes; ++i) {
      tile.cells[first + i] = static_cast<uint8_t>(cells[i]);
      ++next[cells[i] + 1];
    }
  }
  for (int64_t cell = 1; cell < shape.cells; ++cell) next[cell] += next[cell - 1];
  for (int64_t i = 0; i < count; ++i) tile.order[next[tile.cells[i]]++] = static_cast<int32_t>(i);
}

template <class T>
void search(const SearchArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const TreeShape& shape = args.shape;
  const SearchTile tile(task.nram, args.tile_queries);
  for (int64_t first = begin; first < end;) {
    const int64_t b = first / call.N;
    const int64_t count = std::min({args.tile_queries, (b + 1) * call.N - first, end - first});
    const T* unknown = static_cast<const T*>(call.unknown) + first * 3;
    sort_queries(unknown, count, shape, args.trees.splits + b * shape.cells, tile);
    for (int64_t i = 0; i < count; i += kLanes) {
      const int32_t* order = tile.order + i;
      const int64_t lanes = std::min(kLanes, count - i);
      Packet packet;
      const int64_t active = packet.load(lanes, [&](int64_t lane, float(&to)[3][kWidth]) {
        const T* query = unknown + int64_t{order[lane]} * 3;
        for (int64_t dim = 0; dim < 3; ++dim) to[dim][lane] = to_f32(query[dim]);
      });
      const auto position = [&](int64_t lane) { return first + order[lane]; };
      T* dist2 = static_cast<T*>(call.dist2);
      if (active == 0) {
        Best<Order::kAny>().store(lanes, position, dist2, call.idx);
        continue;
      }
      Search<T> of_packet(shape, args.trees.blocks + b * shape.max_blocks, args.trees.nodes + b * shape.nodes,
                          packet);
      of_packet.run().store(lanes, position, dist2, call.idx);
    }
    first += count;
  }
}

RangeKernel<SearchArgs> select_search(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<SearchArgs> { return search<decltype(element)>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_nn_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_nn_forward::native {

HWY_EXPORT(select_search);

RangeKernel<SearchArgs> search_kernel(mluOpDataType_t dtype) { return MLUOP_DISPATCH(select_search)(dtype); }

}  // namespace mluop::three_nn_forward::native
#endif
