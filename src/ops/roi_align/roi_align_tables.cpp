#include "ops/roi_align/roi_align_tables.h"

#include <algorithm>
#include <bit>

#include "ops/roi_align/roi_align_geometry.h"

namespace mluop::roi_align::native {
namespace {

// Maximum number of taps of a RoI: two for each sample of a bin, but only one for each pixel. Without a sampling
// ratio, samples of a bin are at least half a pixel apart.
int64_t tap_capacity(int64_t bins, int64_t pixels, int sampling_ratio) {
  if (sampling_ratio > 0) return bins * std::min<int64_t>(2 * int64_t{sampling_ratio}, pixels);
  return std::min(bins * pixels, 2 * bins + 4 * (pixels + 3));
}

// Taps of a bin, in the order of samples.
class TapWriter {
 public:
  explicit TapWriter(Tap* to) : begin_(to), end_(to) {}

  // The pixels of a sample are the last two, or follow them.
  void add(int64_t pixel, float weight) {
    const int64_t recent = std::min<int64_t>(end_ - begin_, 2);
    for (int64_t i = 1; i <= recent; ++i) {
      Tap& tap = end_[-i];
      if (tap.pixel != pixel) continue;
      tap.weight += weight;
      return;
    }
    *end_++ = {static_cast<int32_t>(pixel), weight};
  }
  Tap* end() const { return end_; }

 private:
  Tap *begin_, *end_;
};

// The largest 2^-i that is at most 1 / count.
float inverse_power_of_two(int64_t count) {
  return 1 / static_cast<float>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(count, 1))));
}

template <class T>
void fill(const FillArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t r = begin; r < end; ++r) {
    const T* const box = static_cast<const T*>(args.boxes) + r * 5;
    const float image = to_f32(box[0]);
    if (!(image >= 0 && image < static_cast<float>(args.B))) return args.first_bad.report(r);
    const Roi roi(args, box);
    args.tables.images[r] = static_cast<int32_t>(image);
    // Maxima have no weights.
    if (args.mode == PoolMode::kMax) continue;
    // Half, to allow for the rounding of sums.
    const float of_y = args.is_forward ? inverse_power_of_two(roi.y.samples) / 2 : 1;
    const float of_x = args.is_forward ? inverse_power_of_two(roi.x.samples) : 1;
    args.tables.divisors[r] = roi.divisor() * of_y * of_x;
    args.tables.y.fill(r, roi.y, of_y);
    args.tables.x.fill(r, roi.x, of_x);
  }
}

}  // namespace

AxisTable::AxisTable(Arena& arena, int64_t rois, int64_t bins, int64_t pixels, int sampling_ratio)
    : bins_(bins),
      capacity_(tap_capacity(bins, pixels, sampling_ratio)),
      starts_(arena.take<int32_t>("starts of taps", {rois, bins + 1})),
      taps_(arena.take<Tap>("taps", {rois, capacity_})),
      first_(arena.take<int32_t>("first pixels", {rois})),
      count_(arena.take<int32_t>("numbers of pixels", {rois})) {}

void AxisTable::fill(int64_t roi, const RoiAxis& axis, float scale) const {
  Tap* const taps = taps_ + roi * capacity_;
  int32_t* const starts = starts_ + roi * (bins_ + 1);
  Tap* end = taps;
  for (int64_t p = 0; p < bins_; ++p) {
    starts[p] = static_cast<int32_t>(end - taps);
    TapWriter writer(end);
    const SampleRange range(axis, p);
    for (int64_t i = range.first; i < range.last; ++i) {
      const Interpolation between(axis.position(p, i), axis.pixels);
      writer.add(between.low, between.of_low);
      writer.add(between.high, between.of_high);
    }
    end = writer.end();
  }
  starts[bins_] = static_cast<int32_t>(end - taps);
  const auto [lowest, highest] =
      std::minmax_element(taps, end, [](const Tap& a, const Tap& b) { return a.pixel < b.pixel; });
  first_[roi] = end == taps ? 0 : lowest->pixel;
  count_[roi] = end == taps ? 0 : highest->pixel - lowest->pixel + 1;
  for (Tap* tap = taps; tap != end; ++tap) {
    tap->pixel -= first_[roi];
    tap->weight *= scale;
  }
}

Tables::Tables(Arena& arena, const Args& args)
    : images(arena.take<int32_t>("images", {args.R})),
      divisors(arena.take<float>("divisors", {args.R})),
      y(arena, args.mode == PoolMode::kMean ? args.R : 0, args.PH, args.H, args.sampling_ratio),
      x(arena, args.mode == PoolMode::kMean ? args.R : 0, args.PW, args.W, args.sampling_ratio) {}

RangeKernel<FillArgs> fill_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<FillArgs> { return fill<decltype(element)>; });
}

}  // namespace mluop::roi_align::native
