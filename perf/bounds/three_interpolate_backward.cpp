#include "perf/bounds/three_interpolate_backward.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "perf/bounds/interpolate_kernels.h"
#include "perf/support/buffer.h"
#include "perf/support/timing.h"

namespace mluop::perf {
namespace {

int64_t round_down(int64_t count, int64_t multiple) { return count / multiple * multiple; }

InterpolateBatch batch_of(const int32_t* indices, const float* weights, int64_t points, int64_t features) {
  InterpolateBatch batch;
  batch.weights.assign(weights, weights + points * 3);
  // Features past the last whole square are mapped to others.
  const auto feature = [&](int64_t slot) { return static_cast<uint32_t>(indices[slot] % features); };
  for (int64_t slot = 0; slot < points * 3; slot += 2) {
    batch.paired_offsets.push_back((feature(slot) | uint64_t{feature(slot + 1)} << 32) * kSquare);
  }
  batch.products.resize(static_cast<size_t>(points * 3));
  for (int64_t first = 0; first < points; first += kTilePoints) {
    const int64_t begin = first * 3, end = std::min(first + kTilePoints, points) * 3;
    std::vector<uint32_t> histogram(static_cast<size_t>(features));
    for (int64_t slot = begin; slot < end; ++slot) ++histogram[feature(slot)];
    std::vector<uint32_t> cursors;
    auto start = static_cast<uint32_t>(begin);
    for (const uint32_t count : histogram) {
      cursors.push_back(start);
      start += count;
    }
    batch.starts.insert(batch.starts.end(), cursors.begin(), cursors.end());
    batch.starts.push_back(start);
    for (int64_t slot = begin; slot < end; ++slot) {
      batch.products[cursors[feature(slot)]++] = {static_cast<uint32_t>((slot - begin) / 3), weights[slot]};
    }
  }
  return batch;
}

// The minimum over a few calls.
double min_seconds_of(const std::function<void()>& run) {
  constexpr int kCalls = 4;
  auto min_seconds = std::numeric_limits<double>::infinity();
  for (int call = 0; call < kCalls; ++call) min_seconds = std::min(min_seconds, seconds_of(run));
  return min_seconds;
}

class InterpolateBound {
 public:
  InterpolateBound(const InterpolateTensors& tensors, std::span<const float> weights, int threads)
      : tensors_(tensors),
        strips_(tensors.sizes.C / kSquare),
        points_(round_down(tensors.sizes.N, line_points(tensors.half))),
        features_(round_down(tensors.sizes.M, kSquare)),
        max_strips_(strips_ % kMaxStrips == 0 ? kMaxStrips : 1) {
    const int64_t slots = tensors.sizes.N * 3;
    for (int64_t b = 0; b < tensors.sizes.B; ++b) {
      batches_.push_back(batch_of(tensors.indices + b * slots, weights.data() + b * slots, points_, features_));
    }
    for (int id = 0; id < threads; ++id) {
      scratch_.emplace_back(kSquareElements + (kTilePoints + features_) * max_strips_ * kSquare);
    }
    select_fastest();
  }

  void run() { run(variant_); }

 private:
  struct Variant {
    Interpolate kernel;
    int64_t strips;  // of a work item
    bool prefetch, stream;
  };

  static constexpr int64_t kSquareElements = kSquare * kSquare;

  void select_fastest() {
    const InterpolateKernels& kernels = interpolate_kernels();
    const size_t dtype = tensors_.half ? 1 : 0;
    const auto& by_feature = max_strips_ == 1 ? kernels.by_feature : kernels.by_feature_max_strips;
    auto min_seconds = std::numeric_limits<double>::infinity();
    for (const Variant& variant :
         {Variant{kernels.in_order[dtype], 1, false, false}, Variant{kernels.in_order[dtype], 1, false, true},
          Variant{kernels.in_order[dtype], 1, true, false}, Variant{kernels.in_order[dtype], 1, true, true},
          Variant{by_feature[dtype], max_strips_, false, false}}) {
      const double seconds = min_seconds_of([&] { run(variant); });
      if (seconds < min_seconds) variant_ = variant;
      min_seconds = std::min(min_seconds, seconds);
    }
  }

  void run(const Variant& variant) {
    const auto threads = static_cast<int>(scratch_.size());
    const auto& [B, C, N, M] = tensors_.sizes;
    const int64_t work_items = B * strips_ / variant.strips;
    parallel(threads, [&, C = C, N = N, M = M](int id) {
      float* square = scratch_[static_cast<size_t>(id)].data();
      float* tile = square + kSquareElements;
      variant.kernel({batches_.data(), strips_, points_, features_, C, N, M, tensors_.grad_output,
                      tensors_.grad_features, variant.prefetch, variant.stream, share(work_items, threads, id),
                      share(work_items, threads, id + 1), square, tile,
                      tile + kTilePoints * max_strips_ * kSquare});
    });
  }

  InterpolateTensors tensors_;
  int64_t strips_, points_, features_;
  int64_t max_strips_;
  std::vector<InterpolateBatch> batches_;
  std::vector<Buffer<float>> scratch_;  // one buffer per thread
  Variant variant_{};
};

}  // namespace

std::function<void()> three_interpolate_backward_bound(const InterpolateTensors& tensors,
                                                       std::span<const float> weights, int threads) {
  const auto& [B, C, N, M] = tensors.sizes;
  if (std::min(C, M) < kSquare || N < line_points(tensors.half)) return {};
  const auto bound = std::make_shared<InterpolateBound>(tensors, weights, threads);
  return [bound] { bound->run(); };
}

}  // namespace mluop::perf
