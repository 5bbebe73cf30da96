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

// Smaller distances are exact in float.
constexpr int32_t kLeastDistant = 1 << 24;

// Counts the entries of ulp_histogram except entry 0. Collects the entries of several chunks before counting.
class Histogram {
 public:
  // Takes the distances of the elements from `place` in the chunk on. Without kDistant all are less than
  // kLeastDistant.
  template <bool kDistant>
  HWY_INLINE void add(hn::Vec<DU> distance, int64_t place) {
    const DI di;
    const DU du;
    const hn::Rebind<uint8_t, D> d8;
    // bucket_of(): the exponent of the float just below the distance. For large distances, which the conversion
    // may round, the exponent of distance - 1, with the bit below the first cleared so that it does not round up.
    auto exponent = hn::Zero(du);
    if constexpr (kDistant) {
      const auto before = hn::Sub(distance, hn::Set(du, 1));
      const auto number = hn::ConvertTo(D(), hn::BitCast(di, hn::AndNot(hn::ShiftRight<1>(before), before)));
      exponent = hn::Max(hn::ShiftRight<23>(hn::BitCast(du, number)), hn::Set(du, kExponentOf1));
    } else {
      const auto number = hn::ConvertTo(D(), hn::BitCast(di, distance));
      exponent = hn::ShiftRight<23>(hn::Sub(hn::BitCast(du, number), hn::Set(du, 1)));
    }
    hn::StoreU(hn::TruncateTo(d8, hn::Min(exponent, hn::Set(du, kOther))), d8, exponents_ + used_ + place);
  }
  // max: the largest distance of the chunk. unequal: the number of nonzero distances.
  void end_chunk(uint32_t max, int64_t unequal) {
    max_ = std::max(max_, max);
    uncounted_ += unequal;
    used_ += kChunk;
    if (used_ == kCapacity) count();
  }
  void add_to(Partial& partial) {
    std::fill(exponents_ + used_, exponents_ + kCapacity, kOther);
    count();
    for (int k = 1; k <= kMoreUlp; ++k) partial.histogram[static_cast<size_t>(k)] += counts_[k];
    partial.max_ulp = max_;
    std::fill_n(counts_, kMoreUlp + 1, 0);
    max_ = 0;
  }

 private:
  static constexpr int64_t kCapacity = 8 * kChunk;
  // The entry for distances of 0 and for distances above 2^31, which convert to negative floats.
  static constexpr uint8_t kOther = 255;
  static constexpr int kExponentOf1 = 126;  // exponent of the entry for distance 1

  HWY_NOINLINE void count() {
    const hn::CappedTag<uint8_t, 64> d;
    constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
    for (int k = std::min(bucket_of(max_), kMoreUlp - 1); k > 0 && uncounted_ > 0; --k) {
      const auto exponent = hn::Set(d, static_cast<uint8_t>(kExponentOf1 + k - 1));
      size_t equal = 0;
      for (int64_t i = 0; i < kCapacity; i += kLanes) {
        equal += hn::CountTrue(d, hn::Eq(hn::LoadU(d, exponents_ + i), exponent));
      }
      counts_[k] += static_cast<int64_t>(equal);
      uncounted_ -= static_cast<int64_t>(equal);
    }
    counts_[kMoreUlp] += uncounted_;
    uncounted_ = used_ = 0;
  }

  int64_t used_ = 0, uncounted_ = 0;
  uint32_t max_ = 0;  // largest distance of the block
  uint8_t exponents_[kCapacity];
  int64_t counts_[kMoreUlp + 1] = {};
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::compare
HWY_AFTER_NAMESPACE();

#endif  // include guard
