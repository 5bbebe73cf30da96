#include "primitives/geometry/roi_bins.h"

#include <algorithm>
#include <cmath>

#include "core/checks.h"
#include "core/dtype.h"
#include "team/launch.h"

namespace mluop {
namespace {

// Cost of a bin along an axis, in bytes of memory traffic.
constexpr int64_t kBinBytes = 64;

// A RoI along an axis.
class Axis {
 public:
  Axis(BinRule rule, float low, float high, float scale, int64_t bins, int64_t pixels)
      : pixels_(static_cast<double>(pixels)) {
    float size = 0;
    if (rule == BinRule::kRoundedPixels) {
      offset_ = std::round(low * scale);
      size = static_cast<float>(std::max(std::round(high * scale) - offset_ + 1, 1.0));
    } else if (rule == BinRule::kRoundedCorners) {
      start_ = std::round(low) * scale;
      size = std::max(static_cast<float>(double{std::round(high)} + 1) * scale - start_, 0.1F);
    } else {
      start_ = low * scale;
      size = (high + 1) * scale - start_;
    }
    bin_ = size / static_cast<float>(bins);
    has_pixels_ = size > 0 && std::isfinite(size) && std::isfinite(start_) && std::isfinite(offset_);
  }

  Range bin(int64_t i) const {
    if (!has_pixels_) return {0, 0};
    const Range range{pixel(std::floor(static_cast<float>(i) * bin_ + start_)),
                      pixel(std::ceil(static_cast<float>(i + 1) * bin_ + start_))};
    return range.size() > 0 ? range : Range{0, 0};
  }

 private:
  int64_t pixel(float position) const {
    return static_cast<int64_t>(std::clamp(double{position} + offset_, 0.0, pixels_));
  }

  float start_ = 0, bin_ = 0;
  double offset_ = 0, pixels_;
  bool has_pixels_ = false;
};

struct FindArgs : RoiBinsArgs {
  FirstBadItem& first_bad;
};

// Work items: RoIs.
template <class T>
void find(const FindArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t r = begin; r < end; ++r) {
    const T* const roi = static_cast<const T*>(args.rois) + r * 5;
    const auto axis_of = [&](int low, int64_t bins, int64_t pixels) {
      return Axis(args.rule, to_f32(roi[low]), to_f32(roi[low + 2]), args.spatial_scale, bins, pixels);
    };
    args.to.images[r] = read_roi_image(roi, args.B, r, args.first_bad);
    const Axis x = axis_of(1, args.PW, args.W), y = axis_of(2, args.PH, args.H);
    for (int64_t i = 0; i < args.PH; ++i) args.to.rows[r * args.PH + i] = y.bin(i);
    for (int64_t i = 0; i < args.PW; ++i) args.to.columns[r * args.PW + i] = x.bin(i);
  }
}

}  // namespace

void find_roi_bins(Context& context, mluOpDataType_t dtype, const RoiBinsArgs& args) {
  FirstBadItem first_bad;
  const int task_dim = choose_task_dim(args.R, args.R * (args.PH + args.PW) * kBinBytes);
  launch(context, "find bins", task_dim, Evenly{args.R},
         dispatch_dtype(dtype, [](auto element) -> RangeKernel<FindArgs> { return find<decltype(element)>; }),
         {args, first_bad});
  require_roi_images("rois", dtype, first_bad, args.rois, 5, args.B);
}

void require_roi_images(std::string_view name, mluOpDataType_t dtype, const FirstBadItem& first_bad,
                        const void* rois, int64_t columns, int64_t B) {
  if (!first_bad.found()) return;
  const int64_t r = first_bad.item();
  const float image = dispatch_dtype(
      dtype, [&](auto element) { return to_f32(static_cast<const decltype(element)*>(rois)[r * columns]); });
  throw Failure(MLUOP_STATUS_BAD_PARAM, text(name, "[", r, ", 0] is ", image, ", expected 0 to ", B - 1));
}

}  // namespace mluop
