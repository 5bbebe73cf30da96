// The histogram of distances in representable values. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_COMPARE_HISTOGRAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_COMPARE_HISTOGRAM_INL_H
#undef MLUOP_COMPARE_HISTOGRAM_INL_H
#else
#define MLUOP_COMPARE_HISTOGRAM_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "compare/measure_kernels.h"
#include "compare/steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::compare {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The entries of ulp_histogram, of which 0 is not counted: collects those of many steps, then counts each.
class Histogram {
 public:
  // Takes the distances in vector v of a step.
  HWY_INLINE void add(hn::Vec<DU> distance, int v) {
    const DU du;
    const DI di;
    const hn::Rebind<uint8_t, D> d8;
    // bucket_of(): the exponent of distance - 1 as a float. It does not round up without the bit below the first.
    const auto before = hn::Sub(distance, hn::Set(du, 1));
    const auto number = hn::ConvertTo(D(), hn::BitCast(di, hn::AndNot(hn::ShiftRight<1>(before), before)));
    const auto exponent = hn::BitCast(di, hn::ShiftRight<23>(hn::BitCast(du, number)));
    constexpr int32_t kOfBucket0 = 127 - 2;
    const auto bucket =
        hn::Min(hn::Max(hn::Sub(exponent, hn::Set(di, kOfBucket0)), hn::Set(di, 1)), hn::Set(di, kMoreUlp));
    const auto counted = hn::IfThenZeroElse(hn::Eq(hn::BitCast(di, distance), hn::Zero(di)), bucket);
    hn::StoreU(hn::DemoteTo(d8, counted), d8, buckets_ + used_ + v * kStep / kVectors);
  }
  HWY_INLINE void next_step() {
    used_ += kStep;
    if (used_ == kCapacity) count();
  }
  void add_to(int64_t* histogram) {
    std::fill(buckets_ + used_, buckets_ + kCapacity, uint8_t{0});
    count();
    for (int k = 1; k <= kMoreUlp; ++k) histogram[k] += counts_[k];
    std::fill_n(counts_, kMoreUlp + 1, 0);
  }

 private:
  static constexpr int64_t kCapacity = 4096;

  HWY_NOINLINE void count() {
    const hn::CappedTag<uint8_t, 64> d;
    constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
    auto max = hn::Zero(d);
    for (int64_t i = 0; i < kCapacity; i += kLanes) max = hn::Max(max, hn::LoadU(d, buckets_ + i));
    uint8_t lanes[kLanes];
    hn::StoreU(max, d, lanes);
    const int last = *std::max_element(lanes, lanes + kLanes);
    for (int k = 1; k <= last; ++k) {
      size_t equal = 0;
      for (int64_t i = 0; i < kCapacity; i += kLanes) {
        equal += hn::CountTrue(d, hn::Eq(hn::LoadU(d, buckets_ + i), hn::Set(d, static_cast<uint8_t>(k))));
      }
      counts_[k] += static_cast<int64_t>(equal);
    }
    used_ = 0;
  }

  int64_t used_ = 0;
  uint8_t buckets_[kCapacity];
  int64_t counts_[kMoreUlp + 1] = {};
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::compare
HWY_AFTER_NAMESPACE();

#endif  // include guard
