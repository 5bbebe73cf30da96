// Three nearest neighbors forward: squared distances with the roundings of the element type, and the best
// neighbors of a vector of queries. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_THREE_NN_FORWARD_BEST_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_NN_FORWARD_BEST_INL_H
#undef MLUOP_THREE_NN_FORWARD_BEST_INL_H
#else
#define MLUOP_THREE_NN_FORWARD_BEST_INL_H
#endif

#include <hwy/highway.h>

#include <bit>
#include <limits>
#include <type_traits>

#include "ops/three_nn_forward/three_nn_forward.h"
#include "ops/three_nn_forward/tree.h"
#include "primitives/geometry/distance-inl.h"
#include "primitives/simd/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_nn_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kWidth>;
using Di = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using Vi = hn::Vec<Di>;
using Mask = hn::Mask<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

struct Vector3 {
  V x, y, z;
};

// If squared_length<T>(v) is at most d, approximate_squared_length(v) is at most d * kScale + kOffset:
// squared_length has five roundings with relative error 2^-11 (half) or 2^-24, and three squares that may be
// subnormal.
template <class T>
struct Rounding {
  static constexpr float kScale = mluop::HWY_NAMESPACE::kRoundsSteps<T> ? 1 + 0x1.8p-9F : 1 + 0x1p-20F;
  static constexpr float kOffset = mluop::HWY_NAMESPACE::kRoundsSteps<T> ? 0x1p-23F : 0x1p-126F;
};

template <class T>
HWY_INLINE V approximate_limit(V distance) {
  const D d;
  return hn::MulAdd(distance, hn::Set(d, Rounding<T>::kScale), hn::Set(d, Rounding<T>::kOffset));
}

// The squared length without rounding components to T.
HWY_INLINE V approximate_squared_length(const Vector3& v) {
  return hn::MulAdd(v.z, v.z, hn::MulAdd(v.y, v.y, hn::Mul(v.x, v.x)));
}

template <class T>
HWY_INLINE V squared_length(const Vector3& v) {
  return mluop::HWY_NAMESPACE::squared_length<T>(D(), v.x, v.y, v.z);
}

HWY_INLINE Vector3 difference(const Vector3& a, const Vector3& b) {
  return {hn::Sub(a.x, b.x), hn::Sub(a.y, b.y), hn::Sub(a.z, b.z)};
}

// The order of the candidates of a search.
enum class Order {
  kByIndex,  // ascending: among equal distances the earlier one is better
  kAny
};

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// T: the element type of the distances.
template <class T, Order kOrder>
class Best {
 public:
  HWY_INLINE Best() {
    for (V& distance : distances_) distance = hn::Set(D(), kInfinity);
    for (Vi& index : indices_) index = hn::Zero(Di());
    limit_ = hn::Set(D(), kInfinity);
  }

  // Inactive queries have no neighbors.
  HWY_INLINE explicit Best(Mask active) : Best() {
    for (V& distance : distances_) distance = hn::IfThenElse(active, distance, hn::Set(D(), kInactive));
    limit_ = approximate_limit<T>(distances_[2]);
  }

  // Whether a candidate may be inserted; `approximate`: its approximate_squared_length(), or a lower bound of it
  // by squared_length<float>().
  HWY_INLINE Mask may_admit(V approximate) const { return hn::Le(approximate, limit_); }
  // Whether one of several candidates may be inserted; `bound` and `first_index` are lower bounds of their
  // distances and indices.
  HWY_INLINE Mask admits(V bound, int32_t first_index) const {
    return better(bound, hn::Set(Di(), first_index), 2);
  }

  // Inserts the candidate where it is better. Infinite distances are never inserted.
  HWY_INLINE void insert(V distance, int32_t candidate) {
    const Di di;
    const Vi index = hn::Set(di, candidate);
    const Mask first = better(distance, index, 0), second = better(distance, index, 1),
               third = better(distance, index, 2);
    distances_[2] = hn::IfThenElse(second, distances_[1], hn::IfThenElse(third, distance, distances_[2]));
    distances_[1] = hn::IfThenElse(first, distances_[0], hn::IfThenElse(second, distance, distances_[1]));
    distances_[0] = hn::IfThenElse(first, distance, distances_[0]);
    const auto first_i = hn::RebindMask(di, first), second_i = hn::RebindMask(di, second),
               third_i = hn::RebindMask(di, third);
    indices_[2] = hn::IfThenElse(second_i, indices_[1], hn::IfThenElse(third_i, index, indices_[2]));
    indices_[1] = hn::IfThenElse(first_i, indices_[0], hn::IfThenElse(second_i, index, indices_[1]));
    indices_[0] = hn::IfThenElse(first_i, index, indices_[0]);
  }

  // Compares the queries with known points [0, count); position(i): the coordinates of point i; index(i): its
  // index.
  template <class Position, class Index>
  HWY_INLINE void insert_all(const Vector3& queries, int64_t count, const Position& position, const Index& index) {
    // Points compared per branch.
    constexpr int64_t kGroup = 16;
    const D d;
    for (int64_t first = 0; first < count; first += kGroup) {
      uint32_t admitted = 0;
      const auto admit = [&](int64_t j) {
        const V distance = approximate_squared_length(difference(queries, position(first + j)));
        admitted |= static_cast<uint32_t>(!hn::AllFalse(d, may_admit(distance))) << j;
      };
      if (first + kGroup <= count) {
        HWY_UNROLL(16) for (int64_t j = 0; j < kGroup; ++j) admit(j);
      } else {
        for (int64_t j = 0; j < count - first; ++j) admit(j);
      }
      for (; admitted != 0; admitted &= admitted - 1) {
        const int64_t i = first + std::countr_zero(admitted);
        insert(squared_length<T>(difference(queries, position(i))), index(i));
      }
      limit_ = approximate_limit<T>(distances_[2]);
    }
  }

  // Writes the neighbors of query i, for i in [0, count), starting at element 3 position(i).
  template <class Position>
  HWY_INLINE void store(int64_t count, const Position& position, T* dist2, int32_t* idx) const {
    alignas(64) float distances[kNeighbors][kLanes];
    alignas(64) int32_t indices[kNeighbors][kLanes];
    for (int64_t k = 0; k < kNeighbors; ++k) {
      hn::Store(distances_[k], D(), distances[k]);
      hn::Store(indices_[k], Di(), indices[k]);
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t to = position(i) * kNeighbors;
      for (int64_t k = 0; k < kNeighbors; ++k) {
        round_to(distances[k][i] == kInactive ? kInfinity : distances[k][i], dist2 + to + k);
        idx[to + k] = indices[k][i];
      }
    }
  }

 private:
  static constexpr float kInactive = -1;

  // Whether (distance, index) is less than neighbor k.
  HWY_INLINE Mask better(V distance, Vi index, int k) const {
    const Mask nearer = hn::Lt(distance, distances_[k]);
    if constexpr (kOrder == Order::kByIndex) {
      return nearer;
    } else {
      const auto lower = hn::RebindMask(D(), hn::Lt(index, indices_[k]));
      return hn::Or(nearer, hn::And(hn::Eq(distance, distances_[k]), lower));
    }
  }

  V distances_[kNeighbors];
  Vi indices_[kNeighbors];
  V limit_;  // limit of the approximate distances of candidates
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_nn_forward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
