#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_nn_forward/native/search_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_nn_forward/native/distance-inl.h"
#include "ops/three_nn_forward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_nn_forward::native {
namespace HWY_NAMESPACE {

constexpr int64_t kVectors = kWidth / kLanes;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The best neighbors of a query, as (distance, index) in one integer each: the bits of positive floats have the
// order of their values.
class Best {
 public:
  HWY_INLINE float third_distance() const { return std::bit_cast<float>(static_cast<uint32_t>(keys_[2] >> 32)); }
  HWY_INLINE int32_t third_index() const { return static_cast<int32_t>(keys_[2]); }

  HWY_INLINE void insert(float distance, int32_t index) {
    uint64_t key = uint64_t{std::bit_cast<uint32_t>(distance)} << 32 | static_cast<uint32_t>(index);
    for (uint64_t& better : keys_) {
      const uint64_t lower = std::min(key, better);
      key = std::max(key, better);
      better = lower;
    }
  }

  template <class T>
  HWY_INLINE void store(T* dist2, int32_t* idx) const {
    for (int64_t k = 0; k < kNeighbors; ++k) {
      store_distance(std::bit_cast<float>(static_cast<uint32_t>(keys_[k] >> 32)), dist2 + k);
      idx[k] = static_cast<int32_t>(keys_[k]);
    }
  }

 private:
  // Infinity and index 0: no distance that is infinite or NaN is better.
  static constexpr uint64_t kNone = uint64_t{std::bit_cast<uint32_t>(kInfinity)} << 32;
  uint64_t keys_[kNeighbors] = {kNone, kNone, kNone};
};

HWY_INLINE Vector3 load_vectors(const float (&from)[3][kWidth], int64_t first) {
  const D d;
  return {hn::Load(d, from[0] + first), hn::Load(d, from[1] + first), hn::Load(d, from[2] + first)};
}

// The search of a query, which is finite.
template <class T>
class Search {
 public:
  HWY_INLINE Search(const TreeShape& shape, const Block* blocks, const Node* nodes, const float (&query)[3])
      : shape_(shape),
        blocks_(blocks),
        nodes_(nodes),
        query_{hn::Set(D(), query[0]), hn::Set(D(), query[1]), hn::Set(D(), query[2])} {}

  HWY_INLINE const Best& run() {
    search_node(shape_.levels - 1, 0);
    return best_;
  }

 private:
  void search_node(int level, int64_t number) {
    const D d;
    const Node& node = nodes_[shape_.first_node[static_cast<size_t>(level)] + number];
    V bounds[kVectors];
    HWY_UNROLL(16) for (int64_t v = 0; v < kVectors; ++v) {
      bounds[v] = squared_distance_to_box<T>(query_, load_vectors(node.low, v * kLanes),
                                             load_vectors(node.high, v * kLanes));
    }
    while (true) {
      V least = bounds[0];
      HWY_UNROLL(16) for (int64_t v = 1; v < kVectors; ++v) least = hn::Min(least, bounds[v]);
      const float bound = hn::GetLane(hn::MinOfLanes(d, least));
      if (bound == kInfinity || bound > best_.third_distance()) return;
      const int64_t child = take_child(bound, bounds);
      // At an equal distance, only a lower index is better.
      if (bound == best_.third_distance() && node.first_index[child] >= best_.third_index()) continue;
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
    const D d;
    for (int64_t v = 0; v < kVectors; ++v) {
      const V distances = squared_distance<T>(query_, load_vectors(block.coordinates, v * kLanes));
      const auto near = hn::Le(distances, hn::Set(d, best_.third_distance()));
      if (hn::AllFalse(d, near)) continue;
      alignas(64) float values[kLanes];
      hn::Store(distances, d, values);
      uint8_t bytes[8] = {};
      hn::StoreMaskBits(d, near, bytes);
      for (uint32_t lanes = bytes[0] | uint32_t{bytes[1]} << 8; lanes != 0; lanes &= lanes - 1) {
        const int lane = std::countr_zero(lanes);
        best_.insert(values[lane], block.indices[v * kLanes + lane]);
      }
    }
  }

  const TreeShape& shape_;
  const Block* blocks_;
  const Node* nodes_;
  const Vector3 query_;
  Best best_;
};

template <class T>
void search(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const TreeShape& shape = args.shape;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t b = i / call.N;
    const T* from = static_cast<const T*>(call.unknown) + i * 3;
    const float query[3] = {to_f32(from[0]), to_f32(from[1]), to_f32(from[2])};
    T* dist2 = static_cast<T*>(call.dist2) + i * kNeighbors;
    int32_t* idx = call.idx + i * kNeighbors;
    if (std::isfinite(query[0]) && std::isfinite(query[1]) && std::isfinite(query[2])) {
      Search<T> of_query(shape, args.trees.blocks + b * shape.max_blocks, args.trees.nodes + b * shape.nodes,
                         query);
      of_query.run().store(dist2, idx);
    } else {
      Best().store(dist2, idx);
    }
  }
}

RangeKernel<TreeArgs> select_search(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<TreeArgs> { return search<decltype(element)>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_nn_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_nn_forward::native {

HWY_EXPORT(select_search);

RangeKernel<TreeArgs> search_kernel(mluOpDataType_t dtype) { return MLUOP_DISPATCH(select_search)(dtype); }

}  // namespace mluop::three_nn_forward::native
#endif
