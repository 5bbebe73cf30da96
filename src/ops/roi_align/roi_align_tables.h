// RoI align: the tables of all RoIs. A mean over the samples of a bin is a weighted sum of pixels, whose weights
// are products of a row weight and a column weight: one table for each axis.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/roi_align/roi_align.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::roi_align {

struct RoiAxis;

namespace native {

// A pixel along an axis, counted from the first one of the RoI, and its weight.
struct Tap {
  int32_t pixel;
  float weight;
};

struct Taps {
  int64_t count() const { return end - begin; }

  const Tap *begin, *end;
};

// The taps of the bins of all RoIs along an axis.
class AxisTable {
 public:
  AxisTable(Arena& arena, int64_t rois, int64_t bins, int64_t pixels, int sampling_ratio);

  Taps taps(int64_t roi, int64_t bin) const {
    const Tap* const all = taps_ + roi * capacity_;
    const int32_t* const starts = starts_ + roi * (bins_ + 1);
    return {all + starts[bin], all + starts[bin + 1]};
  }
  // All taps of a RoI lie on the pixels [first, first + count).
  int64_t first(int64_t roi) const { return first_[roi]; }
  int64_t count(int64_t roi) const { return count_[roi]; }

  // Writes the row of a RoI, with its weights multiplied by `scale`.
  void fill(int64_t roi, const RoiAxis& axis, float scale) const;

 private:
  int64_t bins_, capacity_;
  int32_t* starts_;          // [rois, bins + 1]
  Tap* taps_;                // [rois, capacity]
  int32_t *first_, *count_;  // [rois]
};

struct Tables {
  // In a forward pass, weights and divisors of a RoI are scaled by powers of two, so that sums of finite pixels
  // are finite.
  Tables(Arena& arena, const Args& args);

  int32_t* images;  // [R]
  float* divisors;  // [R]
  AxisTable y, x;
};

struct FillArgs : Args {
  const Tables& tables;
  bool is_forward;
  FirstBadItem& first_bad;  // a RoI whose image does not exist
};

// Work items: RoIs. Writes their tables.
RangeKernel<FillArgs> fill_kernel(mluOpDataType_t dtype);

}  // namespace native
}  // namespace mluop::roi_align
